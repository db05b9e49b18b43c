//! JavaScript regular expressions in time that grows with the text alone.
//!
//! JavaScript's engine tries again and again, and gives up on an expression that needs too many
//! steps ([`super::JsRegex`]): `.*dragon.*` over two thousand characters is enough. Most
//! expressions say nothing that only trying again can find out. Those are translated for an
//! engine that reads a text once, which then says whether there is a match and where the first
//! one begins: both engines agree on that, because it only depends on which texts an expression
//! stands for.
//!
//! What is translated is exact, and what might not be is not translated: look-around, back
//! references, the flags `u`, `v` and `y`, and spellings that JavaScript merely puts up with. Two
//! things depend on the text ([`Linear::find`]): JavaScript counts UTF-16 units, and has more
//! line ends.

use std::{fmt::Write as _, iter::Peekable, ops::RangeInclusive, str::Chars, sync::OnceLock};

use regex_automata::meta;
use rustc_hash::FxHashMap;

use super::RegexOutcome;

/// Groups in groups that are followed.
const DEEPEST: usize = 100;
/// The largest number in a quantifier that is unrolled.
const MOST_TIMES: u32 = 1000;
/// The most characters of a class that are looked at one by one, to ignore their case.
const MOST_FOLDED: u32 = 8192;
/// What a translated expression may take.
const MEMORY: usize = 4 << 20;

const LINE_ENDS: [RangeInclusive<u32>; 3] = [0xA..=0xA, 0xD..=0xD, 0x2028..=0x2029];
const DIGITS: [RangeInclusive<u32>; 1] = [0x30..=0x39];
const WORDS: [RangeInclusive<u32>; 4] = [0x30..=0x39, 0x41..=0x5A, 0x5F..=0x5F, 0x61..=0x7A];
const BLANKS: [RangeInclusive<u32>; 10] = [
    0x9..=0xD,
    0x20..=0x20,
    0xA0..=0xA0,
    0x1680..=0x1680,
    0x2000..=0x200A,
    0x2028..=0x2029,
    0x202F..=0x202F,
    0x205F..=0x205F,
    0x3000..=0x3000,
    0xFEFF..=0xFEFF,
];
const SURROGATES: RangeInclusive<u32> = 0xD800..=0xDFFF;

/// A translated expression.
#[derive(Debug)]
pub(super) struct Linear {
    regex: meta::Regex,
    needs: Needs,
}

/// What a text must be without for the translation to be exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Needs {
    /// It has classes that hold half of a character beyond the first 65,536.
    no_pairs: bool,
    /// It asks for the ends of lines.
    plain_lines: bool,
}

impl Linear {
    /// The translation, where there is an exact one.
    pub(super) fn new(pattern: &str, flags: &str) -> Option<Self> {
        if flags.contains(['u', 'v', 'y']) {
            return None;
        }
        let has = |flag| flags.contains(flag);
        let mut translator = Translator {
            rest: pattern.chars().peekable(),
            out: String::with_capacity(pattern.len() * 2),
            folds: has('i'),
            by_lines: has('m'),
            dot_is_all: has('s'),
            needs: Needs::default(),
        };
        translator.alternatives(0)?;
        if translator.rest.next().is_some() {
            return None;
        }
        let Translator { out, needs, .. } = translator;
        let limits = meta::Config::new().nfa_size_limit(Some(MEMORY)).hybrid_cache_capacity(MEMORY);
        let regex = meta::Builder::new().configure(limits).build(&out).ok()?;
        Some(Self { regex, needs })
    }

    /// The first match; `None` if it cannot be told for this text whether there is one.
    pub(super) fn find(&self, text: &str) -> Option<RegexOutcome> {
        // Characters beyond the first 65,536 are two units each, and four bytes that begin so.
        let has_pairs = || text.bytes().any(|byte| byte >= 0xF0);
        let has_other_lines = || text.contains(['\r', '\u{2028}', '\u{2029}']);
        if self.needs.no_pairs && has_pairs() || self.needs.plain_lines && has_other_lines() {
            return None;
        }
        Some(match self.regex.find(text) {
            Some(found) => RegexOutcome::Found { start: found.start(), end: found.end() },
            None => RegexOutcome::NotFound,
        })
    }
}

