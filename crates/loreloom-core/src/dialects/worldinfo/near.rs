//! Entries found by meaning: which of those that the front end found are near enough.
//!
//! As in SillyTavern's Vector Storage, the nearest entries above a threshold are put before
//! all others, as if the front end had forced them; every other rule still holds for them.

use rustc_hash::FxHashMap;

use crate::{
    engine::{EngineInput, near::nearest},
    library::EntryIx,
    report::Stop,
};

/// How near entries are, or why that is not enough.
pub(super) type Nearness = FxHashMap<EntryIx, Result<f64, Stop>>;

/// Decides about what the front end found.
pub(super) fn nearness(input: &EngineInput<'_>) -> Nearness {
    let rules = &input.rules.world_info.vectors;
    let found = nearest(input, |dialect| !dialect.is_cards()).into_iter();
    let found = found.filter(|(_, ix)| rules.compares(input.library.entry(*ix)));
    let decide = |(at, (score, ix)): (u32, (f64, EntryIx))| {
        let verdict = if score < rules.threshold {
            Err(Stop::NotNear { score: Some(score), threshold: rules.threshold })
        } else if at >= rules.max_entries {
            Err(Stop::MaxEntries { most: rules.max_entries })
        } else {
            Ok(score)
        };
        (ix, verdict)
    };
    (0..).zip(found).map(decide).collect()
}
