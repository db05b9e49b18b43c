//! Why: a verdict for every entry of every active book on every turn.
//!
//! One serialisable type that the command line, the API, the web UI and tests all read.
//! Verdicts are codes with parameters, never finished sentences, so that every surface
//! can say them in its own words and language; [`words`] has the English ones.
//!
//! Entries that nothing in the text touched are not written down: their verdict follows
//! from the book and the turn's facts, and is derived when somebody asks
//! (`engine::verdicts`).

mod class;
mod recalled;
mod room;
mod selection;
mod stop;
mod trigger;
mod verdict;
pub mod words;

use serde::{Deserialize, Serialize};

pub use self::{
    class::VerdictClass,
    recalled::{ChannelScore, RecallChannel, RecalledMessage},
    room::{GivenUp, LeftOutMessage, RoomUse},
    selection::{Fallback, SelectionUse, Served, VaultMode},
    stop::{Gate, GroupRule, KeyCost, Stop},
    trigger::{KeyMatch, MatchPlace, ScanPhase, TextSource, Trigger},
    verdict::{KeptPlace, Outcome, Reason, Verdict},
};
use crate::{
    cache_placement::Measured,
    chat::{GenerationType, Path},
    dialects::cards::Problem,
    hygiene::{HazardCount, Hygiene},
    ids::{ChatId, EntryId, LibraryVersion, MessageId, PrefixHash},
    place::Provenance,
    tokens::TokenCounter,
    turn::Turn,
    units::{MessageCount, Timestamp, Tokens},
};

/// The report of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Report {
    /// What the decision was based on.
    pub facts: TurnFacts,
    /// How the pools of lore used their budgets.
    pub budgets: Vec<BudgetUse>,
    /// Verdicts of all entries that something touched, in order of evaluation.
    pub verdicts: Vec<Verdict>,
    /// How many entries were never touched.
    pub untouched: u32,
    /// The range of each injected text in the final prompt.
    pub spans: Vec<Span>,
    /// Things a person should know.
    pub warnings: Vec<Warning>,
    /// What the prompt cache could keep, where it was measured after sending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
    /// Who decided which notes the turn needs, where a vault takes part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault_mode: Option<VaultMode>,
    /// How a selecting model took part, where one was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionUse>,
    /// How the prompt fits into the model's context, where something had to give way or the
    /// prompt may be too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomUse>,
    /// Old messages that memory put back into the prompt, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<RecalledMessage>,
}

impl Report {
    /// The report of a turn that no engine decided: an edit or an import.
    pub fn undecided(facts: TurnFacts) -> Self {
        Self {
            facts,
            budgets: Vec::new(),
            verdicts: Vec::new(),
            untouched: 0,
            spans: Vec::new(),
            warnings: Vec::new(),
            cache: None,
            vault_mode: None,
            selection: None,
            room: None,
            recalled: Vec::new(),
        }
    }
}

/// What a prompt kept of the one sent before, and what it is estimated to cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CacheUse {
    /// Whose cache it was measured for.
    pub provider: String,
    /// The figures.
    #[serde(flatten)]
    pub measured: Measured,
    /// The estimated price of the prompt, where the connection has prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

// A replay reads the turn's `TurnInput` instead.
/// The main facts of a turn, for people who read its report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TurnFacts {
    /// The chat.
    pub chat: ChatId,
    /// The exact state of the story.
    pub prefix: PrefixHash,
    /// The message being answered.
    pub answers: Option<MessageId>,
    /// Messages on the path.
    pub chat_length: MessageCount,
    /// What was asked for.
    pub generation: GenerationType,
    /// The character who speaks next.
    pub speaker: Option<String>,
    /// The user's persona.
    pub persona: Option<String>,
    /// The tokenizer that counted.
    pub tokenizer: String,
    /// The model's context size.
    pub context: Tokens,
    /// The seed of all rolls.
    pub seed: u64,
    /// The compiled books.
    pub library: LibraryVersion,
    /// The time.
    pub at: Option<Timestamp>,
}

