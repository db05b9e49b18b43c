//! The stages about the story as a whole: summary, scene, who knows what, profile, continuity.

use loreloom_core::{chat::Role, ids::MessageId};

use super::{CycleStage, Occasion, WorkingMemory, stage::Runner};
use crate::{
    ids::Ids,
    record::{Contradiction, Memory, Profile},
    schedule::open_scene,
    text::jaccard,
    tiers::{compaction, continuity, epistemic, profiles, scenes},
    window::{should_compact, stable_cutoff},
};

pub(super) async fn compact(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let settings = occasion.config.settings;
    let due = should_compact(
        occasion.path,
        remembered.chat.summary_end,
        occasion.context,
        settings.compaction_threshold,
        occasion.counter,
    );
    if settings.compaction_enabled && due {
        summarise(occasion, remembered, runner).await;
    }
}

/// Summarises the story, whatever its length.
pub(super) async fn summarise(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let (longterm, session) = (remembered.longterm(), remembered.session());
    let input = compaction::CompactionInput {
        config: occasion.config,
        chat: &occasion.path[..stable_cutoff(occasion.path)],
        summary: remembered.chat.summary.as_deref(),
        summary_end: remembered.chat.summary_end,
        longterm: &longterm,
        session: &session,
    };
    let outcome =
        runner.run(CycleStage::Compaction, |script| compaction::run(&input, script)).await;
    if let Some(compaction::CompactionOutcome::Written { text, end }) = outcome {
        remembered.chat.summary = Some(text);
        remembered.chat.summary_end = end;
        remembered.chat.summary_receipt = occasion.last_of(end);
        remembered.chat.summary_updated = Some(occasion.now);
        runner.done(CycleStage::Compaction, 1);
    }
}

/// Checks whether the newest exchange starts another scene. The scene that ends lies before
/// that exchange, so a swipe of the newest reply does not change it.
pub(super) async fn scene(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.scene_enabled {
        return;
    }
    let path = occasion.path;
    let exchange = path
        .iter()
        .rposition(|item| item.message.role == Role::User)
        .unwrap_or_else(|| stable_cutoff(path));
    let started = open_scene(path, &remembered.chat.scene_history).start;
    let window = started.min(exchange)..exchange;
    let newest: Vec<&str> =
        path[exchange..].iter().map(|item| item.message.text.as_str()).collect();
    let text = newest.join("\n");
    let replies = path[..exchange].iter().rev();
    let previous = replies.into_iter().find(|item| item.message.role == Role::Assistant);
    let entities = remembered.entities();
    let input = scenes::ScenesInput {
        config: occasion.config,
        buffer: &path[window.clone()],
        text: &text,
        previous_reply: previous.map_or("", |item| item.message.text.as_str()),
        history: &remembered.chat.scene_history,
        entities: &entities,
        now: occasion.now,
    };
    let outcome = runner.run(CycleStage::Scene, |script| scenes::run(&input, script)).await;
    let Some(outcome) = outcome else { return };
    if outcome.ended {
        remembered.chat.scene_history = outcome.history;
        runner.done(CycleStage::Scene, 1);
        who_knows_what(occasion, window, remembered, runner).await;
    }
}

async fn who_knows_what(
    occasion: Occasion<'_>,
    window: std::ops::Range<usize>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.epistemic_enabled {
        return;
    }
    let input = epistemic::EpistemicInput {
        config: occasion.config,
        source: occasion.source(window),
        known: &remembered.character.epistemic_knowledge,
        ids: Ids::new(format!("{}-e", occasion.seed)),
    };
    let outcome = runner.run(CycleStage::Epistemic, |script| epistemic::run(&input, script)).await;
    if let Some(outcome) = outcome {
        remembered.character.epistemic_knowledge = outcome.insights;
        runner.done(CycleStage::Epistemic, outcome.added);
    }
}

