//! Finding the messages of a path in a prompt.
//!
//! A prompt message that repeats a message of the path, in its own words or as `Name: text`,
//! becomes a reference; several in a row become a [`MessageRange`]. Any other message is cut at
//! the injected spans, so that the unchanged parts of a long system prompt are the same texts on
//! every turn. Spans are only hints where to cut: what is stored is exact in any case.

use loreloom_core::{
    chat::{PathItem, Role},
    prompt::PromptMessage,
    report::Span,
};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{
    prompt::{ComposedMessage, MessageRange, PromptPart, SpeakerForm},
    text_list::{SHORT, TextList, TextPiece},
};

/// A prompt message before message numbers are known. References are positions on the path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DraftedMessage {
    /// Repeats an item of the path.
    Repeated {
        item: usize,
        form: SpeakerForm,
        speaker: Option<String>,
    },
    Composed(ComposedMessage<usize>),
}

/// Drafts a prompt, given the path it was made from.
pub(super) fn draft(
    prompt: &[PromptMessage],
    spans: &[Span],
    items: &[PathItem],
    texts: &mut TextList,
) -> Vec<DraftedMessage> {
    let mut path = PathSearch { items, index: None };
    let mut next = 0;
    let mut drafted = Vec::with_capacity(prompt.len());
    for (at, message) in prompt.iter().enumerate() {
        let part = path.find_message(message, next).unwrap_or_else(|| {
            let pieces = cut(&message.content, at, spans).into_iter();
            let pieces = pieces.map(|text| match path.find_text(text) {
                Some(item) => TextPiece::Message(item),
                None => texts.add(text),
            });
            let pieces = pieces.collect();
            let (role, name) = (message.role, message.name.clone());
            DraftedMessage::Composed(ComposedMessage { role, name, pieces })
        });
        if let DraftedMessage::Repeated { item, .. } = &part {
            next = item + 1;
        }
        drafted.push(part);
    }
    drafted
}

/// Cuts the content of message `at` at its spans, without losing anything.
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

/// The path, searchable by text. The index is built for the first message that does not simply
/// follow the one before.
struct PathSearch<'path> {
    items: &'path [PathItem],
    index: Option<TextIndex>,
}

impl PathSearch<'_> {
    fn find_message(&mut self, message: &PromptMessage, next: usize) -> Option<DraftedMessage> {
        if let Some(item) = self.items.get(next)
            && let Some(found) = repeated(message, item, next)
        {
            return Some(found);
        }
        let unspoken = message.content.split_once(": ").map(|(_, text)| text);
        [Some(message.content.as_str()), unspoken].into_iter().flatten().find_map(|text| {
            let (items, found) = (self.items, self.index().candidates(text));
            let mut order = found.clone().filter(|item| *item >= next).chain(found);
            order.find_map(|item| repeated(message, &items[item], item))
        })
    }

    fn find_text(&mut self, text: &str) -> Option<usize> {
        if text.len() < SHORT {
            return None;
        }
        let items = self.items;
        self.index().candidates(text).find(|&item| items[item].message.text == text)
    }

    fn index(&mut self) -> &TextIndex {
        self.index.get_or_insert_with(|| TextIndex::of(self.items))
    }
}

/// `message` as a repetition of `item`, if it is one.
fn repeated(message: &PromptMessage, item: &PathItem, at: usize) -> Option<DraftedMessage> {
    if message.role != item.message.role {
        return None;
    }
    let named = message.name.is_some();
    if message.content == item.message.text {
        let form = SpeakerForm { named, spoken: false };
        return Some(DraftedMessage::Repeated { item: at, form, speaker: message.name.clone() });
    }
    let speaker = item.message.name.as_deref()?;
    let rest = message.content.strip_prefix(speaker)?.strip_prefix(": ")?;
    let same_name = message.name.as_deref().is_none_or(|name| name == speaker);
    (item.message.text == rest && same_name).then(|| DraftedMessage::Repeated {
        item: at,
        form: SpeakerForm { named, spoken: true },
        speaker: Some(speaker.to_owned()),
    })
}

