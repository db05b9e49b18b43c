//! What memory puts into the prompt: fourteen slots, their budgets and places.
//!
//! Whole entries are dropped before any text is cut. Every slot reports the tokens it wanted, so
//! that budgets can be tuned.

mod changes;
mod fit;
mod labels;
mod macros;
mod memories;
mod people;
mod repeats;
mod slot;
mod story;

pub(crate) use self::{changes::budget_of, repeats::without_repeats};
pub use self::{
    changes::{SlotChanges, SlotState},
    labels::Labels,
    macros::{CardTexts, is_active as macro_is_active, slot_of},
    memories::scene_state,
    people::Knowledge,
    repeats::ShownSentences,
    slot::{MemorySlot, SlotPlacement, SlotPosition, SlotText},
};
use self::{fit::SlotBlock, memories::SlotContext};
use crate::{
    record::{CharacterMemory, ChatMemory, Memory},
    rules::{Rules, UnifiedScope},
    score::TurnContext,
    settings::Settings,
    story_clock::StoryClock,
    text::long_words,
};
use loreloom_core::{
    chat::{PathItem, Role},
    tokens::TokenCounter,
    units::{Depth, Tokens},
};
use loreloom_ports::MemoryId;

/// What the slots are filled from.
#[derive(Clone, Copy)]
pub struct SlotsInput<'slots> {
    /// The settings.
    pub settings: &'slots Settings,
    /// The rules.
    pub rules: &'slots Rules,
    /// The labels.
    pub labels: &'slots Labels,
    /// The model's tokenizer.
    pub counter: &'slots dyn TokenCounter,
    /// What the character remembers.
    pub character: &'slots CharacterMemory,
    /// What the chat remembers.
    pub chat: &'slots ChatMemory,
    /// The path.
    pub path: &'slots [PathItem],
    /// Whose memory it is.
    pub owner: &'slots str,
    /// The character that replies next.
    pub responding: &'slots str,
    /// The members of a group chat.
    pub group: &'slots [String],
    /// Set if memories are ordered by the current turn.
    pub turn: Option<&'slots TurnContext<'slots>>,
    /// Passages recalled for this turn, best first.
    pub recalled: &'slots [String],
    /// The story's own time, if it is shown.
    pub clock: Option<&'slots StoryClock>,
}

/// The filled slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Slots with their texts; empty ones are left out.
    pub texts: Vec<SlotText>,
    /// Long-term memories that are shown.
    pub shown: Vec<MemoryId>,
}

impl Slots {
    /// The text of one slot.
    pub fn get(&self, slot: MemorySlot) -> Option<&SlotText> {
        self.texts.iter().find(|text| text.slot == slot)
    }
}

/// Fills the slots.
pub fn slots(input: &SlotsInput<'_>) -> Slots {
    const TRIGGERING: usize = 4;
    let view = SlotContext {
        settings: input.settings,
        labels: input.labels,
        counter: input.counter,
        responding: input.responding,
        rules: input.rules.text,
        turn: input.turn,
        clock: input.clock,
    };
    let recent = recent_texts(input.path, TRIGGERING).join("\n").to_lowercase();
    let recent = long_words(&recent, input.rules.text);
    let longterm = if is_on(MemorySlot::LongTerm, input.settings) {
        memories::longterm(&input.character.memories, &recent, view)
    } else {
        memories::LongTerm::default()
    };
    let texts = MemorySlot::SINGLE
        .into_iter()
        .filter(|slot| is_on(*slot, input.settings))
        .filter_map(|slot| Some(placed(slot, block(slot, input, &longterm, view)?, input)))
        .collect();
    let slots = Slots { texts, shown: longterm.shown };
    if input.settings.unified_injection { unified(slots, input) } else { slots }
}

/// Whether a slot's tier is on. A tier that is off shows nothing, even if it has records.
fn is_on(slot: MemorySlot, settings: &Settings) -> bool {
    match slot {
        MemorySlot::Canon => settings.canon_enabled,
        MemorySlot::Profiles => settings.profiles_enabled,
        MemorySlot::LongTerm | MemorySlot::Triggered => settings.longterm_enabled,
        MemorySlot::Summary => settings.compaction_enabled,
        MemorySlot::Scenes => settings.scene_enabled,
        MemorySlot::Session => settings.session_enabled,
        MemorySlot::Arcs => settings.arcs_enabled,
        MemorySlot::Relationships => settings.relationships_enabled,
        MemorySlot::Epistemic => settings.epistemic_enabled,
        MemorySlot::Ledger => settings.state_ledger_enabled,
        MemorySlot::Recall | MemorySlot::Repair | MemorySlot::Unified => true,
    }
}

/// The newest messages of the story, oldest first.
fn recent_texts(path: &[PathItem], count: usize) -> Vec<&str> {
    let visible = path.iter().rev().filter(|item| item.message.role != Role::System);
    let mut texts: Vec<&str> = visible.map(|item| item.message.text.as_str()).take(count).collect();
    texts.reverse();
    texts
}

