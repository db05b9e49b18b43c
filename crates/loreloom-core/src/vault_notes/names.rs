//! Finding notes by what people call them.
//!
//! Obsidian links name a file, lore written for `DeepLore` names a title, and people also use
//! aliases. All three find a note, in that order of trust: a title beats a file name, and a file
//! name beats an alias, so an alias never hides a note that is really called so.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::Note;
use crate::library::EntryIx;

/// What may name a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteNaming {
    /// Its title, its file name or an alias.
    #[default]
    Any,
    /// Its title.
    Title,
}

/// Notes by name, ignoring case.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameIndex {
    titles: Names,
    /// File names and whole paths, without `.md`.
    files: Names,
    /// Ends of paths with a folder, without `.md`: a link may leave out the outer folders.
    path_ends: Names,
    aliases: Names,
}

type Names = FxHashMap<Box<str>, Vec<EntryIx>>;

impl NameIndex {
    pub(crate) fn of(notes: &[Arc<Note>], naming: NoteNaming) -> Self {
        let mut index = Self::default();
        for (note, at) in notes.iter().zip(0..) {
            let ix = EntryIx(at);
            add(&mut index.titles, &note.title, ix);
            if naming == NoteNaming::Title {
                continue;
            }
            add(&mut index.files, note.file_name(), ix);
            let path = note.path_name();
            add(&mut index.files, path, ix);
            let folders = path.matches('/').count();
            for (start, _) in path.match_indices('/').take(folders.saturating_sub(1)) {
                add(&mut index.path_ends, &path[start + 1..], ix);
            }
            for alias in &note.aliases {
                add(&mut index.aliases, alias, ix);
            }
        }
        index
    }

    /// The notes that a name means. A link may also have a folder, a heading or a block:
    /// `Places/Harbour#History`.
    pub(crate) fn find(&self, name: &str) -> &[EntryIx] {
        let name = name.to_lowercase();
        if let Some(titled) = self.titles.get(name.as_str()) {
            return titled;
        }
        if self.files.is_empty() {
            return &[];
        }
        let target = name.split(['#', '^']).next().unwrap_or_default().trim();
        let target = without_ending(target.trim_matches('/'));
        let file = target.rsplit('/').next().unwrap_or_default();
        let found = [
            self.files.get(target),
            self.path_ends.get(target),
            self.titles.get(target),
            self.aliases.get(name.as_str()),
            self.aliases.get(target),
            // A link keeps working when its note moves to another folder.
            self.files.get(file),
        ];
        found.into_iter().flatten().next().map_or(&[], Vec::as_slice)
    }
}

fn add(names: &mut Names, name: &str, ix: EntryIx) {
    let name = name.trim().to_lowercase();
    if name.is_empty() {
        return;
    }
    let notes = names.entry(name.into()).or_default();
    if notes.last() != Some(&ix) {
        notes.push(ix);
    }
}

fn without_ending(path: &str) -> &str {
    path.strip_suffix(".md").unwrap_or(path)
}

impl Note {
    /// Its file's name without the ending.
    pub fn file_name(&self) -> &str {
        without_ending(self.path.rsplit('/').next().unwrap_or_default())
    }

    /// Its file's name without the ending, with the folder it is in.
    pub fn folder_name(&self) -> &str {
        let path = self.path_name();
        path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
    }

    /// Its path in the vault without the ending.
    pub fn path_name(&self) -> &str {
        without_ending(&self.path)
    }

    /// All that people call it, each name once: its title, its file name, its aliases.
    pub fn names(&self, naming: NoteNaming) -> Vec<&str> {
        let mut names = vec![self.title.as_str()];
        let others = std::iter::once(self.file_name());
        let others = others.chain(self.aliases.iter().map(String::as_str));
        for name in others.filter(|_| naming == NoteNaming::Any).map(str::trim) {
            let is_new = names.iter().all(|known| known.to_lowercase() != name.to_lowercase());
            if is_new && !name.is_empty() {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_beats_a_file_name_and_a_file_name_beats_an_alias() {
        let note = |path: &str, title: &str, aliases: &[&str]| {
            let mut note = Note::new("", path, title);
            note.aliases = aliases.iter().map(|one| (*one).to_owned()).collect();
            Arc::new(note)
        };
        let notes = [
            note("Places/Harbour.md", "The Grey Harbour", &["Docks"]),
            note("People/Ilka.md", "Ilka", &["The Pilot", "Harbour"]),
            note("Docks.md", "Docks", &[]),
            note("old/Ilka.md", "Ilka the Elder", &[]),
            note("World/Places/Mill.md", "Old Mill", &[]),
            note("World/People/Mill.md", "Jon Mill", &[]),
            note("People/Mill.md", "Ada Mill", &[]),
        ];
        let any = NameIndex::of(&notes, NoteNaming::Any);
        let title = NameIndex::of(&notes, NoteNaming::Title);
        for (name, by_any, by_title) in [
            ("the grey harbour", vec![0], vec![0]),
            ("Harbour", vec![0], vec![]),
            ("Places/Harbour#History", vec![0], vec![]),
            ("Moved/Harbour.md^block", vec![0], vec![]),
            ("docks", vec![2], vec![2]),
            ("The Pilot", vec![1], vec![]),
            ("ILKA", vec![1], vec![1]),
            ("old/Ilka", vec![3], vec![]),
            ("Places/Mill", vec![4], vec![]),
            ("People/Mill", vec![6], vec![]),
            ("World/People/Mill", vec![5], vec![]),
            ("Gone/Mill", vec![4, 5, 6], vec![]),
            ("nobody", vec![], vec![]),
            ("", vec![], vec![]),
        ] {
            let found = |index: &NameIndex| -> Vec<u32> {
                index.find(name).iter().map(|ix| ix.0).collect()
            };
            assert_eq!((found(&any), found(&title)), (by_any, by_title), "{name}");
        }
    }
}
