//! The settings of memory, with Smart Memory's names and defaults.

use std::collections::BTreeMap;

use loreloom_core::units::Tokens;
use serde::{Deserialize, Serialize};

use crate::{
    inject::{MemorySlot, SlotPlacement},
    record::MemoryKind,
    story_clock::Calendar,
};

/// What each tier may put into the prompt, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budgets {
    /// Long-term memories.
    #[serde(rename = "longterm_inject_budget")]
    pub longterm: Tokens,
    /// Session memories.
    #[serde(rename = "session_inject_budget")]
    pub session: Tokens,
    /// Past scenes.
    #[serde(rename = "scene_inject_budget")]
    pub scenes: Tokens,
    /// Open arcs.
    #[serde(rename = "arcs_inject_budget")]
    pub arcs: Tokens,
    /// History as prose.
    #[serde(rename = "canon_inject_budget")]
    pub canon: Tokens,
    /// Profiles.
    #[serde(rename = "profiles_inject_budget")]
    pub profiles: Tokens,
    /// Feelings.
    #[serde(rename = "relationships_inject_budget")]
    pub relationships: Tokens,
    /// Who knows what.
    #[serde(rename = "epistemic_inject_budget")]
    pub epistemic: Tokens,
    /// State cards.
    #[serde(rename = "state_ledger_inject_budget")]
    pub ledger: Tokens,
    /// Passages recalled from the story itself.
    #[serde(rename = "recall_inject_budget")]
    pub recall: Tokens,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            longterm: Tokens(500),
            session: Tokens(400),
            scenes: Tokens(300),
            arcs: Tokens(700),
            canon: Tokens(800),
            profiles: Tokens(400),
            relationships: Tokens(250),
            epistemic: Tokens(200),
            ledger: Tokens(200),
            recall: Tokens(400),
        }
    }
}

/// How many new memories of a kind start a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConsolidationThresholds {
    /// Facts.
    #[serde(rename = "consolidation_threshold_fact")]
    pub fact: usize,
    /// Relationships.
    #[serde(rename = "consolidation_threshold_relationship")]
    pub relationship: usize,
    /// Preferences.
    #[serde(rename = "consolidation_threshold_preference")]
    pub preference: usize,
    /// Events.
    #[serde(rename = "consolidation_threshold_event")]
    pub event: usize,
    /// Every kind of session memory that has no threshold of its own.
    #[serde(rename = "consolidation_threshold_session")]
    pub session: usize,
    /// Scenes.
    #[serde(rename = "consolidation_threshold_scene")]
    pub scene: Option<usize>,
    /// Revelations.
    #[serde(rename = "consolidation_threshold_revelation")]
    pub revelation: Option<usize>,
    /// Developments.
    #[serde(rename = "consolidation_threshold_development")]
    pub development: Option<usize>,
    /// Details.
    #[serde(rename = "consolidation_threshold_detail")]
    pub detail: Option<usize>,
}

impl Default for ConsolidationThresholds {
    fn default() -> Self {
        Self {
            fact: 4,
            relationship: 3,
            preference: 3,
            event: 4,
            session: 3,
            scene: None,
            revelation: None,
            development: None,
            detail: None,
        }
    }
}

impl ConsolidationThresholds {
    /// The smallest batch worth a call.
    const LEAST: usize = 2;

    /// The threshold of one kind.
    pub fn of(&self, kind: MemoryKind) -> usize {
        let wanted = match kind {
            MemoryKind::Fact | MemoryKind::Private => self.fact,
            MemoryKind::Relationship => self.relationship,
            MemoryKind::Preference => self.preference,
            MemoryKind::Event => self.event,
            MemoryKind::Scene => self.scene.unwrap_or(self.session),
            MemoryKind::Revelation => self.revelation.unwrap_or(self.session),
            MemoryKind::Development => self.development.unwrap_or(self.session),
            MemoryKind::Detail => self.detail.unwrap_or(self.session),
            MemoryKind::Other => self.session,
        };
        wanted.max(Self::LEAST)
    }
}

/// Whether one total or every budget is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingsMode {
    /// One total, divided between the tiers.
    #[default]
    Simple,
    /// Every budget on its own.
    Advanced,
}

/// After how many messages a value expires: a mood with the scene, a place with the next journey, a
/// goal with its chapter. Injuries, owners and damage last.
const EXPIRY: &[(&str, usize)] = &[
    ("active_goal", 100),
    ("hazards", 60),
    ("location", 100),
    ("mood", 20),
    ("occupants", 40),
    ("outfit_disguise", 100),
];

