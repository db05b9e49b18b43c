//! Several ways to make one entry fire, each tried out.
//!
//! The rule that stops an entry can often be satisfied in more than one way: a key can be said,
//! added, or made unnecessary. Each way is followed to its end like the smallest change, so a
//! candidate costs the runs of its changes. The smallest change comes first.

use super::{Case, Fix, FixTrial, MOST_CHANGES, NoteTrial, Trial};
use crate::{
    bm25,
    book::Entry,
    explain::FixChange,
    ids::EntryId,
    report::{Report, Stop, Verdict},
    rules::Rules,
    turn::Transcript,
};

/// The most candidates.
const MOST: usize = 6;
/// How many of the newest messages lend words for new keys.
const MESSAGES: usize = 3;
/// Shorter words are no keys.
const SHORTEST: usize = 4;
/// The most new keys that are offered.
const MOST_KEYS: usize = 2;

/// Changes that make an entry fire, with what they cost.
#[derive(Clone, Debug)]
pub struct FixCandidate {
    /// The changes.
    pub fix: Fix,
    /// How many more tokens of lore the turn has with them. Negative if others give way.
    pub tokens: i64,
    /// The entry with the changes. `None` if they change something else, or a note.
    pub entry: Option<Box<Entry>>,
    /// The rules with the changes. `None` if they change something else.
    pub rules: Option<Box<Rules>>,
}

/// What a trial changed that can be saved.
#[derive(Default)]
pub(super) struct Edited {
    pub(super) entry: Option<Box<Entry>>,
    pub(super) rules: Option<Box<Rules>>,
}

/// Finds several changes that make an entry or a note fire, the smallest first. Empty if it fires
/// already, or if no small change was found.
pub fn candidates(case: &Case<'_>, entry: &EntryId) -> Vec<FixCandidate> {
    match FixTrial::new(case, entry) {
        Some(trial) => candidates_by(&trial, entry),
        None => NoteTrial::new(case, entry).map_or(Vec::new(), |note| candidates_by(&note, entry)),
    }
}

fn candidates_by(trial: &impl Trial, entry: &EntryId) -> Vec<FixCandidate> {
    let Some(first) = trial.run() else { return Vec::new() };
    let before = trial.lore_tokens();
    let mut found: Vec<FixCandidate> = Vec::new();
    for change in trial.change_for(&first).into_iter().chain(trial.others_for(&first)) {
        if found.len() == MOST {
            break;
        }
        let Some((changes, changed)) = followed(trial.clone(), change) else { continue };
        // What another way does with fewer changes is no way of its own.
        let is_less = |one: &FixCandidate| one.fix.changes.iter().all(|own| changes.contains(own));
        if found.iter().any(is_less) {
            continue;
        }
        let Edited { entry: edited, rules } = changed.edited();
        found.push(FixCandidate {
            fix: Fix { entry: entry.clone(), stopped_by: first.clone(), changes },
            tokens: changed.lore_tokens() - before,
            entry: edited,
            rules,
        });
    }
    found
}

/// Makes a change and those that the next rules ask for, until the entry fires.
pub(super) fn followed<T: Trial>(mut trial: T, change: FixChange) -> Option<(Vec<FixChange>, T)> {
    let mut changes = Vec::new();
    let mut next = change;
    loop {
        trial.apply(&next);
        changes.push(next);
        let Some(stop) = trial.run() else { return Some((changes, trial)) };
        if changes.len() == MOST_CHANGES {
            return None;
        }
        next = trial.change_for(&stop)?;
    }
}

/// The tokens of all lore in a turn.
pub(super) fn lore_tokens(report: &Report) -> i64 {
    report.verdicts.iter().filter_map(Verdict::tokens).map(|one| i64::from(one.0)).sum()
}

/// Words of the newest messages that belong to an entry: like one of its keys, of its title, or
/// a long one of its text.
pub(super) fn new_keys(
    transcript: &Transcript,
    keys: &[&str],
    title: &str,
    text: &str,
) -> Vec<FixChange> {
    let of_keys: Vec<String> = keys.iter().flat_map(|key| bm25::words(key)).collect();
    let (of_title, of_text) = (bm25::words(title), bm25::words(text));
    let rank = |word: &str| {
        let is_like = |own: &String| begins_alike(own, word);
        if of_keys.iter().any(is_like) {
            Some(0)
        } else if of_title.iter().any(is_like) {
            Some(1)
        } else {
            (word.chars().count() > SHORTEST + 1 && of_text.iter().any(|own| own == word))
                .then_some(2)
        }
    };
    let said = transcript.newest(MESSAGES).flat_map(bm25::words);
    let mut ranked: Vec<(u8, String)> = Vec::new();
    for word in said.filter(|word| word.chars().count() >= SHORTEST) {
        let is_known = ranked.iter().any(|(_, known)| *known == word);
        if let Some(rank) = rank(&word).filter(|_| !is_known && !of_keys.contains(&word)) {
            ranked.push((rank, word));
        }
    }
    ranked.sort_by_key(|(rank, word)| (*rank, std::cmp::Reverse(word.chars().count())));
    let best = ranked.into_iter().take(MOST_KEYS);
    best.map(|(_, key)| FixChange::AddKey { key }).collect()
}

/// Whether two words differ only in their last letters.
fn begins_alike(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    shared >= SHORTEST && shared + 2 >= longer
}

/// Whether a rule is about finding an entry at all.
pub(super) fn is_about_finding(stop: &Stop) -> bool {
    matches!(
        stop,
        Stop::NoKeys
            | Stop::NoKeyFound
            | Stop::KeyTooSlow { .. }
            | Stop::OutOfReach { .. }
            | Stop::NotNear { .. }
            | Stop::LowScore { .. }
            | Stop::Warmup { .. }
    )
}
