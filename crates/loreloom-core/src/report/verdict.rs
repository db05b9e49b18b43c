//! What was decided about an entry.

use serde::{Deserialize, Serialize};

use super::{Fallback, Stop, Trigger};
use crate::{
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
    pub kept_place: Option<Box<KeptPlace>>,
    /// Whether its book takes part only because nobody is known to speak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub speaker_unknown: bool,
}

/// The place of a text that is kept for the prompt cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
        Self { book, entry, title, outcome, kept_place: None, speaker_unknown: false }
    }

    /// Whether the text of an earlier turn is in the prompt though the entry did not fire.
    pub fn lingers(&self) -> bool {
        match &self.outcome {
            Outcome::Activated { .. } => false,
            Outcome::Stopped(_) => self.kept_place.is_some(),
        }
    }

    /// The tokens that its text takes in the prompt, if it is there.
    pub fn tokens(&self) -> Option<Tokens> {
        match &self.outcome {
            Outcome::Activated { tokens, .. } => Some(*tokens),
            Outcome::Stopped(_) => self.kept_place.as_ref().map(|kept| kept.tokens),
        }
    }

    /// The place of its text in the prompt, if it is there.
    pub fn place(&self) -> Option<&Place> {
        let own = match &self.outcome {
            Outcome::Activated { place, .. } => place.as_ref(),
            Outcome::Stopped(_) => None,
        };
        self.kept_place.as_ref().map(|kept| &kept.place).or(own)
    }

    /// The stable machine-readable code of the decision.
    pub fn code(&self) -> &'static str {
        match &self.outcome {
            Outcome::Activated { .. } => "activated",
            Outcome::Stopped(stop) => stop.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    /// The codes of verdicts, read from the `match`es that give them.
    fn codes() -> Vec<&'static str> {
        let files = [include_str!("verdict.rs"), include_str!("stop.rs")];
        let lines = files.iter().flat_map(|text| text.lines()).map(str::trim);
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
