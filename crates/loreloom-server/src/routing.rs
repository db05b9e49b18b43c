//! Which connection does what: routes by models' names, and the features that ask a model.
//!
//! Routes and the writer are looked up anew by every request. The others are opened when the
//! server starts, so that a change of theirs waits for the next start and says so.

use loreloom_core::ids::{ConnectionId, TenantId};
use loreloom_memory::ports::{Change, Desk, Item, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::own_connections::OwnConnection;

/// The name of the routing on the desk.
pub(crate) const ROUTES: &str = "routes";

/// Requests for models of this name go there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteSetting {
    /// The model's name; `*` stands for any letters, `?` for one.
    #[schema(min_length = 1, max_length = 200)]
    pub models: String,
    /// The connection.
    pub connection: ConnectionId,
}

/// A connection, and a model of it where it is not the connection's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum FeatureChoice {
    /// The connection.
    Connection(ConnectionId),
    /// The connection and a model.
    Model(FeatureModel),
}

/// A connection and a model of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureModel {
    /// The connection.
    connection: ConnectionId,
    /// The model.
    model: String,
}

impl FeatureChoice {
    /// The connection.
    pub fn connection(&self) -> &ConnectionId {
        match self {
            Self::Connection(connection) | Self::Model(FeatureModel { connection, .. }) => {
                connection
            }
        }
    }

    /// The model, where it is not the connection's own.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Connection(_) => None,
            Self::Model(FeatureModel { model, .. }) => Some(model),
        }
    }
}

/// Which connection does what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Features {
    /// Tells the story: where requests go that no route names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<FeatureChoice>,
    /// Reads along and keeps memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extractor: Option<FeatureChoice>,
    /// Chooses notes of vaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<FeatureChoice>,
    /// Finds entries by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<FeatureChoice>,
}

impl Features {
    /// Those that are set, with their names.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &FeatureChoice)> {
        let all = [("writer", &self.writer)].into_iter().chain(self.at_start());
        all.filter_map(|(name, feature)| feature.as_ref().map(|one| (name, one)))
    }

    /// Those that are opened when the server starts.
    pub fn at_start(&self) -> [(&'static str, &Option<FeatureChoice>); 3] {
        [("extractor", &self.extractor), ("selector", &self.selector), ("embedder", &self.embedder)]
    }

    /// These, and where they say nothing the others.
    #[must_use]
    pub fn over(&self, others: &Self) -> Self {
        let (ours, theirs) = (self.clone(), others.clone());
        Self {
            writer: ours.writer.or(theirs.writer),
            extractor: ours.extractor.or(theirs.extractor),
            selector: ours.selector.or(theirs.selector),
            embedder: ours.embedder.or(theirs.embedder),
        }
    }
}

/// Which request goes where and which connection does what, as it was set through the API.
/// Where it says nothing, the configuration does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// Routes, the first that fits wins; they come before the configuration's.
    pub routes: Vec<RouteSetting>,
    /// Features.
    pub features: Features,
}

impl Routing {
    /// What stands on a desk.
    pub async fn read(desk: &dyn Desk, tenant: &TenantId) -> Result<Self, StoreError> {
        let items = desk.items(tenant, ROUTES).await?;
        let Some(Item { value, .. }) = items.into_iter().find(|item| item.key == ROUTES) else {
            return Ok(Self::default());
        };
        serde_json::from_value(value).map_err(|error| StoreError::Damaged {
            what: format!("`{ROUTES}` on the desk"),
            reason: error.to_string(),
        })
    }

    /// The change that puts it on a desk.
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

/// What a server was started with, besides its connections.
#[derive(Clone, Debug, Default)]
pub struct Started {
    /// What the configuration says.
    pub configured: Features,
    /// What works, with what was set through the API before.
    pub running: Features,
    /// The connections of the API as they were.
    pub own: Vec<OwnConnection>,
    /// Why features that were set through the API do not work.
    pub problems: Vec<String>,
}

impl Started {
    /// The features that the next start changes, with what is set now.
    pub(crate) fn waiting(&self, set: &Features, own: &[OwnConnection]) -> Vec<&'static str> {
        let wanted = set.over(&self.configured);
        let of = |all: &[OwnConnection], name: &ConnectionId| {
            let found = all.iter().find(|one| one.name == *name);
            found.map(|one| (one.settings.clone(), one.reach))
        };
        let pairs = wanted.at_start().into_iter().zip(self.running.at_start());
        let waiting = pairs.filter(|((_, wanted), (_, running))| {
            let exchanged = wanted.as_ref().is_some_and(|choice| {
                of(own, choice.connection()) != of(&self.own, choice.connection())
            });
            wanted != running || exchanged
        });
        waiting.map(|((name, _), _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::own_connections::Reach;

    fn features(value: serde_json::Value) -> Features {
        serde_json::from_value(value).unwrap()
    }

    fn own(model: &str) -> OwnConnection {
        let settings = json!({"kind": "offline", "model": model});
        OwnConnection {
            name: "mine".into(),
            settings: serde_json::from_value(settings).unwrap(),
            reach: Reach::Anywhere,
            problem: None,
        }
    }

    #[test]
    fn what_waits_for_a_start_is_told() {
        let started = Started {
            configured: features(json!({"extractor": "home"})),
            running: features(json!({"extractor": "home", "selector": "mine"})),
            own: vec![own("a")],
            problems: Vec::new(),
        };
        for (set, connections, expected) in [
            (json!({"selector": "mine"}), vec![own("a")], &[] as &[&str]),
            (json!({"writer": "mine", "selector": "mine"}), vec![own("a")], &[]),
            (json!({"selector": "mine"}), vec![own("b")], &["selector"]),
            (json!({}), vec![own("a")], &["selector"]),
            (
                json!({"selector": "mine", "extractor": {"connection": "home", "model": "m"}}),
                vec![own("a")],
                &["extractor"],
            ),
            (json!({"selector": "mine", "embedder": "mine"}), vec![own("a")], &["embedder"]),
        ] {
            assert_eq!(started.waiting(&features(set.clone()), &connections), expected, "{set}");
        }
    }
}
