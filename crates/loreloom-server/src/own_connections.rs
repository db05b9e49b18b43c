//! Connections that were added through the API.
//!
//! They are documents of their tenant, like books and settings: a change is a revision that can be
//! undone, survives a restart, and reaches other servers on the same store. The host opens them
//! ([`Opening`]). Unchanged connections are not opened again, so they keep their state (failures,
//! waiting requests).
//!
//! [`Opening`]: crate::Opening

use std::sync::{Arc, PoisonError, RwLock};

use loreloom_core::ids::{ConnectionId, TenantId};
use loreloom_ports::{Change, DocumentStore, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::{
    connection_service::ConnectionService,
    connection_settings::ConnectionSettings,
    connections::{Connection, Connections},
    routing::{KeptRouting, Routing},
    unopened::unopened,
};

/// Documents of connections begin with this.
pub(crate) const CONNECTIONS: &str = "connection/";

/// Where a connection may lead, by who set it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionReach {
    /// Anywhere: it was set up on the server's own machine.
    Anywhere,
    /// Only to what everybody can reach: it was set up with a key.
    Public,
}

/// A connection that was set up through the API.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnConnection {
    /// Its name.
    pub name: ConnectionId,
    /// What was said of it.
    pub settings: ConnectionSettings,
    /// Where it may lead.
    pub reach: ConnectionReach,
    /// Why the document cannot be read: another version wrote it.
    pub problem: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredConnection {
    settings: ConnectionSettings,
    reach: ConnectionReach,
}

impl OwnConnection {
    /// The connections that were set up, by name. One that cannot be read is there all the
    /// same: requests for it must go nowhere else, and it can be replaced.
    pub async fn all(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<Vec<Self>, StoreError> {
        let items = documents.items(tenant, CONNECTIONS).await?;
        let read = |item: &loreloom_ports::Item| {
            let name = item.key.strip_prefix(CONNECTIONS).unwrap_or(&item.key).into();
            match StoredConnection::deserialize(&item.value) {
                Ok(StoredConnection { settings, reach }) => {
                    Self { name, settings, reach, problem: None }
                }
                Err(error) => Self {
                    name,
                    settings: ConnectionSettings::default(),
                    reach: ConnectionReach::Public,
                    problem: Some(format!("its settings cannot be read: {error}")),
                },
            }
        };
        Ok(items.iter().map(read).collect())
    }

    /// The change that writes it down.
    pub(crate) fn change(&self) -> Result<Change, StoreError> {
        let kept = StoredConnection { settings: self.settings.clone(), reach: self.reach };
        let value = serde_json::to_value(kept).map_err(|error| StoreError::Contradiction {
            rule: "a connection has a JSON form",
            found: error.to_string(),
        })?;
        Ok(Change { key: key_of(&self.name), value: Some(value) })
    }

    /// The change that takes one out.
    pub(crate) fn removal(name: &ConnectionId) -> Change {
        Change { key: key_of(name), value: None }
    }
}

fn key_of(name: &ConnectionId) -> String {
    format!("{CONNECTIONS}{name}")
}

/// The connections as applied last.
#[derive(Default)]
pub(crate) struct LiveConnections {
    now: RwLock<Option<Arc<ConnectionsNow>>>,
    /// One at a time takes them up, so that the newest stay.
    changing: Mutex<()>,
}

/// What was applied, and the result.
struct ConnectionsNow {
    own: Vec<(OwnConnection, Arc<Connection>)>,
    routing: KeptRouting,
    connections: Arc<Connections>,
}

impl LiveConnections {
    fn now(&self) -> Option<Arc<ConnectionsNow>> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ConnectionService {
    /// The connections as they are now. A later change does not change what a holder has.
    pub(crate) fn now(&self) -> Arc<Connections> {
        let now = self.live.now.read().unwrap_or_else(PoisonError::into_inner);
        now.as_ref()
            .map_or_else(|| Arc::clone(&self.configured), |now| Arc::clone(&now.connections))
    }

    /// Applies the stored connections and routes, if they changed.
    pub(crate) async fn take_up(&self) -> Result<(), StoreError> {
        let live = &self.live;
        let _one_at_a_time = live.changing.lock().await;
        let own = OwnConnection::all(self.store.as_ref(), &self.tenant).await?;
        let routing = Routing::read(self.store.as_ref(), &self.tenant).await?;
        let before = live.now();
        let same =
            before.as_ref().map_or(own.is_empty() && routing == KeptRouting::default(), |before| {
                before.routing == routing && before.own.iter().map(|(one, _)| one).eq(own.iter())
            });
        if same {
            if before.is_none() {
                self.features.take_up(&self.configured, &routing.routing.features);
            }
            return Ok(());
        }
        if let Some(problem) = &routing.problem {
            tracing::warn!(tenant = %self.tenant, "{problem}");
        }
        let mut opened = Vec::with_capacity(own.len());
        for one in own {
            let known = before.as_ref().and_then(|before| {
                before.own.iter().find(|(known, _)| *known == one).map(|(_, open)| Arc::clone(open))
            });
            let connection = match known {
                Some(known) => known,
                None => Arc::new(self.opened(&one).await),
            };
            opened.push((one, connection));
        }
        let open = opened.iter().map(|(_, connection)| Arc::clone(connection)).collect();
        let connections = self.configured.with_own(open, &routing.routing, &self.now());
        self.features.take_up(&connections, &routing.routing.features);
        let now = ConnectionsNow { own: opened, routing, connections: Arc::new(connections) };
        *live.now.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(now));
        Ok(())
    }

    /// A connection of the API, opened; or one in its place that says why it is not.
    async fn opened(&self, one: &OwnConnection) -> Connection {
        match self.open_connection(one).await {
            Some(Ok(connection)) => connection,
            Some(Err(reason)) => {
                tracing::warn!(connection = %one.name, %reason, "a connection cannot be opened");
                unopened(&one.name, &one.settings, reason)
            }
            None => {
                let reason = "this server has only the connections of its configuration";
                unopened(&one.name, &one.settings, reason.to_owned())
            }
        }
    }

    /// Opens a connection; `None` if this server opens none.
    pub(crate) async fn open_connection(
        &self,
        one: &OwnConnection,
    ) -> Option<Result<Connection, String>> {
        let opening = Arc::clone(self.configured.opener()?);
        if let Some(problem) = &one.problem {
            return Some(Err(problem.clone()));
        }
        let one = one.clone();
        // Keys are read from files and keyrings.
        let opened = tokio::task::spawn_blocking(move || {
            opening(one.name.as_str(), &one.settings, one.reach)
        });
        Some(opened.await.unwrap_or_else(|_died| Err("opening it failed".to_owned())))
    }
}
