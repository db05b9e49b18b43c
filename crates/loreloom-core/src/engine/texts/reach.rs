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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Limit {
    /// Characters (`NovelAI`, Kobold).
    Characters(u32),
    /// Tokens (`@@instruct_scan_depth`).
    Tokens(u32),
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
