//! The full-text index of a vault. It is kept when the vault is read again.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    bm25::{Bm25, DocId},
    library::EntryIx,
    vault_notes::Note,
};

/// Notes by what they are about.
#[derive(Clone, Debug, Default)]
pub struct Search {
    index: Bm25,
    known: FxHashMap<(String, String), IndexedNote>,
    /// The note of each document.
    notes: Vec<EntryIx>,
}

#[derive(Clone, Debug)]
struct IndexedNote {
    doc: DocId,
    text: Box<str>,
}

/// A note that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoteHit {
    /// The note.
    pub ix: EntryIx,
    /// How well it fits.
    pub score: f64,
}

impl Search {
    /// Indexes the notes of a vault. Only notes that changed are read again.
    pub fn sync(&mut self, notes: &[Arc<Note>]) {
        let mut gone = std::mem::take(&mut self.known);
        let mut new: Vec<((String, String), Box<str>)> = Vec::new();
        for note in notes {
            let text = text_of(note);
            let key = (note.vault.clone(), note.path.clone());
            match gone.remove(&key) {
                Some(known) if *known.text == *text => {
                    self.known.insert(key, known);
                }
                Some(known) => {
                    self.index.remove(known.doc, &known.text);
                    new.push((key, text.into()));
                }
                None => new.push((key, text.into())),
            }
        }
        for known in gone.into_values() {
            self.index.remove(known.doc, &known.text);
        }
        let docs = self.index.add_all(new.iter().map(|(_, text)| &**text));
        let known = new.into_iter().zip(docs);
        self.known.extend(known.map(|((key, text), doc)| (key, IndexedNote { doc, text })));
        if self.index.wants_compaction() {
            let moved = self.index.compact();
            for known in self.known.values_mut() {
                known.doc = moved[known.doc.0 as usize].unwrap_or(known.doc);
            }
        }
        self.point_at(notes);
    }

    fn point_at(&mut self, notes: &[Arc<Note>]) {
        let last = self.known.values().map(|known| known.doc.0 as usize + 1).max();
        self.notes = vec![EntryIx(u32::MAX); last.unwrap_or_default()];
        for (at, note) in notes.iter().enumerate() {
            if let Some(known) = self.known.get(&(note.vault.clone(), note.path.clone())) {
                self.notes[known.doc.0 as usize] = EntryIx::at(at);
            }
        }
    }

    /// The best notes for a text.
    pub fn query(&self, text: &str, most: usize, min_score: f64) -> Vec<NoteHit> {
        let scored = self.index.query(text, most, min_score);
        scored
            .into_iter()
            .map(|one| NoteHit { ix: self.notes[one.doc.0 as usize], score: one.score })
            .collect()
    }

    /// The mean length of a note, in words.
    pub fn mean_length(&self) -> f64 {
        self.index.mean_length()
    }
}

fn text_of(note: &Note) -> String {
    let names = note.aliases.join(" ");
    format!("{} {} {names} {}", note.title, note.keys.join(" "), note.content)
}
