//! What changed between two readings of a vault.

use rustc_hash::FxHashMap;

use super::Note;

/// What changed, by title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Notes that are new.
    pub added: Vec<String>,
    /// Notes that are gone.
    pub removed: Vec<String>,
    /// Notes with another text.
    pub modified: Vec<String>,
    /// Notes with the same text and other keys.
    pub keys_changed: Vec<String>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares two readings of a vault, file by file.
pub fn changes(before: &[Note], after: &[Note]) -> Changes {
    let file = |note: &Note| (note.vault.clone(), note.path.clone());
    let old: FxHashMap<_, &Note> = before.iter().map(|note| (file(note), note)).collect();
    let new: FxHashMap<_, &Note> = after.iter().map(|note| (file(note), note)).collect();
    let mut changes = Changes::default();
    for note in after {
        match old.get(&file(note)) {
            None => changes.added.push(note.title.clone()),
            Some(known) if known.content != note.content => {
                changes.modified.push(note.title.clone());
            }
            Some(known) if known.keys != note.keys => {
                changes.keys_changed.push(note.title.clone());
            }
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|note| !new.contains_key(&file(note)));
    changes.removed.extend(gone.map(|note| note.title.clone()));
    changes
}
