//! Values of settings as people write them, checked.
//!
//! People write `"none"` where the tree has no value, because TOML and command lines know no
//! null.

use serde_json::{Number, Value, json};

use crate::{
    error::SettingError,
    setting::{Setting, ValueKind},
};

/// The word for no value.
pub(crate) const NONE: &str = "none";

impl Setting {
    /// What its value must be, in words.
    pub fn rule(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        let rule = match self.kind {
            ValueKind::Switch => "`true` or `false`".to_owned(),
            // A limit that only the size of a number sets says nothing.
            ValueKind::Integer { least, most } if most >= u64::from(u32::MAX) => {
                format!("a whole number from {least}{unit}")
            }
            ValueKind::Integer { least, most } => {
                format!("a whole number from {least} to {most}{unit}")
            }
            ValueKind::Number { least, most } => format!("a number from {least} to {most}{unit}"),
            ValueKind::Text => "a text".to_owned(),
            ValueKind::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
            ValueKind::Texts => "a list of texts".to_owned(),
            ValueKind::Data => "a list or an object of its own form".to_owned(),
        };
        if self.optional { format!("{rule}, or `none`") } else { rule }
    }

    /// The value that a text on a command line means.
    pub fn read_text(&self, text: &str) -> Result<Value, SettingError> {
        let text = text.trim();
        if self.optional && text == NONE {
            return Ok(json!(NONE));
        }
        let read = match self.kind {
            ValueKind::Switch => match text {
                "true" | "on" | "yes" => Some(json!(true)),
                "false" | "off" | "no" => Some(json!(false)),
                _ => None,
            },
            ValueKind::Integer { .. } => amount(text, self.unit).map(|number| json!(number)),
            ValueKind::Number { .. } => {
                let number = text.parse().ok().and_then(Number::from_f64);
                number.map(Value::Number)
            }
            ValueKind::Texts if text.starts_with('[') => serde_json::from_str(text).ok(),
            ValueKind::Texts => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(parts.collect())
            }
            ValueKind::Data if text.starts_with(['[', '{', '"']) => serde_json::from_str(text).ok(),
            ValueKind::Text | ValueKind::Choice(_) | ValueKind::Data => Some(json!(text)),
        };
        read.ok_or_else(|| self.refused(self.rule(), format!("`{text}`")))
    }

    /// The value as the tree has it, if it is of the right kind and in range. Texts, lists and
    /// objects may still have the wrong form.
    pub(crate) fn checked(&self, value: &Value) -> Result<Value, SettingError> {
        if self.optional && *value == NONE {
            return Ok(Value::Null);
        }
        let fits = match self.kind {
            ValueKind::Switch => value.is_boolean(),
            ValueKind::Integer { least, most } => {
                return whole_of(value)
                    .filter(|number| (least..=most).contains(number))
                    .map(|number| json!(number))
                    .ok_or_else(|| self.refused_value(value));
            }
            ValueKind::Number { least, most } => {
                value.as_f64().is_some_and(|number| number >= least && number <= most)
            }
            ValueKind::Text => value.is_string(),
            ValueKind::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            ValueKind::Texts => {
                value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
            }
            ValueKind::Data => !value.is_null(),
        };
        if fits { Ok(value.clone()) } else { Err(self.refused_value(value)) }
    }

    pub(crate) fn refused(&self, rule: String, found: String) -> SettingError {
        SettingError::Value { name: self.name.to_owned(), rule, found }
    }

    fn refused_value(&self, value: &Value) -> SettingError {
        let found = match value {
            Value::String(text) => format!("`{text}`"),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.to_string(),
        };
        self.refused(self.rule(), found)
    }
}

/// A value of the tree as people write it.
pub(crate) fn shown(tree: Option<&Value>) -> Value {
    match tree {
        Some(Value::Null) | None => json!(NONE),
        Some(value) => value.clone(),
    }
}

/// A whole number; TOML and JavaScript also write it as `4.0`.
fn whole_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and not negative"
        )]
        let whole = number as u64;
        (number >= 0.0 && number.fract() == 0.0).then_some(whole)
    })
}

/// A whole number, which may have a unit if it counts bytes.
fn amount(text: &str, unit: &str) -> Option<u64> {
    if unit != "bytes" {
        return text.parse().ok();
    }
    let upper = text.to_uppercase();
    let units = [("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)];
    let sized = units.iter().find_map(|(name, size)| Some((upper.strip_suffix(name)?, *size)));
    let (digits, size) = sized.unwrap_or((upper.as_str(), 1));
    digits.trim().parse::<u64>().ok()?.checked_mul(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn a_text_is_read_by_the_kind_of_its_setting() {
        for (name, text, expected) in [
            ("world_info.recursive", "on", json!(true)),
            ("world_info.scan_depth", "7", json!(7)),
            ("world_info.budget_percent", "12.5", json!(12.5)),
            ("vault.max_tokens", "none", json!("none")),
            ("limits.text", "64MB", json!(64 << 20)),
            ("server.hosts", "a.example, b.example", json!(["a.example", "b.example"])),
            (
                "memory.places",
                r#"{"arcs":{"position":"BEFORE"}}"#,
                json!({"arcs":{"position":"BEFORE"}}),
            ),
        ] {
            assert_eq!(find(name).unwrap().read_text(text), Ok(expected), "{name}");
        }
    }

    #[test]
    fn a_value_of_another_kind_or_out_of_range_is_refused_with_rule_and_value() {
        for (name, value, expected) in [
            (
                "world_info.scan_depth",
                json!(-1),
                "`world_info.scan_depth` must be a whole number from 0 to 1000 (messages), found -1",
            ),
            (
                "world_info.recursive",
                json!("yes"),
                "`world_info.recursive` must be `true` or `false`, found `yes`",
            ),
            (
                "world_info.strategy",
                json!("first"),
                "`world_info.strategy` must be one of `evenly`, `character_first`, `global_first`, found `first`",
            ),
            (
                "vault.max_tokens",
                json!(null),
                "`vault.max_tokens` must be a whole number from 1 (tokens), or `none`, found null",
            ),
        ] {
            let error = find(name).unwrap().checked(&value).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
