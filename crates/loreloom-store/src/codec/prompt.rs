//! Finding the story inside a prompt.
//!
//! A prompt message that repeats a message of the path, as it is or as `Name: text`, is
//! *told*; told messages in a row become a [`Run`] of message numbers. Any other message is
//! *written*: cut at the injected spans into pieces, so that the unchanged parts of a long
//! system prompt are the same piece on every turn. Spans are only hints where to cut; what
//! is stored is exact whatever they say.

use std::collections::BTreeMap;

use loreloom_core::{
    chat::{PathItem, Role},
    prompt::PromptMessage,
    report::Span,
};
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};

use super::Told;

/// Texts shorter than this cost less inline than a row of their own.
pub(super) const SHORT: usize = 24;

/// How told messages appear in the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Form {
    /// The prompt message carries the speaker's name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    named: bool,
    /// The text begins with the speaker's name and a colon.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    spoken: bool,
}

/// A stored part of a prompt. Numbers are of the chat's messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// Messages in a row.
    Run(Run),
    /// A message of its own.
    Written(Written<i64>),
}

/// Messages `first..first + count`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    /// Number of the first.
    pub(super) first: i64,
    /// How many.
    count: i64,
    #[serde(flatten)]
    form: Form,
    /// Who speaks for each role, where the form tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    speakers: BTreeMap<Role, String>,
}

/// A message of its own; `M` is how it refers to messages of the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written<M> {
    role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Its text, in order.
    pub(super) pieces: Vec<Piece<M>>,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece<M> {
    /// As it stands.
    Short(String),
    /// A text of the record's list.
    Text(usize),
    /// What a message says.
    Message(M),
}

/// A prompt message before numbers are known: references are positions on the path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Drafted {
    /// Repeats an item of the path.
    Told { item: usize, form: Form, speaker: Option<String> },
    /// Does not.
    Written(Written<usize>),
}

/// The texts of one record, each once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    list: Vec<String>,
    places: FxHashMap<String, usize>,
}

impl Texts {
    /// The piece for a text.
    pub(super) fn piece<M>(&mut self, text: &str) -> Piece<M> {
        if text.len() < SHORT {
            return Piece::Short(text.to_owned());
        }
        if let Some(&place) = self.places.get(text) {
            return Piece::Text(place);
        }
        let place = self.list.len();
        self.list.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        Piece::Text(place)
    }

    /// All of them, in order.
    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}

/// Drafts a prompt against the path it was made from.
pub(super) fn draft(
    prompt: &[PromptMessage],
    spans: &[Span],
    items: &[PathItem],
    texts: &mut Texts,
) -> Vec<Drafted> {
    let mut story = Story { items, index: None };
    let mut next = 0;
    let mut drafted = Vec::with_capacity(prompt.len());
    for (at, message) in prompt.iter().enumerate() {
        let part = match story.find_told(message, next) {
            Some(told) => told,
            None => Drafted::Written(written(message, at, spans, &mut story, texts)),
        };
        if let Drafted::Told { item, .. } = &part {
            next = item + 1;
        }
        drafted.push(part);
    }
    drafted
}

fn written(
    message: &PromptMessage,
    at: usize,
    spans: &[Span],
    story: &mut Story<'_>,
    texts: &mut Texts,
) -> Written<usize> {
    let mut pieces = Vec::new();
    for text in cut(&message.content, at, spans) {
        pieces.push(match story.find_text(text) {
            Some(item) => Piece::Message(item),
            None => texts.piece(text),
        });
    }
    Written { role: message.role, name: message.name.clone(), pieces }
}

/// The content cut at the spans that lie in this message; nothing is lost.
fn cut<'text>(content: &'text str, at: usize, spans: &[Span]) -> Vec<&'text str> {
    let mut cuts: Vec<usize> = spans
        .iter()
        .filter(|span| span.message == at)
        .flat_map(|span| [span.start, span.end])
        .filter(|&cut| cut < content.len() && content.is_char_boundary(cut))
        .collect();
    cuts.sort_unstable();
    cuts.push(content.len());
    let mut from = 0;
    let mut pieces = Vec::new();
    for cut in cuts {
        if cut > from {
            pieces.push(&content[from..cut]);
            from = cut;
        }
    }
    pieces
}

