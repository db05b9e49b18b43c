//! What memory puts into the prompt of a turn, and why.

mod embedding_server;
mod knowledge_filter;
mod left_out;
mod passages;
mod usage;
mod withheld;

use std::{borrow::Cow, sync::Arc, time::Duration};

use loreloom_core::{
    chat::PathItem,
    digest::Hasher,
    ids::{ChatId, MessageId, TenantId},
    place::Injection,
    report::RecalledMessage,
    tokens::TokenCounter,
    units::{MessageCount, Tokens},
};
use loreloom_ports::{MemoryError, MemoryId, Policy};
use rustc_hash::FxHashSet;
use serde::Serialize;

pub use self::withheld::{Withheld, WithheldTier};
use self::{
    knowledge_filter::{KnowledgeFilter, Reader},
    left_out::{leave_out_past_scenes, leave_out_window},
    usage::TierDemand,
};
pub(super) use self::{
    passages::{AskedVector, PassageIndexes},
    usage::TurnUsage,
};
use super::{
    MemoryView, ModelRoles, Options, PathViews, Who, text_vectors::TextVectors, views::ChatPath,
};
use crate::{
    inject::{MemorySlot, ShownSentences, SlotText, SlotsInput, budget_of, slots, without_repeats},
    number::clamp_u32,
    recall::{self, PassageHit, RecallQuery},
    record::{CharacterMemory, Entity, Memory},
    score::{TurnContext, TurnSources},
    settings::{Budgets, Settings},
    similarity::Vectors,
    story_clock::StoryClock,
    text::head,
    tiers::arcs::merge_persistent,
    turn::classify,
    window::history_boundary,
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
    /// How long to wait for an embedder that is asked over the network.
    pub embed_within: Duration,
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
    pub recalled: Vec<RecalledMessage>,
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
    /// The first message of the path that must still be sent, if history is shrunk.
    pub sent_from: Option<usize>,
    /// Why the configured embedder was of no use.
    pub embedder_problem: Option<String>,
    /// Memories that are left out because the messages in the prompt say the same.
    in_window: Vec<MemoryId>,
}

impl TurnMemory {
    /// Leaves out what these texts of lore say.
    pub fn without_lore<'lore>(
        &mut self,
        lore: impl IntoIterator<Item = &'lore str>,
        counter: &dyn TokenCounter,
    ) {
        let shown = ShownSentences::of(lore.into_iter().map(|text| (None, text)));
        without_repeats(&mut self.slots, shown, counter);
        self.injections = self.slots.iter().map(SlotText::injection).collect();
        self.report.slots = self.slots.iter().map(used).collect();
        retain_shown(&mut self.report.recalled, &self.slots);
    }
}

/// Keeps the recalled messages that the slots show: a budget may have cut others.
fn retain_shown(recalled: &mut Vec<RecalledMessage>, slots: &[SlotText]) {
    let is_recall =
        |text: &&SlotText| matches!(text.slot, MemorySlot::Recall | MemorySlot::Unified);
    recalled.retain(|one| {
        let begins = head(&one.text, BEGINNING);
        slots.iter().filter(is_recall).any(|slot| slot.text.contains(begins))
    });
}

