//! What changed between two readings of a vault.

use rustc_hash::FxHashMap;

use super::Note;

/// What changed, by title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteChanges {
    /// Notes that are new.
    pub added: Vec<String>,
    /// Notes that are gone.
    pub removed: Vec<String>,
    /// Notes with another text.
    pub modified: Vec<String>,
    /// Notes with the same text and other keys.
    pub keys_changed: Vec<String>,
}

impl NoteChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The notes of a reading by file, in the order of the files. A file is one note, the last
/// that is read from it.
#[derive(Default)]
struct Files<'a> {
    notes: Vec<&'a Note>,
    places: FxHashMap<(&'a str, &'a str), usize>,
}

impl<'a> Files<'a> {
    fn of(notes: &'a [Note]) -> Self {
        let mut files = Self::default();
        for note in notes {
            let at = *files.places.entry((&note.vault, &note.path)).or_insert(files.notes.len());
            match files.notes.get_mut(at) {
                Some(known) => *known = note,
                None => files.notes.push(note),
            }
        }
        files
    }

    fn get(&self, note: &Note) -> Option<&'a Note> {
        let place = self.places.get(&(note.vault.as_str(), note.path.as_str()))?;
        self.notes.get(*place).copied()
    }
}

/// Compares two readings of a vault, file by file.
pub fn changes(before: &[Note], after: &[Note]) -> NoteChanges {
    let (old, new) = (Files::of(before), Files::of(after));
    let mut changes = NoteChanges::default();
    for &note in &new.notes {
        match old.get(note) {
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
    let gone = old.notes.iter().filter(|note| new.get(note).is_none());
    changes.removed.extend(gone.map(|note| note.title.clone()));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_last_note_read_from_it() {
        let note = |title: &str, content: &str| {
            let mut note = Note::new("v", "y.md", title);
            content.clone_into(&mut note.content);
            note
        };
        let two = [note("A", "x"), note("B", "x")];
        let removed = NoteChanges { removed: vec!["B".to_owned()], ..NoteChanges::default() };
        assert_eq!(changes(&two, &[]), removed);
        let added = NoteChanges { added: vec!["B".to_owned()], ..NoteChanges::default() };
        assert_eq!(changes(&[], &two), added);
        let modified = NoteChanges { modified: vec!["A".to_owned()], ..NoteChanges::default() };
        assert_eq!(changes(&two, &[note("A", "y")]), modified);
    }
}
