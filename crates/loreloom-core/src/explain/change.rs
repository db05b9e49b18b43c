//! One change to a turn, as data and in words.

use serde::{Deserialize, Serialize};

use crate::units::{MessageCount, Tokens};

/// One change to the turn, the entry or the rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = FixChange))]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum FixChange {
    /// Switch the entry on.
    Enable,
    /// Make it always fire.
    MakeConstant,
    /// Give it one more key.
    AddKey {
        /// The key.
        key: String,
    },
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
    /// Take its cooldown away.
    NoCooldown,
    /// Take its delay away.
    NoDelay,
    /// One of its secondary keys is enough.
    AnySecondary,
    /// Let it win its groups by order.
    WinGroups,
    /// Do not count it against the budget.
    IgnoreBudget,
    /// Give it a higher order.
    Order {
        /// The order.
        order: f64,
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
    /// Give a setting another value.
    Setting {
        /// Its name.
        name: String,
        /// The value.
        value: String,
    },
    /// Pin notes to the chat.
    Pin {
        /// Their titles.
        titles: Vec<String>,
    },
    /// Take the block of the note back.
    Unblock,
    /// Give a field of the scene the note's values.
    Scene {
        /// The field.
        field: String,
        /// The values.
        values: Vec<String>,
    },
    /// Also look into a folder of the vault.
    LookInto {
        /// The folder.
        folder: String,
    },
    /// Remove a field of the note.
    DropField {
        /// The field.
        field: String,
    },
    /// Allow lore so many tokens.
    Budget {
        /// Tokens.
        tokens: Tokens,
    },
    /// Allow lore and memory together so many tokens.
    TotalBudget {
        /// Tokens.
        tokens: Tokens,
    },
}

/// A change in plain English.
pub fn words(change: &FixChange) -> String {
    match change {
        FixChange::Enable => "switch it on".to_owned(),
        FixChange::MakeConstant => "make it constant".to_owned(),
        FixChange::AddKey { key } => format!("add the key “{key}”"),
        FixChange::NoCooldown => "take its cooldown away".to_owned(),
        FixChange::NoDelay => "take its delay away".to_owned(),
        FixChange::AnySecondary => "let one of its secondary keys be enough".to_owned(),
        FixChange::WinGroups => "let it win its groups by order".to_owned(),
        FixChange::IgnoreBudget => "do not count it against the budget".to_owned(),
        FixChange::Order { order } => format!("raise its order to {order}"),
        FixChange::AnyGeneration => "allow it for every kind of generation".to_owned(),
        FixChange::AnyCharacter => "allow it for every character".to_owned(),
        FixChange::ScanDepth { messages: 1 } => "scan 1 message for it".to_owned(),
        FixChange::ScanDepth { messages } => format!("scan {messages} messages for it"),
        FixChange::Say { words } => {
            format!("let the newest message say “{}”", words.join("” and “"))
        }
        FixChange::IgnoreSecondary => "ignore its secondary keys".to_owned(),
        FixChange::Wait { until } => format!("wait until the chat has {} messages", until.0),
        FixChange::AllowRecursion => "let other entries bring it in".to_owned(),
        FixChange::NoRecursionLevel => "let it fire without waiting for recursion".to_owned(),
        FixChange::DropDecorator => "remove its @@dont_activate".to_owned(),
        FixChange::LeaveGroups => "take it out of its groups".to_owned(),
        FixChange::Probability { percent } => format!("raise its probability to {percent} %"),
        FixChange::Nearness { threshold } => {
            format!("lower the threshold of meaning to {threshold}")
        }
        FixChange::NearEntries { most } => format!("let {most} entries in by meaning"),
        FixChange::Setting { name, value } => format!("set `{name}` to {value}"),
        FixChange::Pin { titles } => format!("pin “{}” to the chat", titles.join("” and “")),
        FixChange::Unblock => "take its block in this chat back".to_owned(),
        FixChange::Scene { field, values } => {
            format!("let the scene's {field} be “{}”", values.join("” and “"))
        }
        FixChange::LookInto { folder } => format!("also look into the folder “{folder}”"),
        FixChange::DropField { field } => format!("remove `{field}` from the note"),
        FixChange::Budget { tokens } => format!("allow lore {tokens} tokens"),
        FixChange::TotalBudget { tokens } => {
            format!("allow lore and memory together {tokens} tokens")
        }
    }
}
