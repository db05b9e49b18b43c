//! What memory puts into the prompt: fourteen slots, their budgets and places.
//!
//! Whole entries give way before any text is cut, and every slot reports what it would
//! have liked to say, so that budgets can be tuned.

mod changes;
mod fit;
mod labels;
mod macros;
mod memories;
mod people;
mod slot;
mod story;

pub(crate) use self::changes::budget_of;
pub use self::{
    changes::{SlotChanges, Standing},
    labels::Labels,
    macros::{CardTexts, is_active as macro_is_active, slot_of},
    memories::scene_state,
    people::knowledge,
    slot::{Placement, Position, Slot, SlotText},
};
use self::{fit::Block, memories::View};
use crate::{
    record::{CharacterMemory, ChatMemory, Memory},
    rules::{Rules, UnifiedScope},
    score::TurnContext,
    settings::Settings,
    text::long_words,
};
use loreloom_core::{
    chat::{PathItem, Role},
    tokens::TokenCounter,
    units::{Depth, Tokens},
};
use loreloom_ports::MemoryId;

/// What the slots are made from.
#[derive(Clone, Copy)]
pub struct Input<'slots> {
    /// The settings.
    pub settings: &'slots Settings,
    /// The rules.
    pub rules: &'slots Rules,
    /// The words.
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
    /// Who is about to speak.
    pub responding: &'slots str,
    /// The members of a group chat.
    pub group: &'slots [String],
    /// Given on turns on which memories are ordered by what is going on.
    pub turn: Option<&'slots TurnContext<'slots>>,
    /// Passages recalled for this turn, best first.
    pub recalled: &'slots [String],
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
    pub fn get(&self, slot: Slot) -> Option<&SlotText> {
        self.texts.iter().find(|text| text.slot == slot)
    }
}

/// Fills the slots.
pub fn slots(input: &Input<'_>) -> Slots {
    const TRIGGERING: usize = 4;
    let view = View {
        settings: input.settings,
        labels: input.labels,
        counter: input.counter,
        responding: input.responding,
        words: input.rules.words,
        strict: input.rules.strict_budgets,
        turn: input.turn,
    };
    let recent = recent_texts(input.path, TRIGGERING).join("\n").to_lowercase();
    let recent = long_words(&recent, input.rules.words);
    let longterm = if is_on(Slot::LongTerm, input.settings) {
        memories::longterm(&input.character.memories, &recent, view)
    } else {
        memories::LongTerm::default()
    };
    let texts = Slot::SINGLE
        .into_iter()
        .filter(|slot| is_on(*slot, input.settings))
        .filter_map(|slot| Some(placed(slot, block(slot, input, &longterm, view)?, input)))
        .collect();
    let slots = Slots { texts, shown: longterm.shown };
    if input.settings.unified_injection { unified(slots, input) } else { slots }
}

/// Whether a slot's tier is on. What a tier that is off has kept is not told either.
fn is_on(slot: Slot, settings: &Settings) -> bool {
    match slot {
        Slot::Canon => settings.canon_enabled,
        Slot::Profiles => settings.profiles_enabled,
        Slot::LongTerm | Slot::Triggered => settings.longterm_enabled,
        Slot::Summary => settings.compaction_enabled,
        Slot::Scenes => settings.scene_enabled,
        Slot::Session => settings.session_enabled,
        Slot::Arcs => settings.arcs_enabled,
        Slot::Relationships => settings.relationships_enabled,
        Slot::Epistemic => settings.epistemic_enabled,
        Slot::Ledger => settings.state_ledger_enabled,
        Slot::Recall | Slot::Repair | Slot::Unified => true,
    }
}

/// The newest messages of the story, oldest first.
fn recent_texts(path: &[PathItem], count: usize) -> Vec<&str> {
    let told = path.iter().rev().filter(|item| item.message.role != Role::System);
    let mut texts: Vec<&str> = told.map(|item| item.message.text.as_str()).take(count).collect();
    texts.reverse();
    texts
}

