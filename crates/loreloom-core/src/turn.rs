//! Everything one turn is decided from: the request context.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    book::{Entry, Extensions, is_js_space},
    chat::{GenerationType, Message, Path, Role},
    dice::Dice,
    engine::texts::Occurrences,
    ids::{ChatId, EntryId, MessageId, PrefixHash},
    library::{Cast, Dialect},
    macros::MacroValues,
    scan::{Folding, HitCache, ScanText},
    tokens::TokenCounter,
    units::{MessageCount, Timestamp, Tokens},
    vault::{Choice, Lines, Mark, Stage, VaultCache},
};

/// One turn's context. Nothing else decides what is woven in.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    /// The chat.
    pub chat: &'a ChatId,
    /// The exact state of the story.
    pub prefix: PrefixHash,
    /// The message being answered.
    pub answers: Option<MessageId>,
    /// The messages that are scanned.
    pub transcript: &'a Transcript,
    /// What is asked for.
    pub generation: GenerationType,
    /// Who speaks next.
    pub speaker: Option<&'a Speaker>,
    /// The user's name.
    pub user: &'a str,
    /// The texts of card and persona.
    pub card: &'a CardTexts,
    /// Prompts of the front end that ask to be scanned.
    pub prompts: &'a [ScannedPrompt],
    /// Entries the host wants in.
    pub forced: &'a [Forced],
    /// The model's context size.
    pub context: Tokens,
    /// The seed of all rolls, for the report.
    pub seed: u64,
    /// When.
    pub at: Option<Timestamp>,
    /// Changes no state and reads no timed effects.
    pub dry_run: bool,
    /// What only some hosts know.
    pub host: Host<'a>,
}

/// What only some hosts know: rules that ask for what a host does not tell are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host<'a> {
    /// The greeting the chat began with: 0 is the first message, 1 the first alternate.
    pub greeting: Option<u32>,
    /// The name of the user's icon.
    pub user_icon: Option<&'a str>,
    /// Whether the prompt is a text to be completed, not a list of messages.
    pub text: bool,
    /// The group, in a chat of several characters.
    pub group: Option<&'a str>,
    /// Entries whose meaning is near to the chat's.
    pub near: &'a [Near],
    /// What the scene is like, for vaults.
    pub scene: Option<&'a Scene>,
    /// What the selecting model answered, where one was asked.
    pub selection: Option<&'a Selection>,
    /// What macros stand for that only the host knows, by names in small letters.
    pub macros: Option<&'a BTreeMap<String, String>>,
}

/// What the scene is like, and what people want in this chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scene {
    /// Era, place and whatever else the vault's fields ask for.
    #[serde(skip_serializing_if = "Extensions::is_empty")]
    pub context: Extensions,
    /// Folders of the vault that are looked into; none is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Notes that must be in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Mark>,
    /// Notes that must not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Mark>,
}

/// What a selecting model answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// It chose these, perhaps none.
    Chosen(Vec<Choice>),
    /// It was not asked, because what it chose before still holds.
    Kept {
        /// What it chose.
        choices: Vec<Choice>,
        /// Why that holds.
        because: StillHolds,
    },
    /// It was not asked: there was nothing to choose from.
    NotAsked,
    /// It gave no answer that could be read.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// Why what a selecting model chose before still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StillHolds {
    /// Nothing new was said.
    SameChat,
    /// Nothing came up that it did not choose from.
    SameCandidates,
    /// What was said since names no note.
    NothingNamed,
}

/// An entry found by its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Near {
    /// The entry.
    pub entry: EntryId,
    /// How near it is; higher is nearer.
    pub score: f64,
}

impl<'a> Turn<'a> {
    /// What macros stand for this turn.
    pub fn macros(&self) -> MacroValues<'a> {
        MacroValues {
            user: self.user,
            char: self.speaker.map_or("", |speaker| &speaker.name),
            persona: &self.card.persona,
            description: &self.card.description,
            personality: &self.card.personality,
            scenario: &self.card.scenario,
            depth_prompt: &self.card.depth_prompt,
            creator_notes: &self.card.creator_notes,
            last_message: self.transcript.last(|_| true),
            last_user_message: self.transcript.last(|role| role == Role::User),
            last_char_message: self.transcript.last(|role| role == Role::Assistant),
            generation: self.generation.as_str(),
            last_message_id: self.length().0.checked_sub(1),
            context: self.context,
            more: self.host.macros,
            at: self.at,
        }
    }

    /// Who takes part.
    pub fn cast(&self) -> Cast<'a> {
        Cast {
            chat: self.chat,
            character: self.speaker.map(|speaker| speaker.name.as_str()),
            persona: self.user,
            group: self.host.group,
        }
    }

    /// Messages on the path, as timed effects count them.
    pub fn length(&self) -> MessageCount {
        MessageCount(u32::try_from(self.transcript.messages.len()).unwrap_or(u32::MAX))
    }
}

