//! The stages that extract memories from the newest messages.

use loreloom_core::chat::PathItem;

use super::{CycleStage, Occasion, WorkingMemory, shared_story::SharedStory, stage::Runner};
use crate::{
    ids::Ids,
    pass::Purpose,
    record::{ArcSummary, Canon, CharacterMemory, ChatMemory, Entity, Memory},
    schedule::Extraction,
    tiers::{
        self, PassSource, arcs, canon, consolidation, continuity, ledger, longterm, session,
        together,
    },
};

/// What one question asks for.
pub(super) struct TogetherQuestion<'asked> {
    /// What the chat remembers.
    pub(super) chat: &'asked ChatMemory,
    /// Name, card and memory of the characters whose long-term memory is kept.
    pub(super) members: Vec<(&'asked str, &'asked str, &'asked CharacterMemory)>,
}

/// Asks a strong model for several tiers at once. Each tier then finds its reply there. Returns
/// what replies of the story contradict.
pub(super) async fn together(
    occasion: Occasion<'_>,
    due: &Extraction,
    asked: TogetherQuestion<'_>,
    runner: &mut Runner<'_>,
) -> Vec<String> {
    let (settings, rules) = (occasion.config.settings, occasion.config.rules);
    if !settings.structured_calls || !occasion.config.profile.answers_in_form() {
        return Vec::new();
    }
    let input = together_input(occasion, due, &asked);
    let replies = runner.run(CycleStage::Together, |script| together::run(&input, script)).await;
    let Some(replies) = replies else { return Vec::new() };
    runner.give(CycleStage::Session, None, [(Purpose::Session, replies.session)]);
    runner.give(CycleStage::Arcs, None, [(Purpose::Arcs, replies.arcs)]);
    runner.give(CycleStage::Ledger, None, [(Purpose::Ledger, replies.ledger)]);
    runner.give(CycleStage::Epistemic, None, [(Purpose::Epistemic, replies.knowledge)]);
    for ((name, ..), (longterm, feelings)) in asked.members.iter().zip(replies.members) {
        let member = (asked.members.len() > 1).then_some(*name);
        let given = [(Purpose::LongTerm, longterm), (Purpose::Relationships, feelings)];
        runner.give(CycleStage::LongTerm, member, given);
    }
    let found = replies.contradictions.filter(|_| input.checks);
    found.map(|found| continuity::parse(&found, rules)).unwrap_or_default()
}

fn together_input<'turn>(
    occasion: Occasion<'turn>,
    due: &Extraction,
    asked: &TogetherQuestion<'turn>,
) -> together::TogetherInput<'turn> {
    let (settings, rules) = (occasion.config.settings, occasion.config.rules);
    let window = due.session.start.min(due.longterm.start)..due.session.end.max(due.longterm.end);
    let Occasion { path, chat_id, character, lore, now, .. } = occasion;
    let source = PassSource { chat: path, window, heard: None, chat_id, character, lore, now };
    let active = |memories: &'turn [Memory]| -> Vec<&'turn Memory> {
        let active = memories.iter().filter(|memory| memory.is_active()).collect();
        tiers::relevant(active, occasion.path, rules)
    };
    let arcs = &asked.chat.story_arcs;
    let open = arcs.iter().filter(|arc| !arc.resolved).map(|arc| arc.content.as_str());
    let member = |(name, card, memory): &(&'turn str, &'turn str, &'turn CharacterMemory)| {
        together::TogetherMember {
            name,
            card,
            longterm: active(&memory.memories),
            feelings: &memory.relationship_history,
        }
    };
    let entities = asked.members.iter().flat_map(|(_, _, memory)| &memory.entities);
    together::TogetherInput {
        config: occasion.config,
        source,
        members: asked.members.iter().map(member).collect(),
        session: active(&asked.chat.session_memories),
        arcs: open.collect(),
        ended: arcs::ended(arcs, &asked.chat.arc_summaries),
        entities: entities.chain(&asked.chat.session_entities).collect(),
        insights: asked.members.first().map_or_else(Vec::new, |(_, _, memory)| {
            memory.epistemic_knowledge.iter().filter(|one| one.retired.is_none()).collect()
        }),
        checks: settings.continuity_auto_check && !settings.continuity_auto_repair,
    }
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

/// Looks for new and ended arcs. Returns whether canon must be written again.
pub(super) async fn arcs(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) -> bool {
    if !occasion.config.settings.arcs_enabled || due.arcs.is_empty() {
        return false;
    }
    let session = remembered.session();
    let scenes = SharedStory::of(occasion, remembered).scenes(&remembered.chat);
    let input = arcs::ArcsInput {
        config: occasion.config,
        source: occasion.source(due.arcs.clone()),
        arcs: &remembered.chat.story_arcs,
        persistent: &remembered.character.persistent_arcs,
        session: &session,
        scenes: &scenes,
        ended: &remembered.chat.arc_summaries,
    };
    let outcome = runner.run(CycleStage::Arcs, |script| arcs::run(&input, script)).await;
    let Some(outcome) = outcome else { return false };
    let ended = outcome.summaries.len();
    remembered.chat.story_arcs = outcome.arcs;
    remembered.chat.arc_summaries.extend(outcome.summaries);
    remembered.character.persistent_arcs = outcome.persistent;
    runner.done(CycleStage::Arcs, outcome.added + ended);
    ended > 0 && occasion.config.profile.writes_canon()
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
    let secrets = occasion.secrets(remembered);
    let before = secrets.canon_without(&remembered.character);
    let before = before.map(|summary| ArcSummary { summary, ..ArcSummary::default() });
    let may_know = |arc: &&ArcSummary| !secrets.told_by_ending(arc, &remembered.chat);
    let summaries = before.iter().chain(&remembered.chat.arc_summaries);
    let summaries: Vec<&ArcSummary> = summaries.filter(may_know).collect();
    let mut memories = remembered.longterm();
    memories.retain(|memory| !secrets.told_by_memory(memory));
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
