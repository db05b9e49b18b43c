//! Everything memory does after a reply, in order.
//!
//! Stages run one after the other, because a later stage reads what an earlier one stored, and
//! because local models serve one caller at a time. A stage whose model fails changes nothing,
//! and the others still run. All changes are made to the value of the caller, who stores them in
//! one write.

mod extraction;
mod round;
mod stage;
mod story_stages;

use loreloom_core::{chat::PathItem, ids::MessageId, tokens::TokenCounter, units::Tokens};

use serde::{Deserialize, Serialize};

use self::stage::Runner;
pub use self::{
    round::{ChatPiece, Member, Round, after_round, catch_up, extract_round},
    stage::{CycleReport, CycleStage, Progress},
};
use crate::{
    record::{CharacterMemory, ChatMemory, Entity, Memory},
    schedule,
    tiers::{Config, PassSource},
};
use loreloom_ports::{ChatModel, Embedder};

/// What a character and a chat remember.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkingMemory {
    /// What the character remembers in every chat.
    pub character: CharacterMemory,
    /// What the chat remembers.
    pub chat: ChatMemory,
}

impl WorkingMemory {
    fn longterm(&self) -> Vec<&Memory> {
        self.character.memories.iter().filter(|memory| memory.is_active()).collect()
    }

    fn session(&self) -> Vec<&Memory> {
        self.chat.session_memories.iter().filter(|memory| memory.is_active()).collect()
    }

    fn entities(&self) -> Vec<&Entity> {
        self.character.entities.iter().chain(&self.chat.session_entities).collect()
    }
}

/// The moment after a reply.
#[derive(Clone, Copy)]
pub struct Occasion<'turn> {
    /// Settings, rules and model.
    pub config: Config<'turn>,
    /// The path, with the reply.
    pub path: &'turn [PathItem],
    /// The chat's id.
    pub chat_id: &'turn str,
    /// The character that replied.
    pub character: &'turn str,
    /// That character's card as text.
    pub card: &'turn str,
    /// The model's context, without its reply.
    pub context: Tokens,
    /// The model's tokenizer.
    pub counter: &'turn dyn TokenCounter,
    /// The time.
    pub now: i64,
    /// A unique name of this run. The ids of new memories start with it.
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

/// The models that answer.
#[derive(Clone, Copy)]
pub struct Backend<'turn> {
    /// The model.
    pub model: &'turn dyn ChatModel,
    /// The embedder. Without one, texts are compared by their words.
    pub embedder: Option<&'turn dyn Embedder>,
}

/// Checks a reply: does it start another scene, and does it contradict what is known?
pub async fn check_reply(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    story_stages::scene(occasion, remembered, &mut runner).await;
    // The note was for the reply that is now there.
    remembered.chat.pending_repair = None;
    story_stages::continuity(occasion, remembered, &mut runner).await;
    runner.report
}

/// A pass that a person asks for, whether it is due or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// The story so far.
    Summary,
    /// A character's history.
    Canon,
    /// A character's profile.
    Profile,
    /// What the newest reply contradicts.
    Check,
    /// The same, with a note for the next reply that corrects it.
    Repair,
    /// A whole extraction from the newest messages.
    Extract,
    /// Long-term memories alone.
    LongTerm,
    /// Session memories alone.
    Session,
    /// Arcs alone.
    Arcs,
    /// State cards alone.
    Ledger,
}

/// Runs what a person asks for.
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
        Demand::Summary => story_stages::summarise(occasion, remembered, &mut runner).await,
        Demand::Canon => extraction::write_canon(occasion, remembered, &mut runner).await,
        Demand::Profile => story_stages::write_profile(occasion, remembered, &mut runner).await,
        Demand::Check => story_stages::check(occasion, remembered, &mut runner, false).await,
        Demand::Repair => story_stages::check(occasion, remembered, &mut runner, true).await,
        Demand::Extract => extract_all(occasion, &due, remembered, &mut runner).await,
        Demand::LongTerm => {
            extraction::longterm(occasion, &due, None, remembered, &mut runner).await;
        }
        Demand::Session => extraction::session(occasion, &due, remembered, &mut runner).await,
        Demand::Arcs => extraction::arcs(occasion, &due, remembered, &mut runner).await,
        Demand::Ledger => extraction::ledger(occasion, &due, remembered, &mut runner).await,
    }
    runner.report
}

/// Runs the passes of an extraction. Its end is stored only if no pass failed.
async fn extract_all(
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
