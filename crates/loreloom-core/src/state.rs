//! What a story carries from turn to turn.
//!
//! State is never stored whole: each turn leaves a [`StateDelta`] on the message it
//! answered, and the state of a path is the fold of the deltas along it. Swiping,
//! editing and branching therefore need no roll-back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    cache_placement::{Ledger, LedgerDelta},
    dialects::vault::{VaultDelta, VaultState},
    ids::{EntryId, MessageId},
    macros::{VariableChanges, Variables},
    notebook::{Notebooks, NotebooksDelta},
    turn::{StoryContext, VaultContext},
    units::MessageCount,
};

/// A sticky or cooldown effect that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedRecord {
    /// Fingerprint of the entry when the effect began: an edited entry is another entry. A
    /// record without one never acts; it only keeps its place until it runs out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<u64>,
    /// Length of the chat when it began.
    pub start: MessageCount,
    /// Length of the chat at which it ends.
    pub end: MessageCount,
    /// Survives a chat that did not advance.
    pub protected: bool,
}

/// The state at one point of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryState {
    /// Entries that stay active.
    pub sticky: BTreeMap<EntryId, TimedRecord>,
    /// Entries that may not fire yet.
    pub cooldown: BTreeMap<EntryId, TimedRecord>,
    /// Entries that stay or stay away once matched: the user message of the turn that
    /// matched them first. A chat without a user message has the default id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first_match: BTreeMap<EntryId, MessageId>,
    /// What lore has written to variables.
    #[serde(default, skip_serializing_if = "Variables::is_empty")]
    pub variables: Variables,
    /// What the vault carries on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: VaultState,
    /// Where lore was placed for the sake of the prompt cache.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
    /// What the front end stated about the story.
    #[serde(default, skip_serializing_if = "StoryContext::is_empty")]
    pub context: StoryContext,
    /// What the chat's notebooks hold.
    #[serde(default, skip_serializing_if = "Notebooks::is_empty")]
    pub notebooks: Notebooks,
    /// The gating context of vaults, for turns whose input states none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault_context: VaultContext,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What one turn changed: `None` removes a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateDelta {
    /// Changes to sticky effects.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sticky: BTreeMap<EntryId, Option<TimedRecord>>,
    /// Changes to cooldowns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cooldown: BTreeMap<EntryId, Option<TimedRecord>>,
    /// Changes to first matches.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub first_match: BTreeMap<EntryId, Option<MessageId>>,
    /// Changes to what the vault carries on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultDelta>,
    /// Changes to variables.
    #[serde(skip_serializing_if = "VariableChanges::is_empty")]
    pub variables: VariableChanges,
    /// Changes to the ledger.
    #[serde(skip_serializing_if = "LedgerDelta::is_empty")]
    pub ledger: LedgerDelta,
    /// The whole story context, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<StoryContext>,
    /// Changes to notebooks.
    #[serde(skip_serializing_if = "NotebooksDelta::is_empty")]
    pub notebooks: NotebooksDelta,
    /// The whole vault context, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault_context: Option<VaultContext>,
}

impl StateDelta {
    /// What turns `before` into `after`.
    pub fn between(before: &StoryState, after: &StoryState) -> Self {
        Self {
            sticky: changes(&before.sticky, &after.sticky),
            cooldown: changes(&before.cooldown, &after.cooldown),
            first_match: changes(&before.first_match, &after.first_match),
            vault: (before.vault != after.vault)
                .then(|| VaultDelta::between(&before.vault, &after.vault)),
            variables: VariableChanges {
                local: changes(&before.variables.local, &after.variables.local),
                global: changes(&before.variables.global, &after.variables.global),
            },
            ledger: LedgerDelta::between(&before.ledger, &after.ledger),
            context: (before.context != after.context).then(|| after.context.clone()),
            notebooks: NotebooksDelta::between(&before.notebooks, &after.notebooks),
            vault_context: (before.vault_context != after.vault_context)
                .then(|| after.vault_context.clone()),
        }
    }

