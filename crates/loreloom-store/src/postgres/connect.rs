//! The pool of connections, and the schema.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use loreloom_ports::StoreError;
use tokio_postgres::Config;

use super::{statement::client, tls};
use crate::{
    address::without_password,
    errors::{DatabaseResult as _, with_causes},
    schema,
};

const SCHEMA: &str = include_str!("../../schema/postgres.sql");

/// The most connections of one process.
const CONNECTIONS: usize = 16;

/// The advisory lock of the process that creates the schema.
const CREATING: i64 = 0x6C6F_7265_6C6F_6F6D;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A pool, which connects when it is first used.
pub(super) fn pool(address: &str) -> Result<Pool, StoreError> {
    let doing = "reading the database's address";
    let (address, root) = tls::root_of(address);
    let mut config: Config =
        address.parse::<Config>().map_err(|error| StoreError::Contradiction {
            rule: "the address of a server is like `postgres://user@host/database`",
            found: format!("`{}`: {}", without_password(&address), with_causes(&error)),
        })?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config, tls::connector(root.as_deref())?, recycling);
    let pool = Pool::builder(manager).max_size(CONNECTIONS).build();
    pool.map_err(|error| StoreError::Database { doing, source: error.into() })
}

/// Opens the first connection, so that an unreachable server has a clear error.
pub(super) async fn reach(pool: &Pool, address: &str) -> Result<(), StoreError> {
    match pool.get().await {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreError::Unreachable {
            address: without_password(address),
            reason: with_causes(&error),
        }),
    }
}

/// Creates the schema in an empty database. Refuses a database of another version.
pub(super) async fn prepare(pool: &Pool) -> Result<(), StoreError> {
    let doing = "creating the schema";
    let mut client = client(pool).await?;
    let transaction = client.transaction().await.doing(doing)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&CREATING]).await.doing(doing)?;
    let there = "SELECT to_regclass('schema_version') IS NOT NULL";
    if transaction.query_one(there, &[]).await.doing(doing)?.try_get(0).doing(doing)? {
        let find = "SELECT version FROM schema_version";
        let found = transaction.query_one(find, &[]).await.doing(doing)?;
        return schema::check(found.try_get(0).doing(doing)?);
    }
    transaction.batch_execute(SCHEMA).await.doing(doing)?;
    let insert = "INSERT INTO schema_version VALUES ($1)";
    transaction.execute(insert, &[&schema::VERSION]).await.doing(doing)?;
    transaction.commit().await.doing(doing)
}
