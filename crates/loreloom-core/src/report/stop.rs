//! The rule that stopped an entry.

use serde::{Deserialize, Serialize};

use super::Fallback;
use crate::{
    book::SelectiveLogic,
    ids::{EntryId, MessageId},
    units::{MessageCount, Tokens},
};

/// The rule that stopped an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Stop {
    /// The entry is switched off.
    Disabled,
    /// It is not for this kind of generation.
    Trigger {
        /// What it is for.
        wanted: Vec<String>,
        /// What was asked for.
        found: String,
    },
    /// It is not for this character.
    Character {
        /// The names it lists.
        listed: Vec<String>,
        /// Whether the list excludes.
        exclude: bool,
    },
    /// It is not for a character with these tags.
    Tag {
        /// The tags it lists.
        listed: Vec<String>,
        /// Whether the list excludes.
        exclude: bool,
    },
    /// The chat is too short.
    Delay {
        /// The length it waits for.
        until: MessageCount,
    },
    /// It fired not long ago.
    Cooldown {
        /// The length at which it may fire again.
        until: MessageCount,
    },
    /// It waits for a recursion level that was not reached.
    RecursionLevel {
        /// The level it waits for.
        level: u32,
    },
    /// Recursion would bring it in, but takes no further step.
    RecursionLimit {
        /// The steps it takes.
        steps: u32,
    },
    /// Only other entries' text holds its keys, and it may not be activated by that.
    ExcludedFromRecursion,
    /// `@@dont_activate`.
    Suppressed,
    /// It has no keys.
    NoKeys,
    /// None of its keys was found.
    NoKeyFound,
    /// A key was given up, and no other key was found.
    KeyTooSlow {
        /// The key.
        key: String,
        /// Why it was given up.
        cost: KeyCost,
    },
    /// It is found by meaning, and its meaning is not near enough to the chat's.
    NotNear {
        /// How near it is; `None` if others are nearer.
        score: Option<f64>,
        /// How near it had to be.
        threshold: f64,
    },
    /// It is about what is said, but does not fit well enough.
    LowScore {
        /// How well it fits.
        score: f64,
        /// How well it had to.
        needed: f64,
    },
    /// It is about what is said, but enough others fit better.
    SearchLimit {
        /// How well it fits.
        score: f64,
        /// How many notes are looked at.
        most: usize,
    },
    /// A key was found, but further back than it scans.
    OutOfReach {
        /// The key.
        key: String,
        /// The message, counted from the newest, from 0.
        distance: u32,
        /// How many messages it scans.
        depth: u32,
        /// How many characters of them, where it counts those.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        characters: Option<u32>,
        /// How many tokens of them, where it counts those.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        tokens: Option<u32>,
    },
    /// It is a copy of an entry that is there itself (Risu's `child`).
    Copied {
        /// That entry.
        of: EntryId,
    },
    /// It is a copy of an entry that its book does not have before it.
    CopyOfNothing,
    /// A primary key was found, but the secondary keys said no.
    Secondary {
        /// The primary key.
        key: String,
        /// How the secondary keys combine.
        logic: SelectiveLogic,
        /// Those that were found.
        found: Vec<String>,
        /// Those that were not.
        missing: Vec<String>,
    },
    /// Another member of its group was chosen.
    Group {
        /// The group.
        group: String,
        /// The member that won, where one did.
        winner: Option<EntryId>,
        /// Why it lost.
        rule: GroupRule,
    },
    /// The roll went against it.
    Chance {
        /// The roll in per cent.
        roll: f64,
        /// What it had to stay at or below.
        probability: f64,
    },
    /// It did not fit.
    Budget {
        /// What it needed.
        needed: Tokens,
        /// What was left.
        left: Tokens,
        /// By how much lore is over its budget already, which entries that ignore it and the
        /// line ends between entries can bring about.
        #[serde(skip_serializing_if = "is_none", default)]
        over: Tokens,
    },
    /// It is larger than the whole budget.
    OverBudget {
        /// What it needed.
        needed: Tokens,
        /// The budget.
        limit: Tokens,
    },
    /// It matched in an earlier turn and stays away (`@@dont_activate_after_match`).
    Once {
        /// The user message of that turn.
        since: MessageId,
    },
    /// A condition on the state of the chat does not hold.
    Gate {
        /// The condition.
        #[serde(flatten)]
        gate: Gate,
    },
    /// Keys that forbid it were found.
    Excluded {
        /// Those keys.
        found: Vec<String>,
    },
    /// A further key it demands was not found.
    Required {
        /// The keys of which one is needed.
        missing: Vec<String>,
    },
    /// Something before it did not fit, and the budget closed.
    BudgetClosed {
        /// What it needed.
        needed: Tokens,
    },
    /// It goes to an outlet or slot, and the prompt has no marker for that.
    NoMarker {
        /// The outlet or slot.
        name: String,
    },
    /// Lore and memory together have too little room, and it is among the least important.
    NoRoom {
        /// What it needed.
        needed: Tokens,
    },
    /// Its keys do not occur often enough.
    Warmup {
        /// Occurrences it waits for.
        needed: f64,
        /// Occurrences there are.
        found: u32,
    },
    /// It was injected not long ago and pauses.
    Resting {
        /// Generations left.
        left: u32,
    },
    /// A field of it does not fit the scene.
    Context {
        /// The field.
        field: String,
        /// What the note says.
        note: Vec<String>,
        /// What the scene says.
        scene: Vec<String>,
    },
    /// It lies in a folder that is not looked into.
    Folder {
        /// The folder.
        folder: String,
        /// The folders that are.
        chosen: Vec<String>,
    },
    /// The person blocked it in this chat.
    Blocked,
    /// No note comes back so soon.
    Reinjection {
        /// Generations since.
        ago: u64,
        /// Generations that must pass.
        cooldown: u32,
    },
    /// Notes it requires are missing.
    Requires {
        /// Their titles.
        missing: Vec<String>,
    },
    /// Notes it excludes are there.
    Excludes {
        /// Their titles.
        present: Vec<String>,
    },
    /// The same text was injected not long ago.
    Stripped {
        /// In which generation.
        generation: u64,
    },
    /// There are enough notes already.
    MaxEntries {
        /// How many there may be.
        most: u32,
    },
    /// The selecting model did not choose it.
    NotSelected {
        /// Its keys that were found.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
    },
    /// The selecting model chose it, but was not sure enough.
    Unsure {
        /// How sure it was.
        confidence: String,
        /// How sure it had to be.
        needed: String,
        /// Its keys that were found.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
    },
    /// It is a guide for people who write lore, and never sent.
    Guide,
    /// The selecting model gave no choice, and the rule for that leaves it out.
    FellBack {
        /// The rule.
        to: Fallback,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_none(tokens: &Tokens) -> bool {
    tokens.0 == 0
}

/// Why a member of a group lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GroupRule {
    /// Another member is sticky.
    Sticky,
    /// It is on cooldown or delay.
    Timed,
    /// Another member matched more keys.
    Score,
    /// A member fired in an earlier pass.
    AlreadyActive,
    /// Another member has priority.
    Priority,
    /// The draw by weight.
    Weight,
    /// SillyTavern removes the last candidate when an entry loses twice.
    DoubleRemoval,
}

