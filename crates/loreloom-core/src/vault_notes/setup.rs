//! Lints of a setup: where notes come from, and how they are selected.

use std::time::Duration;

use super::lint::{Issue, IssueKind};

/// What is known of vaults besides their notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Where notes come from.
    pub sources: Vec<NoteSource>,
    /// Whether a model is to choose notes, and whether there is one.
    pub selector: Selecting,
    /// What was looked for and is in no note, and how often.
    pub unmet: Vec<(String, u32)>,
}

/// Who chooses notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selecting {
    /// Their keys.
    #[default]
    Keys,
    /// A model.
    Model,
    /// A model, but none is set.
    Nobody,
}

/// Where notes come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteSource {
    /// The vault.
    pub name: String,
    /// Whether another program serves the notes; a folder is watched instead.
    pub remote: bool,
    /// Whether there is a key for that program.
    pub has_key: bool,
    /// After how long they are read again at a turn, if that depends on their age.
    pub ttl: Option<Duration>,
    /// How long ago they were read, where it is known.
    pub age: Option<Duration>,
    /// How long ago the last turn was, where it is known.
    pub turn: Option<Duration>,
    /// What could not be read when it was tried last, and why.
    pub problems: Vec<String>,
    /// How many notes it has, lore or not.
    pub files: usize,
    /// What to do where it has notes and none of them is lore.
    pub advice: Option<String>,
}

/// Notes that are so many times older than they may be were forgotten.
const STALE_AFTER: u32 = 3;
/// What was looked for so often is missed.
const MISSED_AFTER: u32 = 3;

/// Lints a setup.
pub fn inspect_setup(setup: &Setup) -> Vec<Issue> {
    let mut kinds = Vec::new();
    if setup.selector == Selecting::Nobody {
        kinds.push(IssueKind::NoSelector);
    }
    for source in &setup.sources {
        source.inspect(&mut kinds);
    }
    let missed = setup.unmet.iter().filter(|(_, times)| *times >= MISSED_AFTER);
    kinds.extend(
        missed.map(|(query, times)| IssueKind::Unmet { query: query.clone(), times: *times }),
    );
    kinds.into_iter().map(|kind| Issue { title: String::new(), kind }).collect()
}

impl NoteSource {
    fn inspect(&self, kinds: &mut Vec<IssueKind>) {
        let vault = || self.name.clone();
        for reason in &self.problems {
            kinds.push(IssueKind::NotRead { vault: vault(), reason: reason.clone() });
        }
        if let Some(advice) = &self.advice {
            let (files, advice) = (self.files, advice.clone());
            kinds.push(IssueKind::NoLore { vault: vault(), files, advice });
        }
        if !self.remote {
            return;
        }
        if !self.has_key {
            kinds.push(IssueKind::NoKey { vault: vault() });
        }
        let Some(ttl) = self.ttl else { return };
        if ttl.is_zero() {
            kinds.push(IssueKind::ReadEveryTurn { vault: vault() });
        } else if let Some(age) = self.age.filter(|age| *age > ttl * STALE_AFTER)
            && self.was_to_be_read(age, ttl)
        {
            let (seconds, ttl) = (age.as_secs(), ttl.as_secs());
            kinds.push(IssueKind::Stale { vault: vault(), seconds, ttl });
        }
    }

    /// Whether notes of this age should have been read again. Without turns they need not be.
    fn was_to_be_read(&self, age: Duration, ttl: Duration) -> bool {
        let failed = !self.problems.is_empty();
        failed || self.turn.is_some_and(|turn| age.saturating_sub(turn) >= ttl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(setup: &Setup) -> Vec<IssueKind> {
        inspect_setup(setup).into_iter().map(|issue| issue.kind).collect()
    }

    #[test]
    fn a_setup_that_cannot_work_is_told() {
        let vault = || "o".to_owned();
        let seconds = Duration::from_secs;
        let remote = NoteSource {
            name: vault(),
            remote: true,
            has_key: true,
            ttl: Some(seconds(300)),
            ..NoteSource::default()
        };
        let folder = NoteSource { age: Some(seconds(9999)), ..NoteSource::default() };
        let reason = || "gone".to_owned();
        let old = |age, turn: Option<u64>| NoteSource {
            age: Some(seconds(age)),
            turn: turn.map(seconds),
            ..remote.clone()
        };
        let stale = || IssueKind::Stale { vault: vault(), seconds: 901, ttl: 300 };
        for (source, expected) in [
            (folder, vec![]),
            (remote.clone(), vec![]),
            (old(900, Some(1)), vec![]),
            (old(901, Some(601)), vec![stale()]),
            // Nobody asked for a turn since they got old.
            (old(901, Some(602)), vec![]),
            (old(901, None), vec![]),
            (
                NoteSource { problems: vec![reason()], ..old(901, None) },
                vec![IssueKind::NotRead { vault: vault(), reason: reason() }, stale()],
            ),
            (
                NoteSource { ttl: Some(Duration::ZERO), age: Some(seconds(9)), ..remote.clone() },
                vec![IssueKind::ReadEveryTurn { vault: vault() }],
            ),
            (NoteSource { ttl: None, age: Some(seconds(9999)), ..remote.clone() }, vec![]),
            (
                NoteSource { has_key: false, problems: vec![reason()], ..remote.clone() },
                vec![
                    IssueKind::NotRead { vault: vault(), reason: reason() },
                    IssueKind::NoKey { vault: vault() },
                ],
            ),
        ] {
            let setup = Setup { sources: vec![source], ..Setup::default() };
            assert_eq!(found(&setup), expected);
        }
    }

    #[test]
    fn a_missing_model_and_what_is_missed_are_told() {
        for (selector, expected) in [
            (Selecting::Keys, vec![]),
            (Selecting::Model, vec![]),
            (Selecting::Nobody, vec![IssueKind::NoSelector]),
        ] {
            assert_eq!(found(&Setup { selector, ..Setup::default() }), expected);
        }
        let unmet = vec![("the old king".to_owned(), 3), ("a shoe".to_owned(), 2)];
        let missed = IssueKind::Unmet { query: "the old king".to_owned(), times: 3 };
        assert_eq!(found(&Setup { unmet, ..Setup::default() }), [missed]);
    }
}
