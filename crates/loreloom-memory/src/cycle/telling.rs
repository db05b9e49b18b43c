//! The stages that retell: summary, scene and who knows what, profile, continuity.

use loreloom_core::{chat::Role, ids::MessageId};

use super::{Occasion, Remembered, Stage, stage::Runner};
use crate::{
    ids::Ids,
    record::{Contradiction, Entity, Memory},
    schedule::open_scene,
    text::jaccard,
    tiers::{compaction, continuity, epistemic, profiles, scenes},
    window::{should_compact, stable_cutoff},
};

pub(super) async fn compact(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
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

/// Retells the story, however long it is.
pub(super) async fn summarise(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
    runner: &mut Runner<'_>,
) {
    let (longterm, session) = (remembered.longterm(), remembered.session());
    let input = compaction::Input {
        config: occasion.config,
        chat: &occasion.path[..stable_cutoff(occasion.path)],
        summary: remembered.chat.summary.as_deref(),
        summary_end: remembered.chat.summary_end,
        longterm: &longterm,
        session: &session,
    };
    let outcome = runner.run(Stage::Compaction, |script| compaction::run(&input, script)).await;
    if let Some(compaction::Outcome::Written { text, end }) = outcome {
        remembered.chat.summary = Some(text);
        remembered.chat.summary_end = end;
        remembered.chat.summary_receipt = occasion.last_of(end);
        remembered.chat.summary_updated = Some(occasion.now);
        runner.done(Stage::Compaction, 1);
    }
}

/// Looks whether the newest exchange begins another scene. The scene that ends is what lies
/// before that exchange, so a swipe of the newest reply does not change it.
pub(super) async fn scene(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
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
    let entities: Vec<&Entity> =
        remembered.character.entities.iter().chain(&remembered.chat.session_entities).collect();
    let input = scenes::Input {
        config: occasion.config,
        buffer: &path[window.clone()],
        text: &text,
        previous_reply: previous.map_or("", |item| item.message.text.as_str()),
        history: &remembered.chat.scene_history,
        entities: &entities,
        now: occasion.now,
    };
    let outcome = runner.run(Stage::Scene, |script| scenes::run(&input, script)).await;
    let Some(outcome) = outcome else { return };
    if outcome.ended {
        remembered.chat.scene_history = outcome.history;
        runner.done(Stage::Scene, 1);
        know(occasion, window, remembered, runner).await;
    }
}

async fn know(
    occasion: Occasion<'_>,
    window: std::ops::Range<usize>,
    remembered: &mut Remembered,
    runner: &mut Runner<'_>,
) {
    if !occasion.config.settings.epistemic_enabled {
        return;
    }
    let input = epistemic::Input {
        config: occasion.config,
        source: occasion.source(window),
        known: &remembered.character.epistemic_knowledge,
        ids: Ids::new(format!("{}-e", occasion.seed)),
    };
    let outcome = runner.run(Stage::Epistemic, |script| epistemic::run(&input, script)).await;
    if let Some(outcome) = outcome {
        remembered.character.epistemic_knowledge = outcome.insights;
        runner.done(Stage::Epistemic, outcome.added);
    }
}

pub(super) async fn profile(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
    runner: &mut Runner<'_>,
) {
    let settings = occasion.config.settings;
    let known = remembered.chat.profiles.get(occasion.character);
    let stale = profiles::is_stale(known, occasion.now, settings.profiles_stale_minutes);
    if settings.profiles_enabled && (!occasion.config.rules.profiles_grow_stale || stale) {
        draw_profile(occasion, remembered, runner).await;
    }
}

/// Draws a profile, however old the last one is.
pub(super) async fn draw_profile(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
    runner: &mut Runner<'_>,
) {
    let (longterm, session) = (remembered.longterm(), remembered.session());
    let entities: Vec<&Entity> =
        remembered.character.entities.iter().chain(&remembered.chat.session_entities).collect();
    let drawn = runner
        .run(Stage::Profile, |script| {
            let (name, now) = (occasion.character, occasion.now);
            profiles::run(name, &longterm, &session, &entities, now, script)
        })
        .await
        .flatten();
    if let Some(profile) = drawn {
        remembered.chat.profiles.insert(occasion.character, profile);
        runner.done(Stage::Profile, 1);
    }
}

pub(super) async fn continuity(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
    runner: &mut Runner<'_>,
) {
    let settings = occasion.config.settings;
    if settings.continuity_auto_check && occasion.config.hardware.checks_every_reply() {
        check(occasion, remembered, runner, settings.continuity_auto_repair).await;
    }
}

/// Compares the newest reply with what is known; with `repair`, a note for the next reply
/// says what to put right.
pub(super) async fn check(
    occasion: Occasion<'_>,
    remembered: &mut Remembered,
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
        .run(Stage::Continuity, |script| {
            continuity::run(&facts, &reply.text, repair, occasion.config.rules, script)
        })
        .await;
    if let Some(outcome) = outcome {
        runner.done(Stage::Continuity, outcome.contradictions.len());
        remembered.chat.pending_repair = outcome.repair;
        if occasion.config.rules.keep_contradictions {
            note_contradictions(occasion, remembered, &outcome.contradictions);
        }
        runner.report.contradictions = outcome.contradictions;
    }
}

/// Notes what a reply contradicts, with the messages of both sides.
fn note_contradictions(occasion: Occasion<'_>, remembered: &mut Remembered, found: &[String]) {
    const KEPT: usize = 50;
    /// From this share of words on a finding speaks of a memory.
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
            let told = |id: &MessageId| occasion.path.iter().any(|item| item.id == *id);
            let receipts = nearest.into_iter().flat_map(|memory| memory.receipts.iter().copied());
            let receipts: Vec<MessageId> = receipts.filter(told).collect();
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
