//! Folding text before it is searched.
//!
//! Case-insensitive keys are looked for in the lower-cased text, by the full Unicode
//! mapping with the final-sigma rule: the same as JavaScript's `toLowerCase`, so that
//! lore fires here as it fires in SillyTavern.

use std::borrow::Cow;

/// How text is changed before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Folding {
    /// Not at all: case counts.
    Exact,
    /// Lower-cased: case does not count.
    Lower,
}

impl Folding {
    /// The text to search.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => Cow::Borrowed(text),
            Self::Lower if text.is_ascii() => Cow::Owned(text.to_ascii_lowercase()),
            Self::Lower => Cow::Owned(text.to_lowercase()),
        }
    }
}

/// The byte of `raw` that byte `at` of the folded text stands for.
///
/// Walks the text: only matches that somebody looks at are mapped back, and only in texts
/// where folding may have changed lengths.
pub fn raw_offset(raw: &str, folding: Folding, at: usize) -> usize {
    if folding == Folding::Exact || raw.is_ascii() {
        return at;
    }
    let mut folded = 0;
    for (offset, character) in raw.char_indices() {
        if folded >= at {
            return offset;
        }
        // A final sigma is as long as any other sigma, so single characters suffice.
        folded += character.to_lowercase().map(char::len_utf8).sum::<usize>();
    }
    raw.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_casing_follows_javascript() {
        for (raw, folded) in
            [("DRAGON", "dragon"), ("ΟΔΟΣ", "οδος"), ("İ", "i\u{307}"), ("ẞ", "ß"), ("ﬁ", "ﬁ")]
        {
            assert_eq!(Folding::Lower.apply(raw), folded);
            assert_eq!(Folding::Exact.apply(raw), raw);
        }
    }

    #[test]
    fn offsets_are_mapped_back_where_folding_changed_a_length() {
        let raw = "İ dragon";
        let folded = Folding::Lower.apply(raw).into_owned();
        let at = folded.find("dragon").unwrap();
        assert_eq!((at, raw_offset(raw, Folding::Lower, at)), (4, 3));
        assert_eq!(raw_offset(raw, Folding::Lower, folded.len()), raw.len());
        assert_eq!(raw_offset("a dragon", Folding::Lower, 2), 2);
    }
}
