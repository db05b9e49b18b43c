//! Small measures of text: words, keywords, sentences, names, token estimates.

mod estimate;
mod keywords;
mod mentions;
mod pattern;
mod sentences;
mod whole_word;
mod words;

pub use self::{
    estimate::{QuarterEstimate, cut_to_share},
    keywords::{Frequencies, keywords, long_words},
    mentions::mentions,
    sentences::sentences,
    whole_word::contains_word,
    words::{jaccard, overlap_of_larger},
};
pub(crate) use self::{pattern::pattern, whole_word::is_unspaced};

/// The form in which texts are compared and their vectors are looked up.
pub fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The lines of a model's reply, whatever ends them.
pub(crate) fn reply_lines(reply: &str) -> impl Iterator<Item = &str> {
    reply.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty())
}

/// The first `limit` characters.
pub fn head(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

/// The last `limit` characters.
pub fn tail(text: &str, limit: usize) -> &str {
    let skip = text.chars().count().saturating_sub(limit);
    text.char_indices().nth(skip).map_or("", |(start, _)| &text[start..])
}
