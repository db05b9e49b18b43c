//! Notes that a person pinned or blocked in a chat.

use serde::{Deserialize, Serialize};

use super::{
    Pick, Vault,
    picks::{Divided, divide},
};
use crate::{
    library::EntryIx,
    report::{Reason, Stop},
    vault_notes::Note,
};

/// A note that a person pinned or blocked, by title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteMark {
    /// The title, in any case.
    pub title: String,
    /// The vault; `None` and an empty name are any.
    pub vault: Option<String>,
}

/// The priority of a pinned note.
const PINNED: f64 = 10.0;

impl NoteMark {
    /// Whether the mark means this note. A mark with a vault means no note of another vault. It
    /// does mean notes of a vault without a name, so that marks survive the naming of a vault.
    pub fn names(&self, note: &Note) -> bool {
        let vault = self.vault.as_deref().unwrap_or_default();
        self.title.to_lowercase() == note.title.to_lowercase()
            && (vault.is_empty() || note.vault.is_empty() || vault == note.vault)
    }
}

/// Adds pinned notes and takes blocked ones out. A block beats a pin and a constant.
pub fn apply_marks(
    vault: &Vault,
    mut picks: Vec<Pick>,
    pins: &[NoteMark],
    blocks: &[NoteMark],
) -> Divided {
    if !pins.is_empty() {
        for ix in vault.entries().filter(|ix| pins.iter().any(|pin| pin.names(vault.note(*ix)))) {
            pin(vault, &mut picks, ix);
        }
    }
    divide(picks, |pick| {
        let note = vault.note(pick.ix);
        blocks.iter().any(|block| block.names(note)).then_some(Stop::Blocked)
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
