//! Notes written into a vault.
//!
//! The notes of one book are written all or none, but for those that are left alone: names are
//! checked before the first is written, and what a fault leaves half done is taken back.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use loreloom_formats::vault::WrittenNote;

use crate::{
    files,
    vault::{RestAccess, is_address},
};

/// A vault to write into.
pub(crate) struct NotesFolder {
    root: PathBuf,
    clash: Clash,
    access: RestAccess,
}

/// What becomes of a note that is there with another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clash {
    /// None of its book is written.
    Refused,
    /// It stays, the others are written.
    Left,
    /// It is written over.
    Replaced,
}

impl NotesFolder {
    /// A vault, which may not exist yet. `force` writes over notes with another text.
    pub(crate) fn new(root: &Path, force: bool) -> Self {
        let clash = if force { Clash::Replaced } else { Clash::Refused };
        Self { root: root.to_owned(), clash, access: RestAccess::default() }
    }

    /// The same, where notes with another text stay, unless they are written over.
    pub(crate) fn leaving_changed(self) -> Self {
        let clash = if self.clash == Clash::Refused { Clash::Left } else { self.clash };
        Self { clash, ..self }
    }

    /// The same, where the vault may be the address of Obsidian's REST API.
    pub(crate) fn reached_by(self, access: RestAccess) -> Self {
        Self { access, ..self }
    }

    /// Writes notes into a folder of the vault; those that were left alone.
    pub(crate) fn write(&self, folder: &str, notes: &[WrittenNote]) -> anyhow::Result<Vec<String>> {
        if notes.is_empty() {
            return Ok(Vec::new());
        }
        if is_address(&self.root) {
            return self.send(folder, notes);
        }
        let folder = self.root.join(folder);
        self.must_hold(&folder)?;
        let (mut wanted, mut left) = (Vec::<(PathBuf, &str)>::new(), Vec::new());
        for note in notes {
            let path = folder.join(&note.file_name);
            let there = path.exists().then(|| files::read(&path)).transpose()?;
            match there {
                Some(bytes) if bytes == note.text.as_bytes() => {}
                Some(_) if self.leaves(&path.display())? => left.push(path.display().to_string()),
                Some(_) | None => wanted.push((path, &note.text)),
            }
        }
        let made = !folder.exists();
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        let mut new: Vec<&PathBuf> = Vec::new();
        for (path, text) in &wanted {
            let is_new = !path.exists();
            let written = files::write(path, text.as_bytes());
            if written.is_err() {
                // Removed as far as possible; the first error is reported.
                let _gone: Vec<_> = new.iter().map(std::fs::remove_file).collect();
                if made {
                    let _gone = std::fs::remove_dir(&folder);
                }
            }
            written?;
            if is_new {
                new.push(path);
            }
        }
        Ok(left)
    }

    /// Whether a note that is there with another text stays; an error if it is in the way.
    fn leaves(&self, path: &dyn Display) -> anyhow::Result<bool> {
        anyhow::ensure!(
            self.clash != Clash::Refused,
            "`{path}` exists already with another text: `--force` overwrites it"
        );
        Ok(self.clash == Clash::Left)
    }

    /// Refuses a folder that a link leads out of the vault.
    fn must_hold(&self, folder: &Path) -> anyhow::Result<()> {
        let Ok(root) = self.root.canonicalize() else { return Ok(()) };
        let there = folder.ancestors().find_map(|part| part.canonicalize().ok());
        anyhow::ensure!(
            there.is_none_or(|there| there.starts_with(&root)),
            "`{}` leads out of the vault",
            folder.display()
        );
        Ok(())
    }

    /// Writes notes through Obsidian's REST API. It takes nothing back: a fault says how far
    /// it came.
    fn send(&self, folder: &str, notes: &[WrittenNote]) -> anyhow::Result<Vec<String>> {
        let vault = self.access.open(&self.root.to_string_lossy())?;
        let (mut wanted, mut left) = (Vec::new(), Vec::new());
        for note in notes {
            let path = format!("{folder}/{}", note.file_name);
            match vault.file(&path)? {
                Some(text) if text == note.text => {}
                Some(_) if self.leaves(&path)? => left.push(path),
                Some(_) | None => wanted.push((path, &note.text)),
            }
        }
        for (at, (path, text)) in wanted.iter().enumerate() {
            vault.write(path, text).with_context(|| {
                format!("{at} of {} notes were written, `{path}` was not", wanted.len())
            })?;
        }
        Ok(left)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn notes_are_not_written_through_a_link_that_leads_out() {
        let (vault, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(vault.path().join("real")).unwrap();
        std::os::unix::fs::symlink(outside.path(), vault.path().join("out")).unwrap();
        std::os::unix::fs::symlink(vault.path().join("real"), vault.path().join("in")).unwrap();
        let note = |name: &str| WrittenNote {
            file_name: name.to_owned(),
            text: "x".to_owned(),
            losses: Vec::new(),
        };
        let folder = NotesFolder::new(vault.path(), true);
        for out in ["out", "out/deeper", "../elsewhere"] {
            let error = folder.write(out, &[note("A.md")]).unwrap_err().to_string();
            assert!(error.ends_with("leads out of the vault"), "{error}");
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        for inside in ["in", "new/deeper"] {
            folder.write(inside, &[note("A.md")]).unwrap();
        }
        assert!(vault.path().join("real/A.md").is_file());
    }
}
