//! The services of a tenant, and how they are wired.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loreloom_core::{
    ids::{ChatId, TenantId},
    turn::{Speaker, StoryContext},
    units::Tokens,
};
use loreloom_memory::service::MemoryServices;
use loreloom_ports::{ChatModel, Clock, Store, StoreError};
use loreloom_settings::{PlacementMode, StartSettings, WeavingSection};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    announcements::Announcements,
    api::ApiState,
    connection_service::ConnectionService,
    connections::Connections,
    document_sync::DocumentSync,
    events::Events,
    feature_switch::{FeatureSwitch, LiveFeatures},
    figures::Figures,
    gate::Access,
    limits::ServerLimits,
    lore::LoreError,
    lore_service::{LoreService, LoreServiceError},
    notices::Notices,
    own_connections::LiveConnections,
    past_turns::PastTurns,
    replays::Replays,
    runtime_settings::{RuntimeSettings, StartParts},
    turn::{
        Choosing, ExpectedRequests, LateTurns, LorePlacement, RecentPaths, Recogniser, SentLog,
        TurnQueue, TurnServices, Turns,
    },
    waiting::WaitingTurns,
};

/// The server's shared state. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<Services>);

/// The services of one tenant. Each has one job and its own dependencies.
pub struct Services {
    /// The tenant.
    pub tenant: TenantId,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The lore that turns are decided with.
    pub lore: Arc<LoreService>,
    /// Memory, if it is on.
    pub memory: Option<Arc<MemoryServices>>,
    /// Announces what happens to listeners of the host.
    pub notices: Notices,
    /// Work that goes on after its request: awaited at shutdown.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
    pub(crate) access: Arc<Access>,
    pub(crate) limits: ServerLimits,
    pub(crate) settings: Arc<RuntimeSettings>,
    pub(crate) features: Arc<FeatureSwitch>,
    pub(crate) connections: Arc<ConnectionService>,
    pub(crate) sync: Arc<DocumentSync>,
    pub(crate) turns: Turns,
    pub(crate) past: PastTurns,
    pub(crate) replays: Arc<Replays>,
    pub(crate) announcements: Announcements,
    pub(crate) events: Arc<Events>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) api: ApiState,
}

/// What an [`App`] is made of.
pub struct AppParts {
    /// The tenant whose data it serves.
    pub tenant: TenantId,
    /// The lore.
    pub lore: LoreService,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The model that selects vault notes, if one does.
    pub choosing: Option<Choosing>,
    /// The model that finds notes for the notebook in replies, if one does.
    pub noting: Option<Arc<dyn ChatModel>>,
    /// Memory, if it is on.
    pub memory: Option<Arc<MemoryServices>>,
    /// The connections of the configuration.
    pub configured: Arc<Connections>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Values that requests leave out.
    pub defaults: Defaults,
    /// Whether and how lore is woven into requests.
    pub weaving: Weaving,
    /// The settings of the start, and where each comes from. `weaving`, `defaults`, the lore's
    /// rules and memory's options decide where they differ.
    pub settings: StartSettings,
    /// Keys and origins.
    pub access: Arc<Access>,
    /// Limits for clients.
    pub limits: ServerLimits,
    /// Announces what happens to listeners of the host.
    pub notices: Notices,
    /// Turns that the store did not take.
    pub waiting: WaitingTurns,
    /// Work that goes on after its request: awaited at shutdown.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
}

/// Values that requests leave out.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The model's context size, if neither settings nor its server state it.
    pub context: Tokens,
    /// Whether somebody set that size. Otherwise it is assumed, and no prompt is cut to it.
    pub context_stated: bool,
    /// The user's name.
    pub user: String,
    /// The character who speaks next.
    pub speaker: Option<Speaker>,
    /// The seed of all rolls.
    pub seed: u64,
    /// The story contexts of chats, by id; `*` is for all of them.
    pub contexts: BTreeMap<String, StoryContext>,
}

impl Defaults {
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
    /// The longest that the engine works for a request. Then it goes on without lore.
    pub deadline: Duration,
    /// The longest that a request waits in the queue. Then it goes on without lore.
    pub longest_queued: Duration,
    /// Where lore goes in prompts.
    pub placement: LorePlacement,
    /// The turns that wait to be decided.
    pub queue: TurnQueue,
}

impl Default for Weaving {
    fn default() -> Self {
        let own = WeavingSection::default();
        Self {
            on: true,
            deadline: Duration::from_millis(own.deadline_ms),
            longest_queued: Duration::from_secs(own.queue_seconds),
            placement: LorePlacement::default(),
            queue: TurnQueue::default(),
        }
    }
}

impl From<&WeavingSection> for LorePlacement {
    fn from(section: &WeavingSection) -> Self {
        match section.placement {
            PlacementMode::FrontEnd => Self::FrontEnd,
            PlacementMode::Stable => Self::Stable(section.stable.clone()),
        }
    }
}

