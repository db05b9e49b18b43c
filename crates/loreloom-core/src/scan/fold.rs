//! Folding text before it is searched.
//!
//! Case-insensitive keys are looked for in the lower-cased text, by the full Unicode
//! mapping with the final-sigma rule: the same as JavaScript's `toLowerCase`, so that
//! lore fires here as it fires in SillyTavern. Card books also have keys whose blanks
//! stand for any run of blanks, and a mode that looks at no spaces at all; both are
//! foldings too, so that their keys are found by the same index.

use std::borrow::Cow;

/// How text is changed before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Folding {
    /// Not at all: case counts.
    Exact,
    /// Lower-cased: case does not count.
    Lower,
    /// Each run of blanks is one space.
    ExactCollapsed,
    /// Lower-cased, and each run of blanks is one space.
    LowerCollapsed,
    /// Without spaces.
    ExactSquashed,
    /// Lower-cased and without spaces.
    LowerSquashed,
}

/// What folding does to blanks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blanks {
    /// Nothing.
    #[default]
    Kept,
    /// Each run becomes one space.
    Collapsed,
    /// Spaces go.
    Squashed,
}

impl Folding {
    /// All of them, each at its index.
    pub const ALL: [Self; 6] = [
        Self::Exact,
        Self::Lower,
        Self::ExactCollapsed,
        Self::LowerCollapsed,
        Self::ExactSquashed,
        Self::LowerSquashed,
    ];

    /// The folding for keys whose case counts or not.
    pub fn new(case_counts: bool, blanks: Blanks) -> Self {
        match (case_counts, blanks) {
            (true, Blanks::Kept) => Self::Exact,
            (false, Blanks::Kept) => Self::Lower,
            (true, Blanks::Collapsed) => Self::ExactCollapsed,
            (false, Blanks::Collapsed) => Self::LowerCollapsed,
            (true, Blanks::Squashed) => Self::ExactSquashed,
            (false, Blanks::Squashed) => Self::LowerSquashed,
        }
    }

    /// Its place in [`Folding::ALL`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    fn lowers(self) -> bool {
        matches!(self, Self::Lower | Self::LowerCollapsed | Self::LowerSquashed)
    }

    pub(super) fn blanks(self) -> Blanks {
        match self {
            Self::Exact | Self::Lower => Blanks::Kept,
            Self::ExactCollapsed | Self::LowerCollapsed => Blanks::Collapsed,
            Self::ExactSquashed | Self::LowerSquashed => Blanks::Squashed,
        }
    }

    /// The text to search, as an index scans it.
    pub fn pad(self, text: &str) -> Padded {
        if self == Self::Lower && text.is_ascii() {
            let mut padded = Padded::from(text);
            padded.0.make_ascii_lowercase();
            return padded;
        }
        Padded::from(&*self.apply(text))
    }

    /// How long the beginning of a text is in the text to search.
    pub(crate) fn length(self, beginning: &str) -> usize {
        if beginning.is_empty() { 0 } else { self.apply(beginning).len() }
    }

    /// The text to search.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        let cased = match self.lowers() {
            false => Cow::Borrowed(text),
            true if text.is_ascii() => Cow::Owned(text.to_ascii_lowercase()),
            true => Cow::Owned(text.to_lowercase()),
        };
        match self.blanks() {
            Blanks::Kept => cased,
            Blanks::Collapsed => Cow::Owned(collapsed(&cased)),
            Blanks::Squashed => Cow::Owned(cased.replace(' ', "")),
        }
    }
}

/// A text with room behind it, so that a scan may read past its end.
#[derive(Clone, Debug)]
pub struct Padded(String);

impl Padded {
    /// Bytes behind the text.
    pub(super) const PAD: usize = 15;

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0[..self.0.len() - Self::PAD]
    }

    /// The text with what is behind it.
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<&str> for Padded {
    fn from(text: &str) -> Self {
        let mut padded = String::with_capacity(text.len() + Self::PAD);
        padded.push_str(text);
        padded.extend(std::iter::repeat_n('\0', Self::PAD));
        Self(padded)
    }
}

fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_run = false;
    for character in text.chars() {
        let blank = character.is_whitespace();
        if !blank {
            out.push(character);
        } else if !in_run {
            out.push(' ');
        }
        in_run = blank;
    }
    out
}

/// The bytes of `raw` that a span of the folded text came from.
///
/// Walks the text: only matches that somebody looks at are mapped back, and only in texts
/// where folding may have changed lengths.
pub fn raw_span(raw: &str, folding: Folding, (start, end): (usize, usize)) -> (usize, usize) {
    let blanks = folding.blanks();
    if blanks == Blanks::Kept && (!folding.lowers() || raw.is_ascii()) {
        return (start, end);
    }
    let mut folded = 0;
    let mut in_run = false;
    let mut first = None;
    let mut last = 0;
    for (offset, character) in raw.char_indices() {
        if folded >= end {
            break;
        }
        let blank = character.is_whitespace();
        let width = match blanks {
            Blanks::Collapsed if blank => usize::from(!in_run),
            Blanks::Squashed if character == ' ' => 0,
            // A final sigma is as long as any other sigma, so single characters suffice.
            Blanks::Kept | Blanks::Collapsed | Blanks::Squashed if folding.lowers() => {
                character.to_lowercase().map(char::len_utf8).sum()
            }
            Blanks::Kept | Blanks::Collapsed | Blanks::Squashed => character.len_utf8(),
        };
        in_run = blank;
        if folded >= start && width > 0 {
            first.get_or_insert(offset);
        }
        folded += width;
        last = offset + character.len_utf8();
    }
    (first.unwrap_or(last), last)
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
        assert_eq!(raw_span(raw, Folding::Lower, (at, folded.len())), (3, raw.len()));
        assert_eq!(raw_span("a dragon", Folding::Lower, (2, 8)), (2, 8));
    }

    #[test]
    fn runs_of_blanks_are_one_space_or_none() {
        for (folding, raw, folded, span, back) in [
            (Folding::LowerCollapsed, "Old\n\t Mill", "old mill", (4, 8), (6, 10)),
            (Folding::LowerCollapsed, "Old\n\t Mill", "old mill", (0, 3), (0, 3)),
            (Folding::ExactCollapsed, "Old\u{a0}Mill", "Old Mill", (4, 6), (5, 7)),
            (Folding::LowerSquashed, "He  art ", "heart", (2, 5), (4, 7)),
            (Folding::LowerSquashed, "He  art ", "heart", (0, 2), (0, 2)),
            (Folding::ExactSquashed, "He\nart", "He\nart", (3, 4), (3, 4)),
        ] {
            assert_eq!(folding.apply(raw), folded, "{raw}");
            assert_eq!(raw_span(raw, folding, span), back, "{raw}");
        }
        for (at, folding) in Folding::ALL.into_iter().enumerate() {
            assert_eq!(folding.index(), at);
            assert_eq!(Folding::new(!folding.lowers(), folding.blanks()), folding);
        }
    }
}
