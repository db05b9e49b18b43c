//! What an entry's keys are looked for in.

use crate::{book::MatchSources, turn::CardTexts};

/// What an entry's keys are looked for in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ScanReach {
    /// Messages, from the newest.
    pub(crate) messages: u32,
    /// Bytes at the beginning of the oldest of them that are out of reach.
    pub(crate) cut: u32,
    /// Which card texts, one bit each in the order of [`card_texts`].
    pub(crate) cards: u8,
    /// Whether the prompts count.
    pub(crate) prompts: bool,
    /// Whether the text of activated entries counts.
    pub(crate) lore: bool,
    /// Whether the joined text begins with the messages, even where none is in reach.
    pub(crate) opened: bool,
}

/// How much of the newest chat text an entry scans, where it counts no messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Characters (`NovelAI`, Kobold).
    pub(crate) characters: Option<u32>,
    /// Tokens (`@@instruct_scan_depth`).
    pub(crate) tokens: Option<u32>,
}

impl Limits {
    pub(super) fn each(self) -> impl Iterator<Item = Limit> {
        let characters = self.characters.map(Limit::Characters);
        characters.into_iter().chain(self.tokens.map(Limit::Tokens))
    }
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Limit {
    Characters(u32),
    Tokens(u32),
}

/// How far back something scans: so many messages or so many characters, whichever is more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Furthest {
    pub(crate) messages: u32,
    pub(crate) characters: u32,
}

impl Furthest {
    /// So many messages.
    pub(crate) fn messages(messages: u32) -> Self {
        Self { messages, characters: 0 }
    }

    /// The further of two.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            messages: self.messages.max(other.messages),
            characters: self.characters.max(other.characters),
        }
    }
}

/// The card texts an entry looks into.
pub(crate) fn card_bits(sources: MatchSources) -> u8 {
    [
        sources.persona,
        sources.description,
        sources.personality,
        sources.depth_prompt,
        sources.scenario,
        sources.creator_notes,
    ]
    .iter()
    .enumerate()
    .fold(0, |bits, (at, &wanted)| bits | (u8::from(wanted) << at))
}

/// The card texts in the order of their bits. `block` replaces those that are not known and that
/// prompts contain: a character's note is inside the chat, and creator's notes are not sent.
pub(super) fn card_texts<'a>(card: &'a CardTexts, block: &'a str) -> [&'a str; 6] {
    let shown = |text: &'a String| if text.is_empty() { block } else { text };
    [
        shown(&card.persona),
        shown(&card.description),
        shown(&card.personality),
        &card.depth_prompt,
        shown(&card.scenario),
        &card.creator_notes,
    ]
}
