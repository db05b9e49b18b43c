//! How memory works, as a file says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Options, Policy};
use crate::{hardware::Hardware, inject::Labels, rules::Rules, settings::Settings};

/// Why a file of settings was refused.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// It is no JSON of the right form.
    #[error("the settings of memory cannot be read: {reason}")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// There are no such rules.
    #[error("`profile` must be `default` or `{}`, found `{found}`", Rules::SMART_MEMORY_1_8)]
    Profile {
        /// What it says.
        found: String,
    },
    /// There is no such field.
    #[error("`{part}` has no field `{name}`")]
    Unknown {
        /// The part of the file.
        part: &'static str,
        /// The field.
        name: String,
    },
    /// A field cannot have that value.
    #[error("`{part}` cannot be read: {reason}")]
    Value {
        /// The part of the file.
        part: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// The file. Everything may be left out.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    profile: Option<String>,
    hardware: Option<Hardware>,
    settings: Map<String, Value>,
    rules: Map<String, Value>,
    labels: Map<String, Value>,
    policies: BTreeMap<String, Policy>,
    recall: Recall,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Recall {
    most: Option<usize>,
    least: Option<f64>,
    passages: Option<usize>,
}

impl Options {
    /// Reads a file of settings: `profile`, `hardware`, `settings`, `rules`, `labels`,
    /// `policies` and `recall`, each with the fields that differ from the usual.
    pub fn read(json: &str) -> Result<Self, OptionsError> {
        let file: File = serde_json::from_str(json)
            .map_err(|error| OptionsError::Form { reason: error.to_string() })?;
        let name = file.profile.as_deref().unwrap_or("default");
        let rules =
            Rules::named(name).ok_or_else(|| OptionsError::Profile { found: name.to_owned() })?;
        let usual = Self::default();
        Ok(Self {
            settings: overlaid("settings", &Settings::default(), file.settings)?,
            rules: overlaid("rules", &rules, file.rules)?,
            labels: overlaid("labels", &Labels::default(), file.labels)?,
            recall_most: file.recall.most.unwrap_or(usual.recall_most),
            recall_least: file.recall.least.unwrap_or(usual.recall_least),
            passages_most: file.recall.passages.unwrap_or(usual.passages_most),
            policies: file.policies,
            hardware: file.hardware,
            ..usual
        })
    }
}

/// A value with some of its fields replaced. Fields that it does not have are refused.
fn overlaid<T: Serialize + DeserializeOwned>(
    part: &'static str,
    usual: &T,
    given: Map<String, Value>,
) -> Result<T, OptionsError> {
    let wrong = |error: serde_json::Error| OptionsError::Value { part, reason: error.to_string() };
    let mut whole = serde_json::to_value(usual).map_err(wrong)?;
    for (name, value) in given {
        match whole.get_mut(&name) {
            Some(known) => *known = value,
            None => return Err(OptionsError::Unknown { part, name }),
        }
    }
    serde_json::from_value(whole).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use loreloom_core::units::{Depth, Tokens};

    use super::*;
    use crate::inject::{Position, Slot};

    #[test]
    fn a_file_says_what_differs_and_mistakes_are_named() {
        let options = Options::read(
            r#"{
                "profile": "smart-memory-1.8", "rules": {"keeps_secrets": true},
                "settings": {"arcs_max": 3, "arcs_inject_budget": 50, "inject_cap": 900,
                    "places": {"arcs": {"position": "IN_CHAT", "depth": 7, "role": "user"}}},
                "policies": {"Mara": "local"}, "recall": {"most": 2}, "hardware": "b"
            }"#,
        )
        .unwrap();
        assert_eq!(options.rules, Rules { keeps_secrets: true, ..Rules::smart_memory_1_8() });
        let settings = &options.settings;
        assert_eq!((settings.arcs_max, settings.budgets.arcs), (3, Tokens(50)));
        let moved = settings.places[&Slot::Arcs];
        assert_eq!((moved.position, moved.depth), (Position::InChat, Depth(7)));
        assert_eq!(options.policies["Mara"], Policy::Local);
        assert_eq!((options.recall_most, options.hardware), (2, Some(Hardware::B)));
        assert_eq!(Options::read("{}").unwrap().settings, Settings::default());
        for (json, expected) in [
            (r#"{"profile": "x"}"#, "`profile` must be `default` or `smart-memory-1.8`, found `x`"),
            (r#"{"settings": {"arc_max": 3}}"#, "`settings` has no field `arc_max`"),
            (
                r#"{"rules": {"keeps_secrets": 3}}"#,
                "`rules` cannot be read: invalid type: integer `3`, expected a boolean",
            ),
        ] {
            assert_eq!(Options::read(json).unwrap_err().to_string(), expected);
        }
        assert!(Options::read("[").is_err());
        assert!(Options::read(r#"{"setings": {}}"#).is_err());
    }
}
