//! Everything memory does after a reply, in order.
//!
//! Stages run one after the other, because a later one reads what an earlier one noted, and
//! because local models serve one caller at a time. A stage whose model fails changes
//! nothing and does not keep the others from running. All changes are made to the value
//! that was handed in: whoever calls commits them as one transaction.

mod extraction;
mod round;
mod stage;
mod telling;

use loreloom_core::{chat::PathItem, ids::MessageId, tokens::TokenCounter, units::Tokens};

use serde::{Deserialize, Serialize};

use self::stage::Runner;
pub use self::{
    round::{Member, Round, after_round, draw_round, piece},
    stage::{CycleReport, CycleStage, Progress},
};
use crate::{
    record::{CharacterMemory, ChatMemory, Memory},
    schedule,
    tiers::{Config, PassSource},
};
use loreloom_ports::{ChatModel, Embedder};

/// What a character and a chat remember.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkingMemory {
    /// What outlives the chat.
    pub character: CharacterMemory,
    /// What belongs to the chat.
    pub chat: ChatMemory,
}

impl WorkingMemory {
    fn longterm(&self) -> Vec<&Memory> {
        self.character.memories.iter().filter(|memory| memory.is_active()).collect()
    }

    fn session(&self) -> Vec<&Memory> {
        self.chat.session_memories.iter().filter(|memory| memory.is_active()).collect()
    }
}

/// The moment after a reply.
#[derive(Clone, Copy)]
pub struct Occasion<'turn> {
    /// Settings, rules and model.
    pub config: Config<'turn>,
    /// The path, the reply included.
    pub path: &'turn [PathItem],
    /// The chat's name.
    pub chat_id: &'turn str,
    /// Who replied.
    pub character: &'turn str,
    /// That character's card as text.
    pub card: &'turn str,
    /// The model's context, net of its reply.
    pub context: Tokens,
    /// The model's tokenizer.
    pub counter: &'turn dyn TokenCounter,
    /// The time.
    pub now: i64,
    /// A name for this run that no other has: ids of new memories begin with it.
    pub seed: &'turn str,
}

impl Occasion<'_> {
    /// The last of the first `count` messages.
    fn last_of(&self, count: usize) -> Option<MessageId> {
        self.path.get(count.checked_sub(1)?).map(|item| item.id)
    }

    fn source(&self, window: std::ops::Range<usize>) -> PassSource<'_> {
        PassSource { chat: self.path, window, heard: None, chat_id: self.chat_id, now: self.now }
    }
}

/// Who answers.
#[derive(Clone, Copy)]
pub struct Backend<'turn> {
    /// The model.
    pub model: &'turn dyn ChatModel,
    /// The embedder; without one, texts are compared by their words.
    pub embedder: Option<&'turn dyn Embedder>,
}

/// Looks at a reply: whether it begins another scene, and whether it contradicts.
pub async fn look(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    telling::scene(occasion, remembered, &mut runner).await;
    // A note was for the reply that is now there.
    remembered.chat.pending_repair = None;
    telling::continuity(occasion, remembered, &mut runner).await;
    runner.report
}

/// What somebody asks for, whether it is due or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// The story so far.
    Summary,
    /// A character's history.
    Canon,
    /// A character's standing.
    Profile,
    /// What the newest reply contradicts.
    Check,
    /// The same, and a note for the next reply that puts it right.
    Repair,
    /// All that an extraction draws from the newest messages, whether one is due or not.
    Extract,
    /// Long-term memories alone.
    LongTerm,
    /// Session memories alone.
    Session,
    /// Threads alone.
    Arcs,
    /// State cards alone.
    Ledger,
}

/// Does what somebody asks for.
pub async fn on_demand(
    demand: Demand,
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    let due = schedule::at_once(occasion.path);
    match demand {
        Demand::Summary => telling::summarise(occasion, remembered, &mut runner).await,
        Demand::Canon => extraction::write_canon(occasion, remembered, &mut runner).await,
        Demand::Profile => telling::draw_profile(occasion, remembered, &mut runner).await,
        Demand::Check => telling::check(occasion, remembered, &mut runner, false).await,
        Demand::Repair => telling::check(occasion, remembered, &mut runner, true).await,
        Demand::Extract => extracted(occasion, &due, remembered, &mut runner).await,
        Demand::LongTerm => {
            extraction::longterm(occasion, &due, None, remembered, &mut runner).await;
        }
        Demand::Session => extraction::session(occasion, &due, remembered, &mut runner).await,
        Demand::Arcs => extraction::arcs(occasion, &due, remembered, &mut runner).await,
        Demand::Ledger => extraction::ledger(occasion, &due, remembered, &mut runner).await,
    }
    runner.report
}

/// Runs the passes of an extraction. How far it read counts only if all of them did.
async fn extracted(
    occasion: Occasion<'_>,
    due: &schedule::Extraction,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let failed = runner.report.failed.len();
    extraction::together(occasion, due, remembered, runner).await;
    if runner.report.failed.len() > failed {
        return;
    }
    extraction::session(occasion, due, remembered, runner).await;
    extraction::longterm(occasion, due, None, remembered, runner).await;
    extraction::arcs(occasion, due, remembered, runner).await;
    extraction::ledger(occasion, due, remembered, runner).await;
    if runner.report.failed.len() == failed {
        remembered.chat.last_extract_cutoff = Some(due.cutoff);
        remembered.chat.extract_receipt = occasion.last_of(due.cutoff);
    }
}

/// Does all that is due after a reply. `progress` keeps the answers: handed in again with
/// the same `remembered`, it spares every question that was answered before.
///
/// If stages failed, the caller either throws the changes away and runs again later with
/// the same progress, or commits what was done: the messages are then read again by the
/// next extraction.
pub async fn after_reply(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    telling::compact(occasion, remembered, &mut runner).await;
    telling::scene(occasion, remembered, &mut runner).await;
    let last = remembered.chat.last_extract_cutoff;
    if let Some(due) = schedule::extraction(occasion.path, last, occasion.config.settings) {
        extracted(occasion, &due, remembered, &mut runner).await;
        telling::profile(occasion, remembered, &mut runner).await;
    }
    // A note was for the reply that is now there.
    remembered.chat.pending_repair = None;
    telling::continuity(occasion, remembered, &mut runner).await;
    remembered.chat.last_active = Some(occasion.now);
    runner.report
}
