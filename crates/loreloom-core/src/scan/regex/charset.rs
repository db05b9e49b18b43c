//! Sets of characters, and which characters are the same if case is ignored.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};
use rustc_hash::FxHashMap;

/// The last code point.
const LAST: u32 = 0x10_FFFF;
/// Larger sets are folded by going through all letters that have a case.
const FEW: u32 = 64;

/// A set of code points or UTF-16 units: sorted ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharSet(Vec<(u32, u32)>);

impl CharSet {
    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        let mut set = Self(ranges.to_vec());
        set.normalize();
        set
    }

    pub(super) fn one(character: u32) -> Self {
        Self(vec![(character, character)])
    }

    pub(super) fn digits() -> Self {
        Self::of(&[(0x30, 0x39)])
    }

    /// `\w`. With `u` and `i`, letters count whose other case is ASCII.
    pub(super) fn words(with_foreign: bool) -> Self {
        let mut ranges = vec![(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
        if with_foreign {
            ranges.extend([(0x17F, 0x17F), (0x212A, 0x212A)]);
        }
        Self(ranges)
    }

    pub(super) fn blanks() -> Self {
        Self::of(&[
            (0x9, 0xD),
            (0x20, 0x20),
            (0xA0, 0xA0),
            (0x1680, 0x1680),
            (0x2000, 0x200A),
            (0x2028, 0x2029),
            (0x202F, 0x202F),
            (0x205F, 0x205F),
            (0x3000, 0x3000),
            (0xFEFF, 0xFEFF),
        ])
    }

    pub(super) fn line_ends() -> Self {
        Self::of(&[(0xA, 0xA), (0xD, 0xD), (0x2028, 0x2029)])
    }

    /// The characters with a Unicode property, as in `\p{Name}` or `\p{Name=Value}`.
    pub(super) fn property(name: &str) -> Option<Self> {
        // Unicode's tables here are lenient about case and blanks, JavaScript is not.
        let exact = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && (part.starts_with(|first: char| first.is_ascii_uppercase())
                    || ["punct", "digit", "cntrl"].contains(&part))
        };
        let named = |name: &str| regex_syntax::parse(&format!(r"\p{{{name}}}")).ok();
        let category = |name: &str| named(&format!("gc={name}")).is_some();
        let known = match name.split_once('=') {
            Some((key, value)) => {
                let keys = ["gc", "General_Category", "sc", "Script", "scx", "Script_Extensions"];
                keys.contains(&key) && exact(value)
            }
            // A script needs its key.
            None => exact(name) && (named(&format!("sc={name}")).is_none() || category(name)),
        };
        let hir = known.then(|| named(name))??;
        match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Some(Self::from_class(&class)),
            // A property of a single character.
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                Some(Self::one(u32::from(text.chars().next()?)))
            }
            HirKind::Empty
            | HirKind::Class(Class::Bytes(_))
            | HirKind::Look(_)
            | HirKind::Repetition(_)
            | HirKind::Capture(_)
            | HirKind::Concat(_)
            | HirKind::Alternation(_) => None,
        }
    }

    fn from_class(class: &ClassUnicode) -> Self {
        let ranges = class.iter().map(|one| (u32::from(one.start()), u32::from(one.end())));
        let mut set = Self(ranges.collect());
        set.normalize();
        set
    }

    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub(super) fn contains(&self, character: u32) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < character);
        self.0.get(at).is_some_and(|(first, _)| *first <= character)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        self.normalize();
    }

    pub(super) fn add_range(&mut self, first: u32, last: u32) {
        self.0.push((first, last));
    }

    /// Sorts the ranges and joins those that touch. Needed after [`CharSet::add_range`].
    pub(super) fn normalize(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by(|next, before| {
            let touches = next.0 <= before.1.saturating_add(1);
            if touches {
                before.1 = before.1.max(next.1);
            }
            touches
        });
    }

    pub(super) fn complement(&self) -> Self {
        let mut others = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for (first, last) in &self.0 {
            if next < *first {
                others.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            others.push((next, LAST));
        }
        Self(others)
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut outside = self.complement();
        outside.add(other);
        outside.complement()
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        self.minus(&other.complement())
    }

    fn size(&self) -> u32 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// The set with every character that is one of its own if case is ignored.
    pub(super) fn folded(&self, unicode: bool) -> Self {
        if unicode { self.folded_unicode() } else { self.folded_units() }
    }

    fn folded_unicode(&self) -> Self {
        // Halves of pairs have no case and are no characters.
        let whole = self.minus(&Self(vec![(0xD800, 0xDFFF)]));
        let range = |(first, last): &(u32, u32)| {
            Some(ClassUnicodeRange::new(char::from_u32(*first)?, char::from_u32(*last)?))
        };
        let mut class = ClassUnicode::new(whole.0.iter().filter_map(range));
        class.case_fold_simple();
        let mut folded = Self::from_class(&class);
        folded.add(self);
        folded
    }

    fn folded_units(&self) -> Self {
        let mut folded = self.clone();
        let cases = cases();
        let mut add = |character: char| {
            if let Some(others) = cases.get(&upper(character)) {
                folded.0.extend(others.iter().map(|other| (u32::from(*other), u32::from(*other))));
            }
        };
        if self.size() <= FEW {
            let all = self.0.iter().flat_map(|(first, last)| *first..=*last);
            all.filter_map(char::from_u32).for_each(&mut add);
        } else {
            let all = cases.values().flatten().filter(|one| self.contains(u32::from(**one)));
            all.copied().for_each(&mut add);
        }
        folded.normalize();
        folded
    }
}

