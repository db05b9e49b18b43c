//! What memory puts into the prompt of a turn, and why.

mod knowledge_filter;
mod passages;
mod usage;
mod withheld;

use std::{borrow::Cow, sync::Arc};

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, TenantId},
    place::Injection,
    tokens::TokenCounter,
    units::Tokens,
};
use loreloom_ports::{MemoryError, MemoryId, Policy};
use rustc_hash::FxHashSet;
use serde::Serialize;

pub use self::withheld::{Withheld, WithheldTier};
use self::{knowledge_filter::KnowledgeFilter, usage::TierDemand};
pub(super) use self::{passages::PassageIndexes, usage::TurnUsage};
use super::{
    MemoryView, ModelRoles, Options, PathViews, Who, text_vectors::TextVectors, views::ChatPath,
};
use crate::{
    inject::{MemorySlot, SlotText, SlotsInput, budget_of, slots},
    recall::{self, PassageHit, RecallQuery},
    record::{CharacterMemory, Entity, Memory},
    score::{TurnContext, TurnSources},
    settings::{Budgets, Settings},
    similarity::Vectors,
    tiers::arcs::merge_persistent,
    turn::classify,
};

/// A turn that is about to start.
#[derive(Clone, Copy)]
pub struct TurnRequest<'turn> {
    /// The tenant of the story.
    pub tenant: &'turn TenantId,
    /// The chat.
    pub chat: &'turn ChatId,
    /// The messages of the path, including those outside the prompt.
    pub path: &'turn [PathItem],
    /// The character that replies next.
    pub speaker: &'turn Who,
    /// The members of a group chat.
    pub group: &'turn [String],
    /// The first message of the path that is in the prompt. Those messages are never recalled.
    pub seen_from: usize,
    /// The most tokens that memory may use in total.
    pub cap: Option<Tokens>,
    /// Other settings than those of the start.
    pub settings: Option<&'turn Settings>,
    /// The model's tokenizer.
    pub counter: &'turn dyn TokenCounter,
}

/// A passage that was recalled, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecalledPassage {
    /// The message.
    pub message: MessageId,
    /// Its place on the path, from 0.
    pub at: usize,
    /// By how much it stands out.
    pub score: f64,
    /// The part of the score from its words.
    pub words: f64,
    /// The part from its vector.
    pub meaning: f64,
    /// The part from its neighbours.
    pub neighbours: f64,
    /// The part from its form.
    pub form: f64,
}

/// A slot that was filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotUse {
    /// The slot.
    pub slot: MemorySlot,
    /// The tokens it used.
    pub tokens: Tokens,
    /// The tokens it would use without a limit.
    pub wanted: Tokens,
}

/// What was considered and chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecallReport {
    /// Filled slots.
    pub slots: Vec<SlotUse>,
    /// Slots dropped because of the total limit.
    pub dropped: Vec<MemorySlot>,
    /// Long-term memories that are shown.
    pub memories: Vec<MemoryId>,
    /// Passages that are shown, oldest first.
    pub recalled: Vec<RecalledPassage>,
    /// How many memories are active on the path.
    pub known: usize,
    /// How many memories wait for a review.
    pub held: usize,
    /// How many passages were searched.
    pub searched: usize,
}

/// What memory has for a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnMemory {
    /// Injections for the prompt.
    pub injections: Vec<Injection>,
    /// The same as slots, for prompts that place each slot themselves.
    pub slots: Vec<SlotText>,
    /// What was considered and chosen.
    pub report: RecallReport,
}

impl<'turn> TurnRequest<'turn> {
    fn at(&self) -> ChatPath<'turn> {
        ChatPath { tenant: self.tenant, chat: self.chat, path: self.path }
    }

    /// How many messages of the path are outside the prompt.
    fn unseen(&self) -> usize {
        self.seen_from.min(self.path.len())
    }
}

/// Recalls memory for turns.
pub struct TurnRecall {
    pub(super) views: Arc<PathViews>,
    pub(super) models: Arc<ModelRoles>,
    pub(super) options: Arc<Options>,
    pub(super) passages: Arc<PassageIndexes>,
    pub(super) vectors: Arc<TextVectors>,
    pub(super) usage: Arc<TurnUsage>,
}

impl TurnRecall {
    /// What memory has for a turn. Asks no model and waits for no job.
    pub async fn for_turn(&self, turn: &TurnRequest<'_>) -> Result<TurnMemory, MemoryError> {
        let memory = self.preview(turn).await?;
        let demand = demand(&memory.slots);
        self.usage.record(turn.tenant, turn.chat, &memory.report.memories, &demand);
        Ok(memory)
    }