/// So many characters of a passage show that it is there.
const BEGINNING: usize = 24;

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
    /// What memory has for a turn. Asks no language model and waits for no job.
    pub async fn for_turn(&self, turn: &TurnRequest<'_>) -> Result<TurnMemory, MemoryError> {
        let memory = self.preview(turn).await?;
        let demand = demand(&memory.slots);
        let mut shown = memory.report.memories.clone();
        shown.extend(memory.in_window.iter().cloned());
        self.usage.record(turn.tenant, turn.chat, &shown, &demand);
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
        let reader = Reader { who: &speaker, group: turn.group };
        let filter = self.filter(at, reader, &view).await?;
        let asked = self.ask_embedder(turn).await;
        let filter = (&filter, &asked);
        let boundary = self.boundary(turn, &view);
        let shrunk = TurnRequest { seen_from: turn.seen_from.max(boundary), ..*turn };
        let mut memory = self.fill(&shrunk, &view, filter);
        // Nothing is left out of the prompt without the text that covers it.
        let covers = |text: &SlotText| {
            matches!(text.slot, MemorySlot::Summary | MemorySlot::Unified) && !text.only_macro
        };
        if boundary > turn.seen_from && memory.slots.iter().any(covers) {
            memory.sent_from = Some(boundary);
        } else if boundary > turn.seen_from {
            memory = self.fill(turn, &view, filter);
        }
        memory.embedder_problem = asked.problem;
        Ok(memory)
    }

    /// The first message that must still be sent if history is shrunk.
    fn boundary(&self, turn: &TurnRequest<'_>, view: &MemoryView) -> usize {
        let settings = turn.settings.unwrap_or(&self.options.settings);
        if !settings.shrink_history || view.chat.summary.is_none() {
            return 0;
        }
        let keep = settings.shrink_history_keep;
        history_boundary(turn.path.len(), view.chat.summary_end, keep)
    }

    /// Whether the answer for a turn is quick: all but a few messages are indexed.
    pub fn is_quick(&self, turn: &TurnRequest<'_>) -> bool {
        !self.may_recall(turn) || self.passages.is_near(turn.at())
    }

    /// Asks the configured embedder for what the search needs.
    async fn ask_embedder(&self, turn: &TurnRequest<'_>) -> AskedVector {
        let question = recall::question(turn.path);
        let Some(question) = question.filter(|_| self.may_recall(turn)) else {
            return AskedVector::default();
        };
        self.passages.ask(turn.at(), &question, turn.embed_within).await
    }

    /// Whether the path has messages outside the prompt that may be recalled.
    fn may_recall(&self, turn: &TurnRequest<'_>) -> bool {
        self.options.recall_most > 0 && turn.unseen() > 0
    }

    async fn filter(
        &self,
        at: ChatPath<'_>,
        reader: Reader<'_>,
        view: &MemoryView,
    ) -> Result<KnowledgeFilter, MemoryError> {
        if self.options.rules.keeps_secrets {
            let embed = self.vectors.embedder();
            KnowledgeFilter::load(&self.views, at, reader, view, embed.as_ref()).await
        } else {
            Ok(KnowledgeFilter::open(view))
        }
    }

    /// Fills the slots from what is remembered.
    fn fill(
        &self,
        turn: &TurnRequest<'_>,
        view: &MemoryView,
        (filter, asked): (&KnowledgeFilter, &AskedVector),
    ) -> TurnMemory {
        let rules = &self.options.rules;
        let all = with_world(view);
        let seen: FxHashSet<MessageId> =
            turn.path[turn.unseen()..].iter().map(|item| item.id).collect();
        let mut character = filter.character(&all, &seen, rules.keeps_secrets);
        let mut chat = filter.chat(&view.chat, turn.path);
        let entities: Vec<Entity> =
            character.entities.iter().chain(&chat.session_entities).cloned().collect();
        let (hits, searched) = self.recall(turn, &entities, (filter, asked));
        let in_window = if rules.text.is_tolerant() {
            leave_out_past_scenes(&mut chat);
            leave_out_window(turn, &mut character, &mut chat)
        } else {
            Vec::new()
        };
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
        let clock = settings.story_clock.then(|| StoryClock::of(turn.path, &settings.calendar));
        let lines = dated_lines(&hits, turn.path, clock.as_ref());
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
            clock: clock.as_ref(),
        };
        let mut filled = within(&input, cap);
        if rules.text.is_tolerant() {
            without_repeats(&mut filled.texts, ShownSentences::default(), turn.counter);
        }
        TurnMemory {
            injections: filled.texts.iter().map(SlotText::injection).collect(),
            report: RecallReport { searched, ..filled.report(&hits, turn.path, &character) },
            slots: filled.texts,
            in_window,
            sent_from: None,
            embedder_problem: None,
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
        (filter, asked): (&KnowledgeFilter, &AskedVector),
    ) -> (Vec<PassageHit>, usize) {
        if !self.may_recall(turn) {
            return (Vec::new(), 0);
        }
        let (most, least) = (self.options.recall_most, self.options.recall_least);
        let search = |at: ChatPath<'_>, seen_from: usize, may_recall: &dyn Fn(usize) -> bool| {
            let path = at.path;
            let wanted = RecallQuery { path, seen_from, entities, most, least, may_recall };
            self.passages.read(at, asked, |index, embed| {
                (index.recall(wanted, &self.options.weights, embed), index.len())
            })
        };
        let hears = |at: usize| filter.may_hear(turn.path, at);
        let unseen = turn.unseen();
        if filter.is_open() || unseen > Self::FILTERED {
            let may_recall = |at| hears(at) && filter.is_current(&turn.path[at]);
            return search(turn.at(), unseen, &may_recall);
        }
        // What a character must not know must not change what it recalls either, so it has an
        // index of its own.
        let (hidden, places): (Vec<usize>, Vec<usize>) =
            (0..turn.path.len()).partition(|at| *at < unseen && !hears(*at));
        let heard: Vec<PathItem> = places.iter().map(|at| turn.path[*at].clone()).collect();
        let hidden = hidden
            .iter()
            .fold(Hasher::new("hidden"), |hasher, at| hasher.field(&turn.path[*at].id.0.0));
        let chat = ChatId(format!("{}\u{1f}{}", turn.chat, hidden.finish()));
        let seen_from = places.iter().filter(|at| **at < unseen).count();
        let at = ChatPath { chat: &chat, path: &heard, ..turn.at() };
        let may_recall = |at: usize| filter.is_current(&heard[at]);
        let (mut hits, searched) = search(at, seen_from, &may_recall);
        for hit in &mut hits {
            hit.at = places[hit.at];
        }
        (hits, searched)
    }

    /// A longer story has one index for all characters: to copy it takes too long for a turn.
    const FILTERED: usize = 5000;

    /// The vectors of the newest message and of active memories. The message is only compared
    /// with memories, so without any nothing is embedded.
    fn vectors(&self, path: &[PathItem], memories: &[Memory]) -> Vectors {
        let active = memories.iter().filter(|memory| memory.is_active());
        let mut active = active.map(|memory| memory.content.as_str()).peekable();
        let newest = path.last().filter(|_| active.peek().is_some());
        self.vectors.of(newest.map(|item| item.message.text.as_str()).into_iter().chain(active))
    }
}

