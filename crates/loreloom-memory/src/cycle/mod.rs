//! Everything memory does after a reply, in order.
//!
//! Stages run one after the other, because a later stage reads what an earlier one stored, and
//! because local models serve one caller at a time. A stage whose model fails changes nothing,
//! and the others still run. All changes are made to the value of the caller, who stores them in
//! one write.

mod extraction;
mod round;
mod shared_story;
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
    people::People,
    presence::Presence,
    record::{CharacterMemory, ChatMemory, Entity, Memory},
    schedule,
    secrets::{SecretSources, Secrets},
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
    /// The lore of the newest turns.
    pub lore: &'turn [String],
}

impl Occasion<'_> {
    /// The last of the first `count` messages.
    fn last_of(&self, count: usize) -> Option<MessageId> {
        self.path.get(count.checked_sub(1)?).map(|item| item.id)
    }

    /// What the character of this occasion must not know.
    fn secrets(&self, remembered: &WorkingMemory) -> Secrets {
        self.secrets_of(remembered, self.character)
    }

    /// What one of the characters must not know.
    fn secrets_of(&self, remembered: &WorkingMemory, character: &str) -> Secrets {
        if !self.config.rules.keeps_secrets {
            return Secrets::default();
        }
        let people = People::of(self.path);
        let sources = SecretSources {
            insights: remembered.character.epistemic_knowledge.iter().collect(),
            private: Vec::new(),
            path: self.path,
            people: &people,
            presence: &Presence::among(&people, self.path, character).in_scenes(
                self.path,
                character,
                remembered.chat.scenes(),
            ),
            embed: None,
        };
        Secrets::of(&sources, character)
    }

    fn source(&self, window: std::ops::Range<usize>) -> PassSource<'_> {
        PassSource {
            chat: self.path,
            window,
            heard: None,
            chat_id: self.chat_id,
            character: self.character,
            lore: self.lore,
            now: self.now,
        }
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
    let mut runner = Runner::new(occasion, backend, progress);
    story_stages::scene(occasion, remembered, &mut runner).await;
    // The note was for the reply that is now there.
    remembered.chat.pending_repair = None;
    story_stages::continuity(occasion, remembered, &mut runner).await;
    runner.report
}

/// What can be asked for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Wanted))]
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
    /// A whole extraction from the newest messages, read before or not.
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
    let mut runner = Runner::new(occasion, backend, progress);
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
        Demand::Arcs => {
            if extraction::arcs(occasion, &due, remembered, &mut runner).await {
                extraction::write_canon(occasion, remembered, &mut runner).await;
            }
        }
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
    let asked = extraction::TogetherQuestion {
        chat: &remembered.chat,
        members: vec![(occasion.character, occasion.card, &remembered.character)],
    };
    let contradictions = extraction::together(occasion, due, asked, runner).await;
    if runner.report.failed.len() > failed {
        return;
    }
    extraction::session(occasion, due, remembered, runner).await;
    story_stages::knowledge(occasion, due, remembered, runner).await;
    extraction::longterm(occasion, due, None, remembered, runner).await;
    if extraction::arcs(occasion, due, remembered, runner).await {
        extraction::write_canon(occasion, remembered, runner).await;
    }
    extraction::ledger(occasion, due, remembered, runner).await;
    story_stages::keep_contradictions(occasion, due, remembered, contradictions, runner);
    if runner.report.failed.len() == failed {
        remembered.chat.last_extract_cutoff = Some(due.cutoff);
        remembered.chat.extract_receipt = occasion.last_of(due.cutoff);
    }
}
