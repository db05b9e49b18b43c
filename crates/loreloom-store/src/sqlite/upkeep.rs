//! Care of a database file: backup, restore, examination, repair, and giving back free space.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::StoreError;
use rusqlite::{Connection, OpenFlags, Row, backup::Backup, params};

use super::{
    SqliteStore,
    connect::{self, Content},
    rows::{Doing, Hash},
    salvage::{self, Salvage},
};
use crate::{
    codec::{Told, text_hash, told_hash, unpack},
    doctor::{self, Finding},
};

/// What is wrong with a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// What was found; empty if all is well.
    pub findings: Vec<Finding>,
    /// What an earlier repair could not read.
    pub known: Vec<Finding>,
    /// If something is wrong: what a repair would save, and what not.
    pub salvage: Option<Salvage>,
}

impl SqliteStore {
    /// Copies the database to a new file while it is in use; what was committed before is in
    /// the copy. The file appears only once it is complete.
    ///
    /// Fails with [`StoreError::Exists`] if the file is there already.
    pub async fn back_up(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = to.as_ref().to_owned();
        self.pool.read(move |connection| copy(connection, &to)).await
    }

    /// Makes a new database file of a backup, after checking it.
    ///
    /// Never overwrites ([`StoreError::Exists`]): move the file that is there out of the way
    /// first.
    pub fn restore(backup: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), StoreError> {
        refuse_to_overwrite(to.as_ref())?;
        let source = only_reading(backup.as_ref())?;
        connect::check(&source)?;
        let findings = examine(&source);
        if let Some(first) = findings.first() {
            let reason = format!("{first} ({} findings)", findings.len());
            return Err(StoreError::Damaged { what: "the backup".to_owned(), reason });
        }
        copy(&source, to.as_ref())
    }

    /// Looks for damage in the file itself: pages, indexes, references and content hashes.
    /// [`crate::doctor::examine`] looks at what the stories say.
    pub async fn examine(&self) -> Result<Vec<Finding>, StoreError> {
        self.pool.read(|connection| Ok(examine(connection))).await
    }

    /// Looks at a file that may be anything, and changes nothing: whether it is a database,
    /// whether it is sound, and what the stories of a tenant say. Fails only if it cannot be
    /// read at all.
    pub async fn diagnose(
        file: impl AsRef<Path>,
        tenant: &TenantId,
    ) -> Result<Diagnosis, StoreError> {
        let file = file.as_ref();
        let mut diagnosis = Diagnosis::default();
        let opened = only_reading(file)
            .and_then(|connection| connect::check(&connection).map(|found| (connection, found)));
        match opened {
            Ok((connection, Content::Stories)) => {
                diagnosis.findings = examine(&connection);
                diagnosis.known = losses(&connection, tenant);
                stories(&mut diagnosis, file, tenant).await;
            }
            Ok((_, Content::Nothing)) | Err(StoreError::Missing { .. }) => {
                let reason = match file.metadata() {
                    Ok(_) => "it is empty: there are no stories in it",
                    Err(_) => "there is no such file",
                };
                diagnosis.findings.push(finding("file", reason));
                return Ok(diagnosis);
            }
            Err(error) => diagnosis.findings.push(finding("file", doctor::spelled(&error))),
        }
        // What is wrong with the file itself, a repair may save.
        if diagnosis.findings.iter().any(|finding| finding.chat.is_none()) {
            let salvage = salvage::look(file)?;
            diagnosis.salvage = Some(salvage).filter(|salvage| salvage.chats > 0);
        }
        Ok(diagnosis)
    }

    /// Writes everything that can be read of a damaged file to a new one, and names what could
    /// not be read. The damaged file is only read.
    ///
    /// Fails with [`StoreError::Exists`] if the new file is there already, and with
    /// [`StoreError::NotADatabase`] if nothing of ours is in the old one.
    pub fn repair(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Salvage, StoreError> {
        let from = from.as_ref();
        if from.metadata().map_or(true, |file| file.len() == 0) {
            return Err(StoreError::Missing { path: from.display().to_string() });
        }
        if let Err(error @ StoreError::OtherVersion { .. }) =
            only_reading(from).and_then(|connection| connect::check(&connection))
        {
            return Err(error);
        }
        salvage::save(from, to.as_ref())
    }

    /// What an earlier repair could not read.
    pub async fn losses(&self, tenant: &TenantId) -> Result<Vec<Finding>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| Ok(losses(connection, &tenant))).await
    }

    /// Gives the space of deleted rows back to the file system.
    pub async fn vacuum(&self) -> Result<(), StoreError> {
        // The copy that it makes may be larger than the memory.
        let vacuum = "PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;";
        self.pool.alone(|connection| connection.execute_batch(vacuum).doing("vacuuming")).await
    }
}

