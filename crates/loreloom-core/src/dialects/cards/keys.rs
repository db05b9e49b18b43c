//! How the keys of card books match.
//!
//! Unlike in World Info, a bad pattern is not plain text: it never matches, and the report names
//! it. In keys of several whole words a blank matches any run of blanks.

use std::sync::Arc;

use crate::{
    book::{Key, KeyOrigin, is_js_space},
    library::{CompiledKey, Filing, KeyMode, Probe, spans_texts},
    macros,
    scan::{Blanks, Folding, JsRegex, WordRule},
};

/// How an entry's keys match.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent settings of keys")]
pub(super) struct KeyStyle {
    pub(super) case_counts: bool,
    pub(super) whole_words: bool,
    pub(super) squash_spaces: bool,
    pub(super) words: WordRule,
    /// Keys without slashes are patterns too.
    pub(super) patterns: bool,
}

/// The key is a pattern that cannot be used.
#[derive(Debug)]
pub(super) struct BadPattern;

impl KeyStyle {
    fn mode(self, key: &str) -> KeyMode {
        let has_blank = key.trim_matches(is_js_space).contains(char::is_whitespace);
        let blanks = match (self.whole_words, self.squash_spaces) {
            (true, _) if self.words == WordRule::Spaced => Blanks::Kept,
            (true, _) if has_blank || macros::is_dynamic(key) => Blanks::Collapsed,
            (false, true) => Blanks::Squashed,
            (true | false, _) => Blanks::Kept,
        };
        let folding = Folding::new(self.case_counts, blanks);
        KeyMode { folding, whole_words: self.whole_words }
    }

    /// Compiles a key; its literal is filed in the index. Blank keys do not count.
    pub(super) fn compile(
        self,
        key: &Key,
        filing: &mut Filing,
    ) -> Option<(CompiledKey, Result<(), BadPattern>)> {
        let raw = key.raw();
        let trimmed = raw.trim_matches(is_js_space);
        if trimmed.is_empty() {
            return None;
        }
        let mode = self.mode(raw);
        let taken = key.taken();
        let compiled = |probe| CompiledKey { raw: raw.into(), mode, probe, taken };
        // No word has a space inside.
        let is_no_word =
            self.whole_words && self.words == WordRule::Spaced && trimmed.contains(' ');
        let found = match key {
            Key::Literal(_) if is_no_word && !self.patterns => Err(BadPattern),
            // A pattern that is not its key's text.
            Key::Regex(own) if taken == KeyOrigin::Pattern => {
                regex(&own.pattern, mode.flags_of(&own.flags))
            }
            Key::Literal(_) if macros::is_dynamic(raw) && !self.patterns => Ok(Probe::Dynamic),
            Key::Literal(_) | Key::Regex(_) => {
                probe(trimmed, mode, KeyForm::of(taken, self.patterns))
            }
        };
        Some(match found {
            Ok(Probe::Text { literal, word }) if !spans_texts(&literal) => {
                let pattern = filing.insert(mode.folding, &literal);
                (compiled(Probe::Pattern { pattern, word }), Ok(()))
            }
            Ok(probe) => (compiled(probe), Ok(())),
            Err(bad) => (compiled(Probe::Never), Err(bad)),
        })
    }
}

/// What a key looks for once its macros are known.
pub(crate) fn resolve(key: &CompiledKey, expanded: &str) -> Probe {
    match expanded.trim_matches(is_js_space) {
        "" => Probe::Never,
        text => probe(text, key.mode, KeyForm::of(key.taken, false)).unwrap_or(Probe::Never),
    }
}

/// What a key's text may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyForm {
    /// Plain text, whatever it looks like.
    Plain,
    /// A pattern if it has slashes.
    Slashed,
    /// A pattern in any case.
    Pattern,
}

impl KeyForm {
    fn of(taken: KeyOrigin, patterns: bool) -> Self {
        match taken {
            _ if patterns => Self::Pattern,
            KeyOrigin::Plain => Self::Plain,
            KeyOrigin::BySlashes | KeyOrigin::Pattern => Self::Slashed,
        }
    }
}

/// The probe of a trimmed key without macros.
fn probe(key: &str, mode: KeyMode, form: KeyForm) -> Result<Probe, BadPattern> {
    if form != KeyForm::Plain
        && let Some((pattern, flags)) = slashed(key)
    {
        return regex(&pattern.replace("\\/", "/"), flags);
    }
    if form == KeyForm::Pattern {
        return regex(key, mode.flags_of(""));
    }
    let literal = mode.folding.apply(key);
    if literal.is_empty() {
        return Ok(Probe::Never);
    }
    Ok(Probe::Text { literal: literal.into(), word: mode.whole_words })
}

/// The parts of `/pattern/flags`. Any letters may be flags; they are checked later.
fn slashed(key: &str) -> Option<(&str, &str)> {
    let rest = key.strip_prefix('/')?;
    let mut escaped = false;
    let end = rest.char_indices().find_map(|(at, character)| {
        let ends = character == '/' && !escaped;
        escaped = character == '\\' && !escaped;
        ends.then_some(at)
    })?;
    let (pattern, flags) = (&rest[..end], &rest[end + 1..]);
    let letters = flags.chars().all(|flag| flag.is_ascii_alphabetic());
    (!pattern.is_empty() && letters).then_some((pattern, flags))
}

/// `g` and `y` say how to go on after a match, which nobody does here.
fn regex(pattern: &str, flags: &str) -> Result<Probe, BadPattern> {
    if !flags.chars().all(|flag| "gimsuy".contains(flag)) {
        return Err(BadPattern);
    }
    let flags: String = flags.chars().filter(|flag| !"gy".contains(*flag)).collect();
    let regex = JsRegex::new(pattern, &flags).ok_or(BadPattern)?;
    Ok(Probe::Regex { regex: Arc::new(regex) })
}
