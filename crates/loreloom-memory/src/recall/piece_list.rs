//! The pieces of all passages.
//!
//! Every search reads them, so they are flat lists of small numbers: a vector of strings for each
//! piece took four times the memory.

use std::ops::Range;

use crate::number::{clamp_u32, clamp_usize};

/// Pieces in the order of their passages.
#[derive(Clone, Debug, Default)]
pub(super) struct PieceList {
    /// The passage of each piece.
    passages: Vec<u32>,
    /// Its bytes in the passage.
    ranges: Vec<(u32, u32)>,
    /// The distinct terms of all pieces.
    terms: Vec<u32>,
    /// Where the terms of each piece end.
    ends: Vec<usize>,
}

impl PieceList {
    pub(super) fn len(&self) -> usize {
        self.passages.len()
    }

    /// Adds the next piece of a passage.
    pub(super) fn push(&mut self, passage: usize, range: &Range<usize>, terms: &[u32]) {
        self.passages.push(clamp_u32(passage));
        self.ranges.push((clamp_u32(range.start), clamp_u32(range.end)));
        self.terms.extend_from_slice(terms);
        self.ends.push(self.terms.len());
    }

    pub(super) fn truncate(&mut self, left: usize) {
        self.passages.truncate(left);
        self.ranges.truncate(left);
        self.ends.truncate(left);
        self.terms.truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// The passage of each piece.
    pub(super) fn passages(&self) -> &[u32] {
        &self.passages
    }

    /// The passage of a piece.
    pub(super) fn passage(&self, piece: usize) -> usize {
        clamp_usize(self.passages[piece].into())
    }

    /// The bytes of a piece in its passage.
    pub(super) fn range(&self, piece: usize) -> Range<usize> {
        let (start, end) = self.ranges[piece];
        clamp_usize(start.into())..clamp_usize(end.into())
    }

    /// The distinct terms of a piece.
    pub(super) fn terms(&self, piece: usize) -> &[u32] {
        let start = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.terms[start..self.ends[piece]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_terms_when_later_ones_go() {
        let mut pieces = PieceList::default();
        pieces.push(0, &(0..5), &[1, 2]);
        pieces.push(1, &(0..3), &[]);
        pieces.push(1, &(3..9), &[2, 7, 8]);
        assert_eq!(pieces.terms(0), [1, 2]);
        assert!(pieces.terms(1).is_empty());
        assert_eq!(
            (pieces.terms(2), pieces.passage(2), pieces.range(2)),
            (&[2, 7, 8][..], 1, 3..9)
        );
        pieces.truncate(1);
        pieces.push(1, &(0..4), &[5]);
        assert_eq!((pieces.terms(1), pieces.passages()), (&[5][..], &[0, 1][..]));
    }
}