/// What is compared instead of a character where case is ignored.
pub(super) fn canonical(character: u32, unicode: bool) -> u32 {
    let Some(character) = char::from_u32(character) else { return character };
    if !unicode {
        return u32::from(upper(character));
    }
    let cased = |one: char| {
        one.to_lowercase().next() != Some(one) || one.to_uppercase().next() != Some(one)
    };
    if !cased(character) {
        return u32::from(character);
    }
    CharSet::one(u32::from(character)).folded_unicode().0.first().map_or(0, |(first, _)| *first)
}

/// What JavaScript compares without the flag `u`: the capital, unless that is several
/// characters, or would turn a foreign letter into an ASCII one.
fn upper(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_uppercase();
    }
    let mut capital = character.to_uppercase();
    match (capital.next(), capital.next()) {
        (Some(one), None) if u32::from(one) <= 0xFFFF && !one.is_ascii() => one,
        _ => character,
    }
}

/// The characters that are the same if case is ignored, by their capital. Characters without
/// another case are left out.
fn cases() -> &'static FxHashMap<char, Vec<char>> {
    static CASES: OnceLock<FxHashMap<char, Vec<char>>> = OnceLock::new();
    CASES.get_or_init(|| {
        let mut cases: FxHashMap<char, Vec<char>> = FxHashMap::default();
        for character in ('\0'..='\u{FFFF}').filter(|one| upper(*one) != *one) {
            let capital = upper(character);
            cases.entry(capital).or_insert_with(|| vec![capital]).push(character);
        }
        cases
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_complemented_and_cut() {
        let set = CharSet::of(&[(5, 9), (1, 3), (4, 4), (20, 30)]);
        assert_eq!(set.ranges(), [(1, 9), (20, 30)]);
        assert_eq!(set.complement().ranges(), [(0, 0), (10, 19), (31, LAST)]);
        assert_eq!(set.minus(&CharSet::of(&[(2, 25)])).ranges(), [(1, 1), (26, 30)]);
        assert_eq!(set.and(&CharSet::of(&[(8, 22)])).ranges(), [(8, 9), (20, 22)]);
        assert!(set.contains(9) && !set.contains(10));
    }

    #[test]
    fn only_the_unicode_flag_relates_foreign_letters_to_ascii() {
        let long_s = u32::from('ſ');
        assert!(!CharSet::one(u32::from('s')).folded(false).contains(long_s));
        assert!(CharSet::one(u32::from('s')).folded(true).contains(long_s));
        assert_eq!(canonical(long_s, true), canonical(u32::from('S'), true));
        assert_ne!(canonical(long_s, false), canonical(u32::from('S'), false));
    }

    #[test]
    fn property_names_are_exact() {
        assert!(CharSet::property("Lu").is_some_and(|set| set.contains(u32::from('Ä'))));
        assert!(CharSet::property("Script=Greek").is_some_and(|set| set.contains(u32::from('λ'))));
        for wrong in ["lu", "L u", "Greek", "sc=Nowhere", "x=Lu", ""] {
            assert_eq!(CharSet::property(wrong), None, "{wrong}");
        }
    }
}
