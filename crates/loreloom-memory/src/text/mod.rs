//! Small measures of text: words, keywords, sentences, names, token estimates.

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

/// Which letters make words and names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Words {
    /// Those of every script; one word of a longer name names its bearer too.
    #[default]
    All,
    /// A to Z, and nobody is named but by the whole name as it is written. Smart Memory reads
    /// so: "naïve" falls into pieces, and what is written in other scripts has no words at all.
    Ascii,
}

impl Words {
    /// Whether a word may hold this character.
    pub(crate) fn has(self, character: char) -> bool {
        match self {
            Self::All => character.is_alphanumeric(),
            Self::Ascii => character.is_ascii_alphanumeric(),
        }
    }
}

/// How long Smart Memory takes a text to be: in UTF-16 units. Its limits were set so.
pub(crate) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The form in which texts are compared and their vectors are looked up.
pub fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The lines of a model's reply, whatever ends them.
pub(crate) fn reply_lines(reply: &str) -> impl Iterator<Item = &str> {
    reply.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty())
}

/// What ends a line where a reply is read as a whole.
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
