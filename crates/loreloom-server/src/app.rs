//! What all requests share.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loreloom_core::{
    ids::{ChatId, TenantId},
    place::Provenance,
    turn::{Speaker, StoryContext},
    units::Tokens,
};
use loreloom_memory::service::MemoryService;
use loreloom_ports::{ChatModel, Clock, Store};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    api::ApiState,
    connections::Connections,
    events,
    gate::Access,
    limits::Limits,
    lore::LoreError,
    notices::{Happened, Notice, Notices},
    stacks::Stacks,
    turn::{Choosing, Placement, RecentPaths, Recogniser, SentLog},
};

/// The server's shared state. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// What an [`App`] was made of, and what it gathers while it runs.
struct Shared {
    parts: AppParts,
    api: ApiState,
    paths: RecentPaths,
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
    /// The model that reads replies for the notebook, if one does.
    pub noting: Option<Arc<dyn ChatModel>>,
    /// What stories remember, if it is on.
    pub memory: Option<Arc<MemoryService>>,
    /// The models' servers of the configuration.
    pub configured: Arc<Connections>,
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
    /// The last prompt of each chat.
    pub sent: SentLog,
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
    /// What is told of chats, by their ids; `*` is all of them.
    pub contexts: BTreeMap<String, StoryContext>,
}

impl Defaults {
    /// What is told of a chat.
    pub(crate) fn context_of(&self, chat: &ChatId) -> StoryContext {
        let of = |id: &str| self.contexts.get(id).cloned().unwrap_or_default();
        of(chat.as_str()).after(&of("*"))
    }
}

/// Whether and how lore is woven into requests.
#[derive(Clone, Debug)]
pub struct Weaving {
    /// Whether at all.
    pub on: bool,
    /// The longest a request waits for it; then it goes on without.
    pub deadline: Duration,
    /// Where lore stands.
    pub placement: Placement,
    /// How many turns are decided at once. One that hangs keeps its place.
    pub room: Arc<Semaphore>,
}

impl Default for Weaving {
    fn default() -> Self {
        Self {
            on: true,
            deadline: Duration::from_millis(150),
            placement: Placement::default(),
            room: Arc::new(Semaphore::new(8)),
        }
    }
}

impl App {
    /// A server made of these parts.
    pub fn new(parts: AppParts) -> Self {
        let (api, paths) = (ApiState::since(parts.clock.now()), RecentPaths::default());
        Self(Arc::new(Shared { parts, api, paths }))
    }
}

impl App {
    /// Tells watchers what happened to the data it serves.
    pub(crate) fn tell(&self, what: events::Happened) {
        self.api().events.tell(&self.tenant, what);
    }

    /// The paths of recent turns.
    pub(crate) fn paths(&self) -> &RecentPaths {
        &self.0.paths
    }

    /// What the API keeps between calls.
    pub(crate) fn api(&self) -> &ApiState {
        &self.0.api
    }

    /// The same server for another tenant: its own books, stories and memories, over the same
    /// store and configured connections. Books and notes that were named at start are not its own.
    pub(crate) fn for_tenant(&self, tenant: TenantId) -> Result<Self, LoreError> {
        let parts = AppParts {
            tenant,
            stacks: self.stacks.for_another()?,
            store: Arc::clone(&self.store),
            // Vaults are named at start.
            choosing: None,
            noting: self.noting.clone(),
            memory: self.memory.clone(),
            configured: Arc::clone(&self.configured),
            clock: Arc::clone(&self.clock),
            defaults: self.defaults.clone(),
            weaving: self.weaving.clone(),
            access: Arc::clone(&self.access),
            limits: self.limits,
            recogniser: Recogniser::default(),
            sent: SentLog::default(),
            notices: self.notices.clone(),
            tasks: self.tasks.clone(),
            stopping: self.stopping.clone(),
        };
        Ok(Self::new(parts))
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

    /// Tells whoever listens that something happened.
    pub(crate) fn notice(&self, what: Happened) {
        if let Some(event) = events::Happened::noticed(&what) {
            self.tell(event);
        }
        let (tenant, at) = (self.tenant.clone(), self.clock.now());
        if let Happened::FailedOpen { path, reason } = &what {
            self.api().fail_opens.note(&tenant, at, path, reason);
        }
        self.notices.tell(Notice { tenant, at, what });
    }
}

impl std::ops::Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0.parts
    }
}
