//! Mistakes in the fields of a note, for its author.
//!
//! A reader takes what it can and ignores the rest, as DeepLore does. This module reports the
//! rest.

use loreloom_core::{
    dialects::vault::{DEEPEST, depth_of},
    js_value::{read_number, text_of},
};
use serde_json::Value;

use super::{
    NoteRules, YamlReader,
    frontmatter::{fences, fields_fault, split},
};

/// A value that is not used as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddValue {
    /// The field, as the file spells it.
    pub field: String,
    /// What its value must be.
    pub rule: String,
    /// What it is.
    pub found: String,
}

/// Why fields cannot be read as their author meant them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They begin and never end.
    Unclosed {
        /// The line they begin at, from 1 on.
        line: usize,
    },
    /// They are not YAML.
    NotYaml {
        /// The line where that shows, from 1 on.
        line: usize,
    },
}

impl Fault {
    /// Where it is, from 1 on.
    pub fn line(self) -> usize {
        match self {
            Self::Unclosed { line } | Self::NotYaml { line } => line,
        }
    }
}

/// What is wrong with a note's fields as a whole.
pub fn fault(text: &str) -> Option<Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((inside, _)) = fences(text, YamlReader::Full) {
        // The first line is the fence.
        return fields_fault(inside).map(|line| Fault::NotYaml { line: line + 1 });
    }
    let mut lines = text.lines();
    // Three dashes are also a horizontal rule: only a field behind them makes them a fence.
    let opens = lines.next().is_some_and(|line| line == "---");
    (opens && lines.next().is_some_and(is_field)).then_some(Fault::Unclosed { line: 1 })
}

fn is_field(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let is_apart = value.is_empty() || value.starts_with(char::is_whitespace);
    !name.is_empty() && name.chars().all(is_word) && is_apart
}

/// The values that are not used as written.
pub fn odd_values(text: &str, rules: &NoteRules) -> Vec<OddValue> {
    let fields = split(text, rules.yaml).fields;
    let mut odd = Vec::new();
    for (name, value) in &fields {
        let canonical = if rules.lenient { NoteRules::canonical(name) } else { None };
        let canonical = canonical.unwrap_or(name);
        // One that is spelt right goes before.
        if canonical != name && fields.contains_key(canonical) {
            continue;
        }
        let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        if is_empty {
            continue;
        }
        if let Some(rule) = broken_rule(canonical, value, rules) {
            odd.push(OddValue { field: name.clone(), rule, found: shown(value) });
        }
    }
    odd
}

/// The rule that a value breaks.
fn broken_rule(field: &str, value: &Value, rules: &NoteRules) -> Option<String> {
    let written = || match value {
        Value::String(text) if rules.lenient => {
            read_number(text).filter(|number| number.is_finite())
        }
        Value::String(_)
        | Value::Number(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Array(_)
        | Value::Object(_) => value.as_f64(),
    };
    let (good, rule) = match field {
        "priority" => (written().is_some(), "must be a number"),
        "probability" => (
            written().is_some_and(|number| (0.0..=1.0).contains(&number)),
            "must be a number from 0 to 1",
        ),
        "cooldown" | "warmup" => {
            (written().is_some_and(|number| number >= 0.0), "must be a number, 0 or more")
        }
        "scanDepth" => {
            (value.as_f64().is_some_and(|number| number >= 0.0), "must be a number, 0 or more")
        }
        "depth" => {
            let is_kept = |number: f64| f64::from(depth_of(number).0).total_cmp(&number).is_eq();
            // 0 has two signs.
            let good = value.as_f64().is_some_and(|number| is_kept(number + 0.0));
            return (!good).then(|| format!("must be a whole number from 0 to {DEEPEST}"));
        }
        "enabled" | "constant" | "excludeRecursion" | "graph" => {
            (value.is_boolean(), "must be `true` or `false`")
        }
        "position" => (
            is_one_of(value, &["before", "after", "in_chat"]),
            "must be `before`, `after` or `in_chat`",
        ),
        "role" => (
            is_one_of(value, &["system", "user", "assistant"]),
            "must be `system`, `user` or `assistant`",
        ),
        "selective_logic" if rules.selective_logic => {
            let known = ["and_any", "and_all", "not_all", "not_any"];
            let word = text_of(value).trim().to_lowercase();
            (known.contains(&&*word), "must be `and_any`, `and_all`, `not_all` or `not_any`")
        }
        "summary" => (value.is_string() || value.is_number(), "must be text"),
        _ => return None,
    };
    (!good).then(|| rule.to_owned())
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&&*word.to_lowercase()))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_used_are_named_with_the_rule_they_break() {
        for (line, expected) in [
            ("priority: high", Some(("priority", "must be a number", "high"))),
            ("priority: \"7\"", None),
            ("Priority: [1]", Some(("Priority", "must be a number", "[1]"))),
            (
                "position: sideways",
                Some(("position", "must be `before`, `after` or `in_chat`", "sideways")),
            ),
            ("position: In_Chat", None),
            ("probability: 50", Some(("probability", "must be a number from 0 to 1", "50"))),
            ("probability: 0.5", None),
            ("enabled: maybe", Some(("enabled", "must be `true` or `false`", "maybe"))),
            ("enabled: false", None),
            ("constant: yes", Some(("constant", "must be `true` or `false`", "yes"))),
            ("cooldown: soon", Some(("cooldown", "must be a number, 0 or more", "soon"))),
            ("cooldown: 0", None),
            ("warmup: -1", Some(("warmup", "must be a number, 0 or more", "-1"))),
            ("role: wizard", Some(("role", "must be `system`, `user` or `assistant`", "wizard"))),
            ("depth: deep", Some(("depth", "must be a whole number from 0 to 10000", "deep"))),
            ("depth: 2.5", Some(("depth", "must be a whole number from 0 to 10000", "2.5"))),
            ("depth: 4", None),
            ("depth: 0", None),
            ("scanDepth: -3", Some(("scanDepth", "must be a number, 0 or more", "-3"))),
            ("summary: [a]", Some(("summary", "must be text", "[\"a\"]"))),
            (
                "selective_logic: xor",
                Some((
                    "selective_logic",
                    "must be `and_any`, `and_all`, `not_all` or `not_any`",
                    "xor",
                )),
            ),
            ("priority:", None),
            ("era: high", None),
        ] {
            let text = format!("---\ntags: [lorebook]\n{line}\n---\nX");
            let found = odd_values(&text, &NoteRules::default());
            let expected = expected.map(|(field, rule, found)| OddValue {
                field: field.to_owned(),
                rule: rule.to_owned(),
                found: found.to_owned(),
            });
            assert_eq!(found, Vec::from_iter(expected), "{line}");
        }
    }

    #[test]
    fn fields_that_cannot_be_read_are_found_with_their_line() {
        for (text, expected) in [
            ("---\nkeys: [a]\ntags: [lorebook\n---\nX", Some(Fault::NotYaml { line: 3 })),
            ("---\n- a\n---\nX", Some(Fault::NotYaml { line: 2 })),
            ("\u{feff}---\ntags: [lorebook]\n\n# X", Some(Fault::Unclosed { line: 1 })),
            ("---\ntags:\n  - lorebook\n----\nX", Some(Fault::Unclosed { line: 1 })),
            ("---\ntags: [lorebook]\n---\nX", None),
            ("---\nOnce: upon", Some(Fault::Unclosed { line: 1 })),
            ("---\n\nOnce upon a time: rain.", None),
            ("---\nhttp://example.org", None),
            ("X", None),
            ("", None),
        ] {
            assert_eq!(fault(text), expected, "{text:?}");
        }
    }
}
