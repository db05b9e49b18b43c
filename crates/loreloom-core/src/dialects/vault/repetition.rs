//! Folders, and notes that came up not long ago.

use rustc_hash::FxHashMap;

use super::{Exempt, Logged, Pick, Record, Stopped, Vault, VaultRules, VaultState, picks::divide};
use crate::report::Stop;

/// Keeps notes of the chosen folders and what lies below them, and notes at the top of the
/// vault. No folder chosen is all.
pub fn filter_by_folder(
    vault: &Vault,
    picks: Vec<Pick>,
    folders: &[String],
    exempt: &Exempt<'_>,
    rules: &VaultRules,
) -> (Vec<Pick>, Vec<Stopped>) {
    let as_written = rules.quirks.folders_as_written;
    let usable = folders.iter().filter(|folder| !as_written || folder.trim_matches('/') == *folder);
    let usable: Vec<String> = usable.cloned().collect();
    divide(picks, |pick| {
        let note = vault.note(pick.ix);
        let folder = note.folder()?;
        if folders.is_empty() || exempt.holds(vault, pick) || note.is_in_any(&usable) {
            return None;
        }
        Some(Stop::Folder { folder: folder.to_owned(), chosen: folders.to_vec() })
    })
}

/// Holds back notes that were injected less than so many generations ago.
pub fn hold_back(
    vault: &Vault,
    picks: Vec<Pick>,
    state: &VaultState,
    exempt: &Exempt<'_>,
    rules: &VaultRules,
) -> (Vec<Pick>, Vec<Stopped>) {
    let cooldown = rules.repetition.cooldown;
    divide(picks, |pick| {
        if cooldown == 0 || exempt.holds(vault, pick) {
            return None;
        }
        let last = state.history.get(vault.id(pick.ix))?;
        let ago = state.generation.saturating_sub(*last);
        (ago < u64::from(cooldown)).then_some(Stop::Reinjection { ago, cooldown })
    })
}

/// Leaves out notes that were injected, at the same place and with the same text, in one of
/// the last generations.
pub fn strip_repeated(
    vault: &Vault,
    picks: Vec<Pick>,
    log: &[Record],
    exempt: &Exempt<'_>,
    rules: &VaultRules,
) -> (Vec<Pick>, Vec<Stopped>) {
    let lookback = rules.repetition.strip_lookback as usize;
    let all = lookback == 0 && rules.quirks.zero_lookback_is_all;
    let first = if all { 0 } else { log.len().saturating_sub(lookback) };
    let recent: FxHashMap<&Logged, u64> = log[first..]
        .iter()
        .flat_map(|record| record.notes.iter().map(|logged| (logged, record.generation)))
        .collect();
    divide(picks, |pick| {
        if exempt.holds(vault, pick) {
            return None;
        }
        let generation = recent.get(&Logged::of(vault, pick.ix, rules)).copied()?;
        Some(Stop::Stripped { generation })
    })
}
