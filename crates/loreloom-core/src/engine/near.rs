//! Entries that are near to the chat in meaning.

use super::EngineInput;
use crate::library::{Dialect, EntryIx};

/// The active entries of some dialects that the front end found near, nearest first.
pub(crate) fn nearest(
    input: &EngineInput<'_>,
    is_wanted: impl Fn(Dialect) -> bool,
) -> Vec<(f64, EntryIx)> {
    let EngineInput { library, active, turn, .. } = *input;
    let near = turn.input.near.iter();
    let near = near.filter_map(|one| Some((one.score, library.find(&one.entry)?)));
    let is_active = |ix: EntryIx| active.ranks(ix).next().is_some();
    let mut near: Vec<(f64, EntryIx)> =
        near.filter(|&(_, ix)| is_wanted(library.dialect_of(ix)) && is_active(ix)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    near
}