pub(super) async fn profile(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let settings = occasion.config.settings;
    let known = remembered.chat.profiles.get(occasion.character);
    let stale = profiles::is_stale(known, occasion.now, settings.profiles_stale_minutes);
    if settings.profiles_enabled && (!occasion.config.rules.profiles_grow_stale || stale) {
        write_profile(occasion, remembered, runner).await;
    }
}

/// Writes a profile, whatever the age of the last one.
pub(super) async fn write_profile(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let (longterm, session) = (remembered.longterm(), remembered.session());
    let entities = remembered.entities();
    let notes =
        profiles::ProfileNotes { longterm: &longterm, session: &session, entities: &entities };
    let drawn = runner
        .run(CycleStage::Profile, |script| {
            profiles::run(occasion.character, notes, occasion.config.rules, script)
        })
        .await
        .flatten();
    if let Some(profile) = drawn {
        let profile = Profile { ts: Some(occasion.now), ..profile };
        remembered.chat.profiles.insert(occasion.character, profile);
        runner.done(CycleStage::Profile, 1);
    }
}

pub(super) async fn continuity(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let settings = occasion.config.settings;
    if settings.continuity_auto_check && occasion.config.profile.checks_every_reply() {
        check(occasion, remembered, runner, settings.continuity_auto_repair).await;
    }
}

/// Compares the newest reply with what is known. With `repair`, a note for the next reply
/// corrects it.
pub(super) async fn check(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
    repair: bool,
) {
    let last = occasion.path.last().map(|item| &item.message);
    let Some(reply) = last.filter(|message| message.role == Role::Assistant) else { return };
    let card = [occasion.card].into_iter().filter(|card| !card.trim().is_empty());
    let memories = remembered.longterm().into_iter().chain(remembered.session());
    let facts: Vec<&str> = card
        .chain(remembered.chat.summary.as_deref())
        .chain(memories.map(|memory| memory.content.as_str()))
        .collect();
    if facts.is_empty() {
        return;
    }
    let outcome = runner
        .run(CycleStage::Continuity, |script| {
            continuity::run(&facts, &reply.text, repair, occasion.config.rules, script)
        })
        .await;
    if let Some(outcome) = outcome {
        runner.done(CycleStage::Continuity, outcome.contradictions.len());
        remembered.chat.pending_repair = outcome.repair;
        if occasion.config.rules.keep_contradictions {
            note_contradictions(occasion, remembered, &outcome.contradictions);
        }
        runner.report.contradictions = outcome.contradictions;
    }
}

/// Stores what a reply contradicts, with the messages of both sides.
fn note_contradictions(occasion: Occasion<'_>, remembered: &mut WorkingMemory, found: &[String]) {
    const KEPT: usize = 50;
    /// From this share of words on, a contradiction is about a memory.
    const MEANT: f64 = 0.2;
    let reply = occasion.path.last().map(|item| item.id);
    let memories: Vec<&Memory> =
        remembered.longterm().into_iter().chain(remembered.session()).collect();
    let mut ids = Ids::new(format!("{}-x", occasion.seed));
    let noted: Vec<Contradiction> = found
        .iter()
        .map(|text| {
            let likeness = |memory: &Memory| jaccard(text, &memory.content);
            let nearest = memories
                .iter()
                .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
                .filter(|memory| likeness(memory) >= MEANT);
            let is_here = |id: &MessageId| occasion.path.iter().any(|item| item.id == *id);
            let receipts = nearest.into_iter().flat_map(|memory| memory.receipts.iter().copied());
            let receipts: Vec<MessageId> = receipts.filter(is_here).collect();
            Contradiction {
                id: ids.next(),
                text: text.clone(),
                memory: nearest.map(|memory| memory.id.clone()),
                receipts: reply.into_iter().chain(receipts).collect(),
                ts: Some(occasion.now),
            }
        })
        .collect();
    let list = &mut remembered.chat.contradictions;
    list.extend(noted);
    list.drain(..list.len().saturating_sub(KEPT));
}
