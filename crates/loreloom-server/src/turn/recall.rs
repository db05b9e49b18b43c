//! Recall: what memory adds to a turn.
//!
//! Memory is asked before the turn is decided and its answer is added after. A turn goes on
//! without memory that fails or that takes more than half of the turn's deadline.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    chat::Path, ids::TenantId, report::BudgetUse, room::CoveredMessages, tokens::TokenCounter,
    turn::TurnInput, units::Tokens,
};
use loreloom_memory::{
    presence::characters,
    service::{MemoryServices, TurnMemory, TurnRequest, Who, Withheld},
    settings::Settings as MemorySettings,
};
use loreloom_ports::MemoryError;
use tokio::{
    runtime::Handle,
    task::{JoinHandle, spawn_blocking},
};

use tracing::Instrument as _;

use super::Turns;
use super::{decide::DecidedTurn, story::TurnStory};
use crate::{connections::ModelRoute, notices::Happened};

/// The pool that memory's tokens are reported under.
pub(crate) const MEMORY_POOL: &str = "memory";

/// A running recall.
pub(crate) enum Recall {
    /// Memory is off, or the turn is not part of a story.
    Off,
    /// Memory has everything at hand.
    AtHand(Box<RecallQuestion>),
    /// Memory works on a thread of its own.
    Running(JoinHandle<Result<TurnMemory, MemoryError>>),
}

/// What memory is asked for a turn.
pub(crate) struct RecallQuestion {
    tenant: TenantId,
    memory: Arc<MemoryServices>,
    path: Arc<Path>,
    speaker: Who,
    group: Vec<String>,
    seen_from: usize,
    counter: Arc<dyn TokenCounter>,
    settings: Arc<MemorySettings>,
    embed_within: Duration,
}

impl RecallQuestion {
    fn asked(&self) -> TurnRequest<'_> {
        TurnRequest {
            tenant: &self.tenant,
            chat: self.path.chat(),
            path: self.path.items(),
            speaker: &self.speaker,
            group: &self.group,
            seen_from: self.seen_from,
            cap: None,
            settings: Some(&self.settings),
            counter: self.counter.as_ref(),
            embed_within: self.embed_within,
        }
    }

    async fn answer(&self) -> Result<TurnMemory, MemoryError> {
        self.memory.recall.for_turn(&self.asked()).await
    }
}

/// Starts to recall for a turn. A long story that is new to memory takes a while to read. That
/// happens on a thread of its own, and later turns use what it finds.
pub(crate) fn start(
    turns: &Turns,
    story: &TurnStory,
    input: &TurnInput,
    route: &ModelRoute,
) -> Recall {
    let Some(memory) = turns.memory.clone().filter(|_| !input.dry_run) else { return Recall::Off };
    let character = input.speaker.as_ref().map(|speaker| speaker.name.as_str());
    let settings = turns.settings.for_story(story.path.chat(), character);
    let question = RecallQuestion {
        tenant: turns.tenant.clone(),
        memory,
        path: Arc::clone(&story.path),
        speaker: speaker(input, &story.card),
        group: group(&story.path),
        seen_from: story.seen_from,
        counter: Arc::clone(&route.counter),
        settings: Arc::clone(&settings.memory),
        // A turn without vectors is better than one without memory.
        embed_within: turns.settings.now().weaving.deadline / 4,
    };
    if question.memory.recall.is_quick(&question.asked()) {
        return Recall::AtHand(Box::new(question));
    }
    let runtime = Handle::current();
    let answer = async move { question.answer().await }.in_current_span();
    Recall::Running(spawn_blocking(move || runtime.block_on(answer)))
}

