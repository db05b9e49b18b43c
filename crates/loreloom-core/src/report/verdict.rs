//! What was decided about an entry.

use serde::{Deserialize, Serialize};

use super::{Fallback, Trigger};
use crate::{
    book::SelectiveLogic,
    cache_placement::Zone,
    ids::{BookId, EntryId, MessageId},
    place::Place,
    units::{MessageCount, Tokens},
};

/// What was decided about one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// The entry's book.
    pub book: BookId,
    /// The entry.
    pub entry: EntryId,
    /// What people call it.
    pub title: String,
    /// The decision.
    pub outcome: Outcome,
    /// Where its text is kept for the prompt cache: perhaps not at its author's place, and perhaps
    /// though it did not fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands: Option<Box<KeptPlace>>,
    /// Whether its book takes part only because nobody is known to speak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub speaker_unknown: bool,
}

/// The place of a text that is kept for the prompt cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Standing))]
pub struct KeptPlace {
    /// The place in this prompt.
    pub place: Place,
    /// Which part of the prompt that is.
    pub zone: Zone,
    /// The tokens of its text.
    pub tokens: Tokens,
    /// The length of the story when it was first not asked for any more, if it lingers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<MessageCount>,
}

/// The decision about an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Outcome {
    /// It fired.
    Activated {
        /// Where it went; `None` if it names no known place or had no text.
        place: Option<Place>,
        /// The tokens of its text.
        tokens: Tokens,
        /// The tokens it had before it was shortened to fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shortened_from: Option<Tokens>,
        /// How it came to fire.
        trigger: Box<Trigger>,
    },
    /// A rule stopped it: the first that did.
    Stopped(Stop),
}

/// The rule that let an entry in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// A key was found.
    Key,
    /// It always fires.
    Constant,
    /// It fired before and stays.
    Sticky {
        /// The chat length at which it ends.
        until: MessageCount,
    },
    /// `@@activate`.
    Decorator,
    /// The host asked for it.
    Forced,
    /// The chat is new, and it is for new chats.
    Bootstrap,
    /// It is about the character who speaks.
    ActiveCharacter,
    /// Another note brings it along.
    Cascade {
        /// That note.
        from: EntryId,
    },
    /// Another candidate links to it.
    Linked {
        /// That note.
        from: EntryId,
    },
    /// It is about what is being said.
    Fuzzy {
        /// How well it fits.
        score: f64,
    },
    /// The person pinned it to this chat.
    Pinned,
    /// The selecting model chose it.
    Selected {
        /// How sure it was.
        confidence: String,
        /// What it said.
        why: String,
    },
    /// The selecting model gave no choice, and the rule for that lets it in.
    Fallback {
        /// The rule.
        to: Fallback,
    },
    /// It matched in an earlier turn and is kept (`@@keep`).
    Kept {
        /// The user message of that turn.
        since: MessageId,
    },
    /// Its meaning is near to the chat's.
    Semantic {
        /// How near.
        score: f64,
        /// How near it had to be, where that was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threshold: Option<f64>,
    },
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
        /// The key that brought it before the model, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// The selecting model chose it, but was not sure enough.
    Unsure {
        /// How sure it was.
        confidence: String,
        /// How sure it had to be.
        needed: String,
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

impl Reason {
    /// The stable machine-readable code of the rule.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Constant => "constant",
            Self::Sticky { .. } => "sticky",
            Self::Decorator => "decorator",
            Self::Forced => "forced",
            Self::Bootstrap => "bootstrap",
            Self::ActiveCharacter => "active_character",
            Self::Cascade { .. } => "cascade",
            Self::Linked { .. } => "linked",
            Self::Fuzzy { .. } => "fuzzy",
            Self::Pinned => "pinned",
            Self::Selected { .. } => "selected",
            Self::Fallback { .. } => "fallback",
            Self::Kept { .. } => "kept",
            Self::Semantic { .. } => "semantic",
        }
    }
}

impl Verdict {
    /// A verdict without a kept place.
    pub fn new(book: BookId, entry: EntryId, title: String, outcome: Outcome) -> Self {
        Self { book, entry, title, outcome, stands: None, speaker_unknown: false }
    }

    /// Whether the text of an earlier turn is in the prompt though the entry did not fire.
    pub fn lingers(&self) -> bool {
        match &self.outcome {
            Outcome::Activated { .. } => false,
            Outcome::Stopped(_) => self.stands.is_some(),
        }
    }

    /// The tokens that its text takes in the prompt, if it is there.
    pub fn tokens(&self) -> Option<Tokens> {
        match &self.outcome {
            Outcome::Activated { tokens, .. } => Some(*tokens),
            Outcome::Stopped(_) => self.stands.as_ref().map(|stands| stands.tokens),
        }
    }

    /// The place of its text in the prompt, if it is there.
    pub fn place(&self) -> Option<&Place> {
        let own = match &self.outcome {
            Outcome::Activated { place, .. } => place.as_ref(),
            Outcome::Stopped(_) => None,
        };
        self.stands.as_ref().map(|stands| &stands.place).or(own)
    }

    /// The stable machine-readable code of the decision.
    pub fn code(&self) -> &'static str {
        match &self.outcome {
            Outcome::Activated { .. } => "activated",
            Outcome::Stopped(stop) => stop.code(),
        }
    }
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

#[cfg(test)]
mod tests {
    /// The codes of this file, read from the `match`es that give them.
    fn codes() -> Vec<&'static str> {
        let lines = include_str!("verdict.rs").lines().map(str::trim);
        let coded =
            lines.filter(|line| line.starts_with("Self::") || line.starts_with("Outcome::"));
        coded.filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\",")).collect()
    }

    #[test]
    fn every_code_is_in_the_book_and_no_other() {
        let book = include_str!("../../../../docs/verdicts.md");
        let rows = book.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let mut told: Vec<&str> = rows.map(|(code, _)| code).collect();
        let mut codes = codes();
        assert_eq!(codes.len(), 61);
        codes.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, codes);
    }
}
