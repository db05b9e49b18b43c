//! The pool of connections, and the numbered migrations.

use std::{error::Error, time::Duration};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use loreloom_ports::StoreError;
use tokio_postgres::{Config, Transaction};

use super::{
    rows::{Doing, client},
    tls,
};
use crate::address::without_password;

/// All migrations, oldest first: the n-th makes schema n. Never change one that was
/// released; add another.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../migrations/postgres/0001_stories.sql"),
    include_str!("../../migrations/postgres/0002_libraries.sql"),
    include_str!("../../migrations/postgres/0003_desk.sql"),
    include_str!("../../migrations/postgres/0004_writes.sql"),
    include_str!("../../migrations/postgres/0005_memory.sql"),
];

/// Connections of one process.
const CONNECTIONS: usize = 16;

/// Number of the lock that migrating processes wait for each other at.
const MIGRATING: i64 = 0x6C6F_7265_6C6F_6F6D;

/// How long a server may take to answer.
const CONNECTING: Duration = Duration::from_secs(10);

/// A pool that connects when it is first used.
pub(super) fn pool(address: &str) -> Result<Pool, StoreError> {
    let doing = "reading the database's address";
    let (address, root) = tls::root_of(address);
    let mut config: Config =
        address.parse::<Config>().map_err(|error| StoreError::Contradiction {
            rule: "the address of a server is like `postgres://user@host/database`",
            found: format!("`{}`: {}", without_password(&address), causes(&error)),
        })?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECTING);
    }
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config, tls::connector(root.as_deref())?, recycling);
    let pool = Pool::builder(manager).max_size(CONNECTIONS).build();
    pool.map_err(|error| StoreError::Database { doing, source: error.into() })
}

/// The first connection: says who could not be reached and why.
pub(super) async fn reach(pool: &Pool, address: &str) -> Result<(), StoreError> {
    match pool.get().await {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreError::Unreachable {
            address: without_password(address),
            reason: causes(&error),
        }),
    }
}

/// An error and its causes on one line. A cause that is part of what was said is not repeated.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
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
