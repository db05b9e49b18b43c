//! How one key matches, decided once.

use std::{borrow::Cow, sync::Arc};

use crate::{
    book::{Entry, Key, KeyOrigin, RegexKey, is_js_space},
    dialects::worldinfo::WorldInfoRules,
    macros,
    scan::{Folding, JsRegex, PatternId},
};

/// How an entry's plain keys match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyMode {
    /// Whether case counts.
    pub folding: Folding,
    /// Whether only whole words count.
    pub whole_words: bool,
}

impl KeyMode {
    /// How an entry's keys match under these rules.
    pub(crate) fn of(entry: &Entry, rules: &WorldInfoRules) -> Self {
        let activation = &entry.activation;
        let exact = activation.case_sensitive.unwrap_or(rules.case_sensitive);
        Self {
            folding: if exact { Folding::Exact } else { Folding::Lower },
            whole_words: activation.whole_words.unwrap_or(rules.match_whole_words),
        }
    }
}

impl KeyMode {
    /// The flags of a pattern that has no slashes to put any behind: without its own, it
    /// heeds case as the entry's other keys do.
    pub(crate) fn flags_of(self, own: &str) -> &str {
        let exact = matches!(
            self.folding,
            Folding::Exact | Folding::ExactCollapsed | Folding::ExactSquashed
        );
        if own.is_empty() && !exact { "i" } else { own }
    }
}

/// A key, ready to be looked for.
#[derive(Clone, Debug)]
pub struct CompiledKey {
    /// The key as written.
    pub raw: Box<str>,
    /// How plain text matches.
    pub mode: KeyMode,
    /// What is looked for.
    pub probe: Probe,
    /// How its text became what it is.
    pub(crate) taken: KeyOrigin,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub enum Probe {
    /// Nothing: an empty key is never found.
    Never,
    /// Anything: a key of blanks is found even in no text.
    Everything,
    /// A literal of the index.
    Pattern {
        /// The literal.
        pattern: PatternId,
        /// Whether it must be a whole word.
        word: bool,
    },
    /// A literal that is not in the index: it spans texts, or was not known when the
    /// library was compiled.
    Text {
        /// The folded literal.
        literal: Box<str>,
        /// Whether it must be a whole word.
        word: bool,
    },
    /// A regular expression over the joined text.
    Regex {
        /// The expression.
        regex: Arc<JsRegex>,
    },
    /// A key with macros: known only when the turn is.
    Dynamic,
}

impl CompiledKey {
    /// Compiles a key; `file` gives the literal its id in the index.
    pub(crate) fn new(
        key: &Key,
        mode: KeyMode,
        file: impl FnOnce(Folding, &str) -> PatternId,
    ) -> Self {
        let (raw, taken) = (key.raw(), key.taken());
        let probe = match key {
            _ if raw.is_empty() => Probe::Never,
            // Its text is not what is looked for, so macros in it do not count.
            Key::Regex(regex) if taken == KeyOrigin::Pattern => Probe::of_pattern(regex, mode),
            Key::Literal(_) | Key::Regex(_) if macros::is_dynamic(raw) => Probe::Dynamic,
            Key::Literal(_) | Key::Regex(_) => {
                let probe = Probe::of(raw.trim_matches(is_js_space), mode, taken);
                if let Probe::Text { literal, word } = &probe
                    && !spans_texts(literal)
                {
                    Probe::Pattern { pattern: file(mode.folding, literal), word: *word }
                } else {
                    probe
                }
            }
        };
        Self { raw: raw.into(), mode, probe, taken }
    }

    /// Whether it has the form of a regular expression, but is not one: `/bel(l/`, `/bell/x`.
    pub(crate) fn is_failed_regex(&self) -> bool {
        match self.taken {
            KeyOrigin::BySlashes => {}
            KeyOrigin::Plain => return false,
            KeyOrigin::Pattern => return matches!(self.probe, Probe::Never),
        }
        let plain = matches!(self.probe, Probe::Pattern { .. } | Probe::Text { .. });
        let form = self.raw.trim_matches(is_js_space).strip_prefix('/').and_then(|rest| {
            let (pattern, flags) = rest.rsplit_once('/')?;
            Some((!pattern.is_empty(), flags))
        });
        // Letters that are no flag anywhere make it a path: `/usr/bin`.
        let flags = |flags: &str| {
            flags.bytes().all(|flag| b"dgimsuvyx".contains(&flag.to_ascii_lowercase()))
        };
        plain && form.is_some_and(|(pattern, letters)| pattern && flags(letters))
    }

