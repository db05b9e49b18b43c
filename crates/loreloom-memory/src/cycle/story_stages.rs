//! The stages about the story as a whole: summary, scene, who knows what, profile, continuity.

use loreloom_core::{
    chat::{PathItem, Role},
    ids::MessageId,
};
use loreloom_ports::MemoryId;

use super::{CycleStage, Occasion, WorkingMemory, shared_story::SharedStory, stage::Runner};
use crate::{
    card::description,
    ids::Ids,
    presence::characters,
    record::{Contradiction, Entity, Memory, Profile},
    schedule::{Extraction, open_scene},
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
    let shared = SharedStory::of(occasion, remembered);
    let may_tell = |memory: &&Memory| shared.may_tell(memory);
    let longterm: Vec<&Memory> = remembered.longterm().into_iter().filter(may_tell).collect();
    let session: Vec<&Memory> = remembered.session().into_iter().filter(may_tell).collect();
    let end = shared.read_until(occasion.path, &remembered.chat);
    let chat = shared.shown(&occasion.path[..end]);
    let summary = shared.summary(&remembered.chat, occasion.path);
    let input = compaction::CompactionInput {
        config: occasion.config,
        chat: &chat,
        summary: summary.as_deref(),
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
    let buffer = SharedStory::of(occasion, remembered).shown(&path[window.clone()]);
    let input = scenes::ScenesInput {
        config: occasion.config,
        buffer: &buffer,
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
        remembered.chat.older_scenes.extend(outcome.older);
        runner.done(CycleStage::Scene, 1);
        if !asks_with_extraction(occasion) {
            who_knows_what(occasion, window, remembered, runner).await;
        }
    }
}

/// Whether every extraction asks who knows what, in one question with the rest.
fn asks_with_extraction(occasion: Occasion<'_>) -> bool {
    let config = occasion.config;
    config.rules.text.is_tolerant()
        && config.settings.structured_calls
        && config.profile.answers_in_form()
}

/// Notes who knows what with an extraction: a secret must be known as one as soon as memories tell
/// of it. With a weak model only if there is somebody it can be kept from.
pub(super) async fn knowledge(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &mut WorkingMemory,
    runner: &mut Runner<'_>,
) {
    let has_others = characters(occasion.path).len() > 1;
    let is_due = has_others && occasion.config.rules.text.is_tolerant();
    if is_due || asks_with_extraction(occasion) {
        who_knows_what(occasion, due.session.clone(), remembered, runner).await;
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
    let (longterm, session) = (remembered.longterm(), remembered.session());
    let notes = profiles::ProfileNotes { longterm: &longterm, session: &session, entities: &[] };
    let read = known.and_then(|profile| profile.receipt);
    let is_read = |item: &PathItem| Some(item.id) == read;
    let messages = occasion.path.iter().rev().position(is_read).unwrap_or(usize::MAX);
    let age = profiles::ProfileAge { messages, now: occasion.now };
    let stale = profiles::is_stale(known, &notes.about(occasion.character), age, settings);
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
    let secrets = occasion.secrets(remembered);
    let may_know = |memory: &&Memory| !secrets.told_by_memory(memory);
    let longterm: Vec<&Memory> = remembered.longterm().into_iter().filter(may_know).collect();
    let is_told = |one: &&Memory| secrets.told_by(&one.content, &one.receipts, one.ts);
    let session: Vec<&Memory> =
        remembered.session().into_iter().filter(|one| !is_told(one)).collect();
    let entities: Vec<&Entity> = remembered
        .entities()
        .into_iter()
        .filter(|entity| !secrets.revealed_by(&entity.name))
        .collect();
    let notes =
        profiles::ProfileNotes { longterm: &longterm, session: &session, entities: &entities };
    let about: Vec<MemoryId> = profiles::ProfileNotes {
        longterm: &remembered.longterm(),
        session: &remembered.session(),
        ..notes
    }
    .about(occasion.character)
    .into_iter()
    .map(|memory| memory.id.clone())
    .collect();
    let drawn = runner
        .run(CycleStage::Profile, |script| {
            profiles::run(occasion.character, notes, occasion.config.rules, script)
        })
        .await
        .flatten();
    if let Some(profile) = drawn {
        let receipt = occasion.path.last().map(|item| item.id);
        let old = remembered.chat.profiles.get(occasion.character);
        let profile = if occasion.config.rules.text.is_tolerant() {
            profiles::completed(profile, old)
        } else {
            profile
        };
        let profile = Profile { ts: Some(occasion.now), receipt, notes: about, ..profile };
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
    let profile = occasion.config.profile;
    // Without a repair the next extraction is early enough, and it asks anyway.
    let waits = asks_with_extraction(occasion) && !settings.continuity_auto_repair;
    if settings.continuity_auto_check && profile.checks_every_reply() && !waits {
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
    let card = description(occasion.card, CARD);
    let card = [card.as_str()].into_iter().filter(|card| !card.is_empty());
    let memories = remembered.longterm().into_iter().chain(remembered.session());
    let question = occasion.path.iter().rev().skip(1).find(|item| item.message.role == Role::User);
    let checked = continuity::CheckedReply {
        speaker: occasion.character,
        question: question.map_or("", |item| item.message.text.as_str()),
        text: &reply.text,
    };
    let facts: Vec<&str> = card
        .chain(remembered.chat.summary.as_deref())
        .chain(memories.map(|memory| memory.content.as_str()))
        .collect();
    if facts.is_empty() {
        return;
    }
    let outcome = runner
        .run(CycleStage::Continuity, |script| {
            continuity::run(&facts, checked, repair, occasion.config.rules, script)
        })
        .await;
    if let Some(outcome) = outcome {
        runner.done(CycleStage::Continuity, outcome.contradictions.len());
        remembered.chat.pending_repair = outcome.repair;
        if occasion.config.rules.keep_contradictions {
            let reply = occasion.path.last().map(|item| item.id);
            note_contradictions(occasion, remembered, &outcome.contradictions, |_| reply);
        }
        runner.report.contradictions = outcome.contradictions;
    }
}

/// Stores what replies of an extraction contradict.
pub(super) fn keep_contradictions(
    occasion: Occasion<'_>,
    due: &Extraction,
    remembered: &mut WorkingMemory,
    found: Vec<String>,
    runner: &mut Runner<'_>,
) {
    if found.is_empty() || !occasion.config.rules.keep_contradictions {
        return;
    }
    let source = occasion.source(due.session.clone());
    let is_reply = |id: &MessageId| {
        let item = occasion.path.iter().find(|item| item.id == *id);
        item.is_some_and(|item| item.message.role == Role::Assistant)
    };
    let reply = |text: &str| source.support(text).into_iter().rev().find(is_reply);
    note_contradictions(occasion, remembered, &found, reply);
    runner.done(CycleStage::Continuity, found.len());
    runner.report.contradictions = found;
}

/// The most characters of a card that a reply is compared with.
const CARD: usize = 3000;

/// Stores what replies contradict, with the messages of both sides.
fn note_contradictions(
    occasion: Occasion<'_>,
    remembered: &mut WorkingMemory,
    found: &[String],
    reply: impl Fn(&str) -> Option<MessageId>,
) {
    const KEPT: usize = 50;
    /// From this share of words on, a contradiction is about a memory.
    const MEANT: f64 = 0.2;
    /// From this share of words on, a contradiction was noted before.
    const SAME: f64 = 0.8;
    let memories: Vec<&Memory> =
        remembered.longterm().into_iter().chain(remembered.session()).collect();
    let mut ids = Ids::new(format!("{}-x", occasion.seed));
    let known = &remembered.chat.contradictions;
    let is_new = |text: &&String| !known.iter().any(|one| jaccard(&one.text, text) >= SAME);
    let noted: Vec<Contradiction> = found
        .iter()
        .filter(is_new)
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
                receipts: reply(text).into_iter().chain(receipts).collect(),
                ts: Some(occasion.now),
            }
        })
        .collect();
    let list = &mut remembered.chat.contradictions;
    list.extend(noted);
    list.drain(..list.len().saturating_sub(KEPT));
}
