//! One note of a vault: a piece of lore and the rules its author wrote above it.

use serde::{Deserialize, Serialize};

use crate::{
    book::{Extensions, SelectiveLogic},
    chat::Role,
    digest::Hasher,
    ids::{BookId, Digest, EntryId},
    number::whole,
    report::{Outcome, Verdict},
    tokens::TokenCounter,
    units::{Depth, Tokens},
};

/// A note that is part of the lore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The name of its vault; empty if there is only one.
    pub vault: String,
    /// The file, relative to the vault, with `/` between folders.
    pub path: String,
    /// What it is about. Other notes name it by this, ignoring case.
    pub title: String,
    /// What else people call it.
    pub aliases: Vec<String>,
    /// The text for the model, without Markdown that is meant for people.
    pub content: String,
    /// What the selecting model reads instead of the text.
    pub summary: String,
    /// Lower is more important.
    pub priority: f64,
    /// What kind of note it is.
    pub kind: NoteKind,
    /// Any of these brings it in.
    pub keys: Vec<String>,
    /// Further keys, and how they combine.
    pub refine: Refine,
    /// Messages its keys are looked for in; `None` leaves it to the rules.
    pub scan_depth: Option<f64>,
    /// Whether it stays out of recursion; what that means is a rule.
    pub exclude_recursion: bool,
    /// Generations it pauses after it was injected; above 0.
    pub cooldown: Option<f64>,
    /// Occurrences of its keys it waits for; above 0.
    pub warmup: Option<f64>,
    /// Chance, from 0 to 1.
    pub probability: Option<f64>,
    /// Messages that it stays for after it was injected.
    pub sticky: Option<u32>,
    /// Messages that a chat needs before it may come in.
    pub delay: Option<u32>,
    /// Of the notes that share a group, one goes in.
    pub groups: Vec<String>,
    /// Its weight when a group draws; 100 where it does not say.
    pub group_weight: Option<f64>,
    /// Where it goes.
    pub seat: NoteSeat,
    /// How it relates to other notes.
    pub relations: Relations,
    /// Its tags, in lower case, without the ones that mark it as lore.
    pub tags: Vec<String>,
    /// Values of the vault's own fields, and of fields that are only carried along.
    pub fields: Extensions,
    /// Whether the graph shows it.
    pub graph: bool,
    /// Tokens of its text; zero also if they are not counted yet.
    pub tokens: Tokens,
    /// Hash of the file: another text is another hash.
    pub hash: Digest,
}

/// What kind of note it is. A note may be several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "a set of four independent marks")]
pub struct NoteKind {
    /// Always injected.
    pub constant: bool,
    /// Tells the selecting model about the story while the chat is short.
    pub seed: bool,
    /// Injected while the chat is short.
    pub bootstrap: bool,
    /// For people and assistants who write lore; never reaches the model that writes.
    pub guide: bool,
}

/// Further keys, and how they combine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Refine {
    /// The keys; none is no condition.
    pub keys: Vec<String>,
    /// How they combine.
    pub logic: SelectiveLogic,
}

/// Where a note goes; what it leaves open, the rules decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteSeat {
    /// The place.
    pub position: Option<NotePosition>,
    /// Depth inside the chat.
    pub depth: Option<Depth>,
    /// As whose message.
    pub role: Option<Role>,
    /// An outlet, which goes before all else and is outside the budget.
    pub outlet: Option<String>,
}

/// A place for a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotePosition {
    /// Before the main prompt.
    Before,
    /// After the main prompt.
    After,
    /// Inside the chat.
    #[default]
    InChat,
}

/// The deepest a note may go.
pub const DEEPEST: u32 = 10_000;

/// A depth as people write it: any number, kept between 0 and [`DEEPEST`].
pub fn depth_of(number: f64) -> Depth {
    Depth(whole(number).min(DEEPEST))
}

/// How a note relates to others, all by title.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relations {
    /// All of these must be in too.
    pub requires: Vec<String>,
    /// None of these may be in.
    pub excludes: Vec<String>,
    /// These come in with it.
    pub cascade: Vec<String>,
    /// Titles its text links to.
    pub links: Vec<String>,
    /// The links that lead to a note, as that note spells its title.
    pub resolved_links: Vec<String>,
}

impl Note {
    /// A note without rules.
    pub fn new(vault: &str, path: &str, title: &str) -> Self {
        Self {
            vault: vault.to_owned(),
            path: path.to_owned(),
            title: title.to_owned(),
            aliases: Vec::new(),
            content: String::new(),
            summary: String::new(),
            priority: 100.0,
            kind: NoteKind::default(),
            keys: Vec::new(),
            refine: Refine::default(),
            scan_depth: None,
            exclude_recursion: false,
            cooldown: None,
            warmup: None,
            probability: None,
            sticky: None,
            delay: None,
            groups: Vec::new(),
            group_weight: None,
            seat: NoteSeat::default(),
            relations: Relations::default(),
            tags: Vec::new(),
            fields: Extensions::new(),
            graph: true,
            tokens: Tokens::ZERO,
            hash: Digest::default(),
        }
    }

    /// Its id in counters and reports: the vault and the file. A title changes when another note
    /// gets the same one, and counters would be lost with it.
    pub fn id(&self) -> EntryId {
        let file = self.path.strip_suffix(".md").unwrap_or(&self.path);
        EntryId(format!("{}:{file}", self.vault))
    }

    /// The vault as a book.
    pub fn book(&self) -> BookId {
        BookId(self.vault.clone())
    }

    /// What was decided about it.
    pub(crate) fn verdict(&self, outcome: Outcome) -> Verdict {
        Verdict::new(self.book(), self.id(), self.title.clone(), outcome)
    }

    /// The folder it lies in; `None` at the top of the vault.
    pub fn folder(&self) -> Option<&str> {
        self.path.rsplit_once('/').map(|(folder, _)| folder)
    }

    /// Whether one of these folders holds it, however deep; what lies at the top of the vault is
    /// in all.
    pub fn is_in_any(&self, folders: &[String]) -> bool {
        let Some(folder) = self.folder() else { return true };
        let holds = |chosen: &String| {
            let rest = folder.strip_prefix(chosen.trim_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        folders.iter().any(holds)
    }

    /// Counts the tokens of its text.
    #[must_use]
    pub fn counted(mut self, counter: &dyn TokenCounter) -> Self {
        self.tokens = counter.count(&self.content);
        self
    }

    /// Whether it is injected without a key.
    pub fn is_forced(&self, bootstrapping: bool) -> bool {
        self.kind.constant || (bootstrapping && self.kind.bootstrap)
    }
}

/// The hash of a note's file.
pub fn hash_of(file: &str) -> Digest {
    Hasher::new("note").field(file.as_bytes()).finish()
}
