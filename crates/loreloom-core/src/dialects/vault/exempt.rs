//! Notes that no gate may stop: constants, seeds, notes that bootstrap, and pinned ones.

use rustc_hash::FxHashSet;

use super::{Mark, Pick, Vault, VaultRules};
use crate::{ids::EntryId, library::EntryIx};

/// Notes that no gate may stop. Only the budget and a block can.
#[derive(Clone, Debug, Default)]
pub struct Exempt<'a>(FxHashSet<&'a EntryId>);

impl<'a> Exempt<'a> {
    /// The exempt notes among `notes`. Those that bootstrap are exempt while the chat is
    /// new.
    pub fn among(
        vault: &'a Vault,
        notes: impl IntoIterator<Item = EntryIx>,
        pins: &[Mark],
        bootstrapping: bool,
        rules: &VaultRules,
    ) -> Self {
        let bootstrapping = bootstrapping || rules.quirks.bootstrap_always_passes;
        let exempt = notes.into_iter().filter(|ix| {
            let note = vault.note(*ix);
            note.is_forced(bootstrapping)
                || note.kind.seed
                || pins.iter().any(|pin| pin.names(note))
        });
        Self(exempt.map(|ix| vault.id(ix)).collect())
    }

    /// Whether a note is exempt.
    pub fn holds(&self, vault: &Vault, pick: &Pick) -> bool {
        self.0.contains(vault.id(pick.ix))
    }

    /// Whether a note is exempt, by its id.
    pub fn contains(&self, id: &EntryId) -> bool {
        self.0.contains(id)
    }
}
