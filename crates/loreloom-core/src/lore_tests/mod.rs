//! Tests of lore: for some messages, which entries must fire and which must not, in which order,
//! and with how many tokens.
//!
//! A test plays its messages as their own story, so that effects over several turns work, and
//! checks the turn after the last message. Rolls are fixed: a test gives the same answer each
//! time. No embedder and no selecting model is asked, so entries that only they would find do not
//! fire.

mod run;

use serde::{Deserialize, Serialize};

pub use self::run::{TestSetup, run};
use crate::{
    chat::Role,
    ids::{ChatId, EntryId},
    replay::Fired,
    report::Verdict,
    units::Tokens,
};

/// A test. Entries are named by their ids or by what people call them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoreTest {
    /// What it is called.
    pub name: String,
    /// The character who speaks next, and with whose eyes lore is read.
    pub speaker: Option<String>,
    /// The user's name, where it is another than usual.
    pub user: Option<String>,
    /// The chat, for books that follow one.
    pub chat: Option<ChatId>,
    /// The group, for books that follow one.
    pub group: Option<String>,
    /// The model's context size, where it is another than usual.
    pub context: Option<Tokens>,
    /// What was said.
    pub messages: Vec<TestMessage>,
    /// What is expected.
    pub expected: Vec<Expectation>,
}

/// A message of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestMessage {
    /// Who said it.
    pub role: Role,
    /// Under which name.
    pub name: Option<String>,
    /// What.
    pub text: String,
}

/// What is expected of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Expectation {
    /// An entry fires.
    Fires {
        /// The entry.
        entry: String,
    },
    /// An entry does not fire.
    DoesNotFire {
        /// The entry.
        entry: String,
    },
    /// Entries fire and are in the prompt in this order.
    Order {
        /// The entries.
        entries: Vec<String>,
    },
    /// All lore together has no more tokens.
    AtMost {
        /// How many.
        tokens: Tokens,
    },
}

/// Why an expectation does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Failure {
    /// No entry is called so.
    NoEntry {
        /// The name.
        entry: String,
    },
    /// Several entries are called so.
    SeveralEntries {
        /// The name.
        entry: String,
        /// Their ids.
        ids: Vec<EntryId>,
    },
    /// The entry's book does not follow those who take part.
    NotActive {
        /// The entry.
        entry: EntryId,
    },
    /// The entry was decided about otherwise.
    Decided {
        /// The decision.
        verdict: Box<Verdict>,
        /// The same in English.
        why: String,
    },
    /// The entry fires, but the prompt has no place for it.
    NoPlace {
        /// The entry.
        entry: EntryId,
    },
    /// The entries are in another order.
    OtherOrder {
        /// Their order.
        found: Vec<String>,
    },
    /// Lore has more tokens.
    TooManyTokens {
        /// How many.
        found: Tokens,
    },
}

/// What became of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Check {
    /// The expectation.
    pub expected: Expectation,
    /// Why it does not hold; none if it does.
    pub failure: Option<Failure>,
}

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TestResult {
    /// What the test is called.
    pub name: String,
    /// Whether all it expects holds.
    pub passed: bool,
    /// What it expects, in order.
    pub checks: Vec<Check>,
    /// The entries that fired.
    pub fired: Vec<Fired>,
    /// Tokens of what fired.
    pub tokens: Tokens,
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fires { entry } => write!(formatter, "`{entry}` fires"),
            Self::DoesNotFire { entry } => write!(formatter, "`{entry}` does not fire"),
            Self::Order { entries } => write!(formatter, "`{}`", entries.join("` before `")),
            Self::AtMost { tokens } => write!(formatter, "at most {tokens} tokens"),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoEntry { entry } => write!(formatter, "no entry is called `{entry}`"),
            Self::SeveralEntries { entry, ids } => {
                let ids: Vec<&str> = ids.iter().map(EntryId::as_str).collect();
                write!(formatter, "several entries are called `{entry}`: {}", ids.join(", "))
            }
            Self::NotActive { entry } => {
                write!(formatter, "the book of `{entry}` does not follow those who take part")
            }
            Self::Decided { why, .. } => formatter.write_str(why),
            Self::NoPlace { entry } => {
                write!(formatter, "`{entry}` fires, and the prompt has no place for it")
            }
            Self::OtherOrder { found } => {
                write!(formatter, "they stand as `{}`", found.join("`, `"))
            }
            Self::TooManyTokens { found } => write!(formatter, "lore has {found} tokens"),
        }
    }
}