/// Why the expression of a key was not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyCost {
    /// It needed more steps than one key may take. It is suspended from the next turn on.
    TooManySteps,
    /// It was too slow in an earlier turn with the same lore, and was not tried.
    Suspended,
    /// The expressions of this turn used up all steps.
    NoStepsLeft,
}

/// A condition on the state of the chat that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum Gate {
    /// The chat has too few messages.
    After {
        /// How many it waits for.
        wanted: u32,
        /// How many there are.
        count: u32,
    },
    /// It fires only every so many messages.
    Every {
        /// How many.
        wanted: u32,
        /// How many there are.
        count: u32,
    },
    /// The chat began with another greeting.
    Greeting {
        /// The greeting it is for.
        wanted: u32,
        /// The greeting of the chat.
        found: u32,
    },
    /// The user has spoken since the greeting.
    GreetingOver,
    /// The user has another icon.
    UserIcon {
        /// The icon it is for.
        wanted: String,
        /// The user's.
        found: String,
    },
}

impl Stop {
    /// A key was found so many messages back, further than so many messages.
    pub fn out_of_reach(key: impl Into<String>, distance: u32, depth: u32) -> Self {
        let key = key.into();
        Self::OutOfReach { key, distance, depth, characters: None, tokens: None }
    }

    /// How far an entry got before this rule stopped it: later rules count more.
    pub(crate) fn progress(&self) -> u8 {
        match self {
            Self::Disabled | Self::Guide => 0,
            Self::Trigger { .. } => 1,
            Self::Character { .. } | Self::Tag { .. } => 2,
            Self::Delay { .. } => 3,
            Self::Cooldown { .. } => 4,
            Self::RecursionLevel { .. } => 5,
            Self::ExcludedFromRecursion | Self::RecursionLimit { .. } => 6,
            Self::Suppressed | Self::Once { .. } => 7,
            Self::Gate { .. } | Self::Copied { .. } | Self::CopyOfNothing => 8,
            Self::Excluded { .. } => 9,
            Self::NoKeys
            | Self::NoKeyFound
            | Self::KeyTooSlow { .. }
            | Self::NotNear { .. }
            | Self::LowScore { .. } => 10,
            Self::OutOfReach { .. } | Self::SearchLimit { .. } => 11,
            Self::Required { .. } => 12,
            Self::Secondary { .. } => 13,
            Self::Warmup { .. } | Self::Group { .. } => 14,
            Self::Chance { .. } => 15,
            Self::BudgetClosed { .. } => 16,
            Self::Budget { .. } | Self::OverBudget { .. } => 17,
            Self::Resting { .. } => 18,
            Self::NotSelected { .. } | Self::FellBack { .. } => 19,
            Self::Unsure { .. } => 20,
            Self::Folder { .. } => 21,
            Self::Context { .. } => 22,
            Self::Blocked => 23,
            Self::Reinjection { .. } => 24,
            Self::Requires { .. } | Self::Excludes { .. } => 25,
            Self::Stripped { .. } => 26,
            Self::MaxEntries { .. } => 27,
            Self::NoRoom { .. } => 28,
            Self::NoMarker { .. } => 29,
        }
    }