/// All settings that a pure decision reads.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that users know by name")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// What each tier may put into the prompt.
    #[serde(flatten)]
    pub budgets: Budgets,
    /// When new memories are merged.
    #[serde(flatten)]
    pub consolidation: ConsolidationThresholds,
    /// Whether new memories are merged at all.
    pub consolidation_enabled: bool,
    /// Summarise the story.
    pub compaction_enabled: bool,
    /// Keep long-term memories.
    pub longterm_enabled: bool,
    /// Keep session memories.
    pub session_enabled: bool,
    /// Detect and summarise scenes.
    pub scene_enabled: bool,
    /// Keep arcs.
    pub arcs_enabled: bool,
    /// Write profiles.
    pub profiles_enabled: bool,
    /// Write canon.
    pub canon_enabled: bool,
    /// Show relationships. They are stored with long-term memories either way.
    pub relationships_enabled: bool,
    /// Store who knows what.
    pub epistemic_enabled: bool,
    /// Check every reply of a strong model for contradictions.
    pub continuity_auto_check: bool,
    /// Write a note for the next reply when a check finds contradictions.
    pub continuity_auto_repair: bool,
    /// Whether one total or every budget is set.
    pub settings_mode: SettingsMode,
    /// The longest summary in tokens, written and injected.
    pub compaction_response_length: u32,
    /// The story is summarised from this share of the context on, in per cent.
    pub compaction_threshold: u32,
    /// The most active long-term memories.
    pub longterm_max_memories: usize,
    /// The most active session memories.
    pub session_max_memories: usize,
    /// Messages between two extractions.
    pub extract_every: usize,
    /// The most open arcs.
    pub arcs_max: usize,
    /// Scenes that are kept.
    pub scene_max_history: usize,
    /// Messages before a scene can end.
    pub scene_min_messages: usize,
    /// Ask the model whether a scene ended.
    pub scene_ai_detect: bool,
    /// Ask the model for trigger words instead of taking them from the memory.
    pub triggers_enabled: bool,
    /// Keep state cards.
    pub state_ledger_enabled: bool,
    /// Show a character what it does not know.
    pub epistemic_inject_unaware: bool,
    /// Mark memories that a character did not witness; otherwise they are left out.
    pub epistemic_secondhand_framing: bool,
    /// Put all slots into one block.
    pub unified_injection: bool,
    /// Slots go only to their macros, whether or not a card uses them.
    pub macros_enabled: bool,
    /// Hours away after which a recap is offered.
    pub recap_threshold_hours: u32,
    /// Minutes after which a profile is written again if notes that concern it changed.
    pub profiles_stale_minutes: u32,
    /// Messages after which a profile is written again if notes that concern it changed.
    pub profiles_stale_messages: usize,
    /// Ask strong models for several tiers in one call.
    pub structured_calls: bool,
    /// Offer a recap to a returning reader.
    pub recap_enabled: bool,
    /// Grow budgets to what tiers wanted.
    pub auto_tune_budgets: bool,
    /// One total for all tiers, divided in simple mode; otherwise each budget counts.
    pub total_inject_budget: Option<Tokens>,
    /// The most tokens that memory uses of a prompt, whatever its budgets.
    pub inject_cap: Option<Tokens>,
    /// Slots with another place than the default.
    pub places: BTreeMap<MemorySlot, SlotPlacement>,
    /// Read the story's own time from its words, and say how long ago things were.
    pub story_clock: bool,
    /// The months of the story's world; empty for our own.
    pub calendar: Calendar,
    /// Leave messages out of the prompt that the summary covers.
    pub shrink_history: bool,
    /// How many of the newest messages always stay in the prompt.
    pub shrink_history_keep: usize,
    /// After how many messages an unconfirmed value of a field expires. Other fields do not expire.
    pub state_ledger_expiry: BTreeMap<String, usize>,
}

impl Settings {
    /// The budgets of the tiers.
    pub fn tier_budgets(&self) -> Budgets {
        match (self.settings_mode, self.total_inject_budget) {
            (SettingsMode::Simple, Some(total)) => {
                Budgets { recall: self.budgets.recall, ..Budgets::of_total(total) }
            }
            _ => self.budgets,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budgets: Budgets::default(),
            consolidation: ConsolidationThresholds::default(),
            consolidation_enabled: true,
            compaction_enabled: true,
            longterm_enabled: true,
            session_enabled: true,
            scene_enabled: true,
            arcs_enabled: true,
            profiles_enabled: true,
            canon_enabled: true,
            relationships_enabled: true,
            epistemic_enabled: true,
            continuity_auto_check: true,
            continuity_auto_repair: false,
            settings_mode: SettingsMode::Simple,
            compaction_response_length: 2000,
            compaction_threshold: 80,
            longterm_max_memories: 25,
            session_max_memories: 30,
            extract_every: 3,
            arcs_max: 10,
            scene_max_history: 5,
            scene_min_messages: 3,
            scene_ai_detect: false,
            triggers_enabled: false,
            state_ledger_enabled: false,
            epistemic_inject_unaware: true,
            epistemic_secondhand_framing: true,
            unified_injection: false,
            macros_enabled: false,
            recap_threshold_hours: 4,
            profiles_stale_minutes: 30,
            profiles_stale_messages: 20,
            structured_calls: true,
            recap_enabled: true,
            auto_tune_budgets: false,
            total_inject_budget: None,
            inject_cap: None,
            places: BTreeMap::new(),
            story_clock: false,
            calendar: Calendar::new(),
            shrink_history: false,
            shrink_history_keep: 20,
            state_ledger_expiry: EXPIRY
                .iter()
                .map(|(field, messages)| ((*field).to_owned(), *messages))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_settings_replace_defaults_and_the_rest_stays() -> Result<(), serde_json::Error> {
        let settings: Settings =
            serde_json::from_str(r#"{"arcs_inject_budget":5,"arcs_max":2,"other":1}"#)?;
        assert_eq!((settings.budgets.arcs, settings.budgets.canon), (Tokens(5), Tokens(800)));
        assert_eq!((settings.arcs_max, settings.scene_max_history), (2, 5));
        Ok(())
    }

    #[test]
    fn a_batch_of_one_is_never_merged() {
        let thresholds = ConsolidationThresholds { fact: 0, ..Default::default() };
        assert_eq!(thresholds.of(MemoryKind::Fact), 2);
        assert_eq!(thresholds.of(MemoryKind::Detail), 3);
    }
}
