//! Fields that a vault defines for its notes, and how they are compared with the context of
//! a chat.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    book::is_js_space,
    js_value::{read_number, text_of},
};

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
    /// Its name in the context.
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
    /// What happens if a value is missing.
    pub tolerance: Tolerance,
}

/// How the value of a note is compared with the context's. Text ignores case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// One of the note's values is one of the context's.
    #[default]
    MatchAny,
    /// All of the note's values are among the context's.
    MatchAll,
    /// None of the note's values is one of the context's.
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

/// What happens if a value is missing or the values do not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A note with a value needs a context with one.
    Strict,
    /// A context without a value lets the note pass.
    #[default]
    Moderate,
    /// Values that merely do not match let it pass too.
    Lenient,
}

/// Fields of World Info that vaults do not act on yet.
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
    /// Whether it looks only at the note.
    pub fn is_about_existence(self) -> bool {
        matches!(self, Self::Exists | Self::NotExists)
    }

    /// Compares a note's value with the context's.
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
}

/// Whether a value is missing, an empty text or an empty list.
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

/// A value as a number, else NaN, which compares false with everything.
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
