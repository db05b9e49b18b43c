//! Opening a database: settings of a connection, and the numbered migrations.

use std::{thread::sleep, time::Duration};

use loreloom_ports::StoreError;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, config::DbConfig};

use super::{
    checkpoint::PAGES_AT_MOST,
    rows::{Doing, failed},
};

/// All migrations, oldest first: the n-th makes schema n. Never change one that was
/// released; add another.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../migrations/sqlite/0001_stories.sql"),
    include_str!("../../migrations/sqlite/0002_libraries.sql"),
    include_str!("../../migrations/sqlite/0003_desk.sql"),
    include_str!("../../migrations/sqlite/0004_writes.sql"),
    include_str!("../../migrations/sqlite/0005_memory.sql"),
];

/// How long a writer waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(30);

/// Pages a connection may keep: a story of some thousand messages.
const CACHE_KIB: i64 = 4 << 10;

/// Pages a connection that only reads may keep: it forgets them at the next write anyway.
const READ_CACHE_KIB: i64 = 2 << 10;

/// Statements kept ready on each connection; more than the store has.
const STATEMENTS: usize = 64;

/// Where the database is.
#[derive(Clone, Debug)]
pub(super) enum Location {
    /// In a file.
    File(std::path::PathBuf),
    /// In memory, on one connection.
    Memory,
}

/// Opens a connection. Only the first one of a process needs to [`prepare`] the database.
pub(super) fn connect(location: &Location) -> Result<Connection, StoreError> {
    let connection = match location {
        Location::File(path) => Connection::open(path),
        Location::Memory => Connection::open_in_memory(),
    };
    let connection = connection.doing("opening the database")?;
    settings(&connection).map_err(|error| unopened(&connection, error))?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn connect_to_read(location: &Location) -> Result<Connection, StoreError> {
    let connection = connect(location)?;
    let smaller = connection.pragma_update(None, "cache_size", -READ_CACHE_KIB);
    smaller.doing("opening the database")?;
    Ok(connection)
}

/// Why a file could not be opened.
fn unopened(connection: &Connection, error: rusqlite::Error) -> StoreError {
    match (error.sqlite_error_code(), connection.path()) {
        (Some(ErrorCode::NotADatabase), Some(path)) => {
            StoreError::NotADatabase { path: path.to_owned() }
        }
        _ => failed("opening the database", error),
    }
}

/// `synchronous = FULL` makes a commit durable when it returns, also over a loss of power.
///
/// What a write that is refused takes back is noted in memory: a turn's pages are few, and
/// SQLite would make a file for them each time.
///
/// A plan does not depend on the values that are bound: otherwise SQLite plans a statement anew
/// for each of them, which takes longer than to carry it out.
fn settings(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", PAGES_AT_MOST)?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Brings the database to the newest schema; refuses one that is newer or is not ours.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    check(connection)?;
    write_ahead(connection).doing("opening the database")?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .doing("migrating the database")?;
    let found = check(&transaction)?;
    for (number, script) in (1_i64..).zip(MIGRATIONS) {
        if number > found {
            transaction.execute_batch(script).doing("migrating the database")?;
        }
    }
    if found < newest() {
        transaction
            .execute("UPDATE schema_version SET version = ?1", [newest()])
            .doing("migrating the database")?;
    }
    transaction.commit().doing("migrating the database")
}

/// The newest schema.
pub(super) fn newest() -> i64 {
    (1_i64..).zip(MIGRATIONS).last().map_or(0, |(number, _)| number)
}

/// The schema found: 0 for an empty database.
pub(super) fn check(connection: &Connection) -> Result<i64, StoreError> {
    let found = schema_of(connection).map_err(|error| unopened(connection, error))?;
    match found {
        Some(found) if found > newest() => Err(StoreError::TooNew { found, known: newest() }),
        Some(found) => Ok(found),
        None => Err(StoreError::Damaged {
            what: "the database".to_owned(),
            reason: "it has tables but no `schema_version`: it is not one of loreloom's".to_owned(),
        }),
    }
}

/// `None` if the database has tables of somebody else.
fn schema_of(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Some(0));
    }
    let ours = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'";
    if connection.query_row(ours, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    connection.query_row("SELECT version FROM schema_version", [], |row| row.get(0)).optional()
}

/// Turns the write-ahead log on. SQLite does not wait for another process that is doing
/// the same, so this does.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let step = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error) if is_busy(&error) && waited < BUSY => {
                sleep(step);
                waited += step;
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