    /// The stable machine-readable code of the rule.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Trigger { .. } => "trigger",
            Self::Character { .. } => "character",
            Self::Tag { .. } => "tag",
            Self::Delay { .. } => "delay",
            Self::Cooldown { .. } => "cooldown",
            Self::RecursionLevel { .. } => "recursion_level",
            Self::ExcludedFromRecursion => "excluded_from_recursion",
            Self::RecursionLimit { .. } => "recursion_limit",
            Self::LowScore { .. } => "low_score",
            Self::SearchLimit { .. } => "search_limit",
            Self::Unsure { .. } => "unsure",
            Self::Suppressed => "suppressed",
            Self::NoKeys => "no_keys",
            Self::NoKeyFound => "no_key_found",
            Self::KeyTooSlow { .. } => "key_too_slow",
            Self::NotNear { .. } => "not_near",
            Self::OutOfReach { .. } => "out_of_reach",
            Self::Copied { .. } => "copied",
            Self::CopyOfNothing => "copy_of_nothing",
            Self::Secondary { .. } => "secondary",
            Self::Group { .. } => "group",
            Self::Chance { .. } => "chance",
            Self::Budget { .. } => "budget",
            Self::BudgetClosed { .. } => "budget_closed",
            Self::NoRoom { .. } => "no_room",
            Self::NoMarker { .. } => "no_marker",
            Self::Warmup { .. } => "warmup",
            Self::Resting { .. } => "resting",
            Self::Context { .. } => "context",
            Self::Folder { .. } => "folder",
            Self::Blocked => "blocked",
            Self::Reinjection { .. } => "reinjection",
            Self::Requires { .. } => "requires",
            Self::Excludes { .. } => "excludes",
            Self::Stripped { .. } => "stripped",
            Self::MaxEntries { .. } => "max_entries",
            Self::NotSelected { .. } => "not_selected",
            Self::Guide => "guide",
            Self::FellBack { .. } => "fell_back",
            Self::OverBudget { .. } => "over_budget",
            Self::Once { .. } => "once",
            Self::Gate { .. } => "gate",
            Self::Excluded { .. } => "excluded",
            Self::Required { .. } => "required",
        }
    }
}
