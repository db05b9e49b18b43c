//! The pool of connections, and the numbered migrations.

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use loreloom_memory::ports::StoreError;
use tokio_postgres::{Config, NoTls, Transaction};

use super::rows::{Doing, client};

/// All migrations, oldest first: the n-th makes schema n. Never change one that was
/// released; add another.
const MIGRATIONS: [&str; 4] = [
    include_str!("../../migrations/postgres/0001_stories.sql"),
    include_str!("../../migrations/postgres/0002_libraries.sql"),
    include_str!("../../migrations/postgres/0003_desk.sql"),
    include_str!("../../migrations/postgres/0004_memory.sql"),
];

/// Connections of one process.
const CONNECTIONS: usize = 16;

/// Number of the lock that migrating processes wait for each other at.
const MIGRATING: i64 = 0x6C6F_7265_6C6F_6F6D;

/// A pool that connects when it is first used.
pub(super) fn pool(address: &str) -> Result<Pool, StoreError> {
    let doing = "reading the database's address";
    let config: Config = address.parse::<Config>().doing(doing)?;
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config, NoTls, recycling);
    let pool = Pool::builder(manager).max_size(CONNECTIONS).build();
    pool.map_err(|error| StoreError::Database { doing, source: error.into() })
}

/// Brings the database to the newest schema; refuses one that is newer.
pub(super) async fn prepare(pool: &Pool) -> Result<(), StoreError> {
    let doing = "migrating the database";
    let mut client = client(pool).await?;
    let transaction = client.transaction().await.doing(doing)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATING]).await.doing(doing)?;
    let found = schema(&transaction).await.doing(doing)?;
    let known = (1_i64..).zip(MIGRATIONS).last().map_or(0, |(number, _)| number);
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    for (number, script) in (1_i64..).zip(MIGRATIONS) {
        if number > found {
            transaction.batch_execute(script).await.doing(doing)?;
        }
    }
    if found < known {
        let set = "UPDATE schema_version SET version = $1";
        transaction.execute(set, &[&known]).await.doing(doing)?;
    }
    transaction.commit().await.doing(doing)
}

/// The schema found: 0 for a database that has none of our tables.
async fn schema(transaction: &Transaction<'_>) -> Result<i64, tokio_postgres::Error> {
    let there = "SELECT to_regclass('schema_version') IS NOT NULL";
    if !transaction.query_one(there, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    transaction.query_one("SELECT version FROM schema_version", &[]).await?.try_get(0)
}
