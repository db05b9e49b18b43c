//! What a chat carries from generation to generation.
//!
//! One value, computed from the one before. The caller attaches it to the answered message, so
//! swiping, editing and restarting need no roll-back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FittedNote, Seat, Vault, VaultRules, VaultTurn};
use crate::{
    chat::Role,
    engine::timing::{begun, runs_until},
    ids::{Digest, EntryId},
    library::EntryIx,
    number::whole,
    state::{TimedRecord, apply, changes},
    units::Depth,
    vault_notes::{NotePosition, hash_of},
};

/// The state of a vault at one point of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultState {
    /// Generations so far.
    pub generation: u64,
    /// Notes that pause, and for how many generations.
    pub cooldown: BTreeMap<EntryId, u32>,
    /// Notes that stay after they were injected.
    pub sticky: BTreeMap<EntryId, TimedRecord>,
    /// Generations since a note was last injected.
    pub staleness: BTreeMap<EntryId, u32>,
    /// Generations in a row in which a note was injected.
    pub streak: BTreeMap<EntryId, u32>,
    /// The generation after the one in which a note was last injected.
    pub history: BTreeMap<EntryId, u64>,
    /// What was injected, newest last.
    pub log: Vec<Record>,
}

/// What one turn changed: `None` removes a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultDelta {
    /// Generations that passed.
    pub generations: u64,
    /// Changes to pauses.
    pub cooldown: BTreeMap<EntryId, Option<u32>>,
    /// Changes to notes that stay.
    pub sticky: BTreeMap<EntryId, Option<TimedRecord>>,
    /// Changes to the counts of generations without a note.
    pub staleness: BTreeMap<EntryId, Option<u32>>,
    /// Changes to the counts of generations in a row.
    pub streak: BTreeMap<EntryId, Option<u32>>,
    /// Changes to when notes were last injected.
    pub history: BTreeMap<EntryId, Option<u64>>,
    /// Records that are new.
    pub logged: Vec<Record>,
    /// Records that stay at the most, new ones included.
    pub log_length: usize,
}

impl VaultDelta {
    /// What turns `before` into `after`, the state of the turn that follows it.
    pub fn between(before: &VaultState, after: &VaultState) -> Self {
        let known = before.log.last().map(|record| record.generation);
        let is_new = |record: &&Record| known.is_none_or(|known| record.generation > known);
        Self {
            generations: after.generation.saturating_sub(before.generation),
            cooldown: changes(&before.cooldown, &after.cooldown),
            sticky: changes(&before.sticky, &after.sticky),
            staleness: changes(&before.staleness, &after.staleness),
            streak: changes(&before.streak, &after.streak),
            history: changes(&before.history, &after.history),
            logged: after.log.iter().filter(is_new).cloned().collect(),
            log_length: after.log.len(),
        }
    }

    /// Takes back what a note started whose text did not get into the prompt after all.
    pub(crate) fn forget(&mut self, note: &EntryId, title: &str) {
        self.cooldown.remove(note);
        self.sticky.remove(note);
        self.staleness.remove(note);
        self.streak.remove(note);
        self.history.remove(note);
        for record in &mut self.logged {
            record.notes.retain(|logged| logged.title != title);
        }
    }
}

impl VaultState {
    /// The state after a turn that left `delta`.
    pub fn apply(&mut self, delta: &VaultDelta) {
        self.generation += delta.generations;
        apply(&mut self.cooldown, &delta.cooldown);
        apply(&mut self.sticky, &delta.sticky);
        apply(&mut self.staleness, &delta.staleness);
        apply(&mut self.streak, &delta.streak);
        apply(&mut self.history, &delta.history);
        self.log.extend(delta.logged.iter().cloned());
        let surplus = self.log.len().saturating_sub(delta.log_length);
        self.log.drain(..surplus);
    }
}

/// What was injected in one generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The generation.
    pub generation: u64,
    /// The notes.
    pub notes: Vec<Logged>,
}

