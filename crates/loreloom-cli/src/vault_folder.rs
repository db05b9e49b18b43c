//! A vault as a plain folder: reads its notes and watches for changes.
//!
//! Nothing outside the folder is read: links that lead out are refused, linked folders are not
//! entered, and files and folders that begin with a dot (Obsidian's settings, its trash, version
//! control) are ignored. A file that cannot be read is reported and does not affect others.

pub(crate) mod note_file;
pub(crate) mod watch;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context as _;

/// How much of a folder is read before giving up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderLimits {
    /// Bytes of a note.
    pub(crate) note_bytes: u64,
    /// Notes of a vault.
    pub(crate) notes: usize,
    /// Folders inside folders.
    pub(crate) depth: usize,
}

impl Default for FolderLimits {
    fn default() -> Self {
        Self { note_bytes: 4 << 20, notes: 50_000, depth: 20 }
    }
}

/// A folder of notes.
#[derive(Debug)]
pub(crate) struct VaultFolder {
    root: PathBuf,
    limits: FolderLimits,
    known: BTreeMap<String, KnownNote>,
    /// Whether it was ever read.
    is_known: bool,
}

#[derive(Clone, Debug)]
struct KnownNote {
    stamp: Stamp,
    text: Arc<str>,
}

/// Shows whether a file was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// The notes of a folder.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Each note's path inside the vault, with `/` between folders, and its text; by path.
    pub(crate) notes: Vec<(String, Arc<str>)>,
    /// Whether anything differs from the reading before.
    pub(crate) changed: bool,
    /// What could not be read.
    pub(crate) problems: Vec<FolderProblem>,
}

/// Something in a vault that could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderProblem {
    /// A file or folder.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// Which.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A link that leads out.
    #[error("`{path}` leads out of the vault and is not followed")]
    Escapes {
        /// The link.
        path: String,
    },
    /// A note that is too large.
    #[error("a note has at most {limit} bytes, `{path}` has {found}")]
    TooLarge {
        /// The note.
        path: String,
        /// The most.
        limit: u64,
        /// What it has.
        found: u64,
    },
    /// A note that is not text.
    #[error("`{path}` is not UTF-8 text")]
    NotText {
        /// The note.
        path: String,
    },
    /// Too many notes or folders inside folders: the rest is not read.
    #[error(
        "`{path}` and what follows is not read: a vault has at most {notes} notes, {depth} folders deep"
    )]
    TooMany {
        /// The first that is not read.
        path: String,
        /// The most notes.
        notes: usize,
        /// The deepest folder.
        depth: usize,
    },
}

impl VaultFolder {
    /// Opens a folder. It is looked at under its real name, so that links can be judged.
    pub(crate) fn open(path: &Path, limits: FolderLimits) -> anyhow::Result<Self> {
        let root = fs::canonicalize(path)
            .with_context(|| format!("the vault `{}` cannot be opened", path.display()))?;
        anyhow::ensure!(root.is_dir(), "a vault is a folder, `{}` is none", path.display());
        Ok(Self { root, limits, known: BTreeMap::new(), is_known: false })
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Reads the notes. Files that were not written to since are not read again.
    pub(crate) fn read(&mut self) -> anyhow::Result<Reading> {
        let mut walk =
            Walk { folder: self, notes: BTreeMap::new(), problems: Vec::new(), full: false };
        walk.enter(&self.root, "", 0)
            .with_context(|| format!("the vault `{}` cannot be read", self.root.display()))?;
        let (notes, problems) = (walk.notes, walk.problems);
        let same = |(a, b): ((&String, &KnownNote), (&String, &KnownNote))| {
            a.0 == b.0 && is_same(&a.1.text, &b.1.text)
        };
        let changed = notes.len() != self.known.len() || !notes.iter().zip(&self.known).all(same);
        self.known = notes;
        self.is_known = true;
        Ok(Reading { notes: self.listed(), changed, problems })
    }

    /// The notes as they were read last, if they ever were.
    pub(crate) fn as_read(&self) -> Option<Reading> {
        self.is_known.then(|| Reading { notes: self.listed(), ..Reading::default() })
    }

    fn listed(&self) -> Vec<(String, Arc<str>)> {
        let listed = |(path, known): (&String, &KnownNote)| (path.clone(), Arc::clone(&known.text));
        self.known.iter().map(listed).collect()
    }

    /// Forgets the dates of files, so that the next reading reads them. Their texts stay
    /// known: a file that is gone by then is a change.
    pub(crate) fn forget(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let Ok(relative) = path.strip_prefix(&self.root) else { continue };
            let relative = relative.to_string_lossy().replace('\\', "/");
            if let Some(known) = self.known.get_mut(&relative) {
                known.stamp = Stamp { bytes: u64::MAX, modified: None };
            }
        }
    }
}

