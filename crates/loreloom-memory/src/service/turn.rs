//! What memory puts into the prompt of a turn, and why.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, TenantId},
    place::Injection,
    tokens::TokenCounter,
    units::Tokens,
};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::{MemoryService, Policy, View, Who, ears::Ears, recalled};
use crate::{
    hardware::Hardware,
    inject::{Input, Slot, SlotChanges, SlotText, budget_of, slots},
    recall::{self, Hit, Wanted},
    record::{CharacterMemory, Entity, Memory},
    score::TurnContext,
    settings::{Budgets, Settings},
    similarity::Vectors,
    tiers::arcs::merge_persistent,
    turn::classify,
};
use loreloom_ports::MemoryId;
use loreloom_ports::{MemoryError, Vector};

/// A turn that is about to be taken.
#[derive(Clone, Copy)]
pub struct TurnAsked<'turn> {
    /// Whose story it is.
    pub tenant: &'turn TenantId,
    /// The chat.
    pub chat: &'turn ChatId,
    /// The messages of the path, also those the model does not see.
    pub path: &'turn [PathItem],
    /// Who is about to speak.
    pub speaker: &'turn Who,
    /// The members of a group chat.
    pub group: &'turn [String],
    /// The first message of the path that the model sees anyway; what is seen is never
    /// recalled.
    pub seen_from: usize,
    /// The most tokens memory may take in all.
    pub cap: Option<Tokens>,
    /// Slots that stand elsewhere or take another budget than the settings say.
    pub changes: Option<&'turn SlotChanges>,
    /// The model's tokenizer.
    pub counter: &'turn dyn TokenCounter,
}

/// A passage that was recalled, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recalled {
    /// The message.
    pub message: MessageId,
    /// Its place on the path, from 0.
    pub at: usize,
    /// How far it stands out.
    pub score: f64,
    /// What its words gave.
    pub words: f64,
    /// What its meaning gave.
    pub meaning: f64,
    /// What stands next to it gave.
    pub neighbours: f64,
    /// What its form gave.
    pub form: f64,
}

/// A slot that was filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotUse {
    /// The slot.
    pub slot: Slot,
    /// What it took.
    pub tokens: Tokens,
    /// What it would have taken without a limit.
    pub wanted: Tokens,
}

/// What was considered and taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shown {
    /// Filled slots.
    pub slots: Vec<SlotUse>,
    /// Slots that gave way to the limit of all.
    pub dropped: Vec<Slot>,
    /// Long-term memories that are shown.
    pub memories: Vec<MemoryId>,
    /// Passages that are shown, oldest first.
    pub recalled: Vec<Recalled>,
    /// Memories that hold on the path.
    pub known: usize,
    /// Memories that wait for a person to look at them.
    pub held: usize,
    /// Passages that were searched.
    pub searched: usize,
}

/// What memory has for a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnMemory {
    /// Ready for the assembly of the prompt.
    pub injections: Vec<Injection>,
    /// The same as slots, for prompts that say where each goes.
    pub slots: Vec<SlotText>,
    /// What was considered and taken.
    pub report: Shown,
}

impl MemoryService {
    /// What memory has for a turn. Asks no model and waits for no job.
    pub async fn for_turn(&self, asked: &TurnAsked<'_>) -> Result<TurnMemory, MemoryError> {
        let woven = self.as_it_would_be(asked).await?;
        self.caches().note_demand(asked.tenant, asked.chat, &demand(&woven.slots));
        self.caches().note_shown(asked.tenant, asked.chat, &woven.report.memories);
        Ok(woven)
    }

    /// The same for a turn that is only looked at: nothing is learned from it.
    pub async fn as_it_would_be(&self, asked: &TurnAsked<'_>) -> Result<TurnMemory, MemoryError> {
        let speaker = self.known_as(asked.speaker.clone());
        if speaker.policy == Policy::Off {
            return Ok(TurnMemory::default());
        }
        let logs = self.logs_for(asked.tenant, asked.chat, &speaker).await?;
        if logs.are_empty() && !self.may_recall(asked) {
            return Ok(TurnMemory::default());
        }
        let mut view = self.view_of(asked.tenant, asked.chat, asked.path, &speaker, logs).await?;
        let pinned = &view.character.persistent_arcs;
        view.chat.story_arcs = merge_persistent(&view.chat.story_arcs, pinned);
        let ears = self.ears(asked.tenant, asked.chat, asked.path, &speaker, &view).await?;
        Ok(self.woven(asked, &view, &ears))
    }

