//! What all requests share.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    given::Given, ids::TenantId, place::Provenance, tokens::TokenCounter, turn::Speaker,
    units::Tokens,
};
use loreloom_memory::{
    ports::{Clock, Store},
    service::MemoryService,
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    api::ApiState,
    choosing::Choosing,
    connections::Connections,
    events,
    gate::Access,
    limits::Limits,
    lore::LoreError,
    notices::{Happened, Notice, Notices},
    recogniser::Recogniser,
    stacks::Stacks,
};

/// The server's shared state. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// What an [`App`] was made of, and what it gathers while it runs.
struct Shared {
    parts: AppParts,
    api: ApiState,
}

/// What an [`App`] is made of.
pub struct AppParts {
    /// Whose data it serves.
    pub tenant: TenantId,
    /// The lore.
    pub stacks: Stacks,
    /// The stories, the bookcase.
    pub store: Arc<dyn Store>,
    /// The model that chooses notes of vaults, if one does.
    pub choosing: Option<Choosing>,
    /// What stories remember, if it is on.
    pub memory: Option<Arc<MemoryService>>,
    /// The models' servers.
    pub connections: Arc<Connections>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What requests do not say.
    pub defaults: Defaults,
    /// Whether and how lore is woven into requests.
    pub weaving: Weaving,
    /// Who may ask.
    pub access: Arc<Access>,
    /// What a client may take.
    pub limits: Limits,
    /// What is known of the stories.
    pub recogniser: Recogniser,
    /// What happened, for whoever listens.
    pub notices: Notices,
    /// Work that goes on after its request: awaited at shutdown.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
}

/// What requests do not say.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The model's context size, where neither settings nor its server tell it.
    pub context: Tokens,
    /// The user's name.
    pub user: String,
    /// The character who speaks.
    pub speaker: Option<Speaker>,
    /// The seed of all rolls.
    pub seed: u64,
}

/// Whether and how lore is woven into requests.
#[derive(Clone, Debug)]
pub struct Weaving {
    /// Whether at all.
    pub on: bool,
    /// The longest a request waits for it; then it goes on without.
    pub deadline: Duration,
    /// How many turns are decided at once. One that hangs keeps its place.
    pub room: Arc<Semaphore>,
}

impl Default for Weaving {
    fn default() -> Self {
        Self { on: true, deadline: Duration::from_millis(150), room: Arc::new(Semaphore::new(8)) }
    }
}

impl App {
    /// A server made of these parts.
    pub fn new(parts: AppParts) -> Self {
        Self(Arc::new(Shared { parts, api: ApiState::default() }))
    }

    /// The same server for another tenant: its own books, stories and memories, over the same
    /// store and connections. Books and notes that were named at start are not its own.
    pub(crate) fn for_tenant(&self, tenant: TenantId) -> Result<Self, LoreError> {
        Ok(Self::new(AppParts {
            tenant,
            stacks: self.stacks.for_another()?,
            store: Arc::clone(&self.store),
            // Vaults are named at start.
            choosing: None,
            memory: self.memory.clone(),
            connections: Arc::clone(&self.connections),
            clock: Arc::clone(&self.clock),
            defaults: self.defaults.clone(),
            weaving: self.weaving.clone(),
            access: Arc::clone(&self.access),
            limits: self.limits,
            recogniser: Recogniser::default(),
            notices: self.notices.clone(),
            tasks: self.tasks.clone(),
            stopping: self.stopping.clone(),
        }))
    }

    /// What tokens are counted with, where no request says its model.
    pub(crate) fn counter(&self) -> Arc<dyn TokenCounter> {
        self.line(self.connections.default(), None).counter
    }

    /// What the tokens of a turn were counted with, as far as its connection is still there.
    pub(crate) fn counter_of(&self, given: Option<&Given>) -> Arc<dyn TokenCounter> {
        let named = given.and_then(|given| given.connection.as_ref());
        let named = named.and_then(|name| self.connections.named(name).ok());
        let model = given.and_then(|given| given.model.as_deref());
        self.line(named.unwrap_or_else(|| self.connections.default()), model).counter
    }

    /// Tells watchers what happened to the data it serves.
    pub(crate) fn tell(&self, what: events::Happened) {
        self.api().events.tell(&self.tenant, what);
    }

    /// What people call a source of text.
    pub(crate) fn source_title(&self, source: &Provenance) -> String {
        match source {
            Provenance::Lore { entry, .. } => {
                let lore = self.stacks.lore();
                lore.library().title(entry).unwrap_or(entry.as_str()).to_owned()
            }
            Provenance::AuthorsNote => "authors_note".to_owned(),
            Provenance::Memory(slot) => slot.clone(),
        }
    }

    /// What the API keeps between calls.
    pub(crate) fn api(&self) -> &ApiState {
        &self.0.api
    }

    /// Tells whoever listens that something happened.
    pub(crate) fn notice(&self, what: Happened) {
        if let Some(event) = events::Happened::of(&what) {
            self.tell(event);
        }
        let (tenant, at) = (self.tenant.clone(), self.clock.now());
        self.notices.tell(Notice { tenant, at, what });
    }
}

impl std::ops::Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0.parts
    }
}
