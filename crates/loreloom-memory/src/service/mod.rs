//! Memory at work: the services that the rest of the program calls.
//!
//! [`MemoryServices`] holds one service for each job. [`TurnRecall`] answers a turn from what
//! is stored and never waits for a model. After a reply [`JobPlanner`] queues jobs, and
//! [`JobWorker`] runs them. The others read or change memory when a person asks for it.

mod cached_embedder;
mod edits;
mod exchange;
mod jobs;
mod model_roles;
mod on_demand;
mod options;
mod read_only;
mod recap;
mod recently_used;
mod search;
mod smart_settings;
mod story_embedding;
mod story_events;
mod text_vectors;
mod turn;
mod views;

use std::sync::Arc;

use tokio::sync::Notify;

pub use loreloom_ports::Policy;
use loreloom_ports::{Clock, Embedder, JobQueue, MemoryLog, StoryStore, Vector};

pub use self::{
    edits::{EditError, MemoryEdits, NewMemory, Since},
    exchange::{
        ArchivedOwner, ArchivedWrite, ExchangeError, Imported, MemoryArchive, MemoryExchange,
        pinned_groups,
    },
    jobs::{AwaitedReply, Foreground, JobPlanner, JobRun, JobWorker, NewReply, Stop, ungrounded},
    model_roles::{MemoryModel, ModelRoles, ModelUse},
    on_demand::{DemandError, DemandResult, OnDemand},
    options::{Options, OptionsError},
    read_only::{ReadOnlyError, ReadOnlySessions},
    recap::{RecapError, Recaps},
    search::{FoundMemory, FoundPassage, SearchQuery, SearchResults, StorySearch},
    smart_settings::smart_memory_settings,
    story_embedding::{StoryEmbedding, TableLanguages, TableVectors},
    story_events::{StoryEvent, StoryEventKind, StoryEventSubject, StoryEvents},
    turn::{RecallReport, SlotUse, TurnMemory, TurnRecall, TurnRequest, Withheld, WithheldTier},
    views::{MemoryView, PathViews, Who},
};
use self::{
    jobs::JobSignals,
    text_vectors::TextVectors,
    turn::{PassageIndexes, TurnUsage},
};

/// Turns one text into a vector at once, without leaving the process.
pub type EmbedOne = Arc<dyn Fn(&str) -> Vector + Send + Sync>;

/// The outside world.
#[derive(Clone)]
pub struct Ports {
    /// Stores stories.
    pub story: Arc<dyn StoryStore>,
    /// Stores memory.
    pub log: Arc<dyn MemoryLog>,
    /// Stores jobs.
    pub jobs: Arc<dyn JobQueue>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// A table of vectors. Without one, passages are found by their words alone, or with the
    /// vectors of a server.
    pub table: Option<TableVectors>,
    /// The embedder that passes use beside a model.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// All services of memory, each with one job.
pub struct MemoryServices {
    /// How memory works.
    pub options: Arc<Options>,
    /// What is remembered on a path.
    pub views: Arc<PathViews>,
    /// Which model does memory's work.
    pub models: Arc<ModelRoles>,
    /// What memory puts into the prompt of a turn.
    pub recall: TurnRecall,
    /// Queues jobs after a reply.
    pub planner: Arc<JobPlanner>,
    /// Runs queued jobs.
    pub worker: JobWorker,
    /// The replies that people wait for. Jobs let them go first.
    pub foreground: Arc<Foreground>,
    /// Runs a pass at once when a person asks for it.
    pub demands: OnDemand,
    /// Changes memory by hand.
    pub edits: Arc<MemoryEdits>,
    /// Sessions that leave no trace unless they are kept.
    pub read_only: ReadOnlySessions,
    /// Finds passages and memories.
    pub search: StorySearch,
    /// The embedder that stories are searched with.
    pub embedding: StoryEmbedding,
    /// Tells a returning reader what happened before.
    pub recaps: Recaps,
    /// Imports and exports memory.
    pub exchange: MemoryExchange,
}

impl std::fmt::Debug for MemoryServices {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("MemoryServices")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl MemoryServices {
    /// Memory over these ports.
    pub fn new(ports: &Ports, options: Options) -> Self {
        let options = Arc::new(options);
        let views = Arc::new(PathViews::new(ports, &options));
        let models = Arc::new(ModelRoles::new(ports, &options));
        let passages = {
            let log = Arc::clone(&ports.log);
            Arc::new(PassageIndexes::new(ports.table.clone(), log, options.passages_most))
        };
        let embed = ports.table.as_ref().map(|table| Arc::clone(&table.embed));
        let vectors = Arc::new(TextVectors::new(embed));
        let usage = Arc::new(TurnUsage::default());
        let queued = Arc::new(Notify::new());
        let foreground = Arc::new(Foreground::default());
        let edits = Arc::new(MemoryEdits::new(ports, &views));
        let planner = JobPlanner {
            jobs: Arc::clone(&ports.jobs),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(&views),
            models: Arc::clone(&models),
            options: Arc::clone(&options),
            usage: Arc::clone(&usage),
            queued: Arc::clone(&queued),
        };
        let planner = Arc::new(planner);
        Self {
            recall: TurnRecall {
                views: Arc::clone(&views),
                models: Arc::clone(&models),
                options: Arc::clone(&options),
                passages: Arc::clone(&passages),
                vectors: Arc::clone(&vectors),
                usage,
            },
            embedding: StoryEmbedding { passages: Arc::clone(&passages) },
            search: StorySearch {
                views: Arc::clone(&views),
                weights: options.weights.clone(),
                passages,
                vectors,
            },
            worker: JobWorker::new(
                ports,
                &views,
                &models,
                &options,
                JobSignals { queued, foreground: Arc::clone(&foreground) },
            ),
            foreground,
            demands: OnDemand::new(ports, &views, &models, &options),
            read_only: ReadOnlySessions::new(ports, &views, &edits, &planner),
            recaps: Recaps::new(ports, &views, &options),
            exchange: MemoryExchange::new(ports, &views),
            planner,
            edits,
            models,
            views,
            options,
        }
    }
}