/// What the engine needs from outside to decide.
pub struct Instruments<'a> {
    /// The connection's tokenizer.
    pub counter: &'a dyn TokenCounter,
    /// Rolls.
    pub dice: &'a mut dyn Dice,
    /// Hits of texts seen before.
    pub cache: &'a mut TurnCache,
}

/// Hits of texts seen before, for one library.
#[derive(Debug, Default)]
pub struct TurnCache {
    world_info: DialectCache,
    cards: DialectCache,
    pub(crate) vault: VaultCache,
}

/// The caches of a dialect: what a word is differs between them.
#[derive(Debug, Default)]
struct DialectCache {
    hits: [HitCache; Folding::ALL.len()],
    /// What the running turn found. Kept only for its memory, which grows to what a turn of
    /// this chat needs.
    occurrences: Occurrences,
}

impl TurnCache {
    /// Tells `watcher` of the stages of a vault as they are done.
    pub fn watch_vault(&mut self, watcher: impl FnMut(Stage) + Send + 'static) {
        self.vault.watch(watcher);
    }

    /// What a dialect found in texts seen before, and room for what this turn finds.
    pub(crate) fn begin(
        &mut self,
        dialect: Dialect,
    ) -> (&mut [HitCache; Folding::ALL.len()], &mut Occurrences) {
        let cache = match dialect {
            Dialect::WorldInfo => &mut self.world_info,
            Dialect::Cards => &mut self.cards,
        };
        for found in &mut cache.occurrences {
            found.clear();
        }
        (&mut cache.hits, &mut cache.occurrences)
    }
}

/// Who speaks next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The character's name.
    pub name: String,
    /// The name that character filters compare with: SillyTavern's avatar file without its
    /// extension.
    pub filter_name: Option<String>,
    /// The character's tags; `None` if the host knows of none.
    pub tags: Option<Vec<String>>,
}

impl Speaker {
    /// A character of whom only the name is known: filters compare with it.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { filter_name: Some(name.clone()), tags: None, name }
    }
}

/// The texts of card and persona that keys may be looked for in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CardTexts {
    /// The persona's description.
    pub persona: String,
    /// The character's description.
    pub description: String,
    /// The character's personality.
    pub personality: String,
    /// The character's note.
    pub depth_prompt: String,
    /// The scenario.
    pub scenario: String,
    /// The creator's notes.
    pub creator_notes: String,
}

/// A prompt of the front end that asks to be scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedPrompt {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// An entry the host wants in this turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forced {
    /// The entry.
    pub entry: EntryId,
    /// What to use instead of the stored entry.
    pub instead: Option<Arc<Entry>>,
}

/// The messages of a path as they are scanned, oldest first. Grows with the path, so that
/// each message is prepared once.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    pub(crate) messages: Vec<TranscriptMessage>,
    include_names: bool,
    /// The same messages as vaults scan them, hidden ones too; only where a vault may ask.
    lines: Option<Lines>,
}

/// A message as it is scanned.
#[derive(Clone, Debug)]
pub(crate) struct TranscriptMessage {
    pub(crate) scan: ScanText,
    pub(crate) role: Role,
    pub(crate) name: Option<Arc<str>>,
    /// Bytes that the scanned text has before the message's own, and the message has before
    /// the scanned text: `Name: ` and trimmed blanks.
    pub(crate) prefix: usize,
    pub(crate) trimmed: usize,
}

impl TranscriptMessage {
    /// Whether there was nothing to scan, not even a blank.
    pub(crate) fn is_empty(&self) -> bool {
        self.trimmed == 0 && self.scan.as_str().is_empty()
    }

    /// The text without the speaker's name.
    fn own_text(&self) -> &str {
        let prefix = self.prefix.saturating_sub(self.trimmed);
        self.scan.as_str().get(prefix..).unwrap_or_default()
    }
}

