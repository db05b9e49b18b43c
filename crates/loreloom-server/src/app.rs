//! What all requests share.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    ids::TenantId, place::Provenance, tokens::TokenCounter, turn::Speaker, units::Tokens,
};
use loreloom_memory::{
    ports::{Clock, Store, Upstream},
    service::MemoryService,
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{api::ApiState, events::Happened, recogniser::Recogniser, stacks::Stacks};

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
    /// What stories remember, if it is on.
    pub memory: Option<Arc<MemoryService>>,
    /// The model's server.
    pub upstream: Arc<dyn Upstream>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The model's tokenizer.
    pub counter: Arc<dyn TokenCounter>,
    /// What requests do not say.
    pub defaults: Defaults,
    /// Whether and how lore is woven into requests.
    pub weaving: Weaving,
    /// What is known of the stories.
    pub recogniser: Recogniser,
    /// Work that goes on after its request: awaited at shutdown.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
}

/// What requests do not say.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The model's context size.
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
    /// Whether the upstream refuses prompts whose roles do not alternate.
    pub strict_roles: bool,
    /// How many turns are decided at once. One that hangs keeps its place.
    pub room: Arc<Semaphore>,
}

impl Default for Weaving {
    fn default() -> Self {
        Self {
            on: true,
            deadline: Duration::from_millis(150),
            strict_roles: false,
            room: Arc::new(Semaphore::new(8)),
        }
    }
}

impl App {
    /// A server made of these parts.
    pub fn new(parts: AppParts) -> Self {
        Self(Arc::new(Shared { parts, api: ApiState::default() }))
    }
}

impl App {
    /// Tells watchers what happened to the data it serves.
    pub(crate) fn tell(&self, what: Happened) {
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
}

impl std::ops::Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0.parts
    }
}