/// The path, searchable by text. The index is built at the first message that does not
/// simply follow the one before, and looks only at the length and both ends of a text: the
/// exact comparison decides.
struct Story<'path> {
    items: &'path [PathItem],
    index: Option<Index>,
}

/// Items by the shape of their text. Those of one shape are a chain from the first on:
/// a list for each of some thousand shapes would cost more than all the rest of a draft.
struct Index {
    chains: FxHashMap<Shape, Chain>,
    /// The next item of the same shape.
    later: Vec<Option<usize>>,
}

struct Chain {
    first: usize,
    last: usize,
}

/// A text's length and both its ends.
type Shape = (usize, u64, u64);

fn shape(text: &str) -> Shape {
    let bytes = text.as_bytes();
    let begin = bytes.first_chunk().copied().unwrap_or_default();
    let end = bytes.last_chunk().copied().unwrap_or_default();
    (bytes.len(), u64::from_le_bytes(begin), u64::from_le_bytes(end))
}

impl Index {
    fn of(items: &[PathItem]) -> Self {
        let mut chains: FxHashMap<Shape, Chain> =
            FxHashMap::with_capacity_and_hasher(items.len(), FxBuildHasher);
        let mut later = vec![None; items.len()];
        for (at, item) in items.iter().enumerate() {
            chains
                .entry(shape(&item.message.text))
                .and_modify(|chain| {
                    later[chain.last] = Some(at);
                    chain.last = at;
                })
                .or_insert(Chain { first: at, last: at });
        }
        Self { chains, later }
    }

    /// Items that may have this text, oldest first.
    fn candidates(&self, text: &str) -> impl Iterator<Item = usize> + Clone {
        let first = self.chains.get(&shape(text)).map(|chain| chain.first);
        std::iter::successors(first, |at| self.later[*at])
    }
}

impl Story<'_> {
    fn find_told(&mut self, message: &PromptMessage, next: usize) -> Option<Drafted> {
        if let Some(item) = self.items.get(next)
            && let Some(told) = told(message, item, next)
        {
            return Some(told);
        }
        let unspoken = message.content.split_once(": ").map(|(_, text)| text);
        [Some(message.content.as_str()), unspoken].into_iter().flatten().find_map(|text| {
            let (items, found) = (self.items, self.index().candidates(text));
            let order = found.clone().filter(|item| *item >= next).chain(found);
            order.map(|item| (item, &items[item])).find_map(|(at, item)| told(message, item, at))
        })
    }

    fn find_text(&mut self, text: &str) -> Option<usize> {
        if text.len() < SHORT {
            return None;
        }
        let items = self.items;
        self.index().candidates(text).find(|&item| items[item].message.text == text)
    }

    fn index(&mut self) -> &Index {
        self.index.get_or_insert_with(|| Index::of(self.items))
    }
}

/// `message` as a repetition of `item`, if it is one.
fn told(message: &PromptMessage, item: &PathItem, at: usize) -> Option<Drafted> {
    if message.role != item.message.role {
        return None;
    }
    let named = message.name.is_some();
    if message.content == item.message.text {
        let form = Form { named, spoken: false };
        return Some(Drafted::Told { item: at, form, speaker: message.name.clone() });
    }
    let speaker = item.message.name.as_deref()?;
    let rest = message.content.strip_prefix(speaker)?.strip_prefix(": ")?;
    let same_name = message.name.as_deref().is_none_or(|name| name == speaker);
    (item.message.text == rest && same_name).then(|| Drafted::Told {
        item: at,
        form: Form { named, spoken: true },
        speaker: Some(speaker.to_owned()),
    })
}