impl App {
    /// A server made of these parts.
    pub fn new(parts: AppParts) -> Self {
        let (access, limits, stopping) =
            (parts.access.clone(), parts.limits, parts.stopping.clone());
        let (turns, features) = wire_turns(parts);
        let sync = Arc::new(DocumentSync::new(&turns, Arc::clone(&access), stopping.clone()));
        Self(Arc::new(Services {
            tenant: turns.tenant.clone(),
            store: Arc::clone(&turns.store),
            clock: Arc::clone(&turns.clock),
            lore: Arc::clone(&turns.lore),
            memory: turns.memory.clone(),
            notices: turns.announcements.notices.clone(),
            tasks: turns.tasks.clone(),
            access,
            limits,
            settings: Arc::clone(&turns.settings),
            features,
            connections: Arc::clone(&turns.connections),
            sync,
            past: PastTurns::new(&turns),
            replays: Arc::new(Replays::new(&turns, stopping.clone())),
            announcements: turns.announcements.clone(),
            events: Arc::clone(&turns.announcements.events),
            figures: Arc::clone(&turns.figures),
            api: ApiState::default(),
            stopping,
            turns,
        }))
    }

    /// The same server for another tenant: its own books, stories and memories, over the same
    /// store and configured connections. It gets no books and notes that were named at start.
    pub(crate) fn for_tenant(&self, tenant: TenantId) -> Result<Self, LoreError> {
        let (weaving, defaults) = self.settings.typed().clone();
        Ok(Self::new(AppParts {
            tenant,
            lore: self.lore.for_another()?,
            store: Arc::clone(&self.store),
            // Vaults are named at start.
            choosing: None,
            noting: self.turns.noting.clone(),
            memory: self.memory.clone(),
            configured: Arc::clone(self.connections.configured()),
            clock: Arc::clone(&self.clock),
            defaults,
            weaving,
            settings: self.settings.started().clone(),
            access: Arc::clone(&self.access),
            limits: self.limits,
            notices: self.notices.clone(),
            waiting: self.turns.waiting.clone(),
            tasks: self.tasks.clone(),
            stopping: self.stopping.clone(),
        }))
    }

    /// Reads what the store has and keeps in step with it until the server stops.
    pub async fn open(&self) -> Result<(), LoreServiceError> {
        // Before stories are read, so that those that waited are recognised too.
        self.turns.waiting.write_all(&self.turns.waiting_writer()).await;
        self.restore().await?;
        self.lore.prepare().await?;
        self.lore.refresh(self.store.as_ref(), &self.tenant).await?;
        // Not before: changes that others make in between would count as seen.
        self.connections.take_up().await?;
        self.features.settled().await;
        let sync = Arc::clone(&self.sync);
        self.tasks.spawn(async move { sync.run().await });
        let (turns, stopping) = (self.turns.clone(), self.stopping.clone());
        self.tasks.spawn(async move {
            let writer = turns.waiting_writer();
            turns.waiting.watch(writer, &turns.announcements, stopping).await;
        });
        Ok(())
    }

    /// Reads settings and the newest stories, so that they are recognised after a restart.
    /// Returns how many.
    pub async fn restore(&self) -> Result<usize, StoreError> {
        self.settings.take_up().await?;
        self.turns.restore().await
    }

    /// Reads which keys there are.
    pub async fn refresh_keys(&self) -> Result<(), StoreError> {
        self.access.keys.refresh(self.store.as_ref()).await
    }

    /// The current connections. They stay as they are while they are held.
    pub fn connections(&self) -> Arc<Connections> {
        self.connections.now()
    }

    /// Why features of the configuration cannot be used. A host does not start then, because the
    /// author of the configuration can fix it.
    pub fn configured_problems(&self) -> Vec<String> {
        self.features.configured_problems()
    }
}

/// Wires the services that a turn uses, and the switch of features that ask a model.
fn wire_turns(parts: AppParts) -> (Turns, Arc<FeatureSwitch>) {
    let AppParts { tenant, store, clock, memory, tasks, defaults, .. } = parts;
    let (lore, choosing) = (Arc::new(parts.lore), parts.choosing.map(Arc::new));
    let figures: Arc<Figures> = Arc::default();
    let announcements = Announcements {
        tenant: tenant.clone(),
        events: Arc::new(Events::since(clock.now())),
        clock: Arc::clone(&clock),
        notices: parts.notices,
        figures: Arc::clone(&figures),
    };
    let features = Arc::new(FeatureSwitch {
        tenant: tenant.clone(),
        configured: Arc::clone(&parts.configured),
        memory: memory.clone(),
        choosing: choosing.clone(),
        lore: Arc::clone(&lore),
        context: defaults.context,
        announcements: announcements.clone(),
        tasks: tasks.clone(),
        stopping: parts.stopping,
        state: LiveFeatures::default(),
    });
    let started = StartParts { settings: parts.settings, weaving: parts.weaving, defaults };
    let started = started.agreeing(lore.started());
    let settings = Arc::new(RuntimeSettings::new(tenant.clone(), Arc::clone(&store), started));
    let connections = Arc::new(ConnectionService {
        tenant: tenant.clone(),
        store: Arc::clone(&store),
        configured: parts.configured,
        settings: Arc::clone(&settings),
        features: Arc::clone(&features),
        tasks: tasks.clone(),
        live: LiveConnections::default(),
    });
    let turns = Turns::new(TurnServices {
        tenant,
        store,
        clock,
        lore,
        memory,
        settings,
        connections,
        announcements,
        figures,
        choosing,
        noting: parts.noting,
        tasks,
        waiting: parts.waiting,
        recogniser: Recogniser::default(),
        expected: ExpectedRequests::default(),
        late: LateTurns::default(),
        recent_paths: RecentPaths::default(),
        sent_log: SentLog::default(),
    });
    (turns, features)
}

impl std::ops::Deref for App {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}
