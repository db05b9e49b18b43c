//! Running statements, and PostgreSQL's rows and errors as ours.

use deadpool_postgres::{Client, GenericClient, Pool};
use loreloom_ports::StoreError;
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use crate::{
    errors::{DatabaseResult, Decoded, with_causes},
    rows::StoredRow,
};

/// The parameters of a statement.
pub(super) type Parameters<'a> = [&'a (dyn ToSql + Sync)];

impl<T> DatabaseResult<T> for Result<T, tokio_postgres::Error> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Database { doing, source: source.into() })
    }
}

impl StoredRow for Row {
    fn optional_number(&self, at: usize) -> Decoded<Option<i64>> {
        self.try_get(at).map_err(|error| with_causes(&error))
    }

    fn optional_str(&self, at: usize) -> Decoded<Option<&str>> {
        if self.columns().get(at).is_some_and(|column| *column.type_() == Type::BYTEA) {
            let text = self.optional_bytes(at)?.map(str::from_utf8).transpose();
            return text.map_err(|error| error.to_string());
        }
        self.try_get(at).map_err(|error| with_causes(&error))
    }

    fn optional_bytes(&self, at: usize) -> Decoded<Option<&[u8]>> {
        self.try_get(at).map_err(|error| with_causes(&error))
    }
}

/// A connection.
pub(super) async fn client(pool: &Pool) -> Result<Client, StoreError> {
    let doing = "connecting to the database";
    pool.get().await.map_err(|error| StoreError::Database { doing, source: error.into() })
}

/// All rows of a query.
pub(super) async fn query(
    client: &impl GenericClient,
    doing: &'static str,
    sql: &str,
    parameters: &Parameters<'_>,
) -> Result<Vec<Row>, StoreError> {
    let statement = client.prepare_cached(sql).await.doing(doing)?;
    client.query(&statement, parameters).await.doing(doing)
}

/// The first row of a query, if there is one.
pub(super) async fn query_first(
    client: &impl GenericClient,
    doing: &'static str,
    sql: &str,
    parameters: &Parameters<'_>,
) -> Result<Option<Row>, StoreError> {
    Ok(query(client, doing, sql, parameters).await?.into_iter().next())
}

/// Runs a statement. Returns how many rows it changed.
pub(super) async fn execute(
    client: &impl GenericClient,
    doing: &'static str,
    sql: &str,
    parameters: &Parameters<'_>,
) -> Result<u64, StoreError> {
    let statement = client.prepare_cached(sql).await.doing(doing)?;
    client.execute(&statement, parameters).await.doing(doing)
}

/// Decodes rows.
pub(super) fn decode_all<T>(
    rows: &[Row],
    doing: &'static str,
    read: impl Fn(&Row) -> Decoded<T>,
) -> Result<Vec<T>, StoreError> {
    use crate::errors::DecodeResult as _;

    rows.iter().map(|row| read(row).row_while(doing)).collect()
}