/// A note that was injected: what makes it the same note again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Logged {
    /// Its vault.
    pub vault: String,
    /// Its title.
    pub title: String,
    /// Its place.
    pub position: NotePosition,
    /// Its depth.
    pub depth: Depth,
    /// Its role.
    pub role: Role,
    /// The hash of its file.
    pub hash: Digest,
}

impl Logged {
    /// What the log knows a note by.
    pub(super) fn of(vault: &Vault, ix: EntryIx, rules: &VaultRules) -> Self {
        let note = vault.note(ix);
        let placement = &rules.placement;
        Self {
            vault: if rules.quirks.log_ignores_vault { String::new() } else { note.vault.clone() },
            title: note.title.clone(),
            position: note.seat.position.unwrap_or(placement.position),
            depth: note.seat.depth.unwrap_or(placement.depth),
            role: note.seat.role.unwrap_or(placement.role),
            hash: note.hash,
        }
    }
}

impl VaultState {
    /// The state after a generation that injected `notes`.
    #[must_use]
    pub fn after(&self, turn: VaultTurn<'_>, notes: &[FittedNote]) -> Self {
        let (VaultTurn { vault, rules, .. }, length) = (turn, turn.length());
        let injected: Vec<(EntryId, Option<f64>)> = notes
            .iter()
            .map(|note| (vault.id(note.ix).clone(), vault.note(note.ix).cooldown))
            .collect();
        let mut next = self.counted(&injected, rules);
        next.sticky.retain(|_, record| runs_until(record, length).is_some());
        for note in notes {
            if let Some(messages) = vault.note(note.ix).sticky.filter(|messages| *messages > 0) {
                let id = vault.id(note.ix).clone();
                next.sticky.entry(id).or_insert_with(|| begun(None, length, messages));
            }
        }
        if rules.repetition.strip {
            next.log.push(record(self.generation, vault, notes, rules));
            // One more than is looked at, so that the setting can grow.
            let kept = rules.repetition.strip_lookback as usize + 1;
            let surplus = next.log.len().saturating_sub(kept);
            next.log.drain(..surplus);
        }
        next
    }

    /// The counters after a generation that injected these notes, each with its cooldown.
    #[must_use]
    pub fn counted(&self, injected: &[(EntryId, Option<f64>)], rules: &VaultRules) -> Self {
        let mut next = self.clone();
        next.generation += 1;
        for (id, cooldown) in injected {
            if let Some(generations) = cooldown.filter(|number| *number > 0.0) {
                // Part of a generation is one, and the same one already counts down.
                let left = whole(generations.ceil()).saturating_add(1);
                next.cooldown.insert(id.clone(), left);
            }
            if rules.repetition.cooldown > 0 {
                next.history.insert(id.clone(), next.generation);
            }
        }
        next.cooldown.retain(|_, left| {
            *left = left.saturating_sub(1);
            *left > 0
        });
        let is_in = |id: &EntryId| injected.iter().any(|(known, _)| known == id);
        if rules.repetition.decay {
            let repetition = rules.repetition;
            let forgets = rules.quirks.staleness_is_forgotten;
            let longest = forgets.then(|| repetition.stale_after.saturating_mul(2));
            next.grow_stale(injected, (longest, repetition.stale_after), is_in);
        }
        next.streak.retain(|id, _| is_in(id));
        for (id, _) in injected {
            *next.streak.entry(id.clone()).or_default() += 1;
        }
        next
    }

    /// Counts generations without each note, and forgets those of more than `longest`. If none is
    /// forgotten, counting ends where a note is stale: otherwise each turn would store a change
    /// for every note that was ever sent.
    fn grow_stale(
        &mut self,
        injected: &[(EntryId, Option<f64>)],
        (longest, stale_after): (Option<u32>, u32),
        is_in: impl Fn(&EntryId) -> bool,
    ) {
        self.staleness.retain(|id, generations| {
            if longest.is_some() || *generations < stale_after {
                *generations += 1;
            }
            is_in(id) || longest.is_none_or(|longest| *generations < longest)
        });
        self.staleness.extend(injected.iter().map(|(id, _)| (id.clone(), 0)));
    }
}

