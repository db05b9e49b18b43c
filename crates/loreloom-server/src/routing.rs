//! Which connection does what: routes by model name, and the features that ask a model.
//!
//! Every request looks up routes and the writer. The other features are switched when the setting
//! changes (`feature_switch`).

use loreloom_core::ids::{ConnectionId, TenantId};
use loreloom_ports::{Change, DocumentStore, Item, StoreError};
use serde::{Deserialize, Serialize};

use crate::features::Features;

/// The name of the routing's document.
pub(crate) const ROUTES: &str = "routes";

/// Requests for models of this name go there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RouteSetting {
    /// The model's name; `*` matches any letters, `?` one.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 200))]
    pub models: String,
    /// The connection.
    pub connection: ConnectionId,
}

/// Which request goes where and which connection does what, as it was set through the API.
/// Where it says nothing, the configuration does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// Routes, the first that fits wins; they come before the configuration's.
    pub routes: Vec<RouteSetting>,
    /// Features.
    pub features: Features,
}

/// The routing of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptRouting {
    /// What it says; nothing, if it cannot be read.
    pub routing: Routing,
    /// Why it cannot be read: another version wrote it. The stories go on with what the
    /// configuration says, and it can be replaced.
    pub problem: Option<String>,
}

impl Routing {
    /// Reads the routing of a tenant.
    pub async fn read(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<KeptRouting, StoreError> {
        let items = documents.items(tenant, ROUTES).await?;
        let Some(Item { value, .. }) = items.into_iter().find(|item| item.key == ROUTES) else {
            return Ok(KeptRouting::default());
        };
        Ok(match serde_json::from_value(value) {
            Ok(routing) => KeptRouting { routing, problem: None },
            Err(error) => KeptRouting {
                routing: Self::default(),
                problem: Some(format!(
                    "the routes that were set cannot be read, so that the configuration's are \
                     used: {error}"
                )),
            },
        })
    }

    /// The change that stores it.
    pub(crate) fn change(&self) -> Result<Change, StoreError> {
        let value = (*self != Self::default()).then(|| serde_json::to_value(self)).transpose();
        let value = value.map_err(|error| StoreError::Contradiction {
            rule: "routes have a JSON form",
            found: error.to_string(),
        })?;
        Ok(Change { key: ROUTES.to_owned(), value })
    }

    /// What names a connection, in words.
    pub(crate) fn naming(&self, connection: &ConnectionId) -> Vec<String> {
        let routes = self.routes.iter().filter(|route| route.connection == *connection);
        let routes = routes.map(|route| format!("route `{}`", route.models));
        let features = self.features.all();
        let features = features.filter(|(_, choice)| choice.connection() == connection);
        routes.chain(features.map(|(name, _)| format!("feature `{name}`"))).collect()
    }
}
