//! Text functions: words, keywords, sentences, names, token estimates.

use serde::{Deserialize, Serialize};

mod estimate;
mod keywords;
mod mentions;
mod pattern;
mod sentences;
mod whole_word;
mod words;

pub use self::{
    estimate::{CutPoint, QuarterEstimate, cut_to_share},
    keywords::{Frequencies, keywords, long_words},
    mentions::mentions,
    sentences::sentences,
    whole_word::contains_word,
    words::{jaccard, overlap_of_larger},
};
pub(crate) use self::{pattern::pattern, whole_word::is_unspaced};

/// How texts are read, compared and cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextRules {
    /// The meaning counts. A tag may be indented, a bullet may come before a pair, `None.` is
    /// no value, and only markup is read as markup. Letters of every script form words, and a
    /// part of a name names a person. Nothing exceeds its budget.
    #[default]
    Tolerant,
    /// The letter counts, as in Smart Memory. A reply must keep to its form. Only A to Z form
    /// words ("naïve" falls apart), and only the whole name as written names a person. In
    /// relationships a name also counts inside another word. The best memories of some kinds and
    /// the last part of a profile may exceed their budgets.
    Literal,
}

impl TextRules {
    /// Whether a word may contain this character.
    pub(crate) fn has(self, character: char) -> bool {
        self.choose(character.is_alphanumeric(), character.is_ascii_alphanumeric())
    }

    pub(crate) fn is_tolerant(self) -> bool {
        self == Self::Tolerant
    }

    /// The value for these rules.
    pub(crate) fn choose<T>(self, tolerant: T, literal: T) -> T {
        match self {
            Self::Tolerant => tolerant,
            Self::Literal => literal,
        }
    }
}

/// The length of a text in UTF-16 units, as in Smart Memory, whose limits we use.
pub(crate) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The form of a text for comparisons and for its vector.
pub fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The lines of a model's reply, with any line ending.
pub(crate) fn reply_lines(reply: &str) -> impl Iterator<Item = &str> {
    reply.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty())
}

/// All line endings of a reply.
pub(crate) const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// The first `limit` characters.
pub fn head(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

/// The last `limit` characters.
pub fn tail(text: &str, limit: usize) -> &str {
    let skip = text.chars().count().saturating_sub(limit);
    text.char_indices().nth(skip).map_or("", |(start, _)| &text[start..])
}
