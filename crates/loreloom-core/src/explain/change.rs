//! One change to a turn, as data and in words.

use serde::{Deserialize, Serialize};

use crate::units::{MessageCount, Tokens};

/// One change to the turn, the entry or the rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = FixChange))]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// Switch the entry on.
    Enable,
    /// Make it always fire.
    MakeConstant,
    /// Drop its list of generation types.
    AnyGeneration,
    /// Drop its list of characters and tags.
    AnyCharacter,
    /// Scan so many messages for it.
    ScanDepth {
        /// Messages.
        messages: u32,
    },
    /// Let these words occur in the newest message.
    Say {
        /// The words.
        words: Vec<String>,
    },
    /// Ignore its secondary keys.
    IgnoreSecondary,
    /// Wait until the chat is this long.
    Wait {
        /// Messages.
        until: MessageCount,
    },
    /// Let other entries activate it.
    AllowRecursion,
    /// Let it fire at once instead of at a recursion level.
    NoRecursionLevel,
    /// Remove `@@dont_activate`.
    DropDecorator,
    /// Take it out of its groups.
    LeaveGroups,
    /// Raise its probability.
    Probability {
        /// In per cent.
        percent: f64,
    },
    /// Let entries that are found by meaning be no nearer than this.
    Nearness {
        /// The least cosine.
        threshold: f64,
    },
    /// Let so many entries in by meaning.
    NearEntries {
        /// The most entries.
        most: u32,
    },
    /// Allow lore so many tokens.
    Budget {
        /// Tokens.
        tokens: Tokens,
    },
}

/// A change in plain English.
pub fn words(change: &Change) -> String {
    match change {
        Change::Enable => "switch it on".to_owned(),
        Change::MakeConstant => "make it constant".to_owned(),
        Change::AnyGeneration => "allow it for every kind of generation".to_owned(),
        Change::AnyCharacter => "allow it for every character".to_owned(),
        Change::ScanDepth { messages: 1 } => "scan 1 message for it".to_owned(),
        Change::ScanDepth { messages } => format!("scan {messages} messages for it"),
        Change::Say { words } => format!("let the newest message say “{}”", words.join("” and “")),
        Change::IgnoreSecondary => "ignore its secondary keys".to_owned(),
        Change::Wait { until } => format!("wait until the chat has {} messages", until.0),
        Change::AllowRecursion => "let other entries bring it in".to_owned(),
        Change::NoRecursionLevel => "let it fire without waiting for recursion".to_owned(),
        Change::DropDecorator => "remove its @@dont_activate".to_owned(),
        Change::LeaveGroups => "take it out of its groups".to_owned(),
        Change::Probability { percent } => format!("raise its probability to {percent} %"),
        Change::Nearness { threshold } => {
            format!("lower the threshold of meaning to {threshold}")
        }
        Change::NearEntries { most } => format!("let {most} entries in by meaning"),
        Change::Budget { tokens } => format!("allow lore {tokens} tokens"),
    }
}