/// Recalled passages in the order of the story, each with how long ago it was.
fn dated_lines(hits: &[PassageHit], path: &[PathItem], clock: Option<&StoryClock>) -> Vec<String> {
    let lines = recall::lines(hits, path);
    let Some(clock) = clock else { return lines };
    let mut places: Vec<usize> = hits.iter().map(|hit| hit.at).collect();
    places.sort_unstable();
    let ago = |at: usize| path.get(at).and_then(|item| clock.ago(&[item.id]));
    let dated = lines.into_iter().zip(places).map(|(line, at)| match ago(at) {
        Some(ago) => format!("{line} ({ago})"),
        None => line,
    });
    dated.collect()
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

/// Recalled messages in the order of the story, and what found each.
fn passages(hits: &[PassageHit], path: &[PathItem]) -> Vec<RecalledMessage> {
    let mut shown: Vec<RecalledMessage> = hits
        .iter()
        .filter_map(|hit| {
            let item = path.get(hit.at)?;
            Some(RecalledMessage {
                message: item.id,
                number: MessageCount(clamp_u32(hit.at + 1)),
                speaker: item.message.name.clone(),
                text: recall::excerpt(hit, &item.message.text)?,
                channels: hit.parts.channels(),
                shared: hit.shared.clone(),
            })
        })
        .collect();
    shown.sort_by_key(|recalled| recalled.number);
    shown
}

/// Slots that fit the total limit.
struct Filled {
    texts: Vec<SlotText>,
    shown: Vec<MemoryId>,
    dropped: Vec<MemorySlot>,
}

impl Filled {
    /// What was chosen.
    fn report(
        &self,
        hits: &[PassageHit],
        path: &[PathItem],
        character: &CharacterMemory,
    ) -> RecallReport {
        let mut recalled = passages(hits, path);
        retain_shown(&mut recalled, &self.texts);
        RecallReport {
            slots: self.texts.iter().map(used).collect(),
            dropped: self.dropped.clone(),
            memories: self.shown.clone(),
            recalled,
            known: character.memories.iter().filter(|memory| memory.is_active()).count(),
            held: character.memories.iter().filter(|memory| memory.is_held()).count(),
            searched: 0,
        }
    }
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