/// The text of one slot.
fn block(
    slot: Slot,
    input: &Input<'_>,
    longterm: &memories::LongTerm,
    view: View<'_>,
) -> Option<Block> {
    const RELATED: usize = 10;
    let (labels, counter) = (input.labels, input.counter);
    let (chat, budgets) = (input.chat, &input.settings.budgets);
    match slot {
        Slot::LongTerm => longterm.long.clone(),
        Slot::Triggered => longterm.triggered.clone(),
        Slot::Session => memories::session(&chat.session_memories, view),
        Slot::Relationships => people::relationships(
            &input.character.relationship_history,
            &recent_texts(input.path, RELATED),
            input,
        ),
        Slot::Canon => {
            story::canon(&input.character.canon.as_ref()?.text, budgets.canon, labels, counter)
        }
        Slot::Profiles => story::profile(chat.profiles.get(input.owner)?, budgets.profiles, view),
        Slot::Summary => summary(input),
        Slot::Scenes => story::scenes(&chat.scene_history, budgets.scenes, labels, counter),
        Slot::Arcs => story::arcs(&chat.story_arcs, budgets.arcs, labels, counter),
        Slot::Epistemic => people::epistemic(
            &input.character.epistemic_knowledge,
            input.responding,
            input.settings.epistemic_inject_unaware,
            chat.epistemic_budget_override.map_or(budgets.epistemic, Tokens),
            labels,
            counter,
        ),
        Slot::Ledger => people::ledger(&chat.ledger, input, budgets.ledger, counter),
        Slot::Recall => recalled(input),
        Slot::Repair => {
            let note = chat.pending_repair.as_deref()?.trim();
            let note = format!("[{} {note}]", labels.repair);
            Block::plain(&note, &note, counter)
        }
        Slot::Unified => None,
    }
}

fn summary(input: &Input<'_>) -> Option<Block> {
    story::summary(
        input.chat.summary.as_deref()?,
        input.settings.compaction_response_length,
        input.rules.cut_summary_at_sentence,
        input.labels,
        input.counter,
    )
}

fn recalled(input: &Input<'_>) -> Option<Block> {
    let (budget, last) = (input.settings.budgets.recall, fit::GivesWay::Last);
    let body = fit::fit_lines(input.recalled, budget, last, input.counter, fit::dashes);
    let full = fit::dashes(input.recalled);
    Block::labelled(&input.labels.recall, &body, &full, input.counter)
}

fn placed(slot: Slot, block: Block, input: &Input<'_>) -> SlotText {
    let Placement { position, depth, role } = place_of(slot, input);
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

/// Where a slot stands: where somebody moved it, else where it usually does.
fn place_of(slot: Slot, input: &Input<'_>) -> Placement {
    let (position, depth) = slot.usual_place();
    let usual = Placement { position, depth, role: Role::System };
    input.settings.places.get(&slot).copied().unwrap_or(usual)
}

/// Whether a slot's text goes nowhere but to its macro. A correction has none.
fn only_macro(slot: Slot, settings: &Settings) -> bool {
    settings.macros_enabled && slot.macro_name().is_some()
}

/// Notes that memories were shown, on turns on which a pass runs: what is used stays.
pub fn note_shown(memories: &mut [Memory], shown: &[MemoryId], now: i64) {
    for memory in memories.iter_mut().filter(|memory| shown.contains(&memory.id)) {
        memory.retrieval_count = memory.retrieval_count.saturating_add(1);
        memory.last_confirmed_ts = Some(now);
    }
}

/// Joins slots into one block, in their order, with blank lines between.
fn unified(slots: Slots, input: &Input<'_>) -> Slots {
    let joins = |slot: Slot| match input.rules.unified {
        UnifiedScope::All => true,
        UnifiedScope::Seven => slot <= Slot::Arcs,
    };
    let (joined, mut texts): (Vec<SlotText>, Vec<SlotText>) =
        slots.texts.into_iter().partition(|text| joins(text.slot));
    if !joined.is_empty() {
        let parts: Vec<&str> = joined.iter().map(|text| text.text.as_str()).collect();
        let text = parts.join("\n\n");
        let mut place = place_of(Slot::Unified, input);
        if input.rules.unified_before_main {
            place = Placement { position: Position::Before, depth: Depth(0), ..place };
        }
        texts.push(SlotText {
            slot: Slot::Unified,
            tokens: input.counter.count(&text),
            wanted: joined.iter().map(|text| text.wanted).sum(),
            position: place.position,
            depth: place.depth,
            role: place.role,
            only_macro: only_macro(Slot::Unified, input.settings),
            text,
        });
    }
    Slots { texts, shown: slots.shown }
}
