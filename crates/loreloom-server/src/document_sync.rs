//! Takes up changes of stored documents: books, rules, settings, connections, vaults, keys.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use loreloom_core::ids::TenantId;
use loreloom_ports::{Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    announcements::Announcements,
    connection_service::ConnectionService,
    events::ServerEvent,
    gate::Access,
    lore_service::{LoreService, LoreServiceError},
    runtime_settings::RuntimeSettings,
    turn::Turns,
    vaults::RegisteredVault,
};

/// How often the store is read: other processes may change it too.
const LOOKS: Duration = Duration::from_millis(500);

/// Which changes of the store were seen, and which were applied. The two differ if a call was
/// interrupted or the store failed.
#[derive(Default)]
struct Changes {
    seen: AtomicU64,
    done: AtomicU64,
}

impl Changes {
    fn is_unfinished(&self) -> bool {
        self.done.load(Ordering::Acquire) < self.seen.load(Ordering::Acquire)
    }
}

/// Keeps lore, settings, connections and vaults of a tenant in step with the store, which other
/// processes may change too.
pub(crate) struct DocumentSync {
    tenant: TenantId,
    store: Arc<dyn Store>,
    access: Arc<Access>,
    lore: Arc<LoreService>,
    settings: Arc<RuntimeSettings>,
    connections: Arc<ConnectionService>,
    announcements: Announcements,
    stopping: CancellationToken,
    changes: Changes,
}

impl DocumentSync {
    /// Keeps the services of a tenant in step.
    pub(crate) fn new(turns: &Turns, access: Arc<Access>, stopping: CancellationToken) -> Self {
        Self {
            tenant: turns.tenant.clone(),
            store: Arc::clone(&turns.store),
            access,
            lore: Arc::clone(&turns.lore),
            settings: Arc::clone(&turns.settings),
            connections: Arc::clone(&turns.connections),
            announcements: turns.announcements.clone(),
            stopping,
            changes: Changes::default(),
        }
    }

    /// Applies changes of the store, and notifies watchers.
    pub(crate) async fn take_up(&self) -> Result<(), LoreServiceError> {
        if self.lore.refresh(self.store.as_ref(), &self.tenant).await? {
            self.changes.seen.fetch_add(1, Ordering::AcqRel);
            self.take_up_others().await?;
        }
        Ok(())
    }

    /// Takes up everything besides books.
    async fn take_up_others(&self) -> Result<(), LoreServiceError> {
        let changes = &self.changes;
        let seen = changes.seen.load(Ordering::Acquire);
        self.settings.take_up().await?;
        self.connections.take_up().await?;
        self.take_up_vaults().await?;
        let revision = self.store.revision(&self.tenant).await?;
        if changes.done.fetch_max(seen, Ordering::AcqRel) >= seen {
            // Another call was faster and has notified watchers.
            return Ok(());
        }
        let version = self.lore.current().library().version().to_string();
        self.announcements.tell(ServerEvent::Documents { revision });
        self.announcements.tell(ServerEvent::Lore { version });
        Ok(())
    }

    /// Takes up changes, and finishes calls that were interrupted.
    async fn catch_up(&self) -> Result<(), LoreServiceError> {
        self.take_up().await?;
        if self.changes.is_unfinished() {
            self.take_up_others().await?;
        }
        self.lore.find_alike().await?;
        Ok(())
    }

    /// Takes up changes until the server stops.
    pub(crate) async fn run(&self) {
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(LOOKS) => {}
            }
            if let Err(error) = self.catch_up().await {
                tracing::warn!(%error, "the books stay as they were");
            }
            if let Err(error) = self.access.keys.refresh(self.store.as_ref()).await {
                tracing::warn!(%error, "the keys stay as they were");
            }
        }
    }

    /// Opens the vaults that are registered, if they are others than before.
    pub(crate) async fn take_up_vaults(&self) -> Result<(), StoreError> {
        let Some(keeper) = self.lore.vault_keeper() else { return Ok(()) };
        let registered = RegisteredVault::all(self.store.as_ref(), &self.tenant).await?;
        let open = keeper.open();
        let open: Vec<(&str, &str)> = open
            .iter()
            .filter(|vault| vault.registered)
            .map(|vault| (vault.name.as_str(), vault.place.as_str()))
            .collect();
        let wanted: Vec<(&str, &str)> =
            registered.iter().map(|one| (one.name.as_str(), one.place.as_str())).collect();
        if open != wanted
            && let Err(error) = keeper.keep().await
        {
            tracing::warn!(%error, "the vaults stay as they were");
        }
        Ok(())
    }
}
