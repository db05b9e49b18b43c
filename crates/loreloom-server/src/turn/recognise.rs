//! Recognise: which story a request belongs to, and what its turn is decided from.

use std::sync::Arc;

use loreloom_core::{
    assemble::Layout,
    chat::{Message, Path, Role},
    ids::{ChatId, EntryId},
    state::{StateDelta, StoryState},
    turn::{Speaker, StoryContext, Transcript, TurnInput},
    units::Timestamp,
};
use loreloom_ports::StoreError;
use loreloom_recognise::{GivenNames, Kind, Recognition};

use super::Turns;
use super::{body::RequestBody, carried, recent_paths::Track, story::TurnStory};
use crate::connections::ModelRoute;

/// A story and the input of its turn.
pub(super) type RecognisedTurn = (Box<TurnStory>, Box<TurnInput>);

/// Recognises a request: what its parts are, and its turn. A request that belongs to no story
/// has no turn.
pub(super) async fn recognise(
    turns: &Turns,
    body: &RequestBody,
    route: &ModelRoute,
) -> Result<(Layout, Option<RecognisedTurn>), StoreError> {
    let (mut found, mut ticket) = turns.see(&body.request).await?;
    let layout = found.layout(&body.request, route.connection.strict_roles);
    let layout = Layout { fixed: body.fixed(), ..layout };
    let Some(chat) = found.chat.take() else { return Ok((layout, None)) };
    let messages = std::mem::take(&mut found.path);
    let known = known(turns, chat, messages, &mut found, &body.stated).await?;
    let KnownStory { story, carried, left_at } = known;
    ticket.rename(found.speakers.next.as_deref(), found.speakers.user.as_deref());
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
        context: body.limits.context.unwrap_or(route.context),
        context_stated: body.limits.context.is_some() || route.context_stated,
        reply_tokens: body.limits.reply,
        seed: defaults.seed,
        user: found.speakers.user.clone().unwrap_or_else(|| defaults.user.clone()),
        speaker,
        card: story.context.card.clone().unwrap_or_default(),
        card_block: card_block(turns, &found),
        shown: shown(turns, body, &layout, &found),
        text_completion: body.is_text(),
        template: body.template().map(|template| template.name.to_owned()),
        carried,
        dry_run: found.kind != Kind::Story,
        ..TurnInput::default()
    };
    let input = story.complete(input, turns.clock.now(), left_at);
    Ok((layout, Some((story, input))))
}

/// A story with what the last turn and the store know about it.
struct KnownStory {
    story: TurnStory,
    /// Effects of messages that were edited or hidden since.
    carried: StateDelta,
    /// When the message before the newest was written, if that is known.
    left_at: Option<Timestamp>,
}

/// Reads the state of a story before its newest message. What earlier turns did at the newest
/// message does not count: a reply that is asked for again must see what the first one saw.
async fn known(
    turns: &Turns,
    chat: ChatId,
    mut messages: Vec<Message>,
    found: &mut Recognition,
    stated: &StoryContext,
) -> Result<KnownStory, StoreError> {
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
    let (mut state, mut carried) = (StoryState::default(), StateDelta::default());
    if let Some(mut newest) = newest {
        let names = (found.speakers.user.as_deref(), found.speakers.next.as_deref());
        let names = (names.0.unwrap_or_default(), names.1.unwrap_or_default());
        let reading = Box::pin(carried::state(turns, &path, &found.detours, names));
        (state, carried) = reading.await?;
        give_names(turns, path.chat(), (stated, &state), found, &mut newest);
        path.push(newest);
    }
    let story = TurnStory { transcribed, ..TurnStory::new(turns, path, state, stated.clone()) };
    Ok(KnownStory { story, carried, left_at })
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
pub(crate) const LONGEST_CARD: usize = 6000;

/// The text of a request before the chat.
fn card(found: &Recognition) -> Arc<str> {
    let parts: Vec<&str> = found.window.preamble.iter().map(|part| part.text.as_str()).collect();
    let text = parts.join("\n");
    let end = text.char_indices().nth(LONGEST_CARD).map_or(text.len(), |(end, _)| end);
    Arc::from(&text[..end])
}

/// The part of the prompt that entries look into for card and persona, if an entry does.
fn card_block(turns: &Turns, found: &Recognition) -> String {
    let scans = turns.lore.current().library().scans_cards();
    if scans { found.card_block() } else { String::new() }
}

/// The members of inclusion groups that the front end's own scan chose: their texts are in its
/// prompt.
fn shown(turns: &Turns, body: &RequestBody, layout: &Layout, found: &Recognition) -> Vec<EntryId> {
    let lore = turns.lore.current();
    let mut grouped = lore.library().grouped().peekable();
    if grouped.peek().is_none() {
        return Vec::new();
    }
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let (user, char) = (name(&found.speakers.user), name(&found.speakers.next));
    let texts =
        grouped.map(|(id, text)| (id, text.replace("{{user}}", &user).replace("{{char}}", &char)));
    layout.shown(&body.texts(), texts).into_iter().cloned().collect()
}

/// Names that were given on this branch, or in the configuration, win over those that the request
/// shows. The recogniser learns them, because after a restart it knows only names of messages.
fn give_names(
    turns: &Turns,
    chat: &ChatId,
    (stated, state): (&StoryContext, &StoryState),
    found: &mut Recognition,
    newest: &mut Message,
) {
    let context = stated.after(&state.context);
    let context = context.after(&turns.settings.now().defaults.context_of(chat));
    let given = GivenNames {
        user: context.user().map(str::to_owned),
        char: context.char().map(str::to_owned),
    };
    if given == GivenNames::default() {
        return;
    }
    turns.recogniser.take_up_names(chat, given.clone());
    let shown = found.speakers.clone();
    found.speakers.give(given);
    let (before, now) = match newest.role {
        Role::User => (shown.user, &found.speakers.user),
        Role::Assistant => (shown.next, &found.speakers.next),
        Role::System | Role::Tool => return,
    };
    if newest.name == before {
        newest.name.clone_from(now);
    }
}
