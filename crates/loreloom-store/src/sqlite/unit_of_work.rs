//! One write: all of it or nothing.

use std::ops::Deref;

use rusqlite::Connection;

/// A write inside a transaction. Unless it is committed, dropping it rolls it back.
///
/// A savepoint makes SQLite copy every page before it changes. The first write of a transaction
/// needs none: to roll it back is to roll back the transaction, which contains nothing else yet.
#[derive(Debug)]
pub(super) struct UnitOfWork<'connection> {
    connection: &'connection Connection,
    is_first: bool,
    is_over: bool,
}

impl<'connection> UnitOfWork<'connection> {
    /// The first write of a transaction that has just begun. Rolling it back ends the transaction.
    pub(super) fn first(connection: &'connection Connection) -> Self {
        Self { connection, is_first: true, is_over: false }
    }

    /// A write after others. Rolling it back leaves the others in place.
    pub(super) fn after_others(connection: &'connection Connection) -> rusqlite::Result<Self> {
        run(connection, "SAVEPOINT unit")?;
        Ok(Self { connection, is_first: false, is_over: false })
    }

    /// Makes it part of the transaction.
    pub(super) fn commit(mut self) -> rusqlite::Result<()> {
        // If the disk fails, SQLite ends the transaction and its savepoints. Releasing one then
        // fails, and that is the error to report.
        if !self.is_first || self.connection.is_autocommit() {
            run(self.connection, "RELEASE unit")?;
        }
        self.is_over = true;
        Ok(())
    }

    fn roll_back(&self) -> rusqlite::Result<()> {
        if self.is_first {
            return run(self.connection, "ROLLBACK");
        }
        run(self.connection, "ROLLBACK TO unit")?;
        run(self.connection, "RELEASE unit")
    }
}

impl Drop for UnitOfWork<'_> {
    fn drop(&mut self) {
        // If the disk fails, SQLite ends the transaction by itself.
        if !self.is_over && !self.connection.is_autocommit() && self.roll_back().is_err() {
            // Half a write must not be committed with the others, so nothing is.
            let _broken = run(self.connection, "ROLLBACK");
        }
    }
}

impl Deref for UnitOfWork<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

/// Runs a statement that never changes, so SQLite parses it once.
pub(super) fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(connection: &Connection) -> Vec<i64> {
        let mut all = connection.prepare("SELECT x FROM t ORDER BY x").unwrap();
        all.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    fn add(connection: &Connection, x: i64) {
        connection.execute("INSERT INTO t VALUES (?1)", [x]).unwrap();
    }

    fn begun() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (x INTEGER)").unwrap();
        run(&connection, "BEGIN IMMEDIATE").unwrap();
        connection
    }

    #[test]
    fn a_refused_write_rolls_back_itself_and_nothing_before_it() {
        let connection = begun();
        let first = UnitOfWork::first(&connection);
        add(&first, 1);
        first.commit().unwrap();
        let second = UnitOfWork::after_others(&connection).unwrap();
        add(&second, 2);
        drop(second);
        let third = UnitOfWork::after_others(&connection).unwrap();
        add(&third, 3);
        third.commit().unwrap();
        run(&connection, "COMMIT").unwrap();
        assert_eq!(rows(&connection), [1, 3]);
    }

    #[test]
    fn a_refused_first_write_ends_the_transaction() {
        let connection = begun();
        let first = UnitOfWork::first(&connection);
        add(&first, 1);
        drop(first);
        assert!(connection.is_autocommit());
        assert_eq!(rows(&connection), [] as [i64; 0]);
    }
}
