//! What all stores' desks have in common.

use loreloom_ports::{Change, Changed, StoreError};
use serde_json::Value;

/// A value as a column.
pub(crate) fn column(value: Option<&Value>) -> Option<String> {
    value.map(Value::to_string)
}

/// A value from a column.
pub(crate) fn from_column(key: &str, column: Option<&str>) -> Result<Option<Value>, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::Damaged {
        what: format!("`{key}` on the desk"),
        reason: error.to_string(),
    };
    column.map(|text| serde_json::from_str(text).map_err(damaged)).transpose()
}

/// A writer that names a revision must have seen the last one.
pub(crate) fn revision_was_seen(last: u64, seen: Option<u64>) -> Result<(), StoreError> {
    match seen {
        Some(expected) if expected != last => Err(StoreError::Outdated { expected, found: last }),
        Some(_) | None => Ok(()),
    }
}

/// What a change does to the value that is there; `None` if it does nothing.
pub(crate) fn effect(change: &Change, before: Option<Value>) -> Option<Changed> {
    let Change { key, value: after } = change.clone();
    (before != after).then_some(Changed { key, before, after })
}

/// What takes changes back, the last one first. `now` finds the value that is there and the
/// revision that put or took it.
pub(crate) fn inverse(
    revision: u64,
    changes: Vec<Changed>,
    mut now: impl FnMut(&str) -> Result<(Option<Value>, u64), StoreError>,
) -> Result<Vec<Changed>, StoreError> {
    if changes.is_empty() {
        return Err(StoreError::NoRevision { revision });
    }
    let mut inverse = Vec::with_capacity(changes.len());
    for Changed { key, before, after } in changes.into_iter().rev() {
        let (found, by) = now(&key)?;
        if found != after {
            return Err(StoreError::ChangedSince { revision, key, by });
        }
        inverse.push(Changed { key, before: after, after: before });
    }
    Ok(inverse)
}
