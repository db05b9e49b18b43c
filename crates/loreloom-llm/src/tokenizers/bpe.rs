//! Counts tokens by byte pairs, in a tenth of the memory that encoding and decoding need.
//!
//! A text is cut into pieces, and in each piece the pair of neighbours that the vocabulary
//! ranks first is joined until none is left. Only the number of parts that remain is needed here.

use std::{cmp::Reverse, collections::BinaryHeap};

use regex_automata::{Anchored, Input, meta};

use super::table::Table;

/// A vocabulary that counts.
#[derive(Debug)]
pub(super) struct Bpe {
    tokens: Table<'static>,
    pieces: Pieces,
}

impl Bpe {
    /// A vocabulary of these tokens that cuts texts like this.
    pub(super) fn new(tokens: Table<'static>, pieces: Pieces) -> Self {
        Self { tokens, pieces }
    }

    /// The tokens of a text.
    pub(super) fn count(&self, text: &str) -> usize {
        self.pieces.of(text).map(|piece| self.count_piece(piece.as_bytes())).sum()
    }

    fn count_piece(&self, piece: &[u8]) -> usize {
        if self.tokens.rank(piece).is_some() { 1 } else { Parts::of(piece).joined(&self.tokens) }
    }
}

/// How a vocabulary cuts texts.
#[derive(Debug)]
pub(super) struct Pieces {
    pattern: meta::Regex,
    /// Whether line ends have a rule of their own, before the one for blanks.
    cuts_lines: bool,
}

impl Pieces {
    /// The published pattern without its last rules, which are the same in all: a run of blanks
    /// leaves its last one to the word behind it. That rule looks ahead, which the pattern
    /// cannot; it is applied to the matches.
    pub(super) fn new(pattern: &str, cuts_lines: bool) -> Result<Self, Box<meta::BuildError>> {
        let pattern = meta::Regex::new(&format!(r"{pattern}|\s+"))?;
        Ok(Self { pattern, cuts_lines })
    }

    fn of<'text>(&self, text: &'text str) -> impl Iterator<Item = &'text str> {
        let mut at = 0;
        std::iter::from_fn(move || {
            // Every character begins a piece. An anchored search need not go back to find where
            // one begins.
            let here = Input::new(text).range(at..).anchored(Anchored::Yes);
            let found = self.pattern.search(&here)?;
            let piece = &text[found.start()..self.end(text, found.start(), found.end())];
            at = found.start() + piece.len();
            Some(piece)
        })
    }

    /// Where a piece ends.
    fn end(&self, text: &str, start: usize, end: usize) -> usize {
        let piece = &text[start..end];
        let Some(last) = piece.chars().next_back().filter(|last| last.is_whitespace()) else {
            return end;
        };
        let by_line = self.cuts_lines && matches!(last, '\r' | '\n');
        let before_word = text[end..].chars().next().is_some_and(|next| !next.is_whitespace());
        let shorter = end - last.len_utf8();
        let blank = piece.chars().all(char::is_whitespace);
        if blank && before_word && !by_line && shorter > start { shorter } else { end }
    }
}

/// The parts of a piece, each named by its first byte.
struct Parts<'piece> {
    piece: &'piece [u8],
    /// Where the next part begins; nowhere for bytes inside of a part.
    next: Vec<Option<usize>>,
    before: Vec<usize>,
}

/// A pair that may be joined: its rank, its first byte, its end.
type Pair = Reverse<(u32, usize, usize)>;

impl<'piece> Parts<'piece> {
    /// Every byte is a part.
    fn of(piece: &'piece [u8]) -> Self {
        let next = (1..=piece.len()).map(Some).collect();
        let before = (0..piece.len()).map(|at| at.saturating_sub(1)).collect();
        Self { piece, next, before }
    }

    /// Where the pair that begins here ends.
    fn pair_end(&self, at: usize) -> Option<usize> {
        self.next.get(self.next[at]?).copied().flatten()
    }

    fn pair(&self, tokens: &Table<'_>, at: usize) -> Option<Pair> {
        let end = self.pair_end(at)?;
        Some(Reverse((tokens.rank(&self.piece[at..end])?, at, end)))
    }

    /// How many parts are left when every pair that is a token has been joined, the first in
    /// rank before all others.
    fn joined(mut self, tokens: &Table<'_>) -> usize {
        let mut left = self.piece.len();
        let pairs = (0..left).filter_map(|at| self.pair(tokens, at));
        let mut pairs: BinaryHeap<Pair> = pairs.collect();
        while let Some(Reverse((_, at, end))) = pairs.pop() {
            // One of the two was joined with another meanwhile.
            if self.pair_end(at) != Some(end) {
                continue;
            }
            if let Some(second) = self.next[at].replace(end) {
                self.next[second] = None;
            }
            if let Some(before) = self.before.get_mut(end) {
                *before = at;
            }
            left -= 1;
            pairs.extend(self.pair(tokens, at));
            if at > 0 {
                pairs.extend(self.pair(tokens, self.before[at]));
            }
        }
        left
    }
}
