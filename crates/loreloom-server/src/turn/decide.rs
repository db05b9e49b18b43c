//! Decide: which lore goes into the prompt.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    chat::{Path, Role, Voices},
    engine::Decision,
    report::Warning,
    room::RoomRules,
    turn::{Near, Transcript, TurnInput},
};

use super::Turns;
use super::{deadline::Deadline, story::TurnStory};
use crate::{connections::ModelRoute, lore::Lore};

/// The longest that a turn waits for notes; the keeper of vaults waits less.
const LONGEST_READ: Duration = Duration::from_secs(61);

/// A turn that is decided but not stored. It is taken apart when it is stored: by then its
/// request is on its way.
pub(crate) struct DecidedTurn {
    pub(crate) story: Box<TurnStory>,
    pub(crate) input: Box<TurnInput>,
    pub(crate) lore: Arc<Lore>,
    pub(crate) transcript: Transcript,
    pub(crate) decision: Decision,
    /// The budget over everything, in this story.
    pub(crate) budget: Arc<RoomRules>,
    /// The model that it is sent to.
    pub(crate) route: ModelRoute,
}

impl DecidedTurn {
    /// The input to store, so that the turn can be replayed.
    pub(super) fn stored_input(
        input: TurnInput,
        lore: &Lore,
        path: &Path,
        route: &ModelRoute,
    ) -> TurnInput {
        TurnInput {
            attachments: Some(lore.attachments(&input.cast(path.chat()))),
            voices: Voices::of(path),
            connection: Some(route.connection.name.clone()),
            model: Some(route.model.clone()).filter(|model| !model.is_empty()),
            ..input
        }
    }
}

/// Decides a turn: finds entries by meaning, asks a selecting model, then runs the engine.
pub(crate) async fn decide(
    turns: &Turns,
    mut story: Box<TurnStory>,
    mut input: Box<TurnInput>,
    route: ModelRoute,
    deadline: &Deadline,
) -> Box<DecidedTurn> {
    let old = if story.preview { Vec::new() } else { begin(turns, deadline).await };
    let (lore, counter) = (turns.lore.current(), Arc::clone(&route.counter));
    input.suspended_keys = lore.suspended_keys();
    let transcript = lore.transcript(&story.path, story.transcribed.take());
    if lore.has_vectors() {
        input.near = Box::pin(near(&lore, &transcript, deadline)).await;
    }
    let turn = input.turn(&story.path, &transcript);
    let prepared = lore.prepare_turn(&turn, &story.state, counter.as_ref());
    let asked = turns.choosing.as_ref().filter(|_| !story.preview && !input.dry_run);
    if let Some((choosing, open)) = asked.zip(prepared.open_notes()) {
        let by = (&*lore, counter.as_ref());
        let selection = choosing.choose(by, (&turn, open), &story.state, deadline);
        let selection = Box::pin(selection).await;
        input.selection = selection;
    }
    let turn = input.turn(&story.path, &transcript);
    let mut decision = lore.finish_turn(prepared, &turn, &story.state, counter.as_ref());
    decision.report.warnings.extend(old);
    lore.suspend_slow_keys(&decision.report.warnings);
    let authors_note = story.context.note(user_messages(&story.path), counter.as_ref());
    decision.injections.extend(authors_note);
    let character = input.speaker.as_ref().map(|speaker| speaker.name.as_str());
    let budget = Arc::clone(&turns.settings.for_story(story.path.chat(), character).budget);
    Box::new(DecidedTurn { story, input, lore, transcript, decision, budget, route })
}

/// Begins a turn. Waiting for notes does not count against its deadline.
async fn begin(turns: &Turns, deadline: &Deadline) -> Vec<Warning> {
    if turns.lore.vault_keeper().is_none() {
        return turns.lore.begin_turn().await;
    }
    deadline.pause(LONGEST_READ, turns.lore.begin_turn()).await
}

/// The entries found by meaning. A turn goes on without them if they cannot be found.
async fn near(lore: &Lore, transcript: &Transcript, deadline: &Deadline) -> Vec<Near> {
    let finding = lore.near(transcript);
    let near = match lore.patience() {
        None => finding.await.map_err(|error| error.to_string()),
        Some(patience) => {
            let asking = async { tokio::time::timeout(patience, finding).await };
            match deadline.pause(patience, asking).await {
                Ok(near) => near.map_err(|error| error.to_string()),
                Err(_late) => Err(format!("no vector within {} ms", patience.as_millis())),
            }
        }
    };
    near.unwrap_or_else(|error| {
        tracing::warn!(%error, "no entry is found by meaning");
        Vec::new()
    })
}

/// How many messages the user has written.
fn user_messages(path: &Path) -> u32 {
    let written = path.items().iter().filter(|item| item.message.role == Role::User).count();
    u32::try_from(written).unwrap_or(u32::MAX)
}
