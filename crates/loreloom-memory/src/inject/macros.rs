//! Macros that put a slot's text into a card.

use serde::Deserialize;

use super::MemorySlot;
use crate::settings::Settings;

/// The fields of a card that may contain macros.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CardTexts {
    /// The system prompt.
    pub system_prompt: String,
    /// The description.
    pub description: String,
    /// The personality.
    pub personality: String,
    /// The scenario.
    pub scenario: String,
    /// Example dialogue.
    pub mes_example: String,
}

impl CardTexts {
    fn contains(&self, token: &str) -> bool {
        [
            &self.system_prompt,
            &self.description,
            &self.personality,
            &self.scenario,
            &self.mes_example,
        ]
        .iter()
        .any(|text| text.contains(token))
    }
}

/// The slot of that macro, written without braces.
pub fn slot_of(name: &str) -> Option<MemorySlot> {
    MemorySlot::SINGLE
        .into_iter()
        .chain([MemorySlot::Unified])
        .find(|slot| slot.macro_name() == Some(name))
}

/// Whether a slot's text goes to its macro instead of its place. The unified macro works only in
/// unified mode, the others only outside it.
pub fn is_active(slot: MemorySlot, cards: &[CardTexts], settings: &Settings) -> bool {
    let Some(name) = slot.macro_name() else { return false };
    if (slot == MemorySlot::Unified) != settings.unified_injection {
        return false;
    }
    let token = format!("{{{{{name}}}}}");
    settings.macros_enabled || cards.iter().any(|card| card.contains(&token))
}
