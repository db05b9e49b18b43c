//! Examining and repairing a database file.

use std::path::Path;

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::{
    SqliteStore,
    connect::{self, SchemaState},
    log,
    salvage::{self, Salvage},
    statement::query,
};
use crate::{
    codec::{text_hash, unpack_text},
    doctor::{self, DamageFinding},
    errors::{DatabaseResult as _, with_causes},
    rows::{StoredRow as _, node},
};

const DOING: &str = "examining the database";

/// What is wrong with a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// What was found. Empty if all is well.
    pub findings: Vec<DamageFinding>,
    /// What an earlier repair could not read.
    pub known: Vec<DamageFinding>,
    /// If something is wrong: what a repair would save.
    pub salvage: Option<Salvage>,
}

impl SqliteStore {
    /// Looks for damage in the file itself: pages, indexes, references and hashes.
    /// [`crate::doctor::examine`] looks at the stories.
    pub async fn examine(&self) -> Result<Vec<DamageFinding>, StoreError> {
        self.pool.read(|connection| Ok(examine(connection))).await
    }

    /// Examines any file without changing it: whether it is a database, whether it is sound, and
    /// whether the stories of a tenant are. Fails only if the file cannot be read at all.
    pub async fn diagnose(
        file: impl AsRef<Path>,
        tenant: &TenantId,
    ) -> Result<Diagnosis, StoreError> {
        let file = file.as_ref();
        let mut diagnosis = Diagnosis::default();
        if let Some(broken) = log::damage(file).map_err(unreadable)? {
            // Opening it would drop what is behind the damage.
            diagnosis.findings.push(finding("the write-ahead log", broken.reason()));
            diagnosis.salvage = Some(salvage::look(file)?);
            return Ok(diagnosis);
        }
        let opened = open_to_read(file)
            .and_then(|connection| connect::check(&connection).map(|state| (connection, state)));
        match opened {
            Ok((connection, SchemaState::Stories)) => {
                diagnosis.findings = examine(&connection);
                diagnosis.known = losses(&connection, tenant);
                examine_stories(&mut diagnosis, file, tenant).await;
            }
            Ok((_, SchemaState::Nothing)) | Err(StoreError::Missing { .. }) => {
                let reason = match file.metadata() {
                    Ok(_) => "it is empty: there are no stories in it",
                    Err(_) => "there is no such file",
                };
                diagnosis.findings.push(finding("file", reason));
                return Ok(diagnosis);
            }
            Err(error) => diagnosis.findings.push(finding("file", with_causes(&error))),
        }
        // A repair may help if the file itself is damaged.
        if diagnosis.findings.iter().any(|finding| finding.chat.is_none()) {
            let salvage = salvage::look(file)?;
            diagnosis.salvage = Some(salvage).filter(|salvage| salvage.chats > 0);
        }
        Ok(diagnosis)
    }

    /// Writes everything that can be read of a damaged file to a new one, and names the rest. The
    /// damaged file is only read.
    ///
    /// Fails with [`StoreError::Exists`] if the new file exists, and with
    /// [`StoreError::NotADatabase`] if the old one has no stories.
    pub fn repair(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Salvage, StoreError> {
        let from = from.as_ref();
        if log::damage(from).map_err(unreadable)?.is_some() {
            return salvage::save(from, to.as_ref());
        }
        match open_to_read(from).and_then(|connection| connect::check(&connection)) {
            Err(error @ (StoreError::OtherVersion { .. } | StoreError::Missing { .. })) => {
                Err(error)
            }
            Ok(_) | Err(_) => salvage::save(from, to.as_ref()),
        }
    }

    /// What an earlier repair could not read.
    pub async fn losses(&self, tenant: &TenantId) -> Result<Vec<DamageFinding>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| Ok(losses(connection, &tenant))).await
    }
}

fn unreadable(error: std::io::Error) -> StoreError {
    StoreError::Database { doing: DOING, source: error.into() }
}

