//! Fields that a vault defines for its notes, and how they are compared with the scene.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::numbers::{read_number, write_number};
use crate::book::is_js_space;

/// A field that notes may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDefinition {
    /// Its name in the notes.
    pub name: String,
    /// What people call it.
    pub label: String,
    /// What its values are.
    pub kind: FieldKind,
    /// Whether a note may have several values.
    pub multi: bool,
    /// Whether and how it decides.
    pub gating: Gating,
    /// Values that are offered; none is any.
    pub values: Vec<String>,
    /// What the scene calls it.
    pub context_key: String,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// Text.
    #[default]
    String,
    /// Numbers.
    Number,
    /// Yes or no.
    Boolean,
}

/// Whether and how a field decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gating {
    /// Whether it does.
    pub enabled: bool,
    /// How values are compared.
    pub operator: Operator,
    /// What happens where one side says nothing.
    pub tolerance: Tolerance,
}

/// How the value of a note is compared with the scene's. Text ignores case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// One of the note's values is one of the scene's.
    #[default]
    MatchAny,
    /// All of the note's values are among the scene's.
    MatchAll,
    /// None of the note's values is one of the scene's.
    NotAny,
    /// The note has a value.
    Exists,
    /// The note has no value.
    NotExists,
    /// The note's number is larger.
    Gt,
    /// The note's number is smaller.
    Lt,
    /// The values are the same text.
    Eq,
}

/// What happens where one side says nothing, or the values do not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A note with a value needs a scene with one.
    Strict,
    /// A scene without a value lets the note pass.
    #[default]
    Moderate,
    /// Values that merely do not match let it pass too.
    Lenient,
}

/// A field as the definitions file has it, before it is checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawField {
    /// Its values by name, `gating` being a table.
    pub values: crate::book::Extensions,
}

/// Why a definition is not taken as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadField {
    /// There is no name.
    #[error("a field needs a name")]
    NoName,
    /// The name cannot be used: the field is dropped.
    #[error(
        "a field's name is lower-case letters, digits and `_` and begins with a letter, found `{name}`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The name means something already: the field is dropped.
    #[error("`{name}` is a field of every note and cannot be defined")]
    Reserved {
        /// The name.
        name: String,
    },
    /// The type is not known: the field holds text.
    #[error("a field's type is `string`, `number` or `boolean`, found `{found}`")]
    Type {
        /// The type.
        found: String,
    },
}

/// Names that notes use already.
const RESERVED: [&str; 26] = [
    "keys",
    "priority",
    "tags",
    "requires",
    "excludes",
    "position",
    "depth",
    "role",
    "scandepth",
    "excluderecursion",
    "refine_keys",
    "cascade_links",
    "cooldown",
    "warmup",
    "probability",
    "summary",
    "graph",
    "enabled",
    "constant",
    "seed",
    "bootstrap",
    "type",
    "fileclass",
    "status",
    "aliases",
    "selective_logic",
];

/// Fields of World Info that vaults will act on one day.
pub const NOT_IMPLEMENTED: [&str; 4] = ["sticky", "delay", "group", "group_weight"];
/// Fields of World Info that are only carried along.
pub const ROUND_TRIP: [&str; 22] = [
    "vectorized",
    "selective",
    "use_probability",
    "prevent_recursion",
    "delay_until_recursion",
    "group_override",
    "use_group_scoring",
    "case_sensitive",
    "match_whole_words",
    "automation_id",
    "add_memo",
    "display_index",
    "match_persona_description",
    "match_character_description",
    "match_character_personality",
    "match_character_depth_prompt",
    "match_scenario",
    "match_creator_notes",
    "triggers",
    "ignore_budget",
    "character_filter",
    "decorators",
];

impl Operator {
    /// The operator of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "match_any" => Self::MatchAny,
            "match_all" => Self::MatchAll,
            "not_any" => Self::NotAny,
            "exists" => Self::Exists,
            "not_exists" => Self::NotExists,
            "gt" => Self::Gt,
            "lt" => Self::Lt,
            "eq" => Self::Eq,
            _ => return None,
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MatchAny => "match_any",
            Self::MatchAll => "match_all",
            Self::NotAny => "not_any",
            Self::Exists => "exists",
            Self::NotExists => "not_exists",
            Self::Gt => "gt",
            Self::Lt => "lt",
            Self::Eq => "eq",
        }
    }

    /// Whether it looks only at the note.
    pub fn is_about_existence(self) -> bool {
        matches!(self, Self::Exists | Self::NotExists)
    }

    /// Compares a note's value with the scene's.
    pub fn holds(self, note: Option<&Value>, scene: Option<&Value>) -> bool {
        let (mine, theirs) = (texts(note), texts(scene));
        let numbers = || (number(note), number(scene));
        match self {
            Self::MatchAny => mine.iter().any(|value| theirs.contains(value)),
            Self::MatchAll => mine.iter().all(|value| theirs.contains(value)),
            Self::NotAny => !mine.iter().any(|value| theirs.contains(value)),
            Self::Exists => !is_missing(note),
            Self::NotExists => is_missing(note),
            Self::Eq => whole(note) == whole(scene),
            Self::Gt => numbers().0 > numbers().1,
            Self::Lt => numbers().0 < numbers().1,
        }
    }
}

impl Tolerance {
    /// The tolerance of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "strict" => Self::Strict,
            "moderate" => Self::Moderate,
            "lenient" => Self::Lenient,
            _ => return None,
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Moderate => "moderate",
            Self::Lenient => "lenient",
        }
    }
}

