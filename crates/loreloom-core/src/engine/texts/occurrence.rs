//! Where a pattern occurs among the parts of a turn's text.

use rustc_hash::FxHashMap;

use crate::scan::{Folding, PatternId};

/// What was found this turn, by folding.
pub(crate) type Occurrences = [FxHashMap<PatternId, Occurrence>; Folding::ALL.len()];

/// Where a pattern occurs. The word half holds only occurrences that are whole words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Occurrence {
    pub(super) any: Places,
    pub(super) word: Places,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    /// One more than the index, from the oldest, of the newest message; 0 is none.
    pub(super) newest: u32,
    /// Where in that message.
    pub(super) in_newest: (u32, u32),
    pub(super) cards: u8,
    pub(super) prompts: bool,
    /// One more than the place in `TurnTexts::chain` of the oldest message before that one; 0 is
    /// none.
    pub(super) older: u32,
    /// One more than the place in `TurnTexts::chain` of the last lore text; 0 is none.
    pub(super) lore: u32,
}

/// A further message or lore text that holds a pattern, and the link before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Its index among the messages, from the oldest, or among the lore texts.
    pub(super) text: u32,
    pub(super) at: (u32, u32),
    pub(super) before: u32,
}

/// A part that is being scanned.
#[derive(Clone, Copy)]
pub(super) enum ScannedPart {
    Message(u32),
    Card(usize),
    Prompt,
    Lore(u32),
}

impl Places {
    pub(super) fn add(&mut self, part: ScannedPart, at: (u32, u32), chain: &mut Vec<Link>) {
        match part {
            // Messages are scanned from the newest, so this is an older one.
            ScannedPart::Message(text) if text < self.newest => {
                chain.push(Link { text, at, before: self.older });
                self.older = u32::try_from(chain.len()).unwrap_or(u32::MAX);
            }
            ScannedPart::Message(index) => {
                self.newest = index + 1;
                self.in_newest = at;
            }
            ScannedPart::Card(at) => self.cards |= 1 << at,
            ScannedPart::Prompt => self.prompts = true,
            ScannedPart::Lore(text) => {
                chain.push(Link { text, at, before: self.lore });
                self.lore = u32::try_from(chain.len()).unwrap_or(u32::MAX);
            }
        }
    }
}
