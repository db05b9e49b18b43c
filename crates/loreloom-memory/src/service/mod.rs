//! Memory at work: what the rest of the program calls.
//!
//! [`MemoryService`] ties the pure parts to the ports. It answers a turn from what is stored
//! ([`MemoryService::for_turn`]), queues work after a reply ([`MemoryService::after_reply`])
//! and carries queued work out ([`MemoryService::run_next_job`]). A turn never waits for a
//! model: all of that happens in jobs.

mod accounting;
mod by_hand;
mod cache;
mod catch_up;
mod demand;
mod ears;
mod embedder;
mod employment;
mod exchange;
mod grounding;
mod groups;
mod happenings;
mod lore;
mod minds;
mod options;
mod queue;
mod reading;
mod recalled;
mod records;
mod scratch;
mod smart_settings;
mod threads;
mod turn;
mod view;
mod withheld;
mod work;
mod worker;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, ConnectionId, PrefixHash, TenantId},
    units::Tokens,
};
use tokio::sync::{Notify, watch};

pub use loreloom_ports::Policy;

pub use self::{
    by_hand::{ByHandError, NewMemory, Since},
    demand::{Answered, DemandError},
    embedder::KeptEmbedder,
    employment::Asked,
    exchange::{Archive, ArchivedOwner, ArchivedWrite, ExchangeError, TakenIn},
    grounding::ungrounded,
    groups::groups,
    happenings::{Happening, HappeningKind, HappeningOf, Happenings},
    options::OptionsError,
    queue::Spoken,
    reading::{Asking, Found, FoundMemory, FoundPassage, RecapError},
    scratch::ScratchError,
    smart_settings::smart_memory_settings,
    turn::{Recalled, Shown, SlotUse, TurnAsked, TurnMemory},
    view::{View, Who},
    withheld::{Withheld, WithheldTier},
    worker::{Ran, Stop},
};
use self::{cache::Caches, employment::Employment, recalled::Indexes};
use crate::{
    hardware::Hardware, inject::Labels, recall::Weights, rules::Rules, settings::Settings,
};
use loreloom_ports::{Clock, Embedder, JobQueue, MemoryError, MemoryLog, StoryStore, Vector};

/// Turns one text into a vector at once, without leaving the process.
pub type EmbedOne = Arc<dyn Fn(&str) -> Vector + Send + Sync>;

/// The outside world.
#[derive(Clone)]
pub struct Ports {
    /// Where stories are.
    pub story: Arc<dyn StoryStore>,
    /// Where memory is.
    pub log: Arc<dyn MemoryLog>,
    /// Where jobs are.
    pub jobs: Arc<dyn JobQueue>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The embedded embedder; without one, passages are found by their words alone.
    pub embed: Option<EmbedOne>,
    /// What vectors are made with for what is asked of a model.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// The model that does memory's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// Its connection.
    pub connection: ConnectionId,
    /// How able it is.
    pub hardware: Hardware,
    /// How many jobs it takes at once; a local one takes one.
    pub at_once: u32,
    /// Its context, net of its reply.
    pub context: Tokens,
}

/// How memory works.
#[derive(Clone, Debug)]
pub struct Options {
    /// The settings.
    pub settings: Settings,
    /// The rules.
    pub rules: Rules,
    /// The words around what is remembered.
    pub labels: Labels,
    /// How passages are found.
    pub weights: Weights,
    /// Most passages recalled for a turn; 0 turns recall off.
    pub recall_most: usize,
    /// Standard deviations by which a passage must stand out.
    pub recall_least: f64,
    /// Passages kept in memory, over all chats.
    pub passages_most: usize,
    /// The model at the beginning; without one no jobs are made, and recall works all the
    /// same. Another may be employed later ([`MemoryService::employ`]).
    pub model: Option<ModelUse>,
    /// What the memory of characters is used for, by id or name; else everything.
    pub policies: BTreeMap<String, Policy>,
    /// How able the model is, whatever its connection suggests.
    pub hardware: Option<Hardware>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            rules: Rules::default(),
            labels: Labels::default(),
            weights: Weights::default(),
            recall_most: 6,
            recall_least: 2.0,
            passages_most: 200_000,
            model: None,
            policies: BTreeMap::new(),
            hardware: None,
        }
    }
}

/// Memory at work.
pub struct MemoryService {
    ports: Ports,
    options: Options,
    caches: Mutex<Caches>,
    indexes: Mutex<Indexes>,
    queued: Notify,
    employment: watch::Sender<Employment>,
}

impl std::fmt::Debug for MemoryService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("MemoryService")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl MemoryService {
    /// Memory over these ports.
    pub fn new(ports: Ports, mut options: Options) -> Self {
        if let (Some(model), Some(hardware)) = (&mut options.model, options.hardware) {
            model.hardware = hardware;
        }
        let employment = watch::Sender::new(Employment::elsewhere(options.model.clone()));
        Self {
            ports,
            options,
            caches: Mutex::default(),
            indexes: Mutex::default(),
            queued: Notify::new(),
            employment,
        }
    }

    /// How it works.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn caches(&self) -> MutexGuard<'_, Caches> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn indexes(&self) -> MutexGuard<'_, Indexes> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The messages up to a node.
    async fn items(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<PathItem>, MemoryError> {
        let nodes = self.ports.story.path(tenant, chat, tip).await?;
        let item = |node: loreloom_ports::Node| PathItem {
            id: node.message_id,
            prefix: node.prefix,
            message: node.message,
        };
        Ok(nodes.into_iter().map(item).collect())
    }
}
