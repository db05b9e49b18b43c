//! Draft: everything that is stored of a turn.

use std::sync::Arc;

use loreloom_core::{
    chat::GenerationType,
    engine::Decision,
    ids::ChatId,
    report::{Report, TurnFacts, Warning},
    state::StateDelta,
    turn::TurnInput,
};
use loreloom_memory::service::Who;
use loreloom_ports::TurnRecord;

use super::{
    AwaitedReply, PlayedTurn, Turns,
    decide::DecidedTurn,
    place::{AppliedTurn, PlacedTurn},
    prompt_cache::measure,
    recall,
    recent_paths::Track,
    store::Replied,
    story::TurnStory,
};
use crate::lore::Lore;

/// A turn that is sent to the model.
pub(super) enum SentTurn {
    /// With its lore.
    Woven(Box<PlacedTurn>),
    /// Without lore, because weaving failed. Its story is known: it is played here.
    Plain(Box<PlainTurn>),
}

/// A turn without lore.
pub(super) struct PlainTurn {
    draft: DraftedTurn,
    awaited: AwaitedReply,
    user: String,
    char: String,
}

/// A turn with everything that is stored of it.
pub(super) struct DraftedTurn {
    pub(super) record: TurnRecord,
    pub(super) track: Track,
    pub(super) who: Who,
    pub(super) lore: Arc<Lore>,
}

impl SentTurn {
    pub(super) fn chat(&self) -> &ChatId {
        match self {
            Self::Woven(placed) => placed.turn.story.path.chat(),
            Self::Plain(plain) => plain.draft.track.path.chat(),
        }
    }

    pub(super) fn lore(&self) -> &Lore {
        match self {
            Self::Woven(placed) => &placed.turn.lore,
            Self::Plain(plain) => &plain.draft.lore,
        }
    }

    /// Whether nothing of it is stored.
    pub(super) fn is_dry_run(&self) -> bool {
        match self {
            Self::Woven(placed) => placed.turn.input.dry_run,
            Self::Plain(plain) => plain.draft.record.generation == GenerationType::Impersonate,
        }
    }

    /// What is needed to read its reply.
    pub(super) fn replied(&self) -> Replied {
        match self {
            Self::Woven(placed) => {
                let DecidedTurn { story, input, .. } = &*placed.turn;
                Replied {
                    ticket: story.ticket.clone(),
                    awaited: story.awaited.clone(),
                    user: input.user.clone(),
                    char: input.speaker.as_ref().map(|one| one.name.clone()).unwrap_or_default(),
                }
            }
            Self::Plain(plain) => Replied {
                ticket: None,
                awaited: Some(plain.awaited.clone()),
                user: plain.user.clone(),
                char: plain.char.clone(),
            },
        }
    }

    /// Everything that is stored of it.
    pub(super) async fn draft(self, turns: &Turns) -> DraftedTurn {
        match self {
            Self::Woven(placed) => draft(turns, *placed).await,
            Self::Plain(plain) => plain.draft,
        }
    }
}

impl PlainTurn {
    /// The turn of a played story that is sent without lore, for this reason. No engine decided
    /// it, so it has no input.
    pub(super) fn new(turns: &Turns, played: &PlayedTurn, reason: String) -> Self {
        let (path, lore) = (Arc::new(played.path.clone()), turns.lore.current());
        let transcript = lore.transcript(&path, None);
        let mut report = Report::undecided(TurnFacts::undecided(&path, played.generation));
        report.warnings.push(Warning::WithoutLore { reason });
        let speaker = played.speaker.as_ref().map(|speaker| speaker.name.clone());
        report.facts.speaker.clone_from(&speaker);
        let record = TurnRecord {
            chat: path.chat().clone(),
            at: path.prefix(),
            answers: path.last_user(),
            generation: played.generation,
            library: lore.library().version(),
            delta: StateDelta::default(),
            injections: Vec::new(),
            prompt: played.prompt.clone(),
            report,
            created: turns.clock.now(),
            input: None,
        };
        let input = TurnInput {
            user: played.user.clone(),
            speaker: played.speaker.clone(),
            ..TurnInput::default()
        };
        let who = recall::speaker(&input, &played.card_text());
        let draft = DraftedTurn { record, track: Track { path, transcript }, who, lore };
        let (awaited, user) = (AwaitedReply::of(played), played.user.clone());
        Self { draft, awaited, user, char: speaker.unwrap_or_default() }
    }
}

/// Everything that is stored of a turn with its lore.
pub(super) async fn draft(turns: &Turns, placed: PlacedTurn) -> DraftedTurn {
    let now = turns.clock.now();
    let AppliedTurn { turn, sent, seams, already, moving } = placed.apply();
    let DecidedTurn { story, input, lore, transcript, decision, route, .. } = *turn;
    let TurnStory { path, state, stated, card, .. } = *story;
    let (who, generation) = (recall::speaker(&input, &card), input.generation);
    let input = DecidedTurn::stored_input(*input, &lore, &path, &route);
    let Decision { injections, mut delta, mut report, .. } = decision;
    let context = stated.after(&state.context);
    delta.context = (context != state.context).then_some(context);
    report.cache = match measure(turns, path.chat(), &route, &sent, &moving).await {
        Ok(measured) => measured,
        Err(error) => {
            tracing::warn!(%error, "the use of the prompt cache is not known");
            None
        }
    };
    report.spans = sent.spans;
    report.warnings.extend(already.into_iter().map(|source| Warning::AlreadyThere { source }));
    let record = TurnRecord {
        chat: path.chat().clone(),
        at: path.prefix(),
        answers: path.last_user(),
        generation,
        library: lore.library().version(),
        delta,
        injections,
        prompt: sent.messages,
        report,
        created: now,
        input: Some(Box::new(TurnInput { seams, ..input })),
    };
    DraftedTurn { record, track: Track { path, transcript }, who, lore }
}
