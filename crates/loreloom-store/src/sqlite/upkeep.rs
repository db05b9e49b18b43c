//! Care of a database file: backup, restore, examination, and giving back free space.

use std::{fs::File, path::Path};

use loreloom_memory::ports::StoreError;
use rusqlite::{Connection, OpenFlags, Row, backup::Backup, params};

use super::{
    SqliteStore, connect,
    rows::{Doing, Hash},
};
use crate::{
    codec::{Told, text_hash, told_hash, unpack},
    doctor::Finding,
};

impl SqliteStore {
    /// Copies the database to a new file while it is in use; what was committed before is in
    /// the copy. The file appears only once it is complete.
    pub async fn back_up(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = to.as_ref().to_owned();
        self.pool.read(move |connection| copy(connection, &to)).await
    }

    /// Makes a new database file of a backup, after checking it.
    ///
    /// Never overwrites: move the file that is there out of the way first.
    pub fn restore(backup: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let source = Connection::open_with_flags(backup, flags).doing("opening a backup")?;
        connect::check(&source)?;
        let findings = examine(&source)?;
        if let Some(first) = findings.first() {
            let reason = format!("{first} ({} findings)", findings.len());
            return Err(StoreError::Damaged { what: "the backup".to_owned(), reason });
        }
        copy(&source, to.as_ref())
    }

    /// Looks for damage in the file itself: pages, indexes, references and content hashes.
    /// [`crate::doctor::examine`] looks at what the stories say.
    pub async fn examine(&self) -> Result<Vec<Finding>, StoreError> {
        self.pool.read(|connection| examine(connection)).await
    }

    /// Gives the space of deleted rows back to the file system.
    pub async fn vacuum(&self) -> Result<(), StoreError> {
        self.pool.write(|connection| connection.execute_batch("VACUUM").doing("vacuuming")).await
    }
}

fn copy(source: &Connection, to: &Path) -> Result<(), StoreError> {
    let doing = "copying the database";
    if to.exists() {
        return Err(StoreError::Contradiction {
            rule: "a copy never overwrites a file",
            found: format!("`{}`", to.display()),
        });
    }
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let failed = |source: std::io::Error| StoreError::Database { doing, source: source.into() };
    if Path::new(&partial).exists() {
        // What an interrupted copy left behind; nobody ever reads it.
        std::fs::remove_file(&partial).map_err(failed)?;
    }
    let mut target = Connection::open(&partial).doing(doing)?;
    {
        let backup = Backup::new(source, &mut target).doing(doing)?;
        // All pages in one step: a reader does not hold up writers in a write-ahead log.
        backup.step(-1).doing(doing)?;
    }
    target.close().map_err(|(_, error)| error).doing(doing)?;
    File::open(&partial).and_then(|file| file.sync_all()).map_err(failed)?;
    std::fs::rename(&partial, to).map_err(failed)?;
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
}

fn examine(connection: &Connection) -> Result<Vec<Finding>, StoreError> {
    let doing = "examining the database";
    let mut findings = integrity(connection).doing(doing)?;
    findings.extend(references(connection).doing(doing)?);
    findings.extend(hashes(connection).doing(doing)?);
    Ok(findings)
}

fn finding(what: impl Into<String>, reason: impl Into<String>) -> Finding {
    Finding { chat: None, what: what.into(), reason: reason.into() }
}

fn integrity(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut check = connection.prepare("PRAGMA integrity_check")?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?;
    let lines = lines.collect::<rusqlite::Result<Vec<_>>>()?;
    let wrong = lines.into_iter().filter(|line| line != "ok");
    Ok(wrong.map(|line| finding("file", line)).collect())
}

fn references(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut check = connection.prepare("PRAGMA foreign_key_check")?;
    let broken = |row: &Row<'_>| {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        Ok(finding(format!("table `{table}`"), format!("a row refers to no row of `{parent}`")))
    };
    check.query_map([], broken)?.collect()
}

/// Texts and messages are found by their hashes: a wrong one would store them twice, and a
/// changed text would change every prompt that refers to it.
fn hashes(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut messages = connection.prepare("SELECT hash, role, text, message FROM messages")?;
    let mut rows = messages.query(params![])?;
    while let Some(row) = rows.next()? {
        let hash: Hash = row.get(0)?;
        let told = Told::from_columns(row.get(1)?, row.get(2)?);
        if told.is_ok_and(|told| told_hash(told.role, &told.text) == hash.0) {
            continue;
        }
        let number: i64 = row.get(3)?;
        findings.push(finding(format!("message {number}"), "its hash is another one"));
    }
    let mut texts = connection.prepare("SELECT hash, body, text FROM texts")?;
    let mut rows = texts.query(params![])?;
    while let Some(row) = rows.next()? {
        let hash: Hash = row.get(0)?;
        let text = unpack(&row.get::<_, Vec<u8>>(1)?).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        if text.is_none_or(|text| text_hash(&text) != hash.0) {
            let number: i64 = row.get(2)?;
            findings.push(finding(format!("text {number}"), "its hash is another one"));
        }
    }
    Ok(findings)
}