    /// The same for a preview: nothing is recorded.
    pub async fn preview(&self, turn: &TurnRequest<'_>) -> Result<TurnMemory, MemoryError> {
        let speaker = self.views.with_policy(turn.speaker.clone());
        if speaker.policy == Policy::Off {
            return Ok(TurnMemory::default());
        }
        let at = turn.at();
        let logs = self.views.logs_for(at, &speaker).await?;
        if logs.are_empty() && !self.may_recall(turn) {
            return Ok(TurnMemory::default());
        }
        let mut view = self.views.view_of(at, &speaker, logs).await?;
        let pinned = &view.character.persistent_arcs;
        view.chat.story_arcs = merge_persistent(&view.chat.story_arcs, pinned);
        let filter = self.filter(at, &speaker, &view).await?;
        Ok(self.fill(turn, &view, &filter))
    }

    /// Whether the answer for a turn is quick: all but a few messages are indexed.
    pub fn is_quick(&self, turn: &TurnRequest<'_>) -> bool {
        !self.may_recall(turn) || self.passages.is_near(turn.at())
    }

    /// Whether the path has messages outside the prompt that may be recalled.
    fn may_recall(&self, turn: &TurnRequest<'_>) -> bool {
        self.options.recall_most > 0 && turn.unseen() > 0
    }

    async fn filter(
        &self,
        at: ChatPath<'_>,
        who: &Who,
        view: &MemoryView,
    ) -> Result<KnowledgeFilter, MemoryError> {
        if self.options.rules.keeps_secrets {
            KnowledgeFilter::load(&self.views, at, who, view).await
        } else {
            Ok(KnowledgeFilter::open(view))
        }
    }

    /// Fills the slots from what is remembered.
    fn fill(
        &self,
        turn: &TurnRequest<'_>,
        view: &MemoryView,
        filter: &KnowledgeFilter,
    ) -> TurnMemory {
        let rules = &self.options.rules;
        let entities: Vec<Entity> =
            view.character.entities.iter().chain(&view.chat.session_entities).cloned().collect();
        let (hits, searched) = self.recall(turn, &entities, filter);
        let lines = recall::lines(&hits, turn.path);
        let all = with_world(view);
        let seen: FxHashSet<MessageId> =
            turn.path[turn.unseen()..].iter().map(|item| item.id).collect();
        let character = filter.character(&all, &seen, rules.keeps_secrets);
        let chat = filter.chat(&view.chat);
        let vectors = self.vectors(turn.path, &character.memories);
        let sources = TurnSources {
            path: turn.path,
            entities: &entities,
            arcs: &chat.story_arcs,
            memories: &character.memories,
            vectors: &vectors,
        };
        let context = TurnContext::of(sources, self.models.profile(), rules.text);
        let settings = self.settings(turn);
        let cap = turn.cap.into_iter().chain(settings.inject_cap).min();
        let input = SlotsInput {
            settings: &settings,
            rules,
            labels: &self.options.labels,
            counter: turn.counter,
            character: &character,
            chat: &chat,
            path: turn.path,
            owner: &turn.speaker.name,
            responding: &turn.speaker.name,
            group: turn.group,
            turn: Some(&context),
            recalled: &lines,
        };
        let filled = within(&input, cap);
        let is_shown = filled
            .texts
            .iter()
            .any(|text| matches!(text.slot, MemorySlot::Recall | MemorySlot::Unified));
        let shown = if is_shown { passages(&hits, turn.path) } else { Vec::new() };
        TurnMemory {
            injections: filled.texts.iter().map(SlotText::injection).collect(),
            report: RecallReport {
                slots: filled.texts.iter().map(used).collect(),
                dropped: filled.dropped,
                memories: filled.shown,
                recalled: shown,
                known: character.memories.iter().filter(|memory| memory.is_active()).count(),
                held: character.memories.iter().filter(|memory| memory.is_held()).count(),
                searched,
            },
            slots: filled.texts,
        }
    }

    /// The settings of a turn: with its changes, and with the budgets of its kind.
    fn settings(&self, turn: &TurnRequest<'_>) -> Settings {
        let mut settings = turn.settings.unwrap_or(&self.options.settings).clone();
        let newest = turn.path.last().map_or("", |item| item.message.text.as_str());
        settings.budgets = self.tuned(turn, &settings).for_turn(classify(newest));
        settings
    }

    /// The budgets of a chat, grown to what its tiers wanted if that is set.
    fn tuned(&self, turn: &TurnRequest<'_>, settings: &Settings) -> Budgets {
        let budgets = settings.tier_budgets();
        if !settings.auto_tune_budgets {
            return budgets;
        }
        budgets.tuned(self.usage.demand(turn.tenant, turn.chat), settings.settings_mode)
    }

