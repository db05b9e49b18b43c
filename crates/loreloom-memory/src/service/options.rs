//! How memory works, and the file that sets it.

use std::collections::BTreeMap;

use loreloom_ports::Policy;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::ModelUse;
use crate::{
    inject::Labels, model_profile::ModelProfile, recall::Weights, rules::Rules, settings::Settings,
};

/// How memory works.
#[derive(Clone, Debug)]
pub struct Options {
    /// The settings.
    pub settings: Settings,
    /// The rules.
    pub rules: Rules,
    /// The labels around what is remembered.
    pub labels: Labels,
    /// How passages are ranked.
    pub weights: Weights,
    /// The most passages recalled for a turn; 0 turns recall off.
    pub recall_most: usize,
    /// By how many standard deviations a passage must stand out.
    pub recall_least: f64,
    /// The most passages indexed at once, over all chats.
    pub passages_most: usize,
    /// The model at the start. Without one, no jobs are queued; recall works all the same.
    /// [`ModelRoles::assign`](super::ModelRoles::assign) can set another one later.
    pub model: Option<ModelUse>,
    /// How the memory of characters is used, by id or name. The default is everything.
    pub policies: BTreeMap<String, Policy>,
    /// How capable the model is, whatever its connection suggests.
    pub model_profile: Option<ModelProfile>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            rules: Rules::default(),
            labels: Labels::default(),
            weights: Weights::default(),
            recall_most: 6,
            recall_least: 1.0,
            passages_most: 200_000,
            model: None,
            policies: BTreeMap::new(),
            model_profile: None,
        }
    }
}

/// Why a settings file was refused.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// It is not JSON of the right shape.
    #[error("the memory settings cannot be read: {reason}")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// There is no such profile of rules.
    #[error("`profile` must be `default` or `{}`, found `{found}`", Rules::SMART_MEMORY_1_8)]
    Profile {
        /// The name in the file.
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

/// The file. Every part is optional.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OptionsFile {
    profile: Option<String>,
    hardware: Option<ModelProfile>,
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
    /// Reads a settings file: `profile`, `hardware`, `settings`, `rules`, `labels`, `policies`
    /// and `recall`, each with the fields that differ from the defaults.
    pub fn read(json: &str) -> Result<Self, OptionsError> {
        let file: OptionsFile = serde_json::from_str(json)
            .map_err(|error| OptionsError::Form { reason: error.to_string() })?;
        let name = file.profile.as_deref().unwrap_or("default");
        let rules =
            Rules::named(name).ok_or_else(|| OptionsError::Profile { found: name.to_owned() })?;
        let defaults = Self::default();
        Ok(Self {
            settings: overlaid("settings", &Settings::default(), file.settings)?,
            rules: overlaid("rules", &rules, file.rules)?,
            labels: overlaid("labels", &Labels::default(), file.labels)?,
            recall_most: file.recall.most.unwrap_or(defaults.recall_most),
            recall_least: file.recall.least.unwrap_or(defaults.recall_least),
            passages_most: file.recall.passages.unwrap_or(defaults.passages_most),
            policies: file.policies,
            model_profile: file.hardware,
            ..defaults
        })
    }
}

/// A value with some of its fields replaced. Unknown fields are refused.
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
    use crate::inject::{MemorySlot, SlotPosition};

    #[test]
    fn a_file_holds_what_differs_and_mistakes_are_named() {
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
        let moved = settings.places[&MemorySlot::Arcs];
        assert_eq!((moved.position, moved.depth), (SlotPosition::InChat, Depth(7)));
        assert_eq!(options.policies["Mara"], Policy::Local);
        assert_eq!((options.recall_most, options.model_profile), (2, Some(ModelProfile::B)));
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