/// The items of the path that a draft refers to.
pub(super) fn items_of(drafted: &[Drafted]) -> impl Iterator<Item = usize> {
    drafted.iter().flat_map(|part| {
        let (told, pieces) = match part {
            Drafted::Told { item, .. } => (Some(*item), &[][..]),
            Drafted::Written(written) => (None, &written.pieces[..]),
        };
        told.into_iter().chain(pieces.iter().filter_map(|piece| match piece {
            Piece::Message(item) => Some(*item),
            Piece::Short(_) | Piece::Text(_) => None,
        }))
    })
}

/// A draft with the numbers of its messages filled in; `None` if one is missing.
pub(super) fn number(
    drafted: Vec<Drafted>,
    number_of: impl Fn(usize) -> Option<i64>,
    role_of: impl Fn(usize) -> Option<Role>,
) -> Option<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for part in drafted {
        match part {
            Drafted::Told { item, form, speaker } => {
                let (number, role) = (number_of(item)?, role_of(item)?);
                let extended = match parts.last_mut() {
                    Some(Part::Run(run)) => run.extend(number, role, &form, speaker.as_deref()),
                    Some(Part::Written(_)) | None => false,
                };
                if !extended {
                    let speakers = speaker.map(|speaker| (role, speaker)).into_iter().collect();
                    parts.push(Part::Run(Run { first: number, count: 1, form, speakers }));
                }
            }
            Drafted::Written(Written { role, name, pieces }) => {
                let pieces = pieces.into_iter().map(|piece| {
                    Some(match piece {
                        Piece::Short(text) => Piece::Short(text),
                        Piece::Text(place) => Piece::Text(place),
                        Piece::Message(item) => Piece::Message(number_of(item)?),
                    })
                });
                let pieces = pieces.collect::<Option<_>>()?;
                parts.push(Part::Written(Written { role, name, pieces }));
            }
        }
    }
    Some(parts)
}

impl Run {
    /// Number of the last.
    pub(super) fn last(&self) -> i64 {
        self.first.saturating_add(self.count).saturating_sub(1)
    }

    /// Takes in the next message, if it continues this run.
    fn extend(&mut self, number: i64, role: Role, form: &Form, speaker: Option<&str>) -> bool {
        if number != self.last() + 1 || self.form != *form {
            return false;
        }
        if let Some(speaker) = speaker {
            let known = self.speakers.entry(role).or_insert_with(|| speaker.to_owned());
            if known != speaker {
                return false;
            }
        }
        self.count += 1;
        true
    }

    fn message(&self, told: &Told) -> Result<PromptMessage, String> {
        let speaker = self.speakers.get(&told.role);
        let form = &self.form;
        if (form.named || form.spoken) && speaker.is_none() {
            return Err(format!("no speaker for role `{}`", told.role.as_str()));
        }
        let content = match speaker.filter(|_| form.spoken) {
            Some(speaker) => format!("{speaker}: {}", told.text),
            None => told.text.clone(),
        };
        let name = speaker.filter(|_| form.named).cloned();
        Ok(PromptMessage { role: told.role, name, content: content.into() })
    }
}

/// The prompt again, given what messages say and the record's texts.
pub(super) fn restore<'told>(
    parts: &[Part],
    told: impl Fn(i64) -> Option<&'told Told>,
    texts: &[String],
) -> Result<Vec<PromptMessage>, String> {
    let told = |number| told(number).ok_or_else(|| format!("message {number} is missing"));
    let mut prompt = Vec::new();
    for part in parts {
        match part {
            Part::Run(run) => {
                for number in run.first..=run.last() {
                    prompt.push(run.message(told(number)?)?);
                }
            }
            Part::Written(Written { role, name, pieces }) => {
                let mut content = String::new();
                for piece in pieces {
                    content.push_str(match piece {
                        Piece::Short(text) => text,
                        Piece::Text(place) => text_at(texts, *place)?,
                        Piece::Message(number) => &told(*number)?.text,
                    });
                }
                prompt.push(PromptMessage {
                    role: *role,
                    name: name.clone(),
                    content: content.into(),
                });
            }
        }
    }
    Ok(prompt)
}

/// A text of the record's list.
pub(super) fn text_at(texts: &[String], place: usize) -> Result<&str, String> {
    texts.get(place).map(String::as_str).ok_or_else(|| format!("text {place} is missing"))
}
