//! Secrets: what must not appear in the prompt of a character.
//!
//! Words and messages give a secret away. A statement is withheld if it has half of a secret's
//! words, if it has one word of it that the character never heard, if it rests only on messages
//! that contain a secret, or if it was written together with one, or before it was noted from
//! messages that tell it, and does not rest on what the character heard. It is not withheld if it says no more than the character itself said.
//! Withholding too much costs a line; withholding too little spoils the story.

mod earlier;
mod hidden_from;
mod talk;

use loreloom_core::{
    chat::{PathItem, Role},
    ids::MessageId,
};
use regex::RegexBuilder;
use rustc_hash::FxHashSet;

use crate::{
    people::People,
    presence::{Presence, characters},
    recall::stems,
    record::{Insight, InsightKind, Memory},
    text::{contains_word, sentences},
};

pub(crate) use self::hidden_from::Hearers;
use self::hidden_from::is_everybody;
pub use self::talk::EmbedText;
use self::talk::{HeardTalk, PrivateTalk, private_talk};

/// Where secrets come from.
#[derive(Clone)]
pub struct SecretSources<'story> {
    /// Who knows what, of all characters.
    pub insights: Vec<&'story Insight>,
    /// Private notes of other characters.
    pub private: Vec<&'story Memory>,
    /// The story.
    pub path: &'story [PathItem],
    /// The people that it is known to have.
    pub people: &'story People,
    /// What the character heard of it.
    pub presence: &'story Presence,
    /// Compares by meaning too, if there is one.
    pub embed: Option<&'story EmbedText>,
}

/// What one character must not know.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    kept: Vec<Secret>,
    bearers: FxHashSet<MessageId>,
    /// The bearers, and the talk that followed them in private, with the secrets of each.
    private: PrivateTalk,
    heard: HeardTalk,
    /// When the secrets were noted.
    noted: FxHashSet<i64>,
}

/// The words of a secret, without the names of its people.
#[derive(Clone, Debug, Default)]
struct Secret {
    words: FxHashSet<String>,
    /// Those that the character never heard.
    unheard: FxHashSet<String>,
    /// The other people that it is about.
    people: Vec<String>,
    /// Which of the words were in one message that the character said or answered.
    heard_parts: Vec<FxHashSet<String>>,
    /// When it was noted, if that is known.
    noted: Option<i64>,
}

impl Secret {
    /// Whether words about these people give it away.
    fn is_in(&self, words: &FxHashSet<String>, text: &str) -> bool {
        if !self.unheard.is_disjoint(words) {
            return true;
        }
        if !reveals(words, &self.words) {
            return false;
        }
        // "Somebody opened the gate" is not "Mara opened the gate".
        let names_people = self.people.iter().any(|name| contains_word(text, name));
        let shared: FxHashSet<&String> = self.words.intersection(words).collect();
        let heard = |part: &FxHashSet<String>| shared.iter().all(|word| part.contains(*word));
        names_people || self.people.is_empty() || !self.heard_parts.iter().any(heard)
    }
}

/// A statement about a secret, or about what is known of one.
struct Statement<'story> {
    words: FxHashSet<String>,
    people: Vec<String>,
    receipts: &'story [MessageId],
    noted: Option<i64>,
}

impl<'story> Statement<'story> {
    fn of(insight: &'story Insight, others: &Others<'_>) -> Self {
        // Others may have said it in the same message as something that was not hidden, so
        // only a note about hiding names messages.
        let hides = insight.kind == InsightKind::Hiding;
        let receipts = if hides { insight.receipts.as_slice() } else { &[] };
        let people = others.in_text(&insight.content);
        Self { words: content_words(insight), people, receipts, noted: insight.ts }
    }

    /// Whether knowing this statement is knowing the other: it has its words and its people.
    fn covers(&self, secret: &Self, people: &People) -> bool {
        let same = |name: &String| self.people.iter().any(|known| people.are_one(known, name));
        reveals(&self.words, &secret.words) && secret.people.iter().all(same)
    }
}

/// The people that texts can name, seen by a character.
struct Others<'story> {
    names: Vec<&'story str>,
    own: &'story str,
    people: &'story People,
}

