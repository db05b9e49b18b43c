//! Features that are a pass with a scripted model.

use loreloom_memory::{
    record::{Entity, Memory},
    tiers::{arcs, compaction, consolidation, epistemic, ledger, longterm, scenes, session},
    window::stable_cutoff,
};
use serde_json::{Value, json};

use super::fixture::Fixture;

pub(super) fn run(feature: &str, case: &Fixture<'_>) -> Result<Option<Value>, String> {
    Ok(Some(match feature {
        "longterm_pipeline" => longterm_pass(case)?,
        "session_pipeline" => session_pass(case)?,
        "arcs_pipeline" => arcs_pass(case)?,
        "scene_pipeline" => scene_pass(case)?,
        "epistemic_pipeline" => epistemic_pass(case)?,
        "state_ledger_pipeline" => ledger_pass(case)?,
        "run_compaction" => compaction_pass(case)?,
        "consolidate_longterm" => consolidation_pass(case)?,
        _ => return Ok(None),
    }))
}

fn active(memories: &[Memory]) -> Vec<&Memory> {
    memories.iter().filter(|memory| memory.is_active()).collect()
}

fn longterm_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let input = longterm::LongTermInput {
        config: case.config(),
        source: case.source()?,
        character: case.owner(),
        card: "",
        memory: &case.character,
        ids: Fixture::ids(),
    };
    let (outcome, unused) = case.play(|script| longterm::run(&input, script))?;
    let history: serde_json::Map<String, Value> = outcome
        .relationships
        .iter()
        .map(|(pair, relationship)| (pair.to_owned(), json!(relationship.descriptors)))
        .collect();
    Ok(json!({
        "added": outcome.added,
        "memories": outcome.memories,
        "entities": outcome.entities,
        "relationship_history": history,
        "unused_llm_responses": unused,
    }))
}

fn session_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let input = session::SessionInput {
        config: case.config(),
        source: case.source()?,
        memories: &case.meta.session_memories,
        entities: &case.meta.session_entities,
        longterm: &active(&case.character.memories),
        ids: Fixture::ids(),
    };
    let (outcome, unused) = case.play(|script| session::run(&input, script))?;
    Ok(json!({
        "added": outcome.added.len(),
        "memories": outcome.memories,
        "unused_llm_responses": unused,
    }))
}

fn arcs_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let input = arcs::ArcsInput {
        config: case.config(),
        source: case.source()?,
        arcs: &case.meta.story_arcs,
        persistent: &case.character.persistent_arcs,
        session: &active(&case.meta.session_memories),
        scenes: &case.meta.scene_history,
        ended: &case.meta.arc_summaries,
    };
    let (outcome, unused) = case.play(|script| arcs::run(&input, script))?;
    Ok(json!({
        "added": outcome.added,
        "arcs": outcome.arcs,
        "summaries": outcome.summaries,
        "persistent": outcome.persistent,
        "unused_llm_responses": unused,
    }))
}

fn scene_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let buffer = case.messages("buffer")?;
    let text: String = case.get("text")?;
    let input = scenes::ScenesInput {
        config: case.config(),
        buffer: &buffer,
        text: &text,
        previous_reply: "",
        history: &case.meta.scene_history,
        entities: &[],
        now: case.now,
    };
    let (outcome, unused) = case.play(|script| scenes::run(&input, script))?;
    let history: Vec<&str> = outcome.history.iter().map(|scene| scene.summary.as_str()).collect();
    Ok(json!({"break": outcome.ended, "history": history, "unused_llm_responses": unused}))
}

fn epistemic_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let input = epistemic::EpistemicInput {
        config: case.config(),
        source: case.source()?,
        known: &case.character.epistemic_knowledge,
        ids: Fixture::ids(),
    };
    let (outcome, unused) = case.play(|script| epistemic::run(&input, script))?;
    Ok(json!({
        "added": outcome.added,
        "entries": outcome.insights,
        "unused_llm_responses": unused,
    }))
}

fn ledger_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let entities: Vec<&Entity> =
        case.character.entities.iter().chain(&case.meta.session_entities).collect();
    let input = ledger::LedgerInput {
        config: case.config(),
        source: case.source()?,
        entities: &entities,
        ledger: &case.meta.ledger,
    };
    let (outcome, unused) = case.play(|script| ledger::run(&input, script))?;
    Ok(json!({
        "updated": outcome.updated,
        "ledger": outcome.ledger,
        "unused_llm_responses": unused,
    }))
}

fn compaction_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let includes_last = case.maybe("include_last")?.unwrap_or(false);
    let end = if includes_last { case.chat.len() } else { stable_cutoff(&case.chat) };
    let input = compaction::CompactionInput {
        config: case.config(),
        chat: &case.chat[..end],
        summary: case.meta.summary.as_deref(),
        summary_end: case.meta.summary_end,
        longterm: &active(&case.character.memories),
        session: &active(&case.meta.session_memories),
    };
    let (outcome, unused) = case.play(|script| compaction::run(&input, script))?;
    let (summary, end) = match outcome {
        compaction::CompactionOutcome::Written { text, end } => (Some(text), end),
        compaction::CompactionOutcome::Current => {
            (case.meta.summary.clone(), case.meta.summary_end)
        }
        compaction::CompactionOutcome::Failed => (None, case.meta.summary_end),
    };
    Ok(json!({"summary": summary, "summary_end": end, "unused_llm_responses": unused}))
}

fn consolidation_pass(case: &Fixture<'_>) -> Result<Value, String> {
    let input = consolidation::ConsolidationInput {
        config: case.config(),
        tier: consolidation::Tier::LongTerm,
        memories: &case.character.memories,
        entities: &case.character.entities,
        force: case.maybe("force")?.unwrap_or(false),
        now: case.now,
        ids: Fixture::ids(),
    };
    let (outcome, unused) = case.play(|script| consolidation::run(&input, script))?;
    let (kept, retired): (Vec<Memory>, Vec<Memory>) =
        outcome.memories.into_iter().partition(Memory::is_active);
    Ok(json!({
        "removed": outcome.removed,
        "memories": kept,
        "retired": retired,
        "unused_llm_responses": unused,
    }))
}
