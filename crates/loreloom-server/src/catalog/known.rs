//! What is known of entries besides what they say: how often they fired, what is odd about
//! them, whether they changed, who made them.
//!
//! Gathered once for a table. What costs something is gathered only if its filter asks.

use std::sync::Arc;

use loreloom_core::{
    ids::{EntryId, TenantId},
    tokens::TokenCounter,
    units::Timestamp,
};
use loreloom_ports::StoreError;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Filter, Fires, changes, findings, makers};
use crate::{app::App, lore::Lore, stored_books::Maker};

/// What is known of entries.
pub(crate) struct CatalogFacts {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(super) firings: FxHashMap<EntryId, Fires>,
    pub(super) codes: findings::CodesOf,
    /// By how long ago, in milliseconds.
    pub(super) changed: FxHashMap<i64, FxHashSet<EntryId>>,
    pub(super) makers: FxHashMap<EntryId, Maker>,
    /// The ids of all books with entries, in lower case.
    pub(super) books: FxHashSet<String>,
}

impl CatalogFacts {
    /// Gathers what a filter asks for.
    pub(crate) async fn gather(
        app: &App,
        tenant: &TenantId,
        lore: &Lore,
        filter: &Filter,
    ) -> Result<Self, StoreError> {
        let firings = app.api.firings.count(app.store.as_ref(), tenant).await?;
        let codes =
            if filter.asks_for_findings() { findings::codes(lore) } else { FxHashMap::default() };
        let (mut changed, now) = (FxHashMap::default(), app.clock.now());
        for ago in filter.spans() {
            let then = Timestamp(now.0.saturating_sub(ago));
            let since = changes::since(app.store.as_ref(), tenant, lore, then).await?;
            changed.insert(ago, since);
        }
        let makers = if filter.asks_for_makers() {
            makers::of(app.store.as_ref(), tenant, lore).await?
        } else {
            FxHashMap::default()
        };
        let books = if filter.asks_for_books() {
            super::rows(lore).iter().map(|row| row.book.to_lowercase()).collect()
        } else {
            FxHashSet::default()
        };
        Ok(Self {
            counter: app.connections.counter_of(None),
            firings,
            codes,
            changed,
            makers,
            books,
        })
    }

    /// How often an entry fired.
    pub(crate) fn fires(&self, id: &EntryId) -> Fires {
        self.firings.get(id).copied().unwrap_or_default()
    }
}
