//! Recognise: which story a request belongs to, and what its turn is decided from.

use std::sync::Arc;

use loreloom_core::{
    assemble::Layout,
    chat::{Message, Path, Role, identity::without_speaker},
    ids::ChatId,
    state::StoryState,
    turn::{Speaker, StoryContext, Transcript, TurnInput},
    units::Timestamp,
};
use loreloom_ports::StoreError;
use loreloom_recognise::{Kind, Recognition};

use super::Turns;
use super::{body::RequestBody, recent_paths::Track, story::TurnStory};
use crate::{connections::ModelRoute, metrics::StoreWork};

/// A story and the input of its turn.
pub(super) type RecognisedTurn = (Box<TurnStory>, Box<TurnInput>);

/// Recognises a request: what its parts are, and its turn. A request that belongs to no story
/// has no turn.
pub(super) async fn recognise(
    turns: &Turns,
    body: &RequestBody,
    line: &ModelRoute,
) -> Result<(Layout, Option<RecognisedTurn>), StoreError> {
    let (mut found, ticket) = turns.see(&body.request).await?;
    let layout = found.layout(&body.request, line.connection.strict_roles);
    let layout = Layout { fixed: body.fixed(), ..layout };
    let Some(chat) = found.chat.take() else { return Ok((layout, None)) };
    let messages = std::mem::take(&mut found.path);
    let known = known(turns, chat, messages, &found, &body.stated).await?;
    let KnownStory { story, left_at } = known;
    let story = Box::new(TurnStory {
        card: card(&found),
        seen_from: found.before,
        ticket: Some(ticket),
        ..story
    });
    let next = found.speakers.next.as_deref().map(Speaker::named);
    let speaker = next.or_else(|| turns.settings.now().defaults.speaker.clone());
    let character = speaker.as_ref().map(|speaker| speaker.name.as_str());
    let settings = turns.settings.for_story(story.path.chat(), character);
    if !settings.weaving.on {
        return Ok((layout, None));
    }
    let defaults = &settings.defaults;
    let input = TurnInput {
        generation: found.generation,
        context: body.limits.context.unwrap_or(line.context),
        context_stated: body.limits.context.is_some() || line.context_stated,
        reply_tokens: body.limits.reply,
        seed: defaults.seed,
        user: found.speakers.user.unwrap_or_else(|| defaults.user.clone()),
        speaker,
        text_completion: body.is_text(),
        template: body.template().map(|template| template.name.to_owned()),
        dry_run: found.kind != Kind::Story,
        ..TurnInput::default()
    };
    let input = story.complete(input, turns.clock.now(), left_at);
    Ok((layout, Some((story, input))))
}

/// A story with what the last turn and the store know about it.
struct KnownStory {
    story: TurnStory,
    /// When the message before the newest was written, if that is known.
    left_at: Option<Timestamp>,
}

/// Names the messages of a story and reads the state before the newest one. What earlier turns
/// did at the newest message does not count: a reply that is asked for again must see what the
/// first one saw.
async fn known(
    turns: &Turns,
    chat: ChatId,
    mut messages: Vec<Message>,
    found: &Recognition,
    stated: &StoryContext,
) -> Result<KnownStory, StoreError> {
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        name(message, found.speakers.user.as_deref());
    }
    let newest = messages.pop();
    let (track, left_at) = match turns.recent_paths.take(&chat) {
        Some((track, at)) => (track, Some(at)),
        None => (None, None),
    };
    let (known, transcript) = match track {
        Some(Track { path, transcript }) => (Arc::unwrap_or_clone(path), Some(transcript)),
        None => (Path::new(chat), None),
    };
    let (mut path, taken_over) = known.grown(messages);
    let transcribed: Option<(Transcript, usize)> =
        transcript.map(|transcript| (transcript, taken_over));
    let mut state = StoryState::default();
    if let Some(newest) = newest {
        let read = in_time(turns, turns.store.state(&turns.tenant, &path));
        state = match turns.figures.metrics.store.measure(StoreWork::Read, read).await {
            // The first turn of a story.
            Err(StoreError::NoChat { .. }) => state,
            read => read?,
        };
        path.push(newest);
    }
    let story = TurnStory { transcribed, ..TurnStory::new(turns, path, state, stated.clone()) };
    Ok(KnownStory { story, left_at })
}

/// The answer of the store, unless it takes longer than a turn may.
pub(super) async fn in_time<T>(
    turns: &Turns,
    asking: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let longest = turns.settings.now().weaving.deadline;
    tokio::time::timeout(longest, asking).await.unwrap_or_else(|late| {
        Err(StoreError::Database { doing: "reading the story", source: late.into() })
    })
}

/// The longest card that memory gets, in characters: its prompts contain all of it.
const LONGEST_CARD: usize = 6000;

/// The text of a request before the chat.
fn card(found: &Recognition) -> Arc<str> {
    let parts: Vec<&str> = found.window.preamble.iter().map(|part| part.text.as_str()).collect();
    let text = parts.join("\n");
    let end = text.char_indices().nth(LONGEST_CARD).map_or(text.len(), |(end, _)| end);
    Arc::from(&text[..end])
}

/// Gives a message the name of its speaker. One that has a name, or whose text starts with it,
/// stays: it would become another message.
fn name(message: &mut Message, name: Option<&str>) {
    let in_text = without_speaker(&message.text, name).len() < message.text.len();
    if message.name.is_none() && !in_text {
        message.name = name.map(str::to_owned);
    }
}