/// Whether two texts are the same; most are one text, which need not be compared.
pub(crate) fn is_same(one: &Arc<str>, other: &Arc<str>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

struct Walk<'a> {
    folder: &'a VaultFolder,
    notes: BTreeMap<String, KnownNote>,
    problems: Vec<FolderProblem>,
    full: bool,
}

impl Walk<'_> {
    /// Reads a folder; `prefix` is its path inside the vault.
    fn enter(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
        entries.sort_by_cached_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || self.full {
                continue;
            }
            let inside = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if let Err(problem) = self.visit(&entry, &inside, depth) {
                self.problems.push(problem);
            }
        }
        Ok(())
    }

    fn visit(
        &mut self,
        entry: &fs::DirEntry,
        inside: &str,
        depth: usize,
    ) -> Result<(), FolderProblem> {
        let unreadable = |source| FolderProblem::Unreadable { path: inside.to_owned(), source };
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            if depth + 1 > self.folder.limits.depth {
                return Err(self.too_many(inside));
            }
            return self.enter(&entry.path(), inside, depth + 1).map_err(unreadable);
        }
        let is_note =
            Path::new(inside).extension().is_some_and(|one| one.eq_ignore_ascii_case("md"));
        if !is_note {
            return Ok(());
        }
        // The real file is read, so that a link cannot be turned round in between.
        let file = if kind.is_symlink() {
            let target = fs::canonicalize(entry.path()).map_err(unreadable)?;
            if !target.starts_with(&self.folder.root) {
                return Err(FolderProblem::Escapes { path: inside.to_owned() });
            }
            target
        } else {
            entry.path()
        };
        self.take(&file, inside)
    }

    fn take(&mut self, file: &Path, inside: &str) -> Result<(), FolderProblem> {
        let unreadable = |source| FolderProblem::Unreadable { path: inside.to_owned(), source };
        let limits = self.folder.limits;
        if self.notes.len() >= limits.notes {
            self.full = true;
            return Err(self.too_many(inside));
        }
        let metadata = fs::metadata(file).map_err(unreadable)?;
        let (path, found, limit) = (inside.to_owned(), metadata.len(), limits.note_bytes);
        if !metadata.is_file() {
            return Ok(());
        }
        if found > limit {
            return Err(FolderProblem::TooLarge { path, limit, found });
        }
        let stamp = Stamp { bytes: found, modified: metadata.modified().ok() };
        if let Some(known) = self.folder.known.get(inside).filter(|known| known.stamp == stamp) {
            self.notes.insert(path, known.clone());
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "the path is in the problem")]
        let bytes = fs::read(file).map_err(unreadable)?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(FolderProblem::NotText { path });
        };
        self.notes.insert(path, KnownNote { stamp, text: text.into() });
        Ok(())
    }

    fn too_many(&self, inside: &str) -> FolderProblem {
        let FolderLimits { notes, depth, .. } = self.folder.limits;
        FolderProblem::TooMany { path: inside.to_owned(), notes, depth }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
mod tests {
    use super::*;

    fn paths(reading: &Reading) -> Vec<&str> {
        reading.notes.iter().map(|(path, _)| path.as_str()).collect()
    }

    fn open(path: &Path) -> VaultFolder {
        VaultFolder::open(path, FolderLimits::default()).unwrap()
    }

    #[test]
    fn notes_are_read_with_their_folders_and_nothing_hidden() {
        let vault = tempfile::tempdir().unwrap();
        fs::create_dir_all(vault.path().join("npcs/guards")).unwrap();
        fs::create_dir_all(vault.path().join(".obsidian")).unwrap();
        for path in ["Root.md", "npcs/guards/Ann.MD", "npcs/map.png", ".obsidian/x.md"] {
            fs::write(vault.path().join(path), path).unwrap();
        }
        let reading = open(vault.path()).read().unwrap();
        assert_eq!(paths(&reading), ["Root.md", "npcs/guards/Ann.MD"]);
        assert_eq!(&*reading.notes[1].1, "npcs/guards/Ann.MD");
        assert!(reading.changed && reading.problems.is_empty());
    }

    #[test]
    fn only_what_changed_is_read_again() {
        let vault = tempfile::tempdir().unwrap();
        for name in ["A.md", "B.md"] {
            fs::write(vault.path().join(name), "one").unwrap();
        }
        let mut folder = open(vault.path());
        let first = folder.read().unwrap();
        assert!(!folder.read().unwrap().changed);
        fs::write(vault.path().join("B.md"), "other").unwrap();
        let second = folder.read().unwrap();
        assert!(second.changed);
        assert!(Arc::ptr_eq(&first.notes[0].1, &second.notes[0].1));
        assert_eq!(&*second.notes[1].1, "other");
        folder.forget(&[folder.root().join("A.md")]);
        let third = folder.read().unwrap();
        assert!(!Arc::ptr_eq(&first.notes[0].1, &third.notes[0].1));
        fs::remove_file(vault.path().join("A.md")).unwrap();
        assert_eq!(paths(&folder.read().unwrap()), ["B.md"]);
    }

    #[test]
    fn a_note_that_cannot_be_read_does_not_hide_the_others() {
        let vault = tempfile::tempdir().unwrap();
        fs::write(vault.path().join("Good.md"), "fine").unwrap();
        fs::write(vault.path().join("Bytes.md"), [0xff, 0xfe, 0x00]).unwrap();
        fs::write(vault.path().join("Large.md"), "x".repeat(100)).unwrap();
        let limits = FolderLimits { note_bytes: 50, ..FolderLimits::default() };
        let reading = VaultFolder::open(vault.path(), limits).unwrap().read().unwrap();
        assert_eq!(paths(&reading), ["Good.md"]);
        let problems: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            ["`Bytes.md` is not UTF-8 text", "a note has at most 50 bytes, `Large.md` has 100"]
        );
    }

    #[test]
    fn a_vault_with_too_many_notes_says_where_it_stopped() {
        let vault = tempfile::tempdir().unwrap();
        for name in ["A.md", "B.md", "C.md", "D.md"] {
            fs::write(vault.path().join(name), "x").unwrap();
        }
        let limits = FolderLimits { notes: 2, ..FolderLimits::default() };
        let reading = VaultFolder::open(vault.path(), limits).unwrap().read().unwrap();
        assert_eq!(paths(&reading), ["A.md", "B.md"]);
        assert_eq!(reading.problems.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_vault_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (vault, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("Secret.md"), "secret").unwrap();
        fs::write(vault.path().join("Real.md"), "real").unwrap();
        symlink(outside.path().join("Secret.md"), vault.path().join("Out.md")).unwrap();
        symlink(outside.path(), vault.path().join("folder")).unwrap();
        symlink(vault.path(), vault.path().join("loop")).unwrap();
        symlink(vault.path().join("Real.md"), vault.path().join("In.md")).unwrap();
        let reading = open(vault.path()).read().unwrap();
        assert_eq!(paths(&reading), ["In.md", "Real.md"]);
        let problems: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["`Out.md` leads out of the vault and is not followed"]);
    }
}
