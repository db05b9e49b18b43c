//! Backups of a database file.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use loreloom_ports::StoreError;
use rusqlite::{Connection, backup::Backup};

use super::{
    SqliteStore, connect,
    diagnosis::{examine, open_to_read},
};
use crate::{errors::DatabaseResult as _, private};

const COPYING: &str = "copying the database";

impl SqliteStore {
    /// Copies the database to a new file while it is in use. The copy has everything that was
    /// committed before. The file appears once it is complete.
    ///
    /// Fails with [`StoreError::Exists`] if the file exists.
    pub async fn back_up(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = to.as_ref().to_owned();
        self.pool.read(move |connection| copy(connection, &to)).await
    }

    /// Checks a backup and makes a new database file of it.
    ///
    /// Never overwrites ([`StoreError::Exists`]): move an existing file away first.
    pub fn restore(backup: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), StoreError> {
        refuse_to_overwrite(to.as_ref())?;
        let source = open_to_read(backup.as_ref())?;
        connect::check(&source)?;
        let findings = examine(&source);
        if let Some(first) = findings.first() {
            let reason = format!("{first} ({} findings)", findings.len());
            return Err(StoreError::Damaged { what: "the backup".to_owned(), reason });
        }
        copy(&source, to.as_ref())
    }

    /// Gives the space of deleted rows back to the file system.
    pub async fn vacuum(&self) -> Result<(), StoreError> {
        // Vacuuming makes a copy, which may be larger than the memory.
        let vacuum = "PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;";
        let work =
            |connection: &mut Connection| connection.execute_batch(vacuum).doing("vacuuming");
        self.pool.exclusive(work).await
    }
}

/// A copy never overwrites a file.
pub(super) fn refuse_to_overwrite(to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Exists { path: to.display().to_string() });
    }
    Ok(())
}

fn copy(source: &Connection, to: &Path) -> Result<(), StoreError> {
    refuse_to_overwrite(to)?;
    let partial = PartialFile::beside(to);
    private::create_database(partial.path()).map_err(failed)?;
    let mut target = Connection::open(partial.path()).doing(COPYING)?;
    {
        let backup = Backup::new(source, &mut target).doing(COPYING)?;
        // All pages in one step: a reader of a write-ahead log does not block writers.
        backup.step(-1).doing(COPYING)?;
    }
    target.close().map_err(|(_, error)| error).doing(COPYING)?;
    partial.complete(to)
}

/// A file that is not complete yet. Dropping it deletes it.
pub(super) struct PartialFile(PathBuf);

impl PartialFile {
    /// A file that will become `to`.
    pub(super) fn beside(to: &Path) -> Self {
        let mut partial = to.as_os_str().to_owned();
        partial.push(".partial");
        let partial = Self(partial.into());
        // An interrupted copy may have left one behind.
        partial.remove();
        partial
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Renames it, once it is on disk.
    pub(super) fn complete(self, to: &Path) -> Result<(), StoreError> {
        File::open(&self.0).and_then(|file| file.sync_all()).map_err(failed)?;
        std::fs::rename(&self.0, to).map_err(failed)?;
        let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
    }

    fn remove(&self) {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut file = self.0.as_os_str().to_owned();
            file.push(end);
            // Mostly there is none.
            let _gone = std::fs::remove_file(file);
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        self.remove();
    }
}

fn failed(error: std::io::Error) -> StoreError {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        return StoreError::Full { doing: COPYING };
    }
    StoreError::Database { doing: COPYING, source: error.into() }
}
