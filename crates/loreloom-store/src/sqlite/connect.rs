//! Opening a database: settings of a connection, and its schema.

use std::{thread::sleep, time::Duration};

use loreloom_ports::StoreError;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, config::DbConfig};

use super::{checkpoint::PAGES_AT_MOST, statement::failed};
use crate::{errors::DatabaseResult as _, private, schema};

const SCHEMA: &str = include_str!("../../schema/sqlite.sql");

/// How long a writer waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(30);

/// The page cache of a connection: a story of some thousand messages fits.
const CACHE_KIB: i64 = 4 << 10;

/// The page cache of a connection that only reads: it is dropped at the next write anyway.
const READ_CACHE_KIB: i64 = 2 << 10;

/// Prepared statements of each connection; more than the store has.
const STATEMENTS: usize = 64;

/// Where the database is.
#[derive(Clone, Debug)]
pub(super) enum DatabaseLocation {
    /// In a file.
    File(std::path::PathBuf),
    /// In memory, with one connection.
    Memory,
}

/// Opens a connection. Only the first one of a process needs to [`prepare`] the database.
pub(super) fn connect(location: &DatabaseLocation) -> Result<Connection, StoreError> {
    let connection = match location {
        DatabaseLocation::File(path) => {
            private::create_database(path).map_err(|error| StoreError::Database {
                doing: "opening the database",
                source: error.into(),
            })?;
            Connection::open(path)
        }
        DatabaseLocation::Memory => Connection::open_in_memory(),
    };
    let connection = connection.doing("opening the database")?;
    settings(&connection).map_err(|error| unopened(&connection, error))?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn connect_to_read(location: &DatabaseLocation) -> Result<Connection, StoreError> {
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

/// `synchronous = FULL` makes a commit durable when it returns, even if the power fails.
///
/// Pages for rolling back a refused write are kept in memory: a turn has few of them, and SQLite
/// would otherwise create a file each time.
///
/// Query plans do not depend on parameters. Otherwise SQLite plans a statement again for each
/// value, which takes longer than running it.
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

/// Creates the schema in an empty database. Refuses a database of another version or of another
/// program.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    let doing = "creating the schema";
    check(connection)?;
    write_ahead(connection).doing("opening the database")?;
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).doing(doing)?;
    if check(&transaction)? == SchemaState::Nothing {
        transaction.execute_batch(SCHEMA).doing(doing)?;
        transaction
            .execute("INSERT INTO schema_version VALUES (?1)", [schema::VERSION])
            .doing(doing)?;
    }
    transaction.commit().doing(doing)
}

/// What a database file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaState {
    /// No tables.
    Nothing,
    /// Our tables, in the version we know.
    Stories,
}

/// Looks at the schema of a database. Refuses other versions and other programs.
pub(super) fn check(connection: &Connection) -> Result<SchemaState, StoreError> {
    let count = |sql: &str| {
        let count: rusqlite::Result<i64> = connection.query_row(sql, [], |row| row.get(0));
        count.map_err(|error| unopened(connection, error))
    };
    if count("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(SchemaState::Nothing);
    }
    if count("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'")? == 0 {
        return Err(StoreError::Damaged {
            what: "the database".to_owned(),
            reason: "it has tables but no `schema_version`: it is not a loreloom database"
                .to_owned(),
        });
    }
    schema::check(count("SELECT coalesce(max(version), 0) FROM schema_version")?)?;
    Ok(SchemaState::Stories)
}

/// Turns the write-ahead log on. SQLite does not wait for another process that does the same, so
/// this function does.
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
