//! Whether and how lore goes into requests, and what requests do not say.

use loreloom_core::{assemble::PromptTemplate, cache_placement::StableSettings};
use serde::{Deserialize, Serialize};

/// Whether and how lore goes into requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WeavingSection {
    /// Whether at all.
    pub on: bool,
    /// The longest that the engine works for a request.
    pub deadline_ms: u64,
    /// The longest that a request waits for its turn to be decided.
    pub queue_seconds: u64,
    /// Where lore goes.
    pub placement: PlacementMode,
    /// How the stable placement keeps texts in place.
    pub stable: StableSettings,
    /// The order of prompts.
    pub template: PromptTemplate,
}

/// Where lore goes in prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementMode {
    /// Where its authors want it.
    #[default]
    FrontEnd,
    /// Where a prompt cache keeps most of each prompt.
    Stable,
}

impl Default for WeavingSection {
    fn default() -> Self {
        Self {
            on: true,
            deadline_ms: 2000,
            queue_seconds: 30,
            placement: PlacementMode::default(),
            stable: StableSettings::default(),
            template: PromptTemplate::default(),
        }
    }
}

/// What requests do not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StorySection {
    /// The user's name.
    pub user: String,
    /// The character's name.
    pub character: Option<String>,
    /// The model's context size, in tokens.
    pub context: u32,
    /// The seed of all rolls.
    pub seed: u64,
}

impl Default for StorySection {
    fn default() -> Self {
        Self { user: "User".to_owned(), character: None, context: 8192, seed: 0 }
    }
}
