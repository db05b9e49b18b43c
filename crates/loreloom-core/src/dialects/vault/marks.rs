//! Notes that a person pinned or blocked in a chat.

use serde::{Deserialize, Serialize};

use super::{
    Pick, Vault,
    picks::{Divided, divide},
};
use crate::{
    library::EntryIx,
    report::{Reason, Stop},
};

/// A note that a person pinned or blocked, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteMark {
    /// Its title, or another name of it, in any case.
    pub title: String,
    /// The vault; `None` and an empty name are any.
    pub vault: Option<String>,
}

/// The priority of a pinned note.
const PINNED: f64 = 10.0;

/// Adds pinned notes and takes blocked ones out. A block beats a pin and a constant.
pub fn apply_marks(
    vault: &Vault,
    mut picks: Vec<Pick>,
    pins: &[NoteMark],
    blocks: &[NoteMark],
) -> Divided {
    if !pins.is_empty() {
        for ix in vault.entries().filter(|ix| pins.iter().any(|pin| vault.is_marked(*ix, pin))) {
            pin(vault, &mut picks, ix);
        }
    }
    divide(picks, |pick| {
        blocks.iter().any(|block| vault.is_marked(pick.ix, block)).then_some(Stop::Blocked)
    })
}

fn pin(vault: &Vault, picks: &mut Vec<Pick>, ix: EntryIx) {
    let known = picks.iter().position(|pick| vault.id(pick.ix) == vault.id(ix));
    let at = known.unwrap_or_else(|| {
        picks.push(Pick::new(vault, ix, Reason::Pinned));
        picks.len() - 1
    });
    picks[at].priority = PINNED;
    picks[at].pinned = true;
}
