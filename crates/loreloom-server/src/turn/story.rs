//! The story of a turn: its messages and what is known about them before the turn is decided.

use std::{collections::BTreeMap, sync::Arc};

use loreloom_core::{
    chat::Path,
    macros::{IDLE, in_words},
    room::CoveredMessages,
    state::StoryState,
    turn::{StoryContext, Transcript, TurnInput},
    units::Timestamp,
};
use loreloom_recognise::Ticket;

use super::{AwaitedReply, Turns};

/// A story up to its newest message.
pub(crate) struct TurnStory {
    /// The messages.
    pub(crate) path: Arc<Path>,
    /// The transcript of the last turn, and how many of the first messages it has right.
    pub(crate) transcribed: Option<(Transcript, usize)>,
    /// The state before the newest message.
    pub(crate) state: StoryState,
    /// What the front end states in this turn besides the messages.
    pub(crate) stated: StoryContext,
    /// What counts in this turn: stated now, stated before, or a default.
    pub(crate) context: StoryContext,
    /// The text before the chat: usually the card.
    pub(crate) card: Arc<str>,
    /// The first message that the model sees.
    pub(crate) seen_from: usize,
    /// The visible messages from [`seen_from`](Self::seen_from) on: how many of the oldest memory
    /// covers, and how many follow them. Those that it covers are not sent.
    pub(crate) covered: CoveredMessages,
    /// Names the request to the recogniser.
    pub(crate) ticket: Option<Ticket>,
    /// How the reply becomes a message, in a story that is played here.
    pub(crate) awaited: Option<AwaitedReply>,
    /// Whether it is only looked at: no model is asked and nothing is stored.
    pub(crate) preview: bool,
}

impl TurnStory {
    /// A story of which only messages, state and the stated context are known.
    pub(crate) fn new(turns: &Turns, path: Path, state: StoryState, stated: StoryContext) -> Self {
        let context = stated.after(&state.context);
        let context = context.after(&turns.settings.now().defaults.context_of(path.chat()));
        Self {
            path: Arc::new(path),
            transcribed: None,
            state,
            stated,
            context,
            card: Arc::default(),
            seen_from: 0,
            covered: CoveredMessages::default(),
            ticket: None,
            awaited: None,
            preview: false,
        }
    }

    /// The input of a turn with what the context sets. `left_at` is when the message before the
    /// newest was written, if that is known.
    pub(crate) fn complete(
        &self,
        input: TurnInput,
        now: Timestamp,
        left_at: Option<Timestamp>,
    ) -> Box<TurnInput> {
        let context = &self.context;
        Box::new(TurnInput {
            at: Some(now),
            group: input.group.or_else(|| context.group().map(str::to_owned)),
            vault_context: context.vault_context(&self.state.vault_context),
            greeting: context.greeting,
            macros: macros(context, now, left_at),
            ..input
        })
    }
}

/// The values of macros that the engine does not know: what the front end states, and how long
/// nobody has written.
fn macros(
    context: &StoryContext,
    now: Timestamp,
    left_at: Option<Timestamp>,
) -> BTreeMap<String, String> {
    let mut macros = context.macros.clone().unwrap_or_default();
    if let Some(left_at) = left_at {
        let idle = now.0.saturating_sub(left_at.0).max(0).unsigned_abs() / 1000;
        macros.entry(IDLE.to_owned()).or_insert_with(|| in_words(idle));
    }
    macros
}
