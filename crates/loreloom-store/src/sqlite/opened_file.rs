//! The file that is open, and the one that its name leads to.
//!
//! Somebody may move, delete or replace the database while it is open: a backup is moved into its
//! place, a program synchronises the folder. SQLite would go on writing into a file that nobody
//! finds again. So each write looks before it begins and before it is acknowledged; that costs two
//! calls of the system, some microseconds.

use std::{io, path::PathBuf};

use loreloom_ports::StoreError;

/// A database file as it was when it was opened.
#[derive(Clone, Debug)]
pub(super) struct OpenedFile {
    path: PathBuf,
    id: FileId,
}

impl OpenedFile {
    /// The file that was just opened.
    pub(super) fn new(path: PathBuf) -> Result<Self, StoreError> {
        let id = FileId::of(&path).map_err(|error| StoreError::Database {
            doing: "opening the database",
            source: error.into(),
        })?;
        Ok(Self { path, id })
    }

    /// Fails if the name leads to another file by now, or to none.
    pub(super) fn still_there(&self) -> Result<(), StoreError> {
        match FileId::of(&self.path) {
            Ok(id) if id != self.id => Err(StoreError::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::Replaced),
            // Who cannot look does not know.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// What identifies a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    fn of(path: &std::path::Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = path.metadata()?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Other systems do not let an open file be replaced.
    #[cfg(not(unix))]
    fn of(path: &std::path::Path) -> io::Result<Self> {
        path.metadata().map(|_| Self { device: 0, inode: 0 })
    }
}
