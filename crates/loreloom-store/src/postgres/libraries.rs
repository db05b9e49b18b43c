//! The books and rules that turns were decided with.

use deadpool_postgres::Client;
use loreloom_core::ids::{LibraryVersion, TenantId};
use loreloom_core::library::Shelf;
use loreloom_ports::StoreError;
use tokio_postgres::Row;

use super::{
    desk,
    rows::{Doing, damaged},
};
use crate::codec::{BookPiece, library_from};

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
    client: &mut Client,
    tenant: &TenantId,
    version: LibraryVersion,
    body: &[u8],
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    let doing = "keeping a library";
    let transaction = client.transaction().await.doing(doing)?;
    desk::keep_pieces(&transaction, tenant, pieces).await?;
    let insert = "INSERT INTO libraries VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let insert = transaction.prepare_cached(insert).await.doing(doing)?;
    let name = version.0.0.as_slice();
    transaction.execute(&insert, &[&tenant.as_str(), &name, &body]).await.doing(doing)?;
    transaction.commit().await.doing(doing)
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
    let wrong = |reason| damaged(format!("library {version}"), reason);
    let listed = library_from(body).map_err(wrong)?;
    let mut books = Vec::with_capacity(listed.volumes.len());
    for (book, _) in &listed.volumes {
        let found = desk::book(client, tenant, *book).await?;
        books.push(found.ok_or_else(|| wrong(format!("its book {book} is missing")))?);
    }
    let pieces = desk::pieces(client, tenant, &listed.notes).await?;
    listed.shelf(books, &pieces).map(Some).map_err(wrong)
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