/// Opens a file that must exist, only to read it.
pub(super) fn open_to_read(file: &Path) -> Result<Connection, StoreError> {
    if file.metadata().map_or(true, |file| file.len() == 0) {
        return Err(StoreError::Missing { path: file.display().to_string() });
    }
    log::refuse_damage(file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    Connection::open_with_flags(file, flags).doing("opening the database")
}

async fn examine_stories(diagnosis: &mut Diagnosis, file: &Path, tenant: &TenantId) {
    let found = match &SqliteStore::open(file) {
        Ok(store) => doctor::examine(store, tenant).await,
        Err(error) => Ok(vec![finding("file", with_causes(error))]),
    };
    match found {
        Ok(found) => {
            let known = &diagnosis.known;
            let is_known = |one: &DamageFinding| {
                known.iter().any(|loss| loss.chat == one.chat && loss.what == one.what)
            };
            diagnosis.findings.extend(found.into_iter().filter(|one| !is_known(one)));
        }
        Err(error) => diagnosis.findings.push(finding("chats", with_causes(&error))),
    }
}

fn losses(connection: &Connection, tenant: &TenantId) -> Vec<DamageFinding> {
    let find = "SELECT chat, what, reason FROM losses WHERE tenant = $1 ORDER BY loss";
    let losses = query(connection, DOING, find, [tenant.as_str()], |row| {
        let chat = row.optional_text(0)?.map(ChatId);
        Ok(DamageFinding { chat, what: row.text(1)?, reason: row.text(2)? })
    });
    // A damaged database may have lost the table.
    losses.unwrap_or_default()
}

/// Examines a database. Damage may end a check early, and that is a finding too.
pub(super) fn examine(connection: &Connection) -> Vec<DamageFinding> {
    let mut findings = Vec::new();
    for check in [integrity, references, message_hashes, text_hashes] {
        match check(connection) {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(finding("file", with_causes(&error))),
        }
    }
    findings.dedup();
    findings
}

fn finding(what: impl Into<String>, reason: impl Into<String>) -> DamageFinding {
    DamageFinding { chat: None, what: what.into(), reason: reason.into() }
}

fn integrity(connection: &Connection) -> Result<Vec<DamageFinding>, StoreError> {
    let lines = query(connection, DOING, "PRAGMA integrity_check", [], |row| row.text(0))?;
    let mut wrong = lines.iter().filter(|line| *line != "ok");
    let Some(first) = wrong.next().and_then(|lines| lines.lines().last()) else {
        return Ok(Vec::new());
    };
    let reason = format!("its pages contradict each other, first here: {first}");
    Ok(vec![finding("file", reason)])
}

fn references(connection: &Connection) -> Result<Vec<DamageFinding>, StoreError> {
    query(connection, DOING, "PRAGMA foreign_key_check", [], |row| {
        let (table, parent) = (row.str(0)?, row.str(2)?);
        Ok(finding(format!("table `{table}`"), format!("a row refers to no row of `{parent}`")))
    })
}

const WRONG_HASH: &str = "its hash is another one";

/// Messages and texts are found by their hash. With a wrong one they would be stored twice, and a
/// changed text would change every prompt that refers to it.
fn message_hashes(connection: &Connection) -> Result<Vec<DamageFinding>, StoreError> {
    let find = "SELECT hash, role, text, message FROM messages";
    let found = query(connection, DOING, find, [], |row| {
        let hash = row.digest(0)?;
        let is_sound = node::message_text(row, 1).is_ok_and(|message| message.hash() == hash);
        let number = row.number(3)?;
        Ok((!is_sound).then(|| finding(format!("message {number}"), WRONG_HASH)))
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn text_hashes(connection: &Connection) -> Result<Vec<DamageFinding>, StoreError> {
    let found = query(connection, DOING, "SELECT hash, body, text FROM texts", [], |row| {
        let hash = row.digest(0)?;
        let is_sound = unpack_text(row.bytes(1)?).is_ok_and(|text| text_hash(&text) == hash);
        let number = row.number(2)?;
        Ok((!is_sound).then(|| finding(format!("text {number}"), WRONG_HASH)))
    })?;
    Ok(found.into_iter().flatten().collect())
}