    /// Whether what memory has for a turn is at hand: the story so far has been taken in, but
    /// for a few messages.
    pub fn is_at_hand(&self, asked: &TurnAsked<'_>) -> bool {
        if !self.may_recall(asked) {
            return true;
        }
        let most = self.options.passages_most;
        let story = self.indexes().of(asked.tenant, asked.chat, asked.path.len(), most);
        recalled::is_near(&story, asked.path)
    }

    /// Whether there is anything that the model does not see and may be reminded of.
    fn may_recall(&self, asked: &TurnAsked<'_>) -> bool {
        self.options.recall_most > 0 && asked.seen_from.min(asked.path.len()) > 0
    }

    /// The same from what is known already.
    fn woven(&self, asked: &TurnAsked<'_>, view: &View, ears: &Ears) -> TurnMemory {
        let entities: Vec<Entity> =
            view.character.entities.iter().chain(&view.chat.session_entities).cloned().collect();
        let (hits, searched) = self.recall(asked, &entities, ears);
        let lines = recall::lines(&hits, asked.path);
        let all = with_world(view);
        let seen = &asked.path[asked.seen_from.min(asked.path.len())..];
        let seen: FxHashSet<MessageId> = seen.iter().map(|item| item.id).collect();
        let character = ears.character(&all, &seen, self.options.rules.keeps_secrets);
        let chat = ears.chat(&view.chat);
        let vectors = self.vectors(asked.path, &character.memories);
        let hardware = self.used().map_or(Hardware::A, |model| model.hardware);
        let context = TurnContext::of(
            asked.path,
            &entities,
            &chat.story_arcs,
            hardware,
            &character.memories,
            &vectors,
            self.options.rules.words,
        );
        let own = &self.options.settings;
        let mut settings = asked.changes.map_or_else(|| own.clone(), |changes| changes.over(own));
        let newest = asked.path.last().map_or("", |item| item.message.text.as_str());
        settings.budgets = self.tuned(asked, &settings).for_turn(classify(newest));
        let cap = asked.cap.into_iter().chain(settings.inject_cap).min();
        let input = Input {
            settings: &settings,
            rules: &self.options.rules,
            labels: &self.options.labels,
            counter: asked.counter,
            character: &character,
            chat: &chat,
            path: asked.path,
            owner: &asked.speaker.name,
            responding: &asked.speaker.name,
            group: asked.group,
            turn: Some(&context),
            recalled: &lines,
        };
        let filled = within(&input, cap);
        let is_shown =
            filled.texts.iter().any(|text| matches!(text.slot, Slot::Recall | Slot::Unified));
        let shown = if is_shown { passages(&hits, asked.path) } else { Vec::new() };
        TurnMemory {
            injections: filled.texts.iter().map(SlotText::injection).collect(),
            report: Shown {
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

    /// The budgets of a chat, grown to what its tiers would have liked to say if that is set.
    fn tuned(&self, asked: &TurnAsked<'_>, settings: &Settings) -> Budgets {
        let budgets = settings.tier_budgets();
        if !settings.auto_tune_budgets {
            return budgets;
        }
        let demand = self.caches().demand(asked.tenant, asked.chat);
        budgets.tuned(demand, settings.settings_mode)
    }

    /// Passages of the story that the turn calls for.
    fn recall(&self, asked: &TurnAsked<'_>, entities: &[Entity], ears: &Ears) -> (Vec<Hit>, usize) {
        if !self.may_recall(asked) {
            return (Vec::new(), 0);
        }
        let seen_from = asked.seen_from.min(asked.path.len());
        let embed = self.ports.embed.as_deref();
        let embed: Option<&dyn Fn(&str) -> Vector> = match &embed {
            Some(embed) => Some(embed),
            None => None,
        };
        let most = self.options.passages_most;
        let story = self.indexes().of(asked.tenant, asked.chat, asked.path.len(), most);
        let wanted = Wanted {
            path: asked.path,
            seen_from,
            entities,
            most: self.options.recall_most,
            least: self.options.recall_least,
            may_recall: &|at| ears.may_recall(asked.path, at),
        };
        recalled::on(&story, asked.path, embed, |index| {
            (index.recall(wanted, &self.options.weights, embed), index.len())
        })
    }

    /// Vectors of the newest message and of memories.
    fn vectors(&self, path: &[PathItem], memories: &[Memory]) -> Vectors {
        let Some(embed) = self.ports.embed.as_deref() else { return Vectors::off() };
        let mut vectors = Vectors::on();
        let newest = path.last().map(|item| item.message.text.as_str());
        let active = memories.iter().filter(|memory| memory.is_active());
        let mut active = active.map(|memory| memory.content.as_str()).peekable();
        // The newest message's vector is only compared with theirs.
        if active.peek().is_none() {
            return vectors;
        }
        let texts: Vec<&str> = newest.into_iter().chain(active).collect();
        let known = self.caches().vectors(&texts);
        let mut new: Vec<(&str, Vector)> = Vec::new();
        for (text, known) in texts.into_iter().zip(known) {
            // Embedding takes a while: no other chat waits for it.
            let vector = known.unwrap_or_else(|| {
                let vector = embed(text);
                new.push((text, vector.clone()));
                vector
            });
            vectors.insert(text, Some(vector));
        }
        self.caches().keep_vectors(new);
        vectors
    }
}

/// What each tier would have liked to say, in the order of [`Budgets::tiers`].
fn demand(texts: &[SlotText]) -> [Option<Tokens>; 9] {
    [
        Slot::LongTerm,
        Slot::Session,
        Slot::Scenes,
        Slot::Arcs,
        Slot::Canon,
        Slot::Profiles,
        Slot::Relationships,
        Slot::Epistemic,
        Slot::Ledger,
    ]
    .map(|slot| texts.iter().find(|text| text.slot == slot).map(|text| text.wanted))
}

/// What the character remembers, with what everybody of its world knows.
pub(super) fn with_world(view: &View) -> std::borrow::Cow<'_, CharacterMemory> {
    if view.world.memories.is_empty() {
        return std::borrow::Cow::Borrowed(&view.character);
    }
    let mut character = CharacterMemory::clone(&view.character);
    character.memories.extend(view.world.memories.iter().cloned());
    std::borrow::Cow::Owned(character)
}

fn used(text: &SlotText) -> SlotUse {
    SlotUse { slot: text.slot, tokens: text.tokens, wanted: text.wanted }
}

fn passages(hits: &[Hit], path: &[PathItem]) -> Vec<Recalled> {
    let mut shown: Vec<Recalled> = hits
        .iter()
        .filter_map(|hit| {
            Some(Recalled {
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

/// Slots that fit the limit of all.
struct Filled {
    texts: Vec<SlotText>,
    shown: Vec<MemoryId>,
    dropped: Vec<Slot>,
}

/// Fills the slots. Where they take more than `cap` together, those that come last in the
/// unified order get less, entry by entry, and then nothing; a correction goes last of all.
fn within(input: &Input<'_>, cap: Option<Tokens>) -> Filled {
    let mut settings: Settings = input.settings.clone();
    let mut dropped: Vec<Slot> = Vec::new();
    loop {
        let mut filled = slots(&Input { settings: &settings, ..*input });
        filled.texts.retain(|text| !dropped.contains(&text.slot));
        let total: Tokens = filled.texts.iter().map(|text| text.tokens).sum();
        let over = cap.and_then(|cap| total.checked_sub(cap)).filter(|over| *over > Tokens::ZERO);
        let rank = |text: &&SlotText| (text.slot != Slot::Repair, text.slot);
        let lowest = filled.texts.iter().max_by_key(rank);
        let (Some(over), Some(lowest)) = (over, lowest) else {
            return Filled { texts: filled.texts, shown: filled.shown, dropped };
        };
        let left = lowest.tokens.checked_sub(over).filter(|left| *left > Tokens::ZERO);
        match (left, budget_of(&mut settings.budgets, lowest.slot)) {
            // What a slot's label takes is not part of its budget, so it may take a few turns.
            (Some(left), Some(budget)) if left < *budget => *budget = left,
            _ => dropped.push(lowest.slot),
        }
    }
}
