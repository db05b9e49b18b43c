//! Folding text before a vault's keys are looked for.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::VaultRules;
use crate::scan::{Folding, Padded};

/// How text is folded before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextFolding {
    pub(super) case: Folding,
    compose: bool,
    /// Whether small letters that share a capital are one letter.
    join_variants: bool,
}

/// Small letters that share their capital with another, and that other. DeepLore looks for whole
/// words with a regular expression that ignores case, to which they are the same.
const VARIANTS: [(char, char); 20] = [
    ('µ', 'μ'),
    ('\u{345}', 'ι'),
    ('ς', 'σ'),
    ('ϐ', 'β'),
    ('ϑ', 'θ'),
    ('ϕ', 'φ'),
    ('ϖ', 'π'),
    ('ϰ', 'κ'),
    ('ϱ', 'ρ'),
    ('ϵ', 'ε'),
    ('ᲀ', 'в'),
    ('ᲁ', 'д'),
    ('ᲂ', 'о'),
    ('ᲃ', 'с'),
    ('ᲄ', 'т'),
    ('ᲅ', 'т'),
    ('ᲆ', 'ъ'),
    ('ᲇ', 'ѣ'),
    ('ᲈ', 'ꙋ'),
    ('ẛ', 'ṡ'),
];

/// A lower-cased text in which letters that share a capital are one.
fn joined(text: &str) -> Option<String> {
    let usual = |letter: char| VARIANTS.iter().find(|(variant, _)| *variant == letter);
    let has_any = !text.is_ascii() && text.chars().any(|letter| usual(letter).is_some());
    has_any.then(|| text.chars().map(|one| usual(one).map_or(one, |(_, usual)| *usual)).collect())
}

impl TextFolding {
    pub(super) fn of(rules: &VaultRules) -> Self {
        let case = if rules.keys.case_sensitive { Folding::Exact } else { Folding::Lower };
        let bytes = rules.keys.case_sensitive && rules.quirks.exact_is_bytes;
        let join_variants = rules.keys.whole_words && !rules.keys.case_sensitive;
        Self { case, compose: !bytes, join_variants }
    }

    /// Whether offsets in the folded text can be traced back.
    pub(super) fn is_traceable(self, text: &str) -> bool {
        if text.is_ascii() {
            return true;
        }
        // The Slavonic variants are longer than their base letters, the others are not.
        let is_longer = |letter: char| ('\u{1c80}'..='\u{1c88}').contains(&letter);
        let moved = self.join_variants && text.contains(is_longer);
        !moved && (!self.compose || is_nfc_quick(text.chars()) == IsNormalized::Yes)
    }

    /// The span of a text whose letters are composed before it is searched. Folding a longer
    /// beginning never gives a shorter one, so the ends are found by halving.
    pub(super) fn span_of(self, text: &str, (start, end): (usize, usize)) -> (usize, usize) {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let folded = |at: &usize| self.apply(&text[..*at]).len();
        let first = ends.partition_point(|at| folded(at) <= start).saturating_sub(1);
        let last = ends.partition_point(|at| folded(at) < end).min(ends.len() - 1);
        (ends[first], ends[last])
    }

    /// The text to search, as an index scans it.
    pub(super) fn pad(self, text: &str) -> Padded {
        if self.is_traceable(text) && (text.is_ascii() || !self.join_variants) {
            return self.case.pad(text);
        }
        Padded::from(&*self.apply(text))
    }

    /// The text to search. Text without marks, which is most, is not copied to compose it.
    pub(super) fn apply(self, text: &str) -> Cow<'_, str> {
        let folded = if self.is_traceable(text) {
            self.case.apply(text)
        } else {
            let composed: String = text.nfc().collect();
            Cow::Owned(self.case.apply(&composed).into_owned())
        };
        match self.join_variants.then(|| joined(&folded)).flatten() {
            Some(joined) => Cow::Owned(joined),
            None => folded,
        }
    }
}