impl TurnFacts {
    /// The facts of a turn.
    pub fn of(turn: &Turn<'_>, library: LibraryVersion, counter: &dyn TokenCounter) -> Self {
        let input = turn.input;
        Self {
            chat: turn.chat.clone(),
            prefix: turn.prefix,
            answers: turn.answers,
            chat_length: turn.length(),
            generation: input.generation,
            speaker: input.speaker.as_ref().map(|speaker| speaker.name.clone()),
            persona: Some(input.user.clone()).filter(|name| !name.is_empty()),
            tokenizer: counter.name().to_owned(),
            context: input.context,
            seed: input.seed,
            library,
            at: input.at,
        }
    }

    /// The facts of a turn at the end of `path` that no engine decided: an edit or an import.
    pub fn undecided(path: &Path, generation: GenerationType) -> Self {
        Self {
            chat: path.chat().clone(),
            prefix: path.prefix(),
            answers: path.last_user(),
            chat_length: MessageCount(u32::try_from(path.items().len()).unwrap_or(u32::MAX)),
            generation,
            speaker: None,
            persona: None,
            tokenizer: String::new(),
            context: Tokens::ZERO,
            seed: 0,
            library: LibraryVersion::default(),
            at: None,
        }
    }
}

/// How one pool of lore used its budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BudgetUse {
    /// The pool, for example `world_info`.
    pub pool: String,
    /// The most it may use.
    pub limit: Tokens,
    /// What it used.
    pub used: Tokens,
    /// Whether something did not fit.
    pub overflowed: bool,
}

impl Warning {
    /// Whether it is about this entry.
    pub fn is_about(&self, id: &EntryId, title: &str) -> bool {
        match self {
            Self::KeyTooSlow { entry, .. }
            | Self::KeyUnusable { entry, .. }
            | Self::KeyNotARegex { entry, .. }
            | Self::Decorator { entry, .. } => entry == title,
            Self::AlreadyThere { source }
            | Self::NobodySpeaks { source }
            | Self::Neutralised { source, .. } => {
                matches!(source, Provenance::Lore { entry, .. } if entry == id)
            }
            Self::OldNotes { .. } | Self::WithoutLore { .. } => false,
        }
    }
}

/// The range of an injected text in the final prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Span {
    /// Where the text comes from.
    pub source: Provenance,
    /// The message of the prompt, counted from 0.
    pub message: usize,
    /// First byte inside that message's text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Tokens of the text.
    pub tokens: Tokens,
}

/// Something a person should know about a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Warning {
    /// A regular expression key was given up and counts as not found.
    KeyTooSlow {
        /// The entry's title.
        entry: String,
        /// The key.
        key: String,
        /// Why it was given up.
        cost: KeyCost,
    },
    /// A regular expression key cannot be used and never matches (card books).
    KeyUnusable {
        /// The entry's title.
        entry: String,
        /// The key.
        key: String,
    },
    /// A decorator line does nothing.
    Decorator {
        /// The entry's title.
        entry: String,
        /// The line.
        line: String,
        /// Why.
        problem: Problem,
    },
    /// The front end had put this text into the prompt itself, so it was not put in again.
    AlreadyThere {
        /// Where the text comes from.
        source: Provenance,
    },
    /// Notes of a vault are as they were read before: it could not be read again in time.
    OldNotes {
        /// The vault.
        vault: String,
        /// How long ago it was read, in seconds; `None` if it never was.
        seconds: Option<u64>,
        /// Why it could not be read.
        reason: String,
    },
    /// The prompt was sent without lore.
    WithoutLore {
        /// Why.
        reason: String,
    },
    /// A text names the character who speaks, and nobody is known to speak.
    NobodySpeaks {
        /// Where the text comes from.
        source: Provenance,
    },
    /// A text would have broken out of its place in the prompt and was made harmless.
    Neutralised {
        /// Where the text comes from.
        source: Provenance,
        /// How.
        by: Hygiene,
        /// What was found, by kind.
        found: Vec<HazardCount>,
    },
    /// A regular expression key does not compile and was matched as plain text.
    KeyNotARegex {
        /// The entry's title.
        entry: String,
        /// The key.
        key: String,
    },
}