impl Transcript {
    /// No messages yet. With `include_names`, messages are scanned as `Name: text`.
    pub fn new(include_names: bool) -> Self {
        Self { messages: Vec::new(), include_names, lines: None }
    }

    /// The visible messages of a path.
    pub fn of(path: &Path, include_names: bool) -> Self {
        let mut transcript = Self::new(include_names).for_vaults();
        for item in path.items() {
            transcript.add(&item.message);
        }
        transcript
    }

    /// Appends a message of a story, unless it is hidden from the model.
    pub fn add(&mut self, message: &Message) {
        if message.is_seen() {
            self.push_seen(message.role, message.name.as_deref(), &message.text);
        }
        if let Some(lines) = &mut self.lines {
            lines.add(message);
        }
    }

    /// Whether both are made in the same way, so that one can go on for the other.
    pub fn is_like(&self, other: &Self) -> bool {
        self.include_names == other.include_names && self.lines.is_some() == other.lines.is_some()
    }

    /// No messages yet, to be scanned by vaults too.
    #[must_use]
    pub fn for_vaults(self) -> Self {
        Self { lines: Some(Lines::default()), ..self }
    }

    /// Takes the messages of a path from the `first` one on anew.
    pub fn retell(&mut self, path: &Path, first: usize) {
        let (before, after) = path.items().split_at(first);
        let seen = before.iter().filter(|item| item.message.is_seen()).count();
        self.messages.truncate(seen);
        if let Some(lines) = &mut self.lines {
            lines.truncate(first);
        }
        for item in after {
            self.add(&item.message);
        }
    }

    /// The messages as vaults scan them, where they were not kept along the way.
    pub(crate) fn to_lines(&self) -> Lines {
        let mut lines = Lines::default();
        for message in &self.messages {
            let name = message.name.as_deref().unwrap_or_default();
            lines.push(name, message.own_text(), message.role == Role::User, true);
        }
        lines
    }

    /// The messages as vaults scan them.
    pub fn vault_lines(&self) -> Cow<'_, Lines> {
        self.lines().map_or_else(|| Cow::Owned(self.to_lines()), Cow::Borrowed)
    }

    /// The same, where they were kept along the way.
    pub(crate) fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    /// Appends a message.
    pub fn push(&mut self, role: Role, name: Option<&str>, text: &str) {
        self.push_seen(role, name, text);
        if let Some(lines) = &mut self.lines {
            lines.push(name.unwrap_or_default(), text, role == Role::User, true);
        }
    }

    fn push_seen(&mut self, role: Role, name: Option<&str>, text: &str) {
        let named = match name {
            Some(name) if self.include_names => Cow::Owned(format!("{name}: {text}")),
            Some(_) | None => Cow::Borrowed(text),
        };
        let prefix = named.len() - text.len();
        let trimmed = named.len() - named.trim_start_matches(is_js_space).len();
        self.messages.push(TranscriptMessage {
            scan: ScanText::new(named.trim_matches(is_js_space)),
            role,
            name: name.map(Into::into),
            prefix,
            trimmed,
        });
    }

    /// The text of the newest message of such a role; nothing if there is none.
    fn last(&self, wanted: impl Fn(Role) -> bool) -> &str {
        let newest = self.messages.iter().rev().find(|message| wanted(message.role));
        newest.map_or("", TranscriptMessage::own_text)
    }

    /// The texts of the newest messages, newest first, without the names before them.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = &str> {
        self.messages.iter().rev().take(count).map(TranscriptMessage::own_text)
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The same transcript with a text appended to its newest message, or alone if there is
    /// none.
    #[must_use]
    pub fn with_text(&self, text: &str) -> Self {
        let mut transcript = self.clone();
        match transcript.messages.pop() {
            Some(last) => {
                let scan = ScanText::new(format!("{}\n{text}", last.scan.as_str()));
                transcript.messages.push(TranscriptMessage { scan, ..last });
                if let Some(lines) = &mut transcript.lines {
                    lines.push("", text, true, true);
                }
            }
            None => transcript.push(Role::User, None, text),
        }
        transcript
    }

    /// Drops all but the first `length` messages, none of which is hidden.
    pub fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        if let Some(lines) = &mut self.lines {
            lines.truncate(length);
        }
    }
}
