//! Where texts come from, as the planner must know it.

use super::{comes_and_goes, note_comes_and_goes};
use crate::{
    dialects::vault::Note,
    digest::Hasher,
    ids::{Digest, EntryId},
    library::{ActiveEntries, Library},
    place::{Injection, Provenance},
    turn,
};

/// What the planner asks about sources.
pub trait SourceLookup {
    /// Whether a text must not outlive its activation.
    fn comes_and_goes(&self, injection: &Injection) -> bool;

    /// A fingerprint of a source's current text, active or not; `None` if it has none. A text that
    /// is no longer active stays only while its source is unchanged: a user who changes, disables,
    /// deletes or detaches it wants the old text gone.
    fn says(&self, source: &Provenance) -> Option<Digest>;
}

/// The books and notes of a turn.
#[derive(Clone, Copy, Debug)]
pub struct LoreSources<'a> {
    /// All that there are.
    pub library: &'a Library,
    /// Those that are active for the speaker.
    pub active: &'a ActiveEntries,
    /// What people want of the vault in this chat.
    pub scene: &'a turn::VaultContext,
}

impl LoreSources<'_> {
    fn note(&self, id: &EntryId) -> Option<&Note> {
        let vault = self.library.vault()?;
        Some(vault.note(vault.find(id)?))
    }

    fn is_wanted(&self, note: &Note) -> bool {
        let turn::VaultContext { folders, blocks, .. } = self.scene;
        let inside = folders.is_empty() || note.is_in_any(folders);
        let Some(vault) = self.library.vault() else { return inside };
        let is_blocked = vault
            .find(&note.id())
            .is_some_and(|ix| blocks.iter().any(|block| vault.is_marked(ix, block)));
        inside && !is_blocked
    }
}

impl SourceLookup for LoreSources<'_> {
    fn comes_and_goes(&self, injection: &Injection) -> bool {
        let Provenance::Lore { entry, .. } = &injection.source else { return false };
        match self.library.find(entry) {
            Some(ix) => comes_and_goes(self.library.entry(ix)),
            None => self.note(entry).is_some_and(note_comes_and_goes),
        }
    }

    fn says(&self, source: &Provenance) -> Option<Digest> {
        // Memory and the author's note are written again every turn.
        let Provenance::Lore { entry: id, .. } = source else { return None };
        let texts = if let Some(ix) = self.library.find(id) {
            let entry = self.library.entry(ix);
            let is_active = entry.activation.enabled && self.active.ranks(ix).next().is_some();
            is_active.then_some([entry.prefix.as_str(), &entry.content, &entry.suffix])
        } else {
            let note = self.note(id).filter(|note| self.is_wanted(note));
            note.map(|note| ["", note.content.as_str(), ""])
        };
        Some(wording(texts?))
    }
}

/// The fingerprint of what an entry or a note says.
pub fn wording(texts: [&str; 3]) -> Digest {
    texts.iter().fold(Hasher::new("says"), |hasher, text| hasher.field(text.as_bytes())).finish()
}