impl<'story> Others<'story> {
    fn of(sources: &SecretSources<'story>, holding: &[&'story Insight], own: &'story str) -> Self {
        let mut names = characters(sources.path);
        let noted = holding.iter().flat_map(|one| [Some(&one.subject), one.target.as_ref()]);
        names.extend(noted.flatten().map(String::as_str).filter(|name| !is_everybody(name)));
        Self { names, own, people: sources.people }
    }

    /// The others that a text names, each once.
    fn in_text(&self, text: &str) -> Vec<String> {
        let mut named: Vec<String> = Vec::new();
        for person in self.names.iter().filter(|person| contains_word(text, person)) {
            let is_new = !named.iter().any(|known| self.people.are_one(known, person));
            if is_new && !self.people.are_one(person, self.own) {
                named.push((*person).to_owned());
            }
        }
        named
    }
}

impl Secrets {
    /// The secrets that are kept from a character. What it said itself, or heard and answered,
    /// is no secret.
    pub fn of(sources: &SecretSources<'_>, name: &str) -> Self {
        let holding: Vec<&Insight> =
            sources.insights.iter().copied().filter(|one| one.retired.is_none()).collect();
        let others = Others::of(sources, &holding, name);
        let is_own = |one: &Insight| sources.people.are_one(&one.subject, name);
        let known: Vec<Statement<'_>> = holding
            .iter()
            .filter(|one| knows(one) && one.holds() && is_own(one))
            .map(|one| Statement::of(one, &others))
            .collect();
        let hearers = Hearers::of(sources.people, sources.path, holding.iter().copied());
        let is_kept = |one: &&&Insight| {
            one.kind == InsightKind::Unaware && is_own(one) || hearers.is_hidden_from(one, name)
        };
        let hidden = holding.iter().filter(is_kept).map(|one| Statement::of(one, &others));
        let private = sources.private.iter().map(|memory| Statement {
            words: stems(&memory.content),
            people: others.in_text(&memory.content),
            receipts: &[],
            noted: None,
        });
        let talk = CharacterTalk::of(sources, name);
        let (mut secrets, mut bearers) = (Self::default(), PrivateTalk::default());
        for secret in hidden.chain(private) {
            let is_known = known.iter().any(|known| known.covers(&secret, sources.people));
            if secret.words.is_empty() || is_known || talk.includes(&secret) {
                continue;
            }
            for id in secret.receipts.iter().filter(|id| !talk.own.contains(id)) {
                bearers.entry(*id).or_default().push(secrets.kept.len());
            }
            secrets.noted.extend(secret.noted);
            let heard_parts = talk.parts(&secret);
            let Statement { words, people, noted, .. } = secret;
            let unheard = FxHashSet::default();
            secrets.kept.push(Secret { words, unheard, people, heard_parts, noted });
        }
        secrets.bearers = bearers.keys().copied().collect();
        secrets.find_unheard(sources, &talk.own);
        secrets.private = private_talk(sources.path, &bearers, &talk.own);
        if !secrets.private.is_empty() || !secrets.noted.is_empty() {
            secrets.heard = HeardTalk::of(sources, &secrets.private, &others.names);
        }
        secrets
    }