    /// A key that is in no index, exactly as written.
    pub(crate) fn unfiled(key: &Key, mode: KeyMode) -> Self {
        let (raw, taken) = (key.raw(), key.taken());
        let probe = match key {
            Key::Regex(regex) if taken == KeyOrigin::Pattern => Probe::of_pattern(regex, mode),
            Key::Literal(_) | Key::Regex(_) => Probe::of(raw, mode, taken),
        };
        Self { raw: raw.into(), mode, probe, taken }
    }

    /// The probe of this key once its macros are known: `expanded` is the key after them.
    pub(crate) fn resolve(&self, expanded: &str) -> Probe {
        if expanded.is_empty() {
            Probe::Never
        } else {
            Probe::of(expanded.trim_matches(is_js_space), self.mode, self.taken)
        }
    }

    /// The probe of the key exactly as written, which is how groups are scored.
    pub(crate) fn unprepared(&self) -> Cow<'_, Probe> {
        let plain = !matches!(self.probe, Probe::Dynamic | Probe::Never | Probe::Everything)
            && self.raw.trim_matches(is_js_space).len() == self.raw.len();
        if plain || self.taken == KeyOrigin::Pattern {
            return Cow::Borrowed(&self.probe);
        }
        Cow::Owned(Probe::of(&self.raw, self.mode, self.taken))
    }
}

impl Probe {
    /// The probe of a key without macros.
    fn of(key: &str, mode: KeyMode, taken: KeyOrigin) -> Self {
        if key.is_empty() {
            return Self::Everything;
        }
        if taken != KeyOrigin::Plain
            && let Key::Regex(regex) = Key::parse(key)
            && key.trim_matches(is_js_space).len() == key.len()
            && let Some(regex) = JsRegex::new(&regex.pattern, &regex.flags)
        {
            return Self::Regex { regex: Arc::new(regex) };
        }
        let literal = mode.folding.apply(key);
        let word = mode.whole_words && !literal.contains(is_js_space);
        Self::Text { literal: literal.into(), word }
    }

    /// The probe of a pattern that the file's reader made. One that cannot be used is no
    /// plain text: its author wrote none.
    fn of_pattern(regex: &RegexKey, mode: KeyMode) -> Self {
        let flags = mode.flags_of(&regex.flags);
        JsRegex::new(&regex.pattern, flags)
            .map_or(Self::Never, |regex| Self::Regex { regex: Arc::new(regex) })
    }
}

/// Whether a literal can lie across two of the joined texts.
pub(crate) fn spans_texts(literal: &str) -> bool {
    literal.contains(['\n', '\u{1}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_only_looks_like_a_regular_expression_is_noticed() {
        let mode = KeyMode { folding: Folding::Lower, whole_words: true };
        for (raw, failed) in [
            ("/bel(l/i", true),
            ("/bell/ii", true),
            ("/bell/x", true),
            (" /[z-a]/ ", true),
            ("/bell/i", false),
            ("bell", false),
            ("/usr/bin", false),
            ("//", false),
            ("/{{char}}(/", false),
        ] {
            let key = CompiledKey::new(&Key::parse(raw), mode, |_, _| PatternId(0));
            assert_eq!(key.is_failed_regex(), failed, "{raw}");
        }
    }

    #[test]
    fn what_the_reader_of_a_file_said_a_key_is_is_looked_for() {
        let regex = |raw: &str, pattern: &str, flags: &str| {
            let (raw, pattern) = (raw.to_owned(), pattern.to_owned());
            Key::Regex(Box::new(RegexKey { raw, pattern, flags: flags.to_owned() }))
        };
        let lower = KeyMode { folding: Folding::Lower, whole_words: true };
        let exact = KeyMode { folding: Folding::Exact, whole_words: true };
        let seen = |key: &Key, mode, text: &str| {
            let key = CompiledKey::new(key, mode, |_, _| PatternId(0));
            match &key.probe {
                Probe::Regex { regex } => Some(regex.find(text).span().is_some()),
                Probe::Never
                | Probe::Everything
                | Probe::Pattern { .. }
                | Probe::Text { .. }
                | Probe::Dynamic => None,
            }
        };
        let wild = regex("har?or", r"\bhar\wor\b", "i");
        assert_eq!(seen(&wild, lower, "the Harbor"), Some(true));
        assert_eq!(seen(&wild, lower, "har?or"), Some(false));
        let bare = regex("b.ll", "b.ll", "");
        assert_eq!(seen(&bare, lower, "BALL"), Some(true));
        assert_eq!(seen(&bare, exact, "BALL"), Some(false));
        assert_eq!(seen(&Key::Literal("/bell/".to_owned()), lower, "bell"), None);
        assert_eq!(seen(&Key::parse("/bell/"), lower, "bell"), Some(true));
        let broken = regex("b(ll", "b(ll", "");
        let broken = CompiledKey::new(&broken, lower, |_, _| PatternId(0));
        assert!(matches!(broken.probe, Probe::Never) && broken.is_failed_regex());
    }
}
