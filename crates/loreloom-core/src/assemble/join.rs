//! Texts of one place become one text.

use crate::{
    engine::in_format,
    place::{Injection, Provenance},
    report::Span,
    units::Tokens,
};

/// Several injections as one text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// The text.
    pub text: String,
    /// Where in it each injection is.
    pub pieces: Vec<JoinedPiece>,
}

/// An injection inside a joined text.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedPiece {
    /// Where it comes from.
    pub source: Provenance,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Its tokens.
    pub tokens: Tokens,
}

impl Joined {
    /// Joins by line ends, as SillyTavern does.
    pub fn of<'a>(injections: impl IntoIterator<Item = &'a Injection>) -> Self {
        let mut joined = Self::default();
        for injection in injections {
            if !joined.pieces.is_empty() {
                joined.text.push('\n');
            }
            let start = joined.text.len();
            joined.text.push_str(&injection.text);
            joined.pieces.push(JoinedPiece {
                source: injection.source.clone(),
                start,
                end: joined.text.len(),
                tokens: injection.tokens,
            });
        }
        joined
    }

    /// Adds another text at the end.
    pub(super) fn append(&mut self, other: Self) {
        let offset = self.text.len();
        self.text.push_str(&other.text);
        self.pieces.extend(other.pieces.into_iter().map(|piece| JoinedPiece {
            start: piece.start + offset,
            end: piece.end + offset,
            ..piece
        }));
    }

    /// The same with text around it.
    pub(super) fn framed(mut self, lead: &str, trail: &str) -> Self {
        for piece in &mut self.pieces {
            piece.start += lead.len();
            piece.end += lead.len();
        }
        self.text = format!("{lead}{}{trail}", self.text);
        self
    }

    /// The same in the front end's format for World Info ([`in_format`]). Of a format that repeats
    /// the lore, the first copy is reported.
    pub(super) fn formatted(self, format: &str) -> Self {
        let text = in_format(&self.text, format);
        match format.split_once("{0}") {
            Some((lead, _)) if text.starts_with(lead) && !self.is_empty() => {
                let trail = text[lead.len() + self.text.len()..].to_owned();
                self.framed(lead, &trail)
            }
            Some(_) => self,
            None if text == self.text => self,
            // The author of the format left no room for lore.
            None => Self { text, pieces: Vec::new() },
        }
    }

    /// Whether nothing was joined.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The spans once this text is at byte `offset` of message `message`.
    pub fn spans(&self, message: usize, offset: usize) -> impl Iterator<Item = Span> {
        self.pieces.iter().map(move |piece| Span {
            source: piece.source.clone(),
            message,
            start: offset + piece.start,
            end: offset + piece.end,
            tokens: piece.tokens,
        })
    }
}
