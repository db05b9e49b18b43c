//! Rules of documents that all stores share.

use loreloom_ports::{Change, Changed, StoreError};
use serde_json::Value;

/// A writer that names a revision must have seen the last one.
pub(crate) fn revision_was_seen(last: u64, seen: Option<u64>) -> Result<(), StoreError> {
    match seen {
        Some(expected) if expected != last => Err(StoreError::Outdated { expected, found: last }),
        Some(_) | None => Ok(()),
    }
}

/// What a change does to the current value. `None` if it changes nothing.
pub(crate) fn effect(change: &Change, before: Option<Value>) -> Option<Changed> {
    let Change { key, value: after } = change.clone();
    (before != after).then_some(Changed { key, before, after })
}

/// The changes that undo others, the last one first. `current` finds the value of a key and the
/// revision that set it.
pub(crate) fn inverse(
    revision: u64,
    changes: Vec<Changed>,
    mut current: impl FnMut(&str) -> Result<(Option<Value>, u64), StoreError>,
) -> Result<Vec<Changed>, StoreError> {
    if changes.is_empty() {
        return Err(StoreError::NoRevision { revision });
    }
    let mut inverse = Vec::with_capacity(changes.len());
    for Changed { key, before, after } in changes.into_iter().rev() {
        let (found, by) = current(&key)?;
        if found != after {
            return Err(StoreError::ChangedSince { revision, key, by });
        }
        inverse.push(Changed { key, before: after, after: before });
    }
    Ok(inverse)
}