/// Every method gives `None` for what is not translated.
struct Translator<'pattern> {
    rest: Peekable<Chars<'pattern>>,
    out: String,
    folds: bool,
    by_lines: bool,
    dot_is_all: bool,
    needs: Needs,
}

impl Translator<'_> {
    /// Up to the end of the group.
    fn alternatives(&mut self, depth: usize) -> Option<()> {
        while let Some(next) = self.rest.next_if(|next| *next != ')') {
            match next {
                '|' => self.out.push('|'),
                '^' => self.line(r"\A", "(?m:^)"),
                '$' => self.line(r"\z", "(?m:$)"),
                '\\' if self.rest.next_if_eq(&'b').is_some() => self.out.push_str(r"(?-u:\b)"),
                '\\' if self.rest.next_if_eq(&'B').is_some() => self.out.push_str(r"(?-u:\B)"),
                atom => {
                    self.atom(atom, depth)?;
                    self.quantifier()?;
                }
            }
        }
        Some(())
    }

    fn line(&mut self, whole: &str, lines: &str) {
        self.needs.plain_lines |= self.by_lines;
        self.out.push_str(if self.by_lines { lines } else { whole });
    }

    fn atom(&mut self, first: char, depth: usize) -> Option<()> {
        match first {
            '(' => self.group(depth + 1)?,
            '.' if self.dot_is_all => self.set(true, &[])?,
            '.' => self.set(true, &LINE_ENDS)?,
            '[' => self.class()?,
            '\\' => match self.escape(false)? {
                Escape::One(one) => self.literal(one)?,
                Escape::Set { negated, ranges } => self.set(negated, ranges)?,
            },
            '*' | '+' | '?' | '{' => return None,
            literal => self.literal(literal)?,
        }
        Some(())
    }

    fn group(&mut self, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => (),
                // A name, not a look behind.
                '<' => {
                    self.rest.next_if(|next| !matches!(next, '=' | '!'))?;
                    self.rest.by_ref().find(|next| *next == '>')?;
                }
                _ => return None,
            }
        }
        self.out.push_str("(?:");
        self.alternatives(depth)?;
        self.rest.next_if_eq(&')')?;
        self.out.push(')');
        Some(())
    }

    fn quantifier(&mut self) -> Option<()> {
        match self.rest.next_if(|next| matches!(next, '*' | '+' | '?' | '{')) {
            None => return Some(()),
            Some('{') => {
                let least = self.number()?;
                write!(self.out, "{{{least}").ok()?;
                if self.rest.next_if_eq(&',').is_some() {
                    self.out.push(',');
                    if self.rest.peek() != Some(&'}') {
                        let most = self.number()?;
                        write!(self.out, "{most}").ok()?;
                    }
                }
                self.rest.next_if_eq(&'}')?;
                self.out.push('}');
            }
            Some(sign) => self.out.push(sign),
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        Some(())
    }

    fn number(&mut self) -> Option<u32> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        digits.parse().ok().filter(|number| *number <= MOST_TIMES)
    }

    fn class(&mut self) -> Option<()> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
        loop {
            let first = match self.rest.next()? {
                ']' => break,
                '\\' => self.escape(true)?,
                other => Escape::One(other),
            };
            let mut is_range = self.rest.next_if_eq(&'-').is_some();
            if is_range && self.rest.peek() == Some(&']') {
                ranges.push(u32::from('-')..=u32::from('-'));
                is_range = false;
            }
            match first {
                // What a dash beside a set means, only JavaScript knows.
                Escape::Set { .. } if is_range => return None,
                Escape::Set { negated: true, ranges: of } => ranges.extend(all_but(of)),
                Escape::Set { negated: false, ranges: of } => ranges.extend_from_slice(of),
                Escape::One(first) if is_range => {
                    let last = match self.rest.next()? {
                        '\\' => self.escape(true)?,
                        other => Escape::One(other),
                    };
                    let Escape::One(last) = last else { return None };
                    ranges.push(unit(first)?..=unit(last)?);
                }
                Escape::One(one) => ranges.push(unit(one)?..=unit(one)?),
            }
        }
        let folded = if self.folds { folded(&ranges)? } else { ranges };
        self.set(negated, &folded)
    }

    /// What follows a backslash, in a class or outside.
    fn escape(&mut self, in_class: bool) -> Option<Escape> {
        let set = |negated, ranges| Some(Escape::Set { negated, ranges });
        let one = match self.rest.next()? {
            'd' => return set(false, &DIGITS),
            'D' => return set(true, &DIGITS),
            'w' => return set(false, &WORDS),
            'W' => return set(true, &WORDS),
            's' => return set(false, &BLANKS),
            'S' => return set(true, &BLANKS),
            'b' if in_class => '\u{8}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'f' => '\u{c}',
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => '\0',
            'x' => self.hexadecimal(2)?,
            'u' => self.hexadecimal(4)?,
            other if other.is_alphanumeric() => return None,
            other => other,
        };
        Some(Escape::One(one))
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<char> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 16 + self.rest.next()?.to_digit(16)?;
        }
        char::from_u32(number)
    }

    fn literal(&mut self, literal: char) -> Option<()> {
        let alone = [unit(literal)?..=unit(literal)?];
        if self.folds {
            let folded = folded(&alone)?;
            return self.set(false, &folded);
        }
        self.set(false, &alone)
    }

    /// One character of these, or any other one.
    fn set(&mut self, negated: bool, ranges: &[RangeInclusive<u32>]) -> Option<()> {
        let halves = |one: &RangeInclusive<u32>| {
            one.start() <= SURROGATES.end() && one.end() >= SURROGATES.start()
        };
        self.needs.no_pairs |= negated || ranges.iter().any(halves);
        self.out.push_str(match (negated, ranges.is_empty()) {
            // Neither engine can write these as a list.
            (true, true) => "(?s:.)",
            (false, true) => r"[^\x{0}-\x{10FFFF}]",
            (true, false) => "[^",
            (false, false) => "[",
        });
        if ranges.is_empty() {
            return Some(());
        }
        for one in ranges {
            write!(self.out, r"\x{{{:x}}}-\x{{{:x}}}", one.start(), one.end()).ok()?;
        }
        self.out.push(']');
        Some(())
    }
}