/// Adds what memory recalls to a decided turn.
pub(crate) async fn finish(turns: &Turns, recall: Recall, turn: &mut DecidedTurn) {
    let longest = turns.settings.now().weaving.deadline / 2;
    let too_slow = |_elapsed| "memory took too long".to_owned();
    let found = match recall {
        Recall::Off => return,
        Recall::AtHand(question) => {
            let answer = Box::pin(question.answer());
            let answer = tokio::time::timeout(longest, answer).await.map_err(too_slow);
            answer.and_then(|found| found.map_err(|error| error.to_string()))
        }
        Recall::Running(running) => match tokio::time::timeout(longest, running).await {
            Ok(Ok(found)) => found.map_err(|error| error.to_string()),
            Ok(Err(_panicked)) => Err("memory failed".to_owned()),
            Err(elapsed) => Err(too_slow(elapsed)),
        },
    };
    match found {
        Ok(mut found) => {
            if let Some(reason) = &found.embedder_problem {
                tracing::warn!(%reason, "passages are found by their words alone");
            }
            let lore = turn.decision.injections.iter().map(|one| one.text.as_str());
            found.without_lore(lore, turn.route.counter.as_ref());
            let seen_from = turn.story.seen_from;
            if let Some(sent_from) = found.sent_from {
                let items = turn.story.path.items();
                let visible = |from: usize, to: usize| {
                    let items = items.get(from..to).unwrap_or_default();
                    items.iter().filter(|item| item.message.is_seen()).count()
                };
                let sent_from = sent_from.clamp(seen_from.min(items.len()), items.len());
                turn.story.covered = CoveredMessages {
                    covered: visible(seen_from, sent_from),
                    after: visible(sent_from, items.len()),
                };
            }
            turn.decision.report.budgets.extend(memory_budget(&found));
            turn.decision.report.recalled = found.report.recalled;
            turn.decision.injections.extend(found.injections);
        }
        Err(reason) => {
            tracing::warn!(%reason, "the turn goes on without memory");
            let chat = turn.story.path.chat().clone();
            turns.announcements.notice(Happened::WithoutMemory { chat, reason });
        }
    }
}

/// A past turn that memory is asked about.
pub(crate) struct PastRecall<'turn> {
    pub(crate) tenant: &'turn TenantId,
    pub(crate) path: &'turn Path,
    pub(crate) speaker: Option<&'turn str>,
    pub(crate) seen_from: usize,
    pub(crate) counter: &'turn dyn TokenCounter,
}

/// What memory would add to a past turn with other slots.
pub(crate) async fn recall_with(
    turns: &Turns,
    past: PastRecall<'_>,
    settings: &MemorySettings,
) -> Result<TurnMemory, MemoryError> {
    let Some(memory) = &turns.memory else { return Ok(TurnMemory::default()) };
    let asked = TurnRequest {
        tenant: past.tenant,
        chat: past.path.chat(),
        path: past.path.items(),
        speaker: &past.speaker.map(Who::named).unwrap_or_default(),
        group: &group(past.path),
        seen_from: past.seen_from,
        cap: None,
        settings: Some(settings),
        counter: past.counter,
        embed_within: turns.settings.now().weaving.deadline / 4,
    };
    memory.recall.preview(&asked).await
}

/// What memory knows on a path but withholds from a character.
pub(crate) async fn withheld(
    turns: &Turns,
    tenant: &TenantId,
    path: &Path,
    speaker: &str,
) -> Result<Vec<Withheld>, MemoryError> {
    let Some(memory) = &turns.memory else { return Ok(Vec::new()) };
    memory.recall.withheld(tenant, path.chat(), path.items(), &Who::named(speaker)).await
}

/// How much of its budget memory used.
pub(crate) fn memory_budget(found: &TurnMemory) -> Option<BudgetUse> {
    let slots = &found.report.slots;
    let used: Tokens = slots.iter().map(|slot| slot.tokens).sum();
    let limit: Tokens = slots.iter().map(|slot| slot.wanted).sum();
    let overflowed = used < limit || !found.report.dropped.is_empty();
    let pool = MEMORY_POOL.to_owned();
    (!slots.is_empty()).then_some(BudgetUse { pool, limit, used, overflowed })
}

/// The character who speaks next.
pub(super) fn speaker(input: &TurnInput, card: &str) -> Who {
    let who = input.speaker.as_ref().map(|speaker| Who::named(&speaker.name)).unwrap_or_default();
    Who { card: card.to_owned(), ..who }
}

/// The members of a group: all characters who speak, if there are several.
fn group(path: &Path) -> Vec<String> {
    let cast = characters(path.items());
    if cast.len() > 1 { cast.into_iter().map(str::to_owned).collect() } else { Vec::new() }
}