/// The text of one slot.
fn block(
    slot: MemorySlot,
    input: &SlotsInput<'_>,
    longterm: &memories::LongTerm,
    view: SlotContext<'_>,
) -> Option<SlotBlock> {
    const RELATED: usize = 10;
    let (labels, counter) = (input.labels, input.counter);
    let (chat, budgets) = (input.chat, &input.settings.budgets);
    match slot {
        MemorySlot::LongTerm => longterm.long.clone(),
        MemorySlot::Triggered => longterm.triggered.clone(),
        MemorySlot::Session => memories::session(&chat.session_memories, view),
        MemorySlot::Relationships => people::relationships(
            &input.character.relationship_history,
            &recent_texts(input.path, RELATED),
            input,
        ),
        MemorySlot::Canon => {
            story::canon(&input.character.canon.as_ref()?.text, budgets.canon, view)
        }
        MemorySlot::Profiles => {
            story::profile(chat.profiles.get(input.owner)?, budgets.profiles, view)
        }
        MemorySlot::Summary => summary(input),
        MemorySlot::Scenes => story::scenes(&chat.scene_history, budgets.scenes, view),
        MemorySlot::Arcs => story::arcs(&chat.story_arcs, budgets.arcs, view),
        MemorySlot::Epistemic => {
            let budget = chat.epistemic_budget_override.map_or(budgets.epistemic, Tokens);
            people::knowledge(input, budget)
        }
        MemorySlot::Ledger => people::ledger(&chat.ledger, input, budgets.ledger, counter),
        MemorySlot::Recall => recalled(input),
        MemorySlot::Repair => {
            let note = chat.pending_repair.as_deref()?.trim();
            let note = format!("[{} {note}]", labels.repair);
            SlotBlock::plain(&note, &note, counter)
        }
        MemorySlot::Unified => None,
    }
}

fn summary(input: &SlotsInput<'_>) -> Option<SlotBlock> {
    story::summary(
        input.chat.summary.as_deref()?,
        input.settings.compaction_response_length,
        input.rules.cut_summary_at_sentence,
        input.labels,
        input.counter,
    )
}

fn recalled(input: &SlotsInput<'_>) -> Option<SlotBlock> {
    let (label, last) = (&input.labels.recall, fit::GivesWay::Last);
    let budget = input.settings.budgets.recall;
    let budget = fit::below(label, budget, input.rules.text, input.counter);
    let body = fit::fit_lines(input.recalled, budget, last, input.counter, fit::dashes);
    let full = fit::dashes(input.recalled);
    SlotBlock::labelled(&input.labels.recall, &body, &full, input.counter)
}

fn placed(slot: MemorySlot, block: SlotBlock, input: &SlotsInput<'_>) -> SlotText {
    let SlotPlacement { position, depth, role } = place_of(slot, input);
    SlotText {
        slot,
        text: block.text,
        position,
        depth,
        role,
        only_macro: only_macro(slot, input.settings),
        tokens: block.tokens,
        wanted: block.wanted,
    }
}

/// The place of a slot: the one that is set, otherwise the default.
fn place_of(slot: MemorySlot, input: &SlotsInput<'_>) -> SlotPlacement {
    let (position, depth) = slot.usual_place();
    let usual = SlotPlacement { position, depth, role: Role::System };
    input.settings.places.get(&slot).copied().unwrap_or(usual)
}

/// Whether a slot's text goes only to its macro. A repair note has none.
fn only_macro(slot: MemorySlot, settings: &Settings) -> bool {
    settings.macros_enabled && slot.macro_name().is_some()
}

/// Records that memories were shown, so that they do not fade.
pub fn note_shown(memories: &mut [Memory], shown: &[MemoryId], now: i64) {
    for memory in memories.iter_mut().filter(|memory| shown.contains(&memory.id)) {
        memory.retrieval_count = memory.retrieval_count.saturating_add(1);
        memory.last_confirmed_ts = Some(now);
    }
}

/// Joins slots into one block, in order, with blank lines between.
fn unified(slots: Slots, input: &SlotsInput<'_>) -> Slots {
    let joins = |slot: MemorySlot| match input.rules.unified {
        UnifiedScope::All => true,
        UnifiedScope::Seven => slot <= MemorySlot::Arcs,
    };
    let (joined, mut texts): (Vec<SlotText>, Vec<SlotText>) =
        slots.texts.into_iter().partition(|text| joins(text.slot));
    if !joined.is_empty() {
        let parts: Vec<&str> = joined.iter().map(|text| text.text.as_str()).collect();
        let text = parts.join("\n\n");
        let mut place = place_of(MemorySlot::Unified, input);
        if input.rules.unified_before_main {
            place = SlotPlacement { position: SlotPosition::Before, depth: Depth(0), ..place };
        }
        texts.push(SlotText {
            slot: MemorySlot::Unified,
            tokens: input.counter.count(&text),
            wanted: joined.iter().map(|text| text.wanted).sum(),
            position: place.position,
            depth: place.depth,
            role: place.role,
            only_macro: only_macro(MemorySlot::Unified, input.settings),
            text,
        });
    }
    Slots { texts, shown: slots.shown }
}