impl FieldKind {
    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

impl FieldDefinition {
    /// The fields of a vault that defines none.
    pub fn built_in() -> Vec<Self> {
        [
            ("era", "Era"),
            ("location", "Location"),
            ("scene_type", "Scene Type"),
            ("character_present", "Characters Present"),
        ]
        .map(|(name, label)| Self {
            name: name.to_owned(),
            label: label.to_owned(),
            kind: FieldKind::String,
            multi: true,
            gating: Gating {
                enabled: true,
                operator: Operator::MatchAny,
                tolerance: Tolerance::Moderate,
            },
            values: Vec::new(),
            context_key: name.to_owned(),
        })
        .into()
    }

    /// Checks a definition. A bad name drops it; anything else that is bad falls back to
    /// its default.
    pub fn check(raw: &RawField) -> (Option<Self>, Vec<BadField>) {
        let mut bad = Vec::new();
        let text = |key: &str| {
            let text = raw.values.get(key).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty())
        };
        let name = text("name");
        bad.extend(check_name(name));
        let is_named = bad.is_empty();
        let kind = raw.values.get("type").filter(|kind| !kind.is_null()).map(text_of);
        let known = kind.as_deref().map(FieldKind::named);
        if let (Some(None), Some(found)) = (known, kind) {
            bad.push(BadField::Type { found });
        }
        let Some(name) = name.filter(|_| is_named) else { return (None, bad) };
        let gating = raw.values.get("gating").and_then(Value::as_object);
        let gate = |key: &str| gating.and_then(|gating| gating.get(key));
        let values = raw.values.get("values").and_then(Value::as_array).into_iter().flatten();
        let definition = Self {
            name: name.to_owned(),
            label: text("label").unwrap_or(name).to_owned(),
            kind: known.flatten().unwrap_or_default(),
            multi: raw.values.get("multi") == Some(&Value::Bool(true)),
            gating: Gating {
                enabled: gate("enabled") != Some(&Value::Bool(false)),
                operator: gate("operator")
                    .and_then(Value::as_str)
                    .and_then(Operator::named)
                    .unwrap_or_default(),
                tolerance: gate("tolerance")
                    .and_then(Value::as_str)
                    .and_then(Tolerance::named)
                    .unwrap_or_default(),
            },
            values: values
                .map(|value| text_of(value).trim().to_owned())
                .filter(|value| !value.is_empty())
                .collect(),
            context_key: text("contextKey").unwrap_or(name).to_owned(),
        };
        (Some(definition), bad)
    }
}

fn check_name(name: Option<&str>) -> Option<BadField> {
    let Some(name) = name else { return Some(BadField::NoName) };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Some(BadField::Name { name: name.to_owned() });
    }
    RESERVED.contains(&name).then(|| BadField::Reserved { name: name.to_owned() })
}

/// Whether a value says nothing: missing, empty text, or an empty list.
pub fn is_empty_value(value: Option<&Value>) -> bool {
    is_missing(value) || value.and_then(Value::as_str).is_some_and(str::is_empty)
}

fn is_missing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => false,
    }
}

/// A value as text, the way JavaScript writes it.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text_in_list).collect::<Vec<_>>().join(","),
        Value::Object(_) => value.to_string(),
    }
}

/// An item of a list that is written as one text: nothing leaves its place empty.
pub(super) fn text_in_list(item: &Value) -> String {
    if item.is_null() { String::new() } else { text_of(item) }
}

/// A number without `.0` behind a whole one.
fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_number(float),
        Some(_) | None => number.to_string(),
    }
}

/// The values in lower case.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => list.iter().map(|one| text_of(one).to_lowercase()).collect(),
        Some(one) => vec![text_of(one).to_lowercase()],
        None => vec!["undefined".to_owned()],
    }
}

/// A value as one text in lower case.
fn whole(value: Option<&Value>) -> String {
    value.map_or_else(|| "undefined".to_owned(), |value| text_of(value).to_lowercase())
}

/// A value as a number; whatever is none compares false with everything.
fn number(value: Option<&Value>) -> f64 {
    match value {
        None | Some(Value::Object(_)) => f64::NAN,
        Some(Value::Null) => 0.0,
        Some(Value::Bool(flag)) => f64::from(u8::from(*flag)),
        Some(Value::Number(number)) => number.as_f64().unwrap_or(f64::NAN),
        Some(text @ (Value::String(_) | Value::Array(_))) => {
            let text = text_of(text);
            let is_blank = text.trim_matches(is_js_space).is_empty();
            if is_blank { 0.0 } else { read_number(&text).unwrap_or(f64::NAN) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operators_compare_without_case_and_numbers_by_value() {
        for (operator, note, scene, holds) in [
            (Operator::MatchAny, json!(["a", "B"]), json!("b"), true),
            (Operator::MatchAll, json!(["a", "b"]), json!(["A"]), false),
            (Operator::NotAny, json!("a"), json!(["b"]), true),
            (Operator::Eq, json!(["a", "b"]), json!("A,B"), true),
            (Operator::Gt, json!(5), json!("4"), true),
            (Operator::Gt, json!("x"), json!(1), false),
            (Operator::Lt, json!("x"), json!(1), false),
            (Operator::Gt, json!("0x10"), json!([]), true),
            (Operator::Gt, json!("Infinity"), json!(1e300), true),
            (Operator::Gt, json!("inf"), json!(1), false),
            (Operator::Lt, json!([null]), json!("5"), true),
            (Operator::Eq, json!([null]), json!(""), true),
            (Operator::Eq, json!([null, "A"]), json!(",a"), true),
            (Operator::Eq, json!(-0.0), json!("0"), true),
            (Operator::MatchAny, json!([null]), json!("null"), true),
            (Operator::Exists, json!(0), Value::Null, true),
            (Operator::NotExists, json!([]), Value::Null, true),
        ] {
            assert_eq!(operator.holds(Some(&note), Some(&scene)), holds, "{operator:?} {note}");
        }
    }
}