/// Examines the stories themselves.
async fn stories(diagnosis: &mut Diagnosis, file: &Path, tenant: &TenantId) {
    let found = match &SqliteStore::open(file) {
        Ok(store) => doctor::examine(store, tenant).await,
        Err(error) => Ok(vec![finding("file", doctor::spelled(error))]),
    };
    match found {
        Ok(found) => {
            let known = &diagnosis.known;
            let is_known = |one: &Finding| {
                known.iter().any(|loss| loss.chat == one.chat && loss.what == one.what)
            };
            diagnosis.findings.extend(found.into_iter().filter(|one| !is_known(one)));
        }
        Err(error) => diagnosis.findings.push(finding("chats", doctor::spelled(&error))),
    }
}

fn losses(connection: &Connection, tenant: &TenantId) -> Vec<Finding> {
    let read = || {
        let mut select = connection
            .prepare("SELECT chat, what, reason FROM losses WHERE tenant = ?1 ORDER BY loss")?;
        let loss = |row: &Row<'_>| {
            let chat: Option<String> = row.get(0)?;
            Ok(Finding { chat: chat.map(ChatId), what: row.get(1)?, reason: row.get(2)? })
        };
        select.query_map([tenant.as_str()], loss)?.collect::<rusqlite::Result<_>>()
    };
    // A damaged database may have lost the table.
    read().unwrap_or_default()
}

/// Opens a file that must be there, to read it and no more.
fn only_reading(file: &Path) -> Result<Connection, StoreError> {
    let path = || file.display().to_string();
    if file.metadata().map_or(true, |file| file.len() == 0) {
        return Err(StoreError::Missing { path: path() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    Connection::open_with_flags(file, flags).doing("opening the database")
}

/// A copy never overwrites a file.
pub(super) fn refuse_to_overwrite(to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Exists { path: to.display().to_string() });
    }
    Ok(())
}

const COPYING: &str = "copying the database";

fn failed(error: std::io::Error) -> StoreError {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        return StoreError::Full { doing: COPYING };
    }
    StoreError::Database { doing: COPYING, source: error.into() }
}

/// A file on its way: nobody reads it before it is complete.
pub(super) struct Partial(PathBuf);

impl Partial {
    /// For a file that is to be.
    pub(super) fn beside(to: &Path) -> Self {
        let mut partial = to.as_os_str().to_owned();
        partial.push(".partial");
        let partial = Self(partial.into());
        // What an interrupted copy left behind; nobody ever reads it.
        partial.remove();
        partial
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its name, once it is on disk.
    pub(super) fn keep(self, to: &Path) -> Result<(), StoreError> {
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
            // It is mostly not there.
            let _gone = std::fs::remove_file(file);
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.remove();
    }
}

fn copy(source: &Connection, to: &Path) -> Result<(), StoreError> {
    refuse_to_overwrite(to)?;
    let partial = Partial::beside(to);
    let mut target = Connection::open(partial.path()).doing(COPYING)?;
    {
        let backup = Backup::new(source, &mut target).doing(COPYING)?;
        // All pages in one step: a reader does not hold up writers in a write-ahead log.
        backup.step(-1).doing(COPYING)?;
    }
    target.close().map_err(|(_, error)| error).doing(COPYING)?;
    partial.keep(to)
}

/// A damaged file may end an examination early: that is a finding too.
fn examine(connection: &Connection) -> Vec<Finding> {
    let doing = "examining the database";
    let mut findings = Vec::new();
    for check in [integrity, references, hashes] {
        match check(connection).doing(doing) {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(finding("file", doctor::spelled(&error))),
        }
    }
    findings.dedup();
    findings
}

fn finding(what: impl Into<String>, reason: impl Into<String>) -> Finding {
    Finding { chat: None, what: what.into(), reason: reason.into() }
}

fn integrity(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut check = connection.prepare("PRAGMA integrity_check")?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?;
    let lines = lines.collect::<rusqlite::Result<Vec<_>>>()?;
    let wrong: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
    let Some(first) = wrong.first().and_then(|lines| lines.lines().last()) else {
        return Ok(Vec::new());
    };
    let reason = format!("its pages contradict each other, first here: {first}");
    Ok(vec![finding("file", reason)])
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