/// Items by the key of their text. Items with one key form a chain: a list for each of some
/// thousand keys would cost more than the rest of a draft.
struct TextIndex {
    chains: FxHashMap<TextKey, ItemChain>,
    /// For each item, the next item with the same key.
    later: Vec<Option<usize>>,
}

struct ItemChain {
    first: usize,
    last: usize,
}

/// The length of a text and its first and last bytes. Texts with equal keys are compared.
type TextKey = (usize, u64, u64);

fn text_key(text: &str) -> TextKey {
    let bytes = text.as_bytes();
    let begin = bytes.first_chunk().copied().unwrap_or_default();
    let end = bytes.last_chunk().copied().unwrap_or_default();
    (bytes.len(), u64::from_le_bytes(begin), u64::from_le_bytes(end))
}

impl TextIndex {
    fn of(items: &[PathItem]) -> Self {
        let mut chains: FxHashMap<TextKey, ItemChain> =
            FxHashMap::with_capacity_and_hasher(items.len(), FxBuildHasher);
        let mut later = vec![None; items.len()];
        for (at, item) in items.iter().enumerate() {
            chains
                .entry(text_key(&item.message.text))
                .and_modify(|chain| {
                    later[chain.last] = Some(at);
                    chain.last = at;
                })
                .or_insert(ItemChain { first: at, last: at });
        }
        Self { chains, later }
    }

    /// Items that may have this text, oldest first.
    fn candidates(&self, text: &str) -> impl Iterator<Item = usize> + Clone {
        let first = self.chains.get(&text_key(text)).map(|chain| chain.first);
        std::iter::successors(first, |at| self.later[*at])
    }
}

/// The items of the path that a draft refers to.
pub(super) fn items_of(drafted: &[DraftedMessage]) -> impl Iterator<Item = usize> {
    drafted.iter().flat_map(|part| {
        let (repeated, pieces) = match part {
            DraftedMessage::Repeated { item, .. } => (Some(*item), &[][..]),
            DraftedMessage::Composed(message) => (None, &message.pieces[..]),
        };
        repeated.into_iter().chain(pieces.iter().filter_map(|piece| match piece {
            TextPiece::Message(item) => Some(*item),
            TextPiece::Short(_) | TextPiece::Text(_) => None,
        }))
    })
}

/// Fills in the numbers of messages. `None` if one is missing.
pub(super) fn number(
    drafted: Vec<DraftedMessage>,
    number_of: impl Fn(usize) -> Option<i64>,
    role_of: impl Fn(usize) -> Option<Role>,
) -> Option<Vec<PromptPart>> {
    let mut parts: Vec<PromptPart> = Vec::new();
    for part in drafted {
        match part {
            DraftedMessage::Repeated { item, form, speaker } => {
                let (number, role) = (number_of(item)?, role_of(item)?);
                let extended = match parts.last_mut() {
                    Some(PromptPart::Range(range)) => {
                        range.extend(number, role, &form, speaker.as_deref())
                    }
                    Some(PromptPart::Composed(_)) | None => false,
                };
                if !extended {
                    let speakers = speaker.map(|speaker| (role, speaker)).into_iter().collect();
                    let range = MessageRange { first: number, count: 1, form, speakers };
                    parts.push(PromptPart::Range(range));
                }
            }
            DraftedMessage::Composed(ComposedMessage { role, name, pieces }) => {
                let pieces = pieces.into_iter().map(|piece| {
                    Some(match piece {
                        TextPiece::Short(text) => TextPiece::Short(text),
                        TextPiece::Text(index) => TextPiece::Text(index),
                        TextPiece::Message(item) => TextPiece::Message(number_of(item)?),
                    })
                });
                let pieces = pieces.collect::<Option<_>>()?;
                parts.push(PromptPart::Composed(ComposedMessage { role, name, pieces }));
            }
        }
    }
    Some(parts)
}
