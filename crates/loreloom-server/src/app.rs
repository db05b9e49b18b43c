//! What all requests share.

use std::sync::Arc;

use loreloom_core::{ids::TenantId, tokens::TokenCounter, turn::Speaker, units::Tokens};
use loreloom_memory::ports::{Clock, StoryStore, Upstream};
use tokio_util::task::TaskTracker;

use crate::lore::Lore;

/// The server's shared state. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

/// What an [`App`] is made of.
pub struct AppParts {
    /// Whose data it serves.
    pub tenant: TenantId,
    /// The lore.
    pub lore: Lore,
    /// The stories.
    pub store: Arc<dyn StoryStore>,
    /// The model's server.
    pub upstream: Arc<dyn Upstream>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The model's tokenizer.
    pub counter: Arc<dyn TokenCounter>,
    /// What requests do not say.
    pub defaults: Defaults,
    /// Work that goes on after its request: awaited at shutdown.
    pub tasks: TaskTracker,
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

impl App {
    /// A server made of these parts.
    pub fn new(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}
