//! Slots that people moved, or gave another budget, at run time.
//!
//! They are stored beside the settings, so removing a change restores the current setting.

use std::collections::BTreeMap;

use loreloom_core::{chat::Role, units::Tokens};
use serde::{Deserialize, Deserializer, Serialize};

use super::{MemorySlot, SlotPlacement};
use crate::settings::{Budgets, Settings};

/// What differs from the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlotChanges {
    /// The budgets of slots, in tokens.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "set")]
    pub budgets: BTreeMap<MemorySlot, Tokens>,
    /// The places of slots.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "set")]
    pub places: BTreeMap<MemorySlot, SlotPlacement>,
    /// The most tokens for all of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<Tokens>,
    /// Whether all slots are joined into one block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unified: Option<bool>,
}

/// The set values; `null` resets a slot.
fn set<'de, D, T>(deserializer: D) -> Result<BTreeMap<MemorySlot, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let given = BTreeMap::<MemorySlot, Option<T>>::deserialize(deserializer)?;
    Ok(given.into_iter().filter_map(|(slot, value)| Some((slot, value?))).collect())
}

impl SlotChanges {
    /// A slot in `budgets` that cannot have one: triggered memories belong to another slot, a
    /// repair note is never cut, and the unified block has the total limit.
    pub fn without_budget(&self) -> Option<MemorySlot> {
        let mut usual = Budgets::default();
        let mut has =
            |slot: MemorySlot| slot == MemorySlot::Summary || budget_of(&mut usual, slot).is_some();
        self.budgets.keys().copied().find(|slot| !has(*slot))
    }

    /// The settings with the changes.
    pub fn over(&self, settings: &Settings) -> Settings {
        let mut changed = settings.clone();
        if !self.budgets.is_empty() {
            // Divided before the change, so that the other budgets stay the same.
            changed.budgets = settings.tier_budgets();
            changed.total_inject_budget = None;
        }
        for (slot, tokens) in &self.budgets {
            if let Some(budget) = budget_of(&mut changed.budgets, *slot) {
                *budget = *tokens;
            }
        }
        if let Some(tokens) = self.budgets.get(&MemorySlot::Summary) {
            changed.compaction_response_length = tokens.0;
        }
        changed.places.extend(&self.places);
        changed.inject_cap = self.cap.or(changed.inject_cap);
        changed.unified_injection = self.unified.unwrap_or(changed.unified_injection);
        changed
    }
}

/// The place and budget of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotState {
    /// The slot.
    pub slot: MemorySlot,
    /// Its name in prompts and reports.
    pub name: &'static str,
    /// Its budget; `None` for slots without one.
    pub budget: Option<Tokens>,
    /// Its place.
    #[serde(flatten)]
    pub place: SlotPlacement,
}

impl SlotState {
    /// All slots, from lasting to immediate, as if they were not joined into one block.
    pub fn all(settings: &Settings) -> Vec<Self> {
        let mut budgets = settings.tier_budgets();
        let standing = MemorySlot::SINGLE.into_iter().map(|slot| {
            let (position, depth) = slot.usual_place();
            let usual = SlotPlacement { position, depth, role: Role::System };
            let place = settings.places.get(&slot).copied().unwrap_or(usual);
            let summary = Tokens(settings.compaction_response_length);
            let budget = budget_of(&mut budgets, slot).map(|budget| *budget);
            let budget = budget.or((slot == MemorySlot::Summary).then_some(summary));
            Self { slot, name: slot.name(), budget, place }
        });
        standing.collect()
    }
}

/// The budget of a slot, if it has one.
pub(crate) fn budget_of(budgets: &mut Budgets, slot: MemorySlot) -> Option<&mut Tokens> {
    match slot {
        MemorySlot::Canon => Some(&mut budgets.canon),
        MemorySlot::Profiles => Some(&mut budgets.profiles),
        MemorySlot::LongTerm => Some(&mut budgets.longterm),
        MemorySlot::Scenes => Some(&mut budgets.scenes),
        MemorySlot::Session => Some(&mut budgets.session),
        MemorySlot::Arcs => Some(&mut budgets.arcs),
        MemorySlot::Relationships => Some(&mut budgets.relationships),
        MemorySlot::Epistemic => Some(&mut budgets.epistemic),
        MemorySlot::Ledger => Some(&mut budgets.ledger),
        MemorySlot::Recall => Some(&mut budgets.recall),
        MemorySlot::Summary | MemorySlot::Triggered | MemorySlot::Repair | MemorySlot::Unified => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::units::Depth;

    use super::*;
    use crate::inject::SlotPosition;

    #[test]
    fn what_was_changed_stands_over_the_settings_and_the_rest_stays() {
        let mut settings =
            Settings { total_inject_budget: Some(Tokens(2000)), ..Settings::default() };
        settings.inject_cap = Some(Tokens(900));
        let place =
            SlotPlacement { position: SlotPosition::Before, depth: Depth(0), role: Role::System };
        let changes = SlotChanges {
            budgets: [(MemorySlot::Arcs, Tokens(7)), (MemorySlot::Summary, Tokens(50))].into(),
            places: [(MemorySlot::Ledger, place)].into(),
            ..SlotChanges::default()
        };
        let changed = changes.over(&settings);
        let shared = settings.tier_budgets();
        assert_eq!(changed.tier_budgets(), Budgets { arcs: Tokens(7), ..shared });
        assert_eq!(changed.inject_cap, Some(Tokens(900)));
        let standing = SlotState::all(&changed);
        let of = |slot: MemorySlot| standing.iter().find(|one| one.slot == slot).unwrap();
        assert_eq!(
            (of(MemorySlot::Ledger).place, of(MemorySlot::Summary).budget),
            (place, Some(Tokens(50)))
        );
        assert_eq!(of(MemorySlot::Repair).budget, None);
        assert_eq!(SlotChanges::default().over(&settings), settings);
    }

    #[test]
    fn a_slot_that_is_null_is_as_usual() {
        let json = r#"{"budgets": {"arcs": null, "recall": 9}, "places": {"ledger": null}}"#;
        let changes: SlotChanges = serde_json::from_str(json).unwrap();
        assert_eq!(changes.budgets, [(MemorySlot::Recall, Tokens(9))].into());
        assert!(changes.places.is_empty());
        assert!(serde_json::from_str::<SlotChanges>(r#"{"places": {"attic": null}}"#).is_err());
    }

    #[test]
    fn only_slots_with_a_budget_of_their_own_can_be_given_one() {
        let of = |slot: MemorySlot| SlotChanges {
            budgets: [(slot, Tokens(1))].into(),
            ..Default::default()
        };
        for (slot, found) in [
            (MemorySlot::Arcs, None),
            (MemorySlot::Summary, None),
            (MemorySlot::Triggered, Some(MemorySlot::Triggered)),
            (MemorySlot::Unified, Some(MemorySlot::Unified)),
        ] {
            assert_eq!(of(slot).without_budget(), found, "{slot:?}");
        }
    }
}
