//! The settings of memory.

use std::collections::BTreeMap;

use loreloom_memory::{
    inject::Labels,
    model_profile::ModelProfile,
    rules::Rules,
    service::{Options, Policy},
    settings::Settings as MemorySettings,
};
use serde::{Deserialize, Serialize};

/// The settings of memory. They have the names of Smart Memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemorySection {
    /// Whether stories are remembered.
    pub on: bool,
    /// What Smart Memory can set, and more.
    #[serde(flatten)]
    pub settings: MemorySettings,
    /// Decisions in which programs differ.
    pub rules: Rules,
    /// The words around what is remembered.
    pub labels: Labels,
    /// Passages of the story itself.
    pub recall: RecallSection,
    /// How capable the model is that does memory's work; `None` for what its connection suggests.
    pub hardware: Option<ModelProfile>,
    /// How the memory of characters is used, by id or name.
    pub policies: BTreeMap<String, Policy>,
}

/// How passages of the story are recalled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallSection {
    /// The most passages for a turn.
    pub most: usize,
    /// By how many standard deviations a passage must stand out.
    pub least: f64,
    /// The most passages that are indexed at once.
    pub passages: usize,
}

impl Default for RecallSection {
    fn default() -> Self {
        let own = Options::default();
        Self { most: own.recall_most, least: own.recall_least, passages: own.passages_most }
    }
}

impl Default for MemorySection {
    fn default() -> Self {
        Self {
            on: true,
            settings: MemorySettings::default(),
            rules: Rules::default(),
            labels: Labels::default(),
            recall: RecallSection::default(),
            hardware: None,
            policies: BTreeMap::new(),
        }
    }
}

impl MemorySection {
    /// How memory works.
    pub fn options(&self) -> Options {
        Options {
            settings: self.settings.clone(),
            rules: self.rules.clone(),
            labels: self.labels.clone(),
            recall_most: self.recall.most,
            recall_least: self.recall.least,
            passages_most: self.recall.passages,
            model_profile: self.hardware,
            policies: self.policies.clone(),
            ..Options::default()
        }
    }
}
