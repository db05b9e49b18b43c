//! Entries that scan so many characters or tokens of the newest text.
//!
//! Such a limit is a number of messages and a place in the oldest of them. Only that one
//! message needs more than the hits known of it: the first place of a key may lie before the
//! cut and a later one behind it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Limits, ScanReach, Sought, TurnTexts, reach::Limit};
use crate::{
    library::MOST_MESSAGES,
    scan::{Folding, Hits},
    tokens::TokenCounter,
    turn::Transcript,
};

/// What is known about limits this turn: entries of one book have mostly the same.
#[derive(Default)]
pub(super) struct LimitCache {
    /// Messages and cut, by limit and by the messages that are scanned at the most.
    cuts: FxHashMap<(Limit, u32), (u32, u32)>,
    /// What is behind a cut of a message.
    behind: FxHashMap<(u32, u32, Folding), Arc<Hits>>,
}

impl TurnTexts<'_> {
    /// The reach with no more than so much of the chat.
    pub(crate) fn limited(
        &mut self,
        reach: ScanReach,
        limits: Limits,
        counter: &dyn TokenCounter,
    ) -> ScanReach {
        limits.each().fold(reach, |reach, limit| self.limited_by(reach, limit, counter))
    }

    fn limited_by(
        &mut self,
        reach: ScanReach,
        limit: Limit,
        counter: &dyn TokenCounter,
    ) -> ScanReach {
        let transcript = self.transcript;
        let known = self.limits.cuts.entry((limit, reach.messages));
        let (messages, cut) = *known.or_insert_with(|| match limit {
            Limit::Characters(most) => transcript.newest_characters(reach.messages, most),
            Limit::Tokens(most) => transcript.newest_tokens(reach.messages, most, counter),
        });
        // The narrower of two limits counts.
        let cut = if messages == reach.messages { cut.max(reach.cut) } else { cut };
        ScanReach { messages, cut, opened: reach.opened && messages > 0, ..reach }
    }

    /// The first occurrence of a pattern in a message from a byte on. `first` is its first
    /// occurrence in the whole message.
    #[cold]
    pub(super) fn behind_cut(
        &mut self,
        (pattern, word, folding): Sought,
        message: u32,
        first: (u32, u32),
        cut: u32,
    ) -> Option<(u32, u32)> {
        let text = &self.transcript.messages[message as usize].scan;
        let (start, _) = text.raw_span(folding, (first.0 as usize, first.1 as usize));
        if start >= cut as usize {
            return Some(first);
        }
        let literals = &self.library.index(self.stages, folding).literals;
        let behind = self.limits.behind.entry((message, cut, folding)).or_insert_with(|| {
            let cut = cut as usize;
            Arc::new(Hits::find_from(literals, folding, self.words, text.as_str(), cut))
        });
        let hit = behind.get(pattern)?;
        if word { hit.word } else { Some(hit.any) }
    }
}

impl Transcript {
    /// How many of the newest messages hold so many characters, the line ends between them
    /// counted as one each, and how many bytes of the oldest of them come before.
    pub(crate) fn newest_characters(&self, messages: u32, characters: u32) -> (u32, u32) {
        let mut left = characters as usize;
        let texts = self.messages.iter().rev().map(|message| message.scan.as_str());
        for (scanned, text) in (0..messages.min(MOST_MESSAGES)).zip(texts) {
            let Some(last) = left.checked_sub(1) else { return (scanned, 0) };
            if let Some((cut, _)) = text.char_indices().rev().nth(last) {
                return (scanned + 1, u32::try_from(cut).unwrap_or(u32::MAX));
            }
            left -= text.chars().count();
            left = left.saturating_sub(1);
        }
        (messages, 0)
    }

    /// The same of tokens. Messages are counted one by one, and the oldest is cut where the
    /// rest of it has no more than what is left.
    pub(crate) fn newest_tokens(
        &self,
        messages: u32,
        tokens: u32,
        counter: &dyn TokenCounter,
    ) -> (u32, u32) {
        let mut left = tokens;
        let texts = self.messages.iter().rev().map(|message| message.scan.as_str());
        for (scanned, text) in (0..messages.min(MOST_MESSAGES)).zip(texts) {
            if left == 0 {
                return (scanned, 0);
            }
            let tokens = counter.count(text).0;
            if tokens > left {
                let cut = cut_to(text, left, counter);
                return (scanned + 1, u32::try_from(cut).unwrap_or(u32::MAX));
            }
            left -= tokens;
        }
        (messages, 0)
    }
}

/// The first byte from which a text has no more than so many tokens.
fn cut_to(text: &str, most: u32, counter: &dyn TokenCounter) -> usize {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let cut = starts.partition_point(|&at| counter.count(&text[at..]).0 > most);
    starts.get(cut).copied().unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat::Role, tokens::ByteEstimate};

    #[test]
    fn the_newest_characters_are_messages_and_a_cut() {
        let mut chat = Transcript::new(false);
        for text in ["one", "zwölf", "three"] {
            chat.push(Role::User, None, text);
        }
        for (characters, reach) in [
            (0, (0, 0)),
            (1, (1, 4)),
            (5, (1, 0)),
            // The line end between two messages.
            (6, (1, 0)),
            (7, (2, 5)),
            (9, (2, 2)),
            (11, (2, 0)),
            (15, (3, 0)),
            (99, (1000, 0)),
        ] {
            let found = chat.newest_characters(1000, characters);
            assert_eq!(found, reach, "{characters}");
        }
        assert_eq!(chat.newest_characters(1, 9), (1, 0));
        assert_eq!(chat.newest_characters(0, 9), (0, 0));
    }

    #[test]
    fn the_newest_tokens_are_messages_and_a_cut() {
        let mut chat = Transcript::new(false);
        for text in ["0123456789", "abcdefghij"] {
            chat.push(Role::User, None, text);
        }
        // Ten bytes are three tokens, six are two and three are one.
        for (tokens, reach) in
            [(0, (0, 0)), (1, (1, 7)), (2, (1, 4)), (3, (1, 0)), (4, (2, 7)), (9, (9, 0))]
        {
            assert_eq!(chat.newest_tokens(9, tokens, &ByteEstimate), reach, "{tokens}");
        }
    }
}
