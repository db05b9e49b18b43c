//! The fields above a note's text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::mini_yaml;

/// How fields are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YamlReader {
    /// As YAML.
    #[default]
    Full,
    /// As DeepLore does.
    Mini,
}

/// A note's fields and what follows them.
#[derive(Clone, Debug, PartialEq)]
pub struct Frontmatter<'text> {
    /// The fields in the order of the file.
    pub fields: Map<String, Value>,
    /// The text below.
    pub body: &'text str,
    /// Whether the fields had to be read line by line although YAML was asked for.
    pub not_yaml: bool,
}

/// Splits a file into fields and text. A file without a closing fence is all text.
pub fn split(text: &str, reader: YamlReader) -> Frontmatter<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((inside, body)) = fences(text, reader) else {
        return Frontmatter { fields: Map::new(), body: text, not_yaml: false };
    };
    match reader {
        YamlReader::Mini => Frontmatter { fields: mini_yaml::read(inside), body, not_yaml: false },
        YamlReader::Full => match read_yaml(inside) {
            Some(fields) => Frontmatter { fields, body, not_yaml: false },
            None => Frontmatter { fields: mini_yaml::read(inside), body, not_yaml: true },
        },
    }
}

/// The text between the fences, and the text below them.
pub(super) fn fences(text: &str, reader: YamlReader) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
    if reader == YamlReader::Mini {
        return mini_fences(rest);
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        let is_fence = line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty());
        if is_fence {
            let inside = rest[..at].strip_suffix('\n').unwrap_or(&rest[..at]);
            let inside = inside.strip_suffix('\r').unwrap_or(inside);
            return Some((inside, &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// The same as DeepLore finds it: any line that begins with a fence closes, and what follows
/// the fence on its line is text. It wants at least one line between the fences, if only an
/// empty one.
fn mini_fences(rest: &str) -> Option<(&str, &str)> {
    let (inside, below) = rest.split_once("\n---")?;
    let below = below.trim_start_matches([' ', '\t']);
    let below = below.strip_prefix("\r\n").or_else(|| below.strip_prefix('\n')).unwrap_or(below);
    Some((inside.strip_suffix('\r').unwrap_or(inside), below))
}

/// Repeated nodes at the most: a note's fields are short, and repeating doubles quickly.
const MOST_REPEATED: usize = 10_000;

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_REPEATED,
        }
    }
}

/// The line, from 1 on, at which fields turn out to be no YAML; `None` if they are.
pub(super) fn fields_fault(text: &str) -> Option<usize> {
    match serde_saphyr::from_str_with_options::<Value>(text, options()) {
        Ok(Value::Object(_) | Value::Null) => None,
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => Some(1),
        Err(error) => {
            let line = error.location().and_then(|at| usize::try_from(at.line()).ok());
            // What is missing at the end is missed behind the last line.
            Some(line.unwrap_or(1).clamp(1, text.lines().count().max(1)))
        }
    }
}

/// Reads YAML; `None` if it is not YAML, or not a table.
fn read_yaml(text: &str) -> Option<Map<String, Value>> {
    let mut fields = match serde_saphyr::from_str_with_options::<Value>(text, options()).ok()? {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
    };
    for (name, read) in LISTS {
        if fields.get(name).is_some_and(holds_numbers)
            && let Some(list) = read(text, options())
        {
            fields.insert(name.to_owned(), list.into());
        }
    }
    Some(fields)
}

fn holds_numbers(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().any(|item| !item.is_string()))
}

type ReadList = fn(&str, serde_saphyr::Options) -> Option<Vec<String>>;

/// Reads one field as texts: there, `007` is not a number.
macro_rules! lists {
    ($($field:ident),+) => {
        [$((stringify!($field), {
            fn read(text: &str, options: serde_saphyr::Options) -> Option<Vec<String>> {
                #[derive(Deserialize)]
                struct Only {
                    $field: Vec<String>,
                }
                let only: Only = serde_saphyr::from_str_with_options(text, options).ok()?;
                Some(only.$field)
            }
            read as ReadList
        })),+]
    };
}

const LISTS: [(&str, ReadList); 6] =
    lists!(keys, refine_keys, tags, requires, excludes, cascade_links);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_read_as_yaml() {
        let text = "---\nkeys: [007, yes, \"a, b\"] # names\nsummary: >\n  folded\n  text\n\
                    deep:\n  er: 1\npriority: 5\npriority: 6\n---\nBody\n---\n";
        let read = split(text, YamlReader::Full);
        let expected = json!({
            "keys": ["007", "yes", "a, b"], "summary": "folded text\n", "deep": {"er": 1},
            "priority": 6
        });
        assert_eq!(Value::Object(read.fields), expected);
        assert_eq!((read.body, read.not_yaml), ("Body\n---\n", false));
    }

    #[test]
    fn what_is_not_yaml_is_read_line_by_line() {
        let read = split("---\ntitle: a: b\nkeys: [x\n---\nBody", YamlReader::Full);
        assert_eq!(Value::Object(read.fields), json!({"title": "a: b", "keys": "[x"}));
        assert!(read.not_yaml);
    }

    #[test]
    fn fences_stand_on_lines_of_their_own() {
        for (text, body) in [
            ("---\na: 1\n---  \nB", "B"),
            ("---\r\na: 1\r\n---\r\nB", "B"),
            ("---\na: 1\n---", ""),
            (" ---\na: 1\n---\nB", " ---\na: 1\n---\nB"),
        ] {
            for reader in [YamlReader::Mini, YamlReader::Full] {
                assert_eq!(split(text, reader).body, body, "{text:?}");
            }
        }
    }

    #[test]
    fn a_line_that_begins_with_a_fence_is_one_only_to_deeplore() {
        for (text, mini, full) in [
            ("---\na: 1\n--- x\nB", "x\nB", None),
            ("---\na: 1\n----\nB", "-\nB", None),
            ("---\na: 1\n---B", "B", None),
            ("---\na: 1\n--- x\n---\nB", "x\n---\nB", Some("B")),
            ("---\n\n---\nB", "B", Some("B")),
            ("---\n---\nB", "---\n---\nB", Some("B")),
        ] {
            assert_eq!(split(text, YamlReader::Mini).body, mini, "{text:?}");
            assert_eq!(split(text, YamlReader::Full).body, full.unwrap_or(text), "{text:?}");
        }
        let fields = split("---\r\na: 1\r\n--- x", YamlReader::Mini).fields;
        assert_eq!(Value::Object(fields), json!({"a": 1.0}));
    }

    #[test]
    fn a_bomb_of_aliases_is_not_followed() {
        let level = |level: u32| {
            let item = if level == 0 { "x".to_owned() } else { format!("*a{}", level - 1) };
            format!("a{level}: &a{level} [{}]\n", vec![item; 10].join(", "))
        };
        let bomb: String = (0..12).map(level).collect();
        assert!(split(&format!("---\n{bomb}---\nB"), YamlReader::Full).not_yaml);
    }
}