    /// Notes which words of the secrets occur in no message that the character heard.
    fn find_unheard(&mut self, sources: &SecretSources<'_>, own: &FxHashSet<MessageId>) {
        let wanted: FxHashSet<&String> = self.kept.iter().flat_map(|one| &one.words).collect();
        if wanted.is_empty() {
            return;
        }
        let heard = heard_words(&wanted, sources, &self.bearers, own);
        for secret in &mut self.kept {
            secret.unheard = secret.words.difference(&heard).cloned().collect();
        }
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether a text contains a secret, or a part of one.
    pub fn revealed_by(&self, text: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let words = stems(text);
        self.kept.iter().any(|secret| secret.is_in(&words, text))
    }

    /// Whether a message gives a secret away, or belongs to the talk about one.
    pub fn carried_by(&self, message: &MessageId) -> bool {
        self.private.contains_key(message)
    }

    /// Whether a statement gives a secret away: by its words, or because it rests only on messages
    /// of secrets.
    pub fn given_away_by(&self, text: &str, receipts: &[MessageId]) -> bool {
        let rests = !receipts.is_empty() && receipts.iter().all(|id| self.carried_by(id));
        rests || self.revealed_by(text)
    }

    /// Whether a statement that was written at this time gives a secret away. One that was written
    /// together with the note of a secret, or before it from messages that tell it, must rest on
    /// what the character heard.
    pub fn told_by(&self, text: &str, receipts: &[MessageId], written: Option<i64>) -> bool {
        let is_together = written.is_some_and(|at| self.noted.contains(&at));
        self.given_away_by(text, receipts)
            || (is_together || self.is_earlier(written, receipts)) && !self.heard.supports(text)
    }

    /// Whether a text about a scene gives a secret away. If private messages belong to the scene,
    /// the text must rest on what the character heard.
    pub fn told_by_scene(&self, text: &str, messages: &[MessageId]) -> bool {
        let is_private = messages.iter().any(|id| self.carried_by(id));
        self.revealed_by(text) || is_private && !self.heard.supports(text)
    }

    /// The messages that tell a secret, and the talk that followed in private.
    pub fn private_messages(&self) -> impl Iterator<Item = MessageId> {
        self.private.keys().copied()
    }

    /// Prose without the sentences and fragments that contain a secret. A heading that loses all
    /// its text goes too.
    pub fn without(&self, text: &str) -> String {
        self.prose_without(text, |part| self.revealed_by(part))
    }

    /// Prose without the parts of which `is_secret` holds.
    fn prose_without(&self, text: &str, is_secret: impl Fn(&str) -> bool) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut kept: Vec<String> = Vec::new();
        let mut open_heading = false;
        for line in text.lines() {
            let left = if is_heading(line) && is_label(line) {
                line.to_owned()
            } else {
                line_without(line, &is_secret)
            };
            let is_shorter = left.trim() != line.trim();
            let says_nothing = left.trim().is_empty() || is_shorter && is_heading(&left);
            if says_nothing && !line.trim().is_empty() {
                continue;
            }
            if open_heading && begins_section(&left) {
                kept.pop();
            }
            open_heading = is_heading(&left);
            kept.push(left.trim_end().to_owned());
        }
        if open_heading {
            kept.pop();
        }
        kept.join("\n").trim().to_owned()
    }
}

/// A line without the sentences, and then the parts between semicolons, that tell a secret.
fn line_without(line: &str, is_secret: impl Fn(&str) -> bool) -> String {
    let (heading, body) = match line.split_once(": ") {
        Some((heading, body)) if heading.chars().count() <= 40 => (heading, body),
        _ => ("", line),
    };
    let is_told = |part: &&str| !is_secret(part);
    let body: String = sentences(body)
        .into_iter()
        .map(|sentence| {
            if is_secret(sentence) {
                sentence.split_inclusive(';').filter(is_told).collect::<String>()
            } else {
                sentence.to_owned()
            }
        })
        .collect();
    match heading {
        "" => body,
        _ if !is_label(heading) && is_secret(heading) => String::new(),
        _ => format!("{heading}: {}", body.trim_start()),
    }
}

/// Whether a line is a heading without a text: `5. Revelations:`, `## Revelations`.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(':') || line.starts_with('#')
}

/// The words of the headings that memory's own prompts ask for. Sorted.
const LABELS: [&str; 22] = [
    "current",
    "direction",
    "events",
    "fears",
    "goals",
    "key",
    "location",
    "loyalties",
    "moment",
    "mood",
    "people",
    "player",
    "present",
    "relationships",
    "revelations",
    "s",
    "setting",
    "the",
    "threads",
    "threats",
    "time",
    "unresolved",
];

/// Whether a heading has only words that memory's own prompts ask for.
fn is_label(heading: &str) -> bool {
    let heading = heading.to_lowercase();
    let mut words = heading.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.all(|word| LABELS.binary_search(&word).is_ok())
}

/// Whether a line begins another section of a summary.
fn begins_section(line: &str) -> bool {
    let number = line.trim_start().trim_start_matches(|digit: char| digit.is_ascii_digit());
    is_heading(line) || number.len() < line.trim_start().len() && number.starts_with(['.', ')'])
}

/// A message that a character said or answered.
struct TalkMessage<'story> {
    item: &'story PathItem,
    is_own: bool,
    words: FxHashSet<String>,
}

/// The messages that a character said or answered.
struct CharacterTalk<'story> {
    own: FxHashSet<MessageId>,
    messages: Vec<TalkMessage<'story>>,
    people: &'story People,
}

