//! The stages that extract memories from the newest messages.

use loreloom_core::chat::PathItem;

use super::{CycleStage, Occasion, WorkingMemory, stage::Runner};
use crate::{
    ids::Ids,
    record::{ArcSummary, Canon, Entity, Memory},
    schedule::Extraction,
    tiers::{self, PassSource, arcs, canon, consolidation, ledger, longterm, session, together},
};

/// Asks a strong model for several tiers at once. Each tier then finds its reply there.
pub(super) async fn together(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let settings = occasion.config.settings;
    if !settings.structured_calls || !occasion.config.profile.answers_in_form() {
        return;
    }
    let (longterm, session) = (remembered.longterm(), remembered.session());
    let open = remembered.chat.story_arcs.iter().filter(|arc| !arc.resolved);
    let arcs: Vec<&str> = open.map(|arc| arc.content.as_str()).collect();
    let entities = remembered.entities();
    let window = due.session.start.min(due.longterm.start)..due.session.end.max(due.longterm.end);
    let input = together::TogetherInput {
        config: occasion.config,
        source: occasion.source(window),
        character: occasion.character,
        longterm: &longterm,
        session: &session,
        arcs: &arcs,
        entities: &entities,
    };
    let replies = runner.run(CycleStage::Together, |script| together::run(&input, script)).await;
    let Some(replies) = replies else { return };
    runner.prefill(CycleStage::Session, replies.session);
    runner.prefill(CycleStage::LongTerm, replies.longterm);
    runner.prefill(CycleStage::Arcs, replies.arcs);
    runner.prefill(CycleStage::Ledger, replies.ledger);
}

pub(super) async fn session(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.session_enabled || due.session.is_empty() {
        return;
    }
    let known = remembered.longterm();
    let input = session::SessionInput {
        config: occasion.config,
        source: occasion.source(due.session.clone()),
        memories: &remembered.chat.session_memories,
        entities: &remembered.chat.session_entities,
        longterm: &known,
        ids: Ids::new(format!("{}-s", occasion.seed)),
    };
    let outcome = runner.run(CycleStage::Session, |script| session::run(&input, script)).await;
    let Some(outcome) = outcome else { return };
    let chat = &mut remembered.chat;
    if let Some(scene) = chat.scene_history.last_mut() {
        scene.source_memory_ids.extend(outcome.added.iter().cloned());
    }
    runner.done(CycleStage::Session, outcome.added.len());
    chat.session_memories = outcome.memories;
    chat.session_entities = outcome.entities;
    let tier = consolidation::Tier::Session;
    let merged =
        merge(occasion, tier, &chat.session_memories, &chat.session_entities, runner).await;
    if let Some(merged) = merged {
        chat.session_memories = merged.memories;
        chat.session_entities = merged.entities;
    }
}

pub(super) async fn longterm(
    occasion: Occasion<'_>,
    due: &Extraction,
    heard: Option<&[PathItem]>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.longterm_enabled || due.longterm.is_empty() {
        return;
    }
    let source = PassSource { heard, ..occasion.source(due.longterm.clone()) };
    let input = longterm::LongTermInput {
        config: occasion.config,
        source,
        character: occasion.character,
        card: occasion.card,
        memory: &remembered.character,
        ids: Ids::new(format!("{}-l", occasion.seed)),
    };
    let outcome = runner.run(CycleStage::LongTerm, |script| longterm::run(&input, script)).await;
    let Some(outcome) = outcome else { return };
    let character = &mut remembered.character;
    character.memories = outcome.memories;
    character.entities = outcome.entities;
    character.relationship_history = outcome.relationships;
    runner.done(CycleStage::LongTerm, outcome.added);
    if outcome.added == 0 {
        return;
    }
    let tier = consolidation::Tier::LongTerm;
    let merged = merge(occasion, tier, &character.memories, &character.entities, runner).await;
    if let Some(merged) = merged {
        character.memories = merged.memories;
        character.entities = merged.entities;
    }
}

async fn merge(
    occasion: Occasion<'_>,
    tier: consolidation::Tier,
    memories: &[Memory],
    entities: &[Entity],
    runner: &mut Runner<'_>,
) -> Option<consolidation::ConsolidationOutcome> {
    let (stage, mark) = match tier {
        consolidation::Tier::LongTerm => (CycleStage::LongTermMerge, "lm"),
        consolidation::Tier::Session => (CycleStage::SessionMerge, "sm"),
    };
    let input = consolidation::ConsolidationInput {
        config: occasion.config,
        tier,
        memories,
        entities,
        force: false,
        now: occasion.now,
        ids: Ids::new(format!("{}-{mark}", occasion.seed)),
    };
    let outcome = runner.run(stage, |script| consolidation::run(&input, script)).await?;
    runner.done(stage, outcome.removed);
    Some(outcome)
}

pub(super) async fn arcs(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.arcs_enabled || due.arcs.is_empty() {
        return;
    }
    let session = remembered.session();
    let input = arcs::ArcsInput {
        config: occasion.config,
        source: occasion.source(due.arcs.clone()),
        arcs: &remembered.chat.story_arcs,
        persistent: &remembered.character.persistent_arcs,
        session: &session,
        scenes: &remembered.chat.scene_history,
    };
    let outcome = runner.run(CycleStage::Arcs, |script| arcs::run(&input, script)).await;
    let Some(outcome) = outcome else { return };
    let ended = outcome.summaries.len();
    remembered.chat.story_arcs = outcome.arcs;
    remembered.chat.arc_summaries.extend(outcome.summaries);
    remembered.character.persistent_arcs = outcome.persistent;
    runner.done(CycleStage::Arcs, outcome.added + ended);
    if ended > 0 && occasion.config.profile.writes_canon() {
        write_canon(occasion, remembered, runner).await;
    }
}

/// Writes canon again. The old canon is part of the prompt, because only it knows the arcs of other
/// chats.
pub(super) async fn write_canon(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.canon_enabled {
        return;
    }
    let before = remembered
        .character
        .canon
        .as_ref()
        .map(|canon| ArcSummary { summary: canon.text.clone(), ..ArcSummary::default() });
    let summaries: Vec<&ArcSummary> = before.iter().chain(&remembered.chat.arc_summaries).collect();
    let memories = remembered.longterm();
    let rules = occasion.config.rules;
    let written = runner
        .run(CycleStage::Canon, |script| {
            canon::run(occasion.character, &summaries, &memories, rules, script)
        })
        .await
        .flatten();
    runner.done(CycleStage::Canon, usize::from(written.is_some()));
    if let Some(canon) = written {
        remembered.character.canon = Some(Canon { ts: Some(occasion.now), ..canon });
    }
}

pub(super) async fn ledger(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let entities = remembered.entities();
    let input = ledger::LedgerInput {
        config: occasion.config,
        source: occasion.source(due.longterm.clone()),
        entities: &entities,
        ledger: &remembered.chat.ledger,
    };
    let outcome = runner.run(CycleStage::Ledger, |script| tiers::ledger::run(&input, script)).await;
    if let Some(outcome) = outcome {
        remembered.chat.ledger = outcome.ledger;
        runner.done(CycleStage::Ledger, outcome.updated);
    }
}