    /// The passages that fit the turn, and how many were searched.
    fn recall(
        &self,
        turn: &TurnRequest<'_>,
        entities: &[Entity],
        filter: &KnowledgeFilter,
    ) -> (Vec<PassageHit>, usize) {
        if !self.may_recall(turn) {
            return (Vec::new(), 0);
        }
        let wanted = RecallQuery {
            path: turn.path,
            seen_from: turn.unseen(),
            entities,
            most: self.options.recall_most,
            least: self.options.recall_least,
            may_recall: &|at| filter.may_recall(turn.path, at),
        };
        self.passages.read(turn.at(), |index, embed| {
            (index.recall(wanted, &self.options.weights, embed), index.len())
        })
    }

    /// The vectors of the newest message and of active memories. The message is only compared
    /// with memories, so without any nothing is embedded.
    fn vectors(&self, path: &[PathItem], memories: &[Memory]) -> Vectors {
        let active = memories.iter().filter(|memory| memory.is_active());
        let mut active = active.map(|memory| memory.content.as_str()).peekable();
        let newest = path.last().filter(|_| active.peek().is_some());
        self.vectors.of(newest.map(|item| item.message.text.as_str()).into_iter().chain(active))
    }
}

/// What each tier wanted.
fn demand(texts: &[SlotText]) -> TierDemand {
    [
        MemorySlot::LongTerm,
        MemorySlot::Session,
        MemorySlot::Scenes,
        MemorySlot::Arcs,
        MemorySlot::Canon,
        MemorySlot::Profiles,
        MemorySlot::Relationships,
        MemorySlot::Epistemic,
        MemorySlot::Ledger,
    ]
    .map(|slot| texts.iter().find(|text| text.slot == slot).map(|text| text.wanted))
}

/// What the character remembers, with what everybody of its world knows.
fn with_world(view: &MemoryView) -> Cow<'_, CharacterMemory> {
    if view.world.memories.is_empty() {
        return Cow::Borrowed(&view.character);
    }
    let mut character = CharacterMemory::clone(&view.character);
    character.memories.extend(view.world.memories.iter().cloned());
    Cow::Owned(character)
}

fn used(text: &SlotText) -> SlotUse {
    SlotUse { slot: text.slot, tokens: text.tokens, wanted: text.wanted }
}

fn passages(hits: &[PassageHit], path: &[PathItem]) -> Vec<RecalledPassage> {
    let mut shown: Vec<RecalledPassage> = hits
        .iter()
        .filter_map(|hit| {
            Some(RecalledPassage {
                message: path.get(hit.at)?.id,
                at: hit.at,
                score: hit.score,
                words: hit.parts.words,
                meaning: hit.parts.meaning,
                neighbours: hit.parts.neighbours,
                form: hit.parts.form,
            })
        })
        .collect();
    shown.sort_by_key(|passage| passage.at);
    shown
}

/// Slots that fit the total limit.
struct Filled {
    texts: Vec<SlotText>,
    shown: Vec<MemoryId>,
    dropped: Vec<MemorySlot>,
}

/// Fills the slots. If they use more than `cap` together, the last slot in the unified order
/// shrinks, entry by entry, and is then dropped. A repair note goes last of all.
fn within(input: &SlotsInput<'_>, cap: Option<Tokens>) -> Filled {
    let mut settings: Settings = input.settings.clone();
    let mut dropped: Vec<MemorySlot> = Vec::new();
    loop {
        let mut filled = slots(&SlotsInput { settings: &settings, ..*input });
        filled.texts.retain(|text| !dropped.contains(&text.slot));
        let total: Tokens = filled.texts.iter().map(|text| text.tokens).sum();
        let over = cap.and_then(|cap| total.checked_sub(cap)).filter(|over| *over > Tokens::ZERO);
        let rank = |text: &&SlotText| (text.slot != MemorySlot::Repair, text.slot);
        let lowest = filled.texts.iter().max_by_key(rank);
        let (Some(over), Some(lowest)) = (over, lowest) else {
            return Filled { texts: filled.texts, shown: filled.shown, dropped };
        };
        let left = lowest.tokens.checked_sub(over).filter(|left| *left > Tokens::ZERO);
        match (left, budget_of(&mut settings.budgets, lowest.slot)) {
            // A slot's label is not part of its budget, so this may take a few rounds.
            (Some(left), Some(budget)) if left < *budget => *budget = left,
            _ => dropped.push(lowest.slot),
        }
    }
}
