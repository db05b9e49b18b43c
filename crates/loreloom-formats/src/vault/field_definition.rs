//! Checking a field that a vault defines.

use loreloom_core::{
    dialects::vault::{FieldDefinition, FieldKind, Gating},
    js_value::text_of,
};
use serde::de::{DeserializeOwned, IntoDeserializer as _, value::Error};
use serde_json::{Map, Value};

/// A definition before it is checked: its values by name, `gating` being a table.
pub(super) type RawField = Map<String, Value>;

/// What is wrong with a definition.
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
    /// The name is taken: the field is dropped.
    #[error("`{name}` is a field of every note and cannot be defined")]
    Reserved {
        /// The name.
        name: String,
    },
    /// The type is unknown: the field holds text.
    #[error("a field's type is `string`, `number` or `boolean`, found `{found}`")]
    Type {
        /// The type.
        found: String,
    },
}

/// Names that every note uses.
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

/// Checks a definition. A bad name drops it; anything else that is bad falls back to
/// its default.
pub(super) fn check(raw: &RawField) -> (Option<FieldDefinition>, Vec<BadField>) {
    let mut bad = Vec::new();
    let text = |key: &str| {
        let text = raw.get(key).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let name = text("name");
    bad.extend(check_name(name));
    let is_named = bad.is_empty();
    let kind = raw.get("type").filter(|kind| !kind.is_null()).map(text_of);
    let known: Option<FieldKind> = kind.as_deref().and_then(named);
    if let (None, Some(found)) = (known, kind) {
        bad.push(BadField::Type { found });
    }
    let Some(name) = name.filter(|_| is_named) else { return (None, bad) };
    let gating = raw.get("gating").and_then(Value::as_object);
    let gate = |key: &str| gating.and_then(|gating| gating.get(key));
    let values = raw.get("values").and_then(Value::as_array).into_iter().flatten();
    let definition = FieldDefinition {
        name: name.to_owned(),
        label: text("label").unwrap_or(name).to_owned(),
        kind: known.unwrap_or_default(),
        multi: raw.get("multi") == Some(&Value::Bool(true)),
        gating: Gating {
            enabled: gate("enabled") != Some(&Value::Bool(false)),
            operator: gate("operator").and_then(Value::as_str).and_then(named).unwrap_or_default(),
            tolerance: gate("tolerance")
                .and_then(Value::as_str)
                .and_then(named)
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

/// The setting of that name.
fn named<T: DeserializeOwned>(name: &str) -> Option<T> {
    let name: serde::de::value::StrDeserializer<'_, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

fn check_name(name: Option<&str>) -> Option<BadField> {
    let Some(name) = name else { return Some(BadField::NoName) };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Some(BadField::Name { name: name.to_owned() });
    }
    RESERVED.contains(&name).then(|| BadField::Reserved { name: name.to_owned() })
}