fn record(generation: u64, vault: &Vault, notes: &[FittedNote], rules: &VaultRules) -> Record {
    let logged = |note: &FittedNote| {
        let mut logged = Logged::of(vault, note.ix, rules);
        if let Seat::At { depth, .. } = note.seat {
            logged.depth = depth;
        }
        if note.shortened_from.is_some() && rules.quirks.shortened_is_another {
            logged.hash = hash_of(&format!("{} shortened", logged.hash));
        }
        logged
    };
    Record { generation, notes: notes.iter().map(logged).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rules: &VaultRules, turns: &[&[(&str, Option<f64>)]]) -> Vec<VaultState> {
        let mut state = VaultState::default();
        turns
            .iter()
            .map(|turn| {
                let injected: Vec<(EntryId, Option<f64>)> =
                    turn.iter().map(|(id, cooldown)| (EntryId::from(*id), *cooldown)).collect();
                state = state.counted(&injected, rules);
                state.clone()
            })
            .collect()
    }

    fn of<V: Copy>(map: &BTreeMap<EntryId, V>, id: &str) -> Option<V> {
        map.get(&EntryId::from(id)).copied()
    }

    #[test]
    fn a_note_pauses_for_as_many_generations_as_it_says() {
        let states = run(&VaultRules::default(), &[&[("a", Some(1.5))], &[], &[]]);
        let left: Vec<Option<u32>> = states.iter().map(|state| of(&state.cooldown, "a")).collect();
        assert_eq!(left, [Some(2), Some(1), None]);
    }

    #[test]
    fn a_note_grows_stale_until_it_is_in_and_deeplore_forgets_it_at_twice_the_threshold() {
        let mut rules = VaultRules::default();
        rules.repetition.decay = true;
        rules.repetition.stale_after = 2;
        for (forgets, last) in [(false, [Some(2), Some(2)]), (true, [Some(3), None])] {
            rules.quirks.staleness_is_forgotten = forgets;
            let states = run(&rules, &[&[("a", None)], &[], &[], &[], &[]]);
            let age: Vec<Option<u32>> =
                states.iter().map(|state| of(&state.staleness, "a")).collect();
            assert_eq!(age[..3], [Some(0), Some(1), Some(2)]);
            assert_eq!(age[3..], last, "counting ends where nothing is forgotten");
        }
    }

    #[test]
    fn applying_the_difference_gives_the_later_state() {
        let mut rules = VaultRules::default();
        rules.repetition.decay = true;
        rules.repetition.cooldown = 2;
        let mut states = run(&rules, &[&[("a", Some(2.0)), ("b", None)], &[("b", None)], &[]]);
        for (at, state) in states.iter_mut().enumerate() {
            let record =
                |generation: usize| Record { generation: generation as u64, notes: vec![] };
            state.log = (0..=at).map(record).collect();
            state.log.drain(..at.saturating_sub(1));
        }
        let mut folded = VaultState::default();
        for after in &states {
            let delta = VaultDelta::between(&folded, after);
            folded.apply(&delta);
            assert_eq!(&folded, after);
        }
    }

    #[test]
    fn a_streak_ends_with_the_first_generation_without_the_note() {
        let states = run(
            &VaultRules::default(),
            &[&[("a", None)], &[("a", None), ("b", None)], &[("b", None)]],
        );
        let streaks = |id: &str| -> Vec<Option<u32>> {
            states.iter().map(|state| of(&state.streak, id)).collect()
        };
        assert_eq!(streaks("a"), [Some(1), Some(2), None]);
        assert_eq!(streaks("b"), [None, Some(1), Some(2)]);
    }
}