enum Escape {
    One(char),
    Set { negated: bool, ranges: &'static [RangeInclusive<u32>] },
}

/// A character of one UTF-16 unit.
fn unit(character: char) -> Option<u32> {
    Some(u32::from(character)).filter(|unit| *unit <= 0xFFFF)
}

/// The units outside of sorted ranges.
fn all_but(ranges: &[RangeInclusive<u32>]) -> Vec<RangeInclusive<u32>> {
    let mut others = Vec::with_capacity(ranges.len() + 1);
    let mut next = 0;
    for one in ranges {
        if next < *one.start() {
            others.push(next..=one.start() - 1);
        }
        next = one.end() + 1;
    }
    others.push(next..=0xFFFF);
    others
}

/// The units that are one of these if case is ignored.
fn folded(ranges: &[RangeInclusive<u32>]) -> Option<Vec<RangeInclusive<u32>>> {
    let size: u32 = ranges.iter().map(|one| (one.end() + 1).saturating_sub(*one.start())).sum();
    if size > MOST_FOLDED {
        return None;
    }
    let mut folded = ranges.to_vec();
    for one in ranges.iter().flat_map(Clone::clone).filter_map(char::from_u32) {
        if one.is_ascii() {
            let other = if one.is_ascii_uppercase() {
                one.to_ascii_lowercase()
            } else {
                one.to_ascii_uppercase()
            };
            folded.push(u32::from(other)..=u32::from(other));
        } else if let Some(others) = cases().get(&upper(one)) {
            folded.extend(others.iter().map(|other| u32::from(*other)..=u32::from(*other)));
        }
    }
    Some(folded)
}

/// What JavaScript compares instead of a character where case is ignored: its capital, unless
/// that is several characters, or would turn a foreign letter into an ASCII one.
fn upper(character: char) -> char {
    let mut capital = character.to_uppercase();
    match (capital.next(), capital.next()) {
        (Some(one), None) if unit(one).is_some() && (character.is_ascii() || !one.is_ascii()) => {
            one
        }
        _ => character,
    }
}

/// The characters that are compared alike, by their capital; those that are compared with no
/// other are left out.
fn cases() -> &'static FxHashMap<char, Vec<char>> {
    static CASES: OnceLock<FxHashMap<char, Vec<char>>> = OnceLock::new();
    CASES.get_or_init(|| {
        let mut cases: FxHashMap<char, Vec<char>> = FxHashMap::default();
        for character in ('\u{80}'..='\u{FFFF}').filter(|one| upper(*one) != *one) {
            let capital = upper(character);
            cases.entry(capital).or_insert_with(|| vec![capital]).push(character);
        }
        cases
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scan::JsRegex;

    #[test]
    fn what_only_trying_finds_out_is_not_translated() {
        for (pattern, flags) in [
            ("(?=a)b", ""),
            ("(?<!a)b", ""),
            (r"(a)\1", ""),
            (r"(?<n>a)\k<n>", ""),
            ("(?i:a)", ""),
            ("a", "u"),
            ("a", "y"),
            ("{a", ""),
            (r"\cA", ""),
            (r"\012", ""),
            (r"[\w-a]", ""),
            ("🐉", ""),
            (r"\ud83d", ""),
            ("a{1001}", ""),
        ] {
            assert!(Linear::new(pattern, flags).is_none(), "/{pattern}/{flags}");
        }
        assert!(Linear::new(&"(".repeat(101), "").is_none());
    }

    #[test]
    fn texts_that_javascript_counts_otherwise_are_left_to_it() {
        let found = |start, end| Some(RegexOutcome::Found { start, end });
        let dot = Linear::new("^.$", "").unwrap();
        assert_eq!((dot.find("🐉"), dot.find("猫")), (None, found(0, 3)));
        let word = Linear::new("dragon", "").unwrap();
        assert_eq!(word.find("🐉 dragon"), found(5, 11));
        let line = Linear::new("^b", "m").unwrap();
        assert_eq!((line.find("a\r\nb"), line.find("a\nb")), (None, found(2, 3)));
    }

    /// Pieces of patterns, between middle dots.
    const PIECES: &str = concat!(
        r"a·B·k·S·ß·ſ·µ·Μ·ı·İ·σ·ς·Σ·é·É·ǅ·K·я·.·\d·\D·\w·\W·\s·\S·\b·\B·^·$·\n·\.·\x41·\u00e9",
        r"· ·]·-·[a-c]·[^a]·[\w-]·[^\s]·[é-ÿ]·[\W\d]·[]·[^]·[σ-я]·[\u0000-\uffff]·[-a]·[^A-Zß]"
    );
    /// Pieces of texts.
    const SAID: &str = "a·A·b·k·K·K·s·S·ſ·ß·µ·μ·Μ·ı·i·İ·σ·ς·Σ·é·É·ǅ·ǆ·я·Я·1·_·-·]·.· ·\u{a0}·\n·\r\
        ·\u{2028}·\u{85}·\u{180e}·🐉·\0";

    fn one_of(list: &'static str) -> impl Strategy<Value = String> {
        prop::sample::select(list.split('·').map(str::to_owned).collect::<Vec<_>>())
    }

    fn piece() -> impl Strategy<Value = String> {
        one_of(PIECES).prop_recursive(3, 12, 4, |inner| {
            let (open, sign) = (one_of("(·(?:·(?<n>"), one_of("·*·+·?·{2}·{1,}·{0,2}·+?"));
            (prop::collection::vec(inner, 1..4), one_of("·|"), open, sign).prop_map(
                |(parts, between, open, sign)| format!("{open}{}){sign}", parts.join(&between)),
            )
        })
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(one_of(SAID), 0..10).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_translation_finds_what_javascript_finds(
            pieces in prop::collection::vec(piece(), 1..4),
            flags in prop::sample::select(vec!["", "i", "m", "s", "im", "is", "g"]),
            text in text(),
        ) {
            let pattern = pieces.concat();
            let Some(regex) = JsRegex::new(&pattern, flags) else { return Ok(()) };
            let Some(found) = Linear::new(&pattern, flags).and_then(|linear| linear.find(&text))
            else {
                return Ok(());
            };
            let tried = regex.try_at(&text, 0);
            prop_assume!(tried != RegexOutcome::TooSlow);
            let [read, tried] = [found, tried].map(|one| one.span().map(|(start, _)| start));
            prop_assert_eq!(read, tried, "/{}/{} {:?}", pattern, flags, text);
        }
    }
}
