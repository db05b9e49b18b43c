//! Features that fill slots.

use loreloom_memory::{
    inject::{Knowledge, MemorySlot, SlotText, Slots, SlotsInput, scene_state, slots},
    record::{Insight, Memory},
    score::{TurnContext, TurnSources},
    text::QuarterEstimate,
};
use serde_json::{Value, json};

use super::fixture::Fixture;

pub(super) fn run(feature: &str, case: &Fixture<'_>) -> Result<Option<Value>, String> {
    let one = |slot: MemorySlot| shown(filled(case).get(slot));
    Ok(Some(match feature {
        "inject_summary" => summary(case)?,
        "inject_longterm" => {
            let slots = if case.maybe("real_turn")?.unwrap_or(false) {
                filled_for_turn(case)?
            } else {
                filled(case)
            };
            json!({
                "long": shown(slots.get(MemorySlot::LongTerm)),
                "triggered": shown(slots.get(MemorySlot::Triggered)),
            })
        }
        "inject_session" => one(MemorySlot::Session),
        "inject_scenes" => one(MemorySlot::Scenes),
        "inject_arcs" => one(MemorySlot::Arcs),
        "inject_relationships" => one(MemorySlot::Relationships),
        "inject_profiles" => one(MemorySlot::Profiles),
        "inject_canon" => one(MemorySlot::Canon),
        "epistemic_inject" => one(MemorySlot::Epistemic),
        "state_ledger_inject" => one(MemorySlot::Ledger),
        "epistemic_block" => {
            let entries: Vec<Insight> = case.get("entries")?;
            let tells_unaware = case.maybe("inject_unaware")?.unwrap_or(true);
            let known = Knowledge {
                insights: &entries,
                responding: case.responding(),
                tells_unaware,
                labels: &case.labels,
            };
            json!(known.text())
        }
        "scene_state_block" => {
            let memories: Vec<Memory> = case.get("memories")?;
            json!(scene_state(&memories.iter().collect::<Vec<_>>(), &case.labels))
        }
        "unified_order" => {
            let slots = filled(case);
            json!({
                "unified": shown(slots.get(MemorySlot::Unified)),
                "long": shown(slots.get(MemorySlot::LongTerm)),
                "arcs": shown(slots.get(MemorySlot::Arcs)),
            })
        }
        _ => return Ok(None),
    }))
}

fn filled(case: &Fixture<'_>) -> Slots {
    slots(&input(case, &case.meta))
}

/// Slots of a turn on which memories are ordered by what is going on.
fn filled_for_turn(case: &Fixture<'_>) -> Result<Slots, String> {
    let vectors = case.vectors()?;
    let sources = TurnSources {
        path: &case.chat,
        entities: &case.character.entities,
        arcs: &case.meta.story_arcs,
        memories: &case.character.memories,
        vectors: &vectors,
    };
    let turn = TurnContext::of(sources, case.profile, case.rules.text);
    Ok(slots(&SlotsInput { turn: Some(&turn), ..input(case, &case.meta) }))
}

fn input<'slots>(
    case: &'slots Fixture<'_>,
    chat: &'slots loreloom_memory::record::ChatMemory,
) -> SlotsInput<'slots> {
    SlotsInput {
        settings: &case.settings,
        rules: &case.rules,
        labels: &case.labels,
        counter: &QuarterEstimate,
        character: &case.character,
        chat,
        path: &case.chat,
        owner: case.owner(),
        responding: case.responding(),
        group: &[],
        turn: None,
        recalled: &[],
        clock: None,
    }
}

fn summary(case: &Fixture<'_>) -> Result<Value, String> {
    let mut chat = case.meta.clone();
    chat.summary = case.maybe("summary")?;
    Ok(shown(slots(&input(case, &chat)).get(MemorySlot::Summary)))
}

fn shown(slot: Option<&SlotText>) -> Value {
    slot.map_or(
        Value::Null,
        |slot| json!({"content": slot.text, "position": slot.position, "depth": slot.depth}),
    )
}
