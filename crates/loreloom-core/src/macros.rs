//! Macros in keys and lore: `{{user}}`, `{{char}}` and their kin.
//!
//! Expansion is one pass, inside out. A value that a macro inserts is not expanded again,
//! so a character's name cannot smuggle in further macros. Unknown macros stay as they
//! are, as in SillyTavern.

use std::borrow::Cow;

/// Nested macros deeper than this are left alone.
const MAX_DEPTH: usize = 20;

/// What macros stand for this turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct MacroValues<'a> {
    /// `{{user}}`: the persona's name.
    pub user: &'a str,
    /// `{{char}}`: the character's name.
    pub char: &'a str,
    /// `{{persona}}`: the persona's description.
    pub persona: &'a str,
    /// `{{description}}`: the character's description.
    pub description: &'a str,
    /// `{{personality}}`: the character's personality.
    pub personality: &'a str,
    /// `{{scenario}}`: the scenario.
    pub scenario: &'a str,
}

/// Whether expanding might change this text.
pub fn is_dynamic(text: &str) -> bool {
    text.contains("{{") || text.contains("\\{") || text.contains("\\}") || has_angle(text)
}

fn has_angle(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| angle(&text[at..]).is_some())
}

/// A legacy macro at the start of `text`: its name and its length.
fn angle(text: &str) -> Option<(&'static str, usize)> {
    [("<user>", "user"), ("<bot>", "char"), ("<char>", "char")].into_iter().find_map(
        |(tag, name)| {
            let head = text.get(..tag.len())?;
            head.eq_ignore_ascii_case(tag).then_some((name, tag.len()))
        },
    )
}

impl MacroValues<'_> {
    /// `text` with its macros replaced.
    pub fn expand<'text>(&self, text: &'text str) -> Cow<'text, str> {
        if !is_dynamic(text) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.find(['{', '<', '\\']) {
            out.push_str(&rest[..next]);
            rest = &rest[next..];
            let taken = self.expand_at(rest, &mut out, 0);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        Cow::Owned(trim_marks(&out))
    }

    /// Writes what stands at the start of `text` (a macro, an escape or a plain character)
    /// and returns how many bytes it took.
    fn expand_at(&self, text: &str, out: &mut String, depth: usize) -> usize {
        if let Some((name, length)) = angle(text) {
            out.push_str(self.value(name, "").as_deref().unwrap_or_default());
            return length;
        }
        for escaped in ["\\{", "\\}"] {
            if text.starts_with(escaped) {
                out.push_str(&escaped[1..]);
                return 2;
            }
        }
        if depth < MAX_DEPTH
            && let Some(length) = macro_length(text)
        {
            let inner = self.expand_inner(&text[2..length - 2], depth + 1);
            if let Some(value) = self.named(&inner) {
                out.push_str(&value);
            } else {
                out.push_str("{{");
                out.push_str(&inner);
                out.push_str("}}");
            }
            return length;
        }
        let first = text.chars().next().map_or(0, char::len_utf8);
        out.push_str(&text[..first]);
        first
    }

    fn expand_inner<'text>(&self, text: &'text str, depth: usize) -> Cow<'text, str> {
        if !text.contains("{{") {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(next) = rest.find('{') {
            out.push_str(&rest[..next]);
            rest = &rest[next..];
            let taken = self.expand_at(rest, &mut out, depth);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    fn named(&self, inner: &str) -> Option<Cow<'_, str>> {
        if inner.trim_start().starts_with("//") {
            return Some(Cow::Borrowed(""));
        }
        let inner = inner.trim_start();
        let (name, argument) = match inner.find([':', ' ']) {
            Some(at) => (&inner[..at], inner[at..].trim_start_matches(':')),
            None => (inner, ""),
        };
        self.value(&name.trim().to_ascii_lowercase(), argument)
    }

    fn value(&self, name: &str, argument: &str) -> Option<Cow<'_, str>> {
        let value = match name {
            "user" => self.user,
            "char" => self.char,
            "persona" => self.persona,
            "description" | "chardescription" => self.description,
            "personality" | "charpersonality" => self.personality,
            "scenario" | "charscenario" => self.scenario,
            "newline" | "br" => "\n",
            "space" => " ",
            "noop" | "comment" => "",
            "trim" => TRIM_MARK,
            "reverse" => return Some(Cow::Owned(argument.chars().rev().collect())),
            _ => return None,
        };
        Some(Cow::Borrowed(value))
    }
}

/// Stands for `{{trim}}` until the text around it is known. A private-use character that
/// no text of its own accord holds next to another.
const TRIM_MARK: &str = "\u{f8f0}\u{f8f1}";

/// Removes trim marks and the line ends around them.
fn trim_marks(text: &str) -> String {
    let mut parts = text.split(TRIM_MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.truncate(out.trim_end_matches(['\r', '\n']).len());
        out.push_str(part.trim_start_matches(['\r', '\n']));
    }
    out
}

/// The length of the macro `{{…}}` that `text` starts with, nested ones included.
fn macro_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if !text.starts_with("{{") {
        return None;
    }
    let (mut at, mut open) = (2, 1);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"{{" => {
                open += 1;
                at += 2;
            }
            b"}}" => {
                open -= 1;
                at += 2;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_macros_are_replaced_and_unknown_ones_stay() {
        let values = MacroValues { user: "Mira", char: "Torvald", ..MacroValues::default() };
        for (text, expanded) in [
            ("{{user}} and {{CHAR}}", "Mira and Torvald"),
            ("<USER> meets <bot>", "Mira meets Torvald"),
            ("{{zz}} {{ user }}", "{{zz}} Mira"),
            ("{{zz::{{user}}}}", "{{zz::Mira}}"),
            ("a\\{b\\}", "a{b}"),
            ("a{{noop}}b{{// note }}c", "abc"),
            ("one\n{{trim}}\n\ntwo", "onetwo"),
            ("{{reverse:abc}}", "cba"),
            ("{{user", "{{user"),
            ("{ {user} }", "{ {user} }"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(values.expand(text), expanded, "{text}");
        }
    }

    #[test]
    fn an_inserted_value_is_not_expanded_again() {
        let values = MacroValues { user: "{{char}}", char: "Torvald", ..MacroValues::default() };
        assert_eq!(values.expand("{{user}}"), "{{char}}");
    }

    #[test]
    fn deep_nesting_ends() {
        let text = "{{".repeat(200) + &"}}".repeat(200);
        assert_eq!(MacroValues::default().expand(&text).len(), text.len());
    }
}