impl<'story> CharacterTalk<'story> {
    fn of(sources: &SecretSources<'story>, name: &str) -> Self {
        let may_keep =
            |one: &&Insight| matches!(one.kind, InsightKind::Unaware | InsightKind::Hiding);
        let may_matter = sources.insights.iter().any(may_keep) || !sources.private.is_empty();
        let (mut own, mut messages) = (FxHashSet::default(), Vec::new());
        let path = if may_matter { sources.path } else { &[] };
        let speaks = |item: &PathItem| {
            let speaker = item.message.name.as_deref().unwrap_or_default();
            item.message.role == Role::Assistant && sources.people.are_one(speaker, name)
        };
        for (at, item) in path.iter().enumerate().filter(|(_, item)| speaks(item)) {
            own.insert(item.id);
            let before = at.checked_sub(1).map(|at| (&path[at], false));
            for (item, is_own) in [(item, true)].into_iter().chain(before) {
                messages.push(TalkMessage { item, is_own, words: stems(&item.message.text) });
            }
        }
        Self { own, messages, people: sources.people }
    }

    /// Whether the character said a secret, or heard it after it was noted: a message has most
    /// of its words, and its people speak in it or are named.
    fn includes(&self, secret: &Statement<'_>) -> bool {
        self.messages.iter().any(|message| {
            let counts = message.is_own || !secret.receipts.contains(&message.item.id);
            let text = &message.item.message;
            let is_meant = |name: &String| {
                let speaker = text.name.as_deref().unwrap_or_default();
                contains_word(&text.text, name) || self.people.are_one(speaker, name)
            };
            counts && tells(&message.words, &secret.words) && secret.people.iter().all(is_meant)
        })
    }

    /// What each message has of a secret's words.
    fn parts(&self, secret: &Statement<'_>) -> Vec<FxHashSet<String>> {
        let shared = |message: &TalkMessage<'_>| -> FxHashSet<String> {
            secret.words.intersection(&message.words).cloned().collect()
        };
        self.messages.iter().map(shared).filter(|words| !words.is_empty()).collect()
    }
}

/// Whether a message gives a secret away: it has most of its words.
fn tells(words: &FxHashSet<String>, secret: &FxHashSet<String>) -> bool {
    let shared = secret.iter().filter(|word| words.contains(*word)).count();
    shared * 3 >= secret.len() * 2
}

/// The wanted words that occur in messages the character heard. After a secret is said, the talk
/// about it goes on in private until the character speaks. Only messages with the beginning of
/// such a word are cut into words, so a long story costs one search.
fn heard_words(
    wanted: &FxHashSet<&String>,
    sources: &SecretSources<'_>,
    bearers: &FxHashSet<MessageId>,
    own: &FxHashSet<MessageId>,
) -> FxHashSet<String> {
    const LETTERS: usize = 3;
    let beginnings: FxHashSet<String> =
        wanted.iter().map(|word| word.chars().take(LETTERS).collect()).collect();
    let beginnings: Vec<String> = beginnings.iter().map(|word| regex::escape(word)).collect();
    let search = RegexBuilder::new(&beginnings.join("|")).case_insensitive(true).build();
    let (mut heard, mut in_private) = (FxHashSet::default(), false);
    for (at, item) in sources.path.iter().enumerate() {
        let text = item.message.text.as_str();
        in_private = bearers.contains(&item.id) || in_private && !own.contains(&item.id);
        let counts = sources.presence.hears(at) && !in_private;
        // A form such as "went" does not begin like its stem and counts as never heard.
        let may_have = search.as_ref().is_ok_and(|search| search.is_match(text));
        if counts && may_have {
            heard.extend(stems(text).into_iter().filter(|word| wanted.contains(word)));
        }
    }
    heard
}

fn knows(insight: &Insight) -> bool {
    insight.kind == InsightKind::Knows
}

/// The words of an insight without the names of its people, which occur everywhere.
fn content_words(insight: &Insight) -> FxHashSet<String> {
    let mut words = stems(&insight.content);
    let names = [Some(insight.subject.as_str()), insight.target.as_deref()];
    let names: FxHashSet<String> = names.into_iter().flatten().flat_map(stems).collect();
    if words.iter().any(|word| !names.contains(word)) {
        words.retain(|word| !names.contains(word));
    }
    words
}

/// Whether these words include at least half of the secret's.
fn reveals(words: &FxHashSet<String>, secret: &FxHashSet<String>) -> bool {
    let shared = secret.iter().filter(|word| words.contains(*word)).count();
    shared * 2 >= secret.len() && shared > 0
}

#[cfg(test)]
mod tests;
