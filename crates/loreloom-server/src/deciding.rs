//! Deciding a turn of which everything is known.

use std::{collections::BTreeMap, sync::Arc};

use loreloom_core::{
    chat::{GenerationType, Path, Role, Voices},
    engine::Decision,
    macros::{IDLE, in_words},
    state::StoryState,
    turn::{Near, Speaker, StoryContext, Transcript, TurnInput},
    units::{Timestamp, Tokens},
};

use crate::{
    app::App, choosing::Waiting, connections::Line, lore::Lore, remembering::budget, story::Names,
};

/// Everything a turn is decided from, besides the lore.
pub(crate) struct Wish {
    pub(crate) path: Arc<Path>,
    /// What was transcribed of it, and how many of its first messages that is right for.
    pub(crate) transcribed: Option<(Transcript, usize)>,
    /// The state before the newest message.
    pub(crate) state: StoryState,
    pub(crate) speaker: Option<Speaker>,
    pub(crate) names: Names,
    pub(crate) generation: GenerationType,
    pub(crate) context: Tokens,
    pub(crate) seed: u64,
    pub(crate) group: Option<String>,
    /// What the front end states besides the messages.
    pub(crate) stated: StoryContext,
    /// Whether the prompt is a text to be completed.
    pub(crate) text: bool,
    /// Whether it becomes story.
    pub(crate) is_story: bool,
    /// Whether a model may be asked which notes it needs.
    pub(crate) asks: bool,
    /// The first message that the model sees.
    pub(crate) seen_from: usize,
    /// When the message before the newest was written, where that is known.
    pub(crate) left_at: Option<Timestamp>,
}

/// A turn that was decided but not yet stored. What it was decided from is kept as it is, and taken
/// apart when the turn is stored: by then its request is on its way.
pub(crate) struct Decided {
    pub(crate) lore: Arc<Lore>,
    pub(crate) wish: Box<Wish>,
    pub(crate) input: Box<TurnInput>,
    pub(crate) transcript: Transcript,
    pub(crate) woven: Decision,
}

impl Decided {
    /// The story that it is a turn of.
    pub(crate) fn path(&self) -> &Path {
        &self.wish.path
    }
}

/// The input to store with a turn, so that the turn can be replayed.
pub(crate) fn stored_input(input: TurnInput, lore: &Lore, path: &Path, line: &Line) -> TurnInput {
    TurnInput {
        attachments: Some(lore.attachments(&input.cast(path.chat()))),
        voices: Voices::of(path),
        connection: Some(line.connection.name.clone()),
        model: Some(line.model.clone()).filter(|model| !model.is_empty()),
        ..input
    }
}

impl App {
    /// Decides a turn of which everything is known.
    ///
    /// What is held while it waits is boxed: whoever asks would carry it along, and what is moved
    /// with every request after a pause is fetched from far away.
    pub(crate) async fn decide_on(
        &self,
        mut wish: Box<Wish>,
        line: &Line,
        waiting: &Waiting,
    ) -> Box<Decided> {
        let is_story = wish.is_story;
        let remembering =
            is_story.then(|| self.remembering(&wish.path, &wish.names, wish.seen_from, line));
        // A preview is no turn.
        if wish.asks {
            self.stacks.count_turn();
        }
        let lore = self.stacks.lore();
        let transcript = lore.transcript(&wish.path, wish.transcribed.take());
        let near = if lore.has_vectors() {
            Box::pin(self.near(&lore, &transcript, waiting)).await
        } else {
            Vec::new()
        };
        // Once a turn: what is set while a model chooses is for the next one.
        let holds = Box::new(self.holds(&wish));
        let mut input = Box::new(self.input(&wish, &holds, near));
        let counter = line.counter.as_ref();
        let prepared =
            lore.prepare_turn(&input.turn(&wish.path, &transcript), &wish.state, counter);
        if let Some(open) = prepared.open_notes().filter(|_| is_story && wish.asks) {
            let turn = (&input.turn(&wish.path, &transcript), open);
            let choosing =
                Box::pin(self.choose((&lore, counter), turn, &wish.state, waiting)).await;
            input.selection = choosing;
        }
        let turn = input.turn(&wish.path, &transcript);
        let mut woven = lore.finish_turn(prepared, &turn, &wish.state, counter);
        woven.injections.extend(holds.note(user_messages(&wish.path), line.counter.as_ref()));
        if let Some(remembering) = remembering {
            let asking = self.remembered(wish.path.chat(), remembering);
            let remembered = Box::pin(asking).await;
            woven.report.budgets.extend(budget(&remembered));
            woven.injections.extend(remembered.injections);
        }
        Box::new(Decided { lore, wish, input, transcript, woven })
    }

    /// The input of a turn, without the answer of a selecting model.
    fn input(&self, wish: &Wish, holds: &StoryContext, near: Vec<Near>) -> TurnInput {
        let now = self.clock.now();
        TurnInput {
            generation: wish.generation,
            context: wish.context,
            seed: wish.seed,
            at: Some(now),
            user: wish.names.user.clone(),
            speaker: wish.speaker.clone(),
            text_completion: wish.text,
            group: wish.group.clone().or_else(|| holds.group().map(str::to_owned)),
            near,
            dry_run: !wish.is_story,
            vault_context: holds.vault_context(&wish.state.vault_context),
            greeting: holds.greeting,
            macros: macros(holds, wish.left_at, now),
            ..TurnInput::default()
        }
    }

    /// The story context of a turn: stated now, stated before, or a default.
    fn holds(&self, wish: &Wish) -> StoryContext {
        let telling = wish.stated.after(&wish.state.context);
        telling.after(&self.live().defaults.context_of(wish.path.chat()))
    }

    /// The entries found by meaning; a turn goes on without them.
    async fn near(&self, lore: &Lore, transcript: &Transcript, waiting: &Waiting) -> Vec<Near> {
        let finding = lore.near(transcript);
        let near = match lore.patience() {
            None => finding.await.map_err(|error| error.to_string()),
            Some(patience) => {
                let asking = async { tokio::time::timeout(patience, finding).await };
                match waiting.during(patience, asking).await {
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
}

/// What macros stand for that only the host knows: what it was told, and how long nobody has
/// written.
fn macros(
    stated: &StoryContext,
    left_at: Option<Timestamp>,
    now: Timestamp,
) -> BTreeMap<String, String> {
    let mut macros = stated.macros.clone().unwrap_or_default();
    if let Some(left_at) = left_at {
        let idle = now.0.saturating_sub(left_at.0).max(0).unsigned_abs() / 1000;
        macros.entry(IDLE.to_owned()).or_insert_with(|| in_words(idle));
    }
    macros
}

/// How often the user has spoken.
fn user_messages(path: &Path) -> u32 {
    let spoken = path.items().iter().filter(|item| item.message.role == Role::User).count();
    u32::try_from(spoken).unwrap_or(u32::MAX)
}
