//! The books and rules that turns were decided with.

use deadpool_postgres::Client;
use loreloom_core::ids::{LibraryVersion, TenantId};
use loreloom_core::library::Shelf;
use loreloom_memory::ports::StoreError;
use tokio_postgres::Row;

use super::rows::{Doing, damaged};
use crate::codec::library_from;

/// Whether a version is kept.
pub(super) async fn is_kept(
    client: &Client,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<bool, StoreError> {
    let find = "SELECT true FROM libraries WHERE tenant = $1 AND version = $2";
    Ok(row(client, find, tenant, version).await?.is_some())
}

/// Keeps a version, unless it is kept already.
pub(super) async fn keep(
    client: &Client,
    tenant: &TenantId,
    version: LibraryVersion,
    body: &[u8],
) -> Result<(), StoreError> {
    let doing = "keeping a library";
    let insert = "INSERT INTO libraries VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let insert = client.prepare_cached(insert).await.doing(doing)?;
    let name = version.0.0.as_slice();
    client.execute(&insert, &[&tenant.as_str(), &name, &body]).await.doing(doing)?;
    Ok(())
}

/// A version, if it is kept.
pub(super) async fn library(
    client: &Client,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<Option<Shelf>, StoreError> {
    let find = "SELECT body FROM libraries WHERE tenant = $1 AND version = $2";
    let Some(row) = row(client, find, tenant, version).await? else { return Ok(None) };
    let body: &[u8] = row.try_get(0).doing("reading a library")?;
    library_from(body).map(Some).map_err(|reason| damaged(format!("library {version}"), reason))
}

async fn row(
    client: &Client,
    sql: &str,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<Option<Row>, StoreError> {
    let doing = "reading a library";
    let find = client.prepare_cached(sql).await.doing(doing)?;
    let name = version.0.0.as_slice();
    client.query_opt(&find, &[&tenant.as_str(), &name]).await.doing(doing)
}
