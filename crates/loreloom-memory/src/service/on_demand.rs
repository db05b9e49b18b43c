//! Passes that a person asks for: a summary, canon, a profile, a check of the newest reply.
//! They are written like the pass of a job, and can be undone like one.

use std::sync::Arc;

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, TenantId},
    units::Tokens,
};
use loreloom_ports::{Author, Clock, MemoryError, MemoryLog, MemoryWriteId, SeenStory, Write};

use super::{
    ModelRoles, Options, PathViews, Ports, Who,
    jobs::{StateChange, changed_character, changed_chat},
};
use crate::{
    cycle::{self, Backend, Demand, Occasion, Progress, WorkingMemory},
    drive::DriveError,
    record::CharacterMemory,
    text::QuarterEstimate,
    tiers::Config,
};

/// The context that is assumed without a model.
const CONTEXT: Tokens = Tokens(8192);

/// The result of a demand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemandResult {
    /// The write, if anything changed.
    pub write: Option<MemoryWriteId>,
    /// What the newest reply contradicts.
    pub contradictions: Vec<String>,
}

/// Why a demand failed. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum DemandError {
    /// There is no such chat.
    #[error("there is no chat `{chat}`")]
    NoChat {
        /// The requested chat.
        chat: ChatId,
    },
    /// The model failed.
    #[error(transparent)]
    Model(#[from] DriveError),
    /// The store failed, or the story changed meanwhile.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Runs passes on demand.
pub struct OnDemand {
    log: Arc<dyn MemoryLog>,
    clock: Arc<dyn Clock>,
    views: Arc<PathViews>,
    models: Arc<ModelRoles>,
    options: Arc<Options>,
}

impl OnDemand {
    pub(super) fn new(
        ports: &Ports,
        views: &Arc<PathViews>,
        models: &Arc<ModelRoles>,
        options: &Arc<Options>,
    ) -> Self {
        Self {
            log: Arc::clone(&ports.log),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(views),
            models: Arc::clone(models),
            options: Arc::clone(options),
        }
    }

    /// Runs a pass now, whether it is due or not.
    pub async fn run(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        who: &Who,
        demand: Demand,
        backend: Backend<'_>,
    ) -> Result<DemandResult, DemandError> {
        let current = self.views.current_path(tenant, chat).await?;
        let (record, path) = current.ok_or_else(|| DemandError::NoChat { chat: chat.clone() })?;
        let view = self.views.view(tenant, chat, &path, who).await?;
        let now = self.clock.now();
        let hasher = Hasher::new("demand").field(chat.as_str().as_bytes());
        let seed = hasher.number(now.0.unsigned_abs()).number(record.version).finish();
        let seed = seed.to_string()[..16].to_owned();
        let occasion = Occasion {
            config: Config {
                settings: &self.options.settings,
                rules: &self.options.rules,
                profile: self.models.profile(),
            },
            path: &path,
            chat_id: chat.as_str(),
            character: &who.name,
            card: &who.card,
            context: self.models.used().map_or(CONTEXT, |model| model.context),
            counter: &QuarterEstimate,
            now: now.0,
            seed: &seed,
            lore: &[],
        };
        let character = CharacterMemory::clone(&view.character);
        let mut after = WorkingMemory { character, chat: view.chat.clone() };
        let mut progress = Progress::default();
        let mut report =
            cycle::on_demand(demand, occasion, &mut after, backend, &mut progress).await;
        if let Some((_, error)) = report.failed.pop() {
            return Err(error.into());
        }
        let anchor = path.last().map(|item| item.id);
        let (before, seen) = (view.character.as_ref(), view.character_seen);
        let character = StateChange { before, after: &after.character, seen, anchor };
        let (before, seen) = (&view.chat, view.chat_seen);
        let shared = StateChange { before, after: &after.chat, seen, anchor };
        let mut owners =
            vec![changed_character(who.owner(), &character), changed_chat(chat, &shared)];
        owners.retain(|given| !given.events.is_empty());
        let contradictions = report.contradictions;
        if owners.is_empty() {
            return Ok(DemandResult { write: None, contradictions });
        }
        let write = Write {
            id: MemoryWriteId(seed),
            author: Author::Pass,
            note: "on demand".to_owned(),
            chat: Some(chat.clone()),
            at: now,
            story: Some(SeenStory { chat: chat.clone(), version: record.version }),
            job: None,
            owners,
        };
        self.log.write(tenant, &write).await?;
        Ok(DemandResult { write: Some(write.id), contradictions })
    }
}
