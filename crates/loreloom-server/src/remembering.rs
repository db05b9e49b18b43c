//! What memory puts into a turn, and what it is told after a reply.

use std::sync::Arc;

use loreloom_core::{
    chat::Path,
    ids::{ChatId, TenantId},
    report::BudgetUse,
    tokens::TokenCounter,
    units::Tokens,
};
use loreloom_memory::{
    inject::SlotChanges,
    presence::characters,
    service::{MemoryServices, NewReply, TurnMemory, TurnRequest, Who, Withheld},
};
use loreloom_ports::MemoryError;
use tokio::{
    runtime::Handle,
    task::{JoinHandle, spawn_blocking},
};

use crate::{app::App, connections::Line, notices::Happened, story::Names};

/// Memory being asked.
pub(crate) enum Remembering {
    /// It is off.
    Off,
    /// What it has is at hand.
    AtHand(Question),
    /// On a thread of its own.
    Asked(JoinHandle<Result<TurnMemory, MemoryError>>),
}

/// What memory is asked for a turn.
pub(crate) struct Question {
    app: App,
    memory: Arc<MemoryServices>,
    path: Arc<Path>,
    speaker: Who,
    group: Vec<String>,
    seen_from: usize,
    counter: Arc<dyn TokenCounter>,
    changes: Arc<SlotChanges>,
}

impl Question {
    fn asked(&self) -> TurnRequest<'_> {
        TurnRequest {
            tenant: &self.app.tenant,
            chat: self.path.chat(),
            path: self.path.items(),
            speaker: &self.speaker,
            group: &self.group,
            seen_from: self.seen_from,
            cap: None,
            changes: Some(&self.changes),
            counter: self.counter.as_ref(),
        }
    }

    async fn answer(&self) -> Result<TurnMemory, MemoryError> {
        self.memory.recall.for_turn(&self.asked()).await
    }
}

/// The pool that memory's tokens are reported under.
pub(crate) const POOL: &str = "memory";

impl App {
    /// Begins to ask what memory has for a turn. A long story that is met for the first time
    /// takes a while to take in: that is done on a thread of its own, and what is found then
    /// serves the turns that follow.
    pub(crate) fn remembering(
        &self,
        path: &Arc<Path>,
        names: &Names,
        seen_from: usize,
        line: &Line,
    ) -> Remembering {
        let Some(memory) = self.memory.clone() else { return Remembering::Off };
        let question = Question {
            app: self.clone(),
            memory,
            path: Arc::clone(path),
            speaker: who(names),
            group: group(path),
            seen_from,
            counter: Arc::clone(&line.counter),
            changes: Arc::clone(&self.live().slots),
        };
        if question.memory.recall.is_quick(&question.asked()) {
            return Remembering::AtHand(question);
        }
        let runtime = Handle::current();
        Remembering::Asked(spawn_blocking(move || runtime.block_on(question.answer())))
    }

    /// What memory has for a turn. A turn goes on without memory that fails or that takes
    /// more than half of what the turn may take.
    pub(crate) async fn remembered(&self, chat: &ChatId, asking: Remembering) -> TurnMemory {
        let longest = self.live().weaving.deadline / 2;
        let reason = match asking {
            Remembering::Off => return TurnMemory::default(),
            Remembering::AtHand(question) => {
                match tokio::time::timeout(longest, question.answer()).await {
                    Ok(Ok(remembered)) => return remembered,
                    Ok(Err(error)) => error.to_string(),
                    Err(_elapsed) => "memory took too long".to_owned(),
                }
            }
            Remembering::Asked(asking) => match tokio::time::timeout(longest, asking).await {
                Ok(Ok(Ok(remembered))) => return remembered,
                Ok(Ok(Err(error))) => error.to_string(),
                Ok(Err(_panicked)) => "memory failed".to_owned(),
                Err(_elapsed) => "memory took too long".to_owned(),
            },
        };
        tracing::warn!(%reason, "the turn goes on without memory");
        self.notice(Happened::WithoutMemory { chat: chat.clone(), reason });
        TurnMemory::default()
    }

    /// What memory would have for a turn that was taken, with other slots.
    pub(crate) async fn would_remember(
        &self,
        tenant: &TenantId,
        path: &Path,
        speaker: Option<&str>,
        seen_from: usize,
        counter: &dyn TokenCounter,
        changes: &SlotChanges,
    ) -> Result<TurnMemory, MemoryError> {
        let Some(memory) = &self.memory else { return Ok(TurnMemory::default()) };
        let asked = TurnRequest {
            tenant,
            chat: path.chat(),
            path: path.items(),
            speaker: &speaker.map(Who::named).unwrap_or_default(),
            group: &group(path),
            seen_from,
            cap: None,
            changes: Some(changes),
            counter,
        };
        memory.recall.preview(&asked).await
    }

    /// What memory keeps from a character of what is known on a path.
    pub(crate) async fn withheld(
        &self,
        tenant: &TenantId,
        path: &Path,
        speaker: &str,
    ) -> Result<Vec<Withheld>, MemoryError> {
        let Some(memory) = &self.memory else { return Ok(Vec::new()) };
        memory.recall.withheld(tenant, path.chat(), path.items(), &Who::named(speaker)).await
    }

    /// Tells memory of a reply that came through the API.
    pub(crate) async fn remember_by_name(
        &self,
        path: &Path,
        user: Option<String>,
        speaker: Option<String>,
    ) {
        let user = user.unwrap_or_else(|| self.live().defaults.user.clone());
        self.remember(path, &Names { user, speaker, card: Arc::default() }).await;
    }

    /// Tells memory of a reply; the work it makes is done later.
    pub(crate) async fn remember(&self, path: &Path, names: &Names) {
        let Some(memory) = &self.memory else { return };
        let speakers = [who(names)];
        let spoken = NewReply {
            tenant: &self.tenant,
            chat: path.chat(),
            path: path.items(),
            speakers: &speakers,
        };
        if let Err(error) = memory.planner.after_reply(&spoken).await {
            tracing::warn!(%error, "memory was not told of the reply");
        }
    }
}

/// What memory used of its budget.
pub(crate) fn budget(remembered: &TurnMemory) -> Option<BudgetUse> {
    let slots = &remembered.report.slots;
    let used: Tokens = slots.iter().map(|slot| slot.tokens).sum();
    let limit: Tokens = slots.iter().map(|slot| slot.wanted).sum();
    let overflowed = used < limit || !remembered.report.dropped.is_empty();
    (!slots.is_empty()).then(|| BudgetUse { pool: POOL.to_owned(), limit, used, overflowed })
}

fn who(names: &Names) -> Who {
    let who = names.speaker.as_deref().map(Who::named).unwrap_or_default();
    Who { card: names.card.to_string(), ..who }
}

/// The members of a group: all who speak, where several do.
fn group(path: &Path) -> Vec<String> {
    let cast = characters(path.items());
    if cast.len() > 1 { cast.into_iter().map(str::to_owned).collect() } else { Vec::new() }
}