    /// Takes back the effects that an entry started: its text did not get into the prompt after
    /// all. `title` is what a vault's log calls it.
    pub(crate) fn forget(&mut self, entry: &EntryId, title: &str) {
        self.sticky.remove(entry);
        self.cooldown.remove(entry);
        self.first_match.remove(entry);
        if let Some(vault) = &mut self.vault {
            vault.forget(entry, title);
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.sticky.is_empty()
            && self.cooldown.is_empty()
            && self.first_match.is_empty()
            && self.vault.is_none()
            && self.variables.is_empty()
            && self.ledger.is_empty()
            && self.context.is_none()
            && self.notebooks.is_empty()
            && self.vault_context.is_none()
    }
}

impl StoryState {
    /// The state after a turn that left `delta`.
    pub fn apply(&mut self, delta: &StateDelta) {
        apply(&mut self.sticky, &delta.sticky);
        apply(&mut self.cooldown, &delta.cooldown);
        apply(&mut self.first_match, &delta.first_match);
        if let Some(delta) = &delta.vault {
            self.vault.apply(delta);
        }
        self.write(&delta.variables);
        self.ledger.apply(&delta.ledger);
        if let Some(context) = &delta.context {
            self.context.clone_from(context);
        }
        self.notebooks.apply(&delta.notebooks);
        if let Some(context) = &delta.vault_context {
            self.vault_context.clone_from(context);
        }
    }

    /// Writes variables.
    pub fn write(&mut self, changes: &VariableChanges) {
        apply(&mut self.variables.local, &changes.local);
        apply(&mut self.variables.global, &changes.global);
    }
}

pub(crate) fn changes<K: Ord + Clone, V: Clone + PartialEq>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> BTreeMap<K, Option<V>> {
    let gone = before.keys().filter(|id| !after.contains_key(id)).map(|id| (id.clone(), None));
    let set = after
        .iter()
        .filter(|(id, value)| before.get(id) != Some(value))
        .map(|(id, value)| (id.clone(), Some(value.clone())));
    gone.chain(set).collect()
}

pub(crate) fn apply<K: Ord + Clone, V: Clone>(
    records: &mut BTreeMap<K, V>,
    delta: &BTreeMap<K, Option<V>>,
) {
    for (id, change) in delta {
        match change {
            Some(value) => records.insert(id.clone(), value.clone()),
            None => records.remove(id),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(end: u32) -> TimedRecord {
        TimedRecord {
            fingerprint: Some(1),
            start: MessageCount(1),
            end: MessageCount(end),
            protected: false,
        }
    }

    #[test]
    fn applying_the_difference_gives_the_later_state() {
        let state = |pairs: &[(&str, u32)]| StoryState {
            sticky: pairs.iter().map(|&(id, end)| (EntryId::from(id), record(end))).collect(),
            ..StoryState::default()
        };
        let (before, after) = (state(&[("a", 3), ("b", 4)]), state(&[("b", 5), ("c", 6)]));
        let delta = StateDelta::between(&before, &after);
        let expected = [("a", None), ("b", Some(record(5))), ("c", Some(record(6)))];
        assert_eq!(delta.sticky, expected.map(|(id, change)| (EntryId::from(id), change)).into());
        let mut folded = before.clone();
        folded.apply(&delta);
        assert_eq!(folded, after);
        assert!(StateDelta::between(&after, &after).is_empty());
    }

    #[test]
    fn variables_are_set_and_removed_by_a_delta() {
        let state = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let variables = Variables { local: pairs.collect(), ..Variables::default() };
            StoryState { variables, ..StoryState::default() }
        };
        let (before, after) = (state(&[("a", "1"), ("b", "2")]), state(&[("b", "3"), ("c", "")]));
        let delta = StateDelta::between(&before, &after);
        let json = r#"{"variables":{"local":{"a":null,"b":"3","c":""}}}"#;
        assert_eq!(serde_json::to_string(&delta).unwrap(), json);
        let mut folded = before;
        folded.apply(&serde_json::from_str(json).unwrap());
        assert_eq!(folded, after);
    }

    #[test]
    fn records_from_before_first_matches_still_read() {
        let state: StoryState = serde_json::from_str(r#"{"sticky":{},"cooldown":{}}"#).unwrap();
        assert_eq!(state, StoryState::default());
        assert_eq!(serde_json::to_string(&state).unwrap(), r#"{"sticky":{},"cooldown":{}}"#);
        let mut later = state.clone();
        later.first_match.insert(EntryId::from("a"), MessageId::default());
        let delta = StateDelta::between(&state, &later);
        let mut folded = state;
        folded.apply(&delta);
        assert_eq!(folded, later);
    }
}
