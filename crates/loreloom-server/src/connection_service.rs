//! The connections of a tenant, as requests and turns use them.

use std::sync::Arc;

use loreloom_core::{ids::TenantId, tokens::TokenCounter, turn::TurnInput, units::Tokens};
use loreloom_ports::Store;
use tokio_util::task::TaskTracker;

use crate::{
    connections::{Connection, Connections, ModelRoute},
    feature_switch::FeatureSwitch,
    own_connections::LiveConnections,
    runtime_settings::RuntimeSettings,
};

/// The connections of a tenant: those of the configuration and those that were set up through the
/// API.
pub(crate) struct ConnectionService {
    pub(crate) tenant: TenantId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) configured: Arc<Connections>,
    pub(crate) settings: Arc<RuntimeSettings>,
    pub(crate) features: Arc<FeatureSwitch>,
    pub(crate) tasks: TaskTracker,
    pub(crate) live: LiveConnections,
}

impl ConnectionService {
    /// The connections of the configuration.
    pub(crate) fn configured(&self) -> &Arc<Connections> {
        &self.configured
    }

    /// The connection that a turn went over, if it is still there.
    pub(crate) fn of_turn(&self, input: Option<&TurnInput>) -> Option<Arc<Connection>> {
        let name = input?.connection.as_ref()?;
        self.now().named(name).ok().cloned()
    }

    /// The token counter of a turn: that of its connection, or of the connection that requests for
    /// its model go to.
    pub(crate) fn counter_of(&self, input: Option<&TurnInput>) -> Arc<dyn TokenCounter> {
        let connections = self.now();
        let named = self.of_turn(input);
        let model = input.and_then(|input| input.model.as_deref());
        let connection = named.as_ref().unwrap_or_else(|| connections.of(model));
        (connection.counting)(model.unwrap_or_default())
    }

    /// A model of a connection. A context size that is neither configured nor known is asked for in
    /// the background, for the next turns.
    pub(crate) fn route(&self, connection: &Arc<Connection>, model: Option<&str>) -> ModelRoute {
        let model = model.unwrap_or_default().to_owned();
        let counter = (connection.counting)(&model);
        let context = connection.context.or_else(|| self.stated_size(connection, &model));
        let defaults = &self.settings.now().defaults;
        let context_stated = context.is_some() || defaults.context_stated;
        let context = context.unwrap_or(defaults.context);
        ModelRoute { connection: Arc::clone(connection), model, counter, context, context_stated }
    }

    fn stated_size(&self, connection: &Arc<Connection>, model: &str) -> Option<Tokens> {
        let connections = self.now();
        // A connection that was replaced meanwhile is not asked.
        let mut known = connections.all().iter();
        known.find(|one| Arc::ptr_eq(one, connection))?;
        let name = &connection.name;
        if let Ok(size) = connections.context_size(name, model) {
            return size;
        }
        // Every request would ask again for a size that cannot be stored.
        if !connections.tell(name, model, None) {
            return None;
        }
        let (connection, model) = (Arc::clone(connection), model.to_owned());
        self.tasks.spawn(async move {
            if let Some(size) = connection.diagnosis.context_size(&model).await {
                connections.tell(&connection.name, &model, Some(Tokens(size)));
            }
        });
        None
    }
}
