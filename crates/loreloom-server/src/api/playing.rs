//! The next turn of a story that is played here.

use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE, request::Parts};
use loreloom_core::{
    chat::{GenerationType, Message, Path as Story, Role},
    ids::{ChatId, PrefixHash},
    macros::EXAMPLES,
    turn::{Speaker, StoryContext, Transcript, TurnInput},
};
use serde::Deserialize;

use super::{
    caller::Caller,
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
    stories::{checked_choice, nameless},
};
use crate::{
    app::App,
    chat_metadata::ChatMetadata,
    events::ServerEvent,
    keys::Scope,
    play::{ModelChoice, Player, PromptRequest, StoryCast},
    proxy::{self, ProxyRequest},
    turn::{self, PlayedTurn},
};

routes! {
    POST "/chats/{chat}/play" => play,
}

/// What is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
struct PlayBody {
    /// What the user says first.
    text: Option<String>,
    /// The node that this follows; where the story is without it. For another version of a reply
    /// it is the message before the reply, and for `continue` the message to continue.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, pattern = "^[0-9a-f]{32}$"))]
    after: Option<PrefixHash>,
    /// What is asked for. The message of `impersonate` is not stored.
    generation: GenerationType,
    /// The id of the character who speaks; whose turn it is without it.
    speaker: Option<String>,
    /// The model and how it writes, for this turn only.
    model: ModelChoice,
    /// Another number asks a server that takes seeds for another reply.
    seed: Option<u64>,
}

/// A story up to the turn that is asked for.
struct PlayInput {
    path: Story,
    messages: Vec<Message>,
    cast: StoryCast,
    user: String,
}

/// Plays the next turn: builds the prompt from the prompt template, weaves it, and streams the
/// reply of the model. The message of the user is stored at once, the reply when it has ended.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/play", tag = "characters",
    params(("chat" = String, Path, description = "The chat's id")),
    request_body = PlayBody,
    responses((status = 200, description = "The reply, in the form of `/v1/chat/completions`", content_type = "text/event-stream", body = String))
))]
async fn play(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(body): Json<PlayBody>,
) -> Result<Response, Problem> {
    let chat = ChatId(chat);
    if !caller.has(Scope::Proxy) {
        let detail = format!("this key does not have the scope `{}`", Scope::Proxy);
        return Err(Problem::new(Code::Forbidden, detail).with(Scope::Proxy.as_str()));
    }
    if !app.settings.now().weaving.on {
        let detail = "weaving is switched off (`weaving.on`): stories cannot be played here";
        return Err(Problem::new(Code::SwitchedOff, detail));
    }
    app.sync.take_up().await?;
    let asked = asked(&app, &caller, &chat, &body).await?;
    let request = request(&app, &asked, &body)?;
    if body.text.is_some() {
        keep(&app, &caller, &asked.path).await?;
    }
    // A turn is large, and only some calls have one.
    Ok(Box::pin(turn::run(&app.turns, request)).await)
}

/// Reads the story and adds what the user says.
async fn asked(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    body: &PlayBody,
) -> Result<PlayInput, Problem> {
    let record = caller.chat(app, chat).await?;
    let tip = body.after.unwrap_or(record.tip);
    let mut nodes = match tip {
        none if none == PrefixHash::default() => Vec::new(),
        tip => app.store.path(&caller.tenant, chat, tip).await?,
    };
    ChatMetadata::read(app.store.as_ref(), &caller.tenant, chat).await?.show_all(&mut nodes);
    let mut messages: Vec<Message> = nodes.into_iter().map(|node| node.message).collect();
    let cast = StoryCast::read(app.store.as_ref(), &caller.tenant, chat, &messages).await?;
    let user = cast.user(&app.settings.now().defaults.user);
    if let Some(text) = body.text.as_deref() {
        if text.trim().is_empty() {
            return Err(Problem::value("text", "must say something", text));
        }
        messages.push(Message::new(Role::User, Some(&user), text));
    }
    let Some(last) = messages.last() else {
        let detail = "the story has no message yet: say something first";
        return Err(Problem::new(Code::WrongValue, detail).at("text"));
    };
    if body.generation == GenerationType::Continue && last.role != Role::Assistant {
        let detail = "only a reply can be continued, and `after` is none";
        return Err(Problem::new(Code::WrongValue, detail).at("after"));
    }
    let path = Story::of(chat.clone(), messages.clone());
    Ok(PlayInput { path, messages, cast, user })
}

/// Stores what the user said, so that it is not lost if the model fails.
async fn keep(app: &App, caller: &Caller, path: &Story) -> Result<(), Problem> {
    app.store.commit_path(&caller.tenant, path, None, app.clock.now()).await?;
    let version = caller.chat(app, path.chat()).await?.version;
    let chat = path.chat().to_string();
    app.events.tell(&caller.tenant, ServerEvent::Chat { chat, version });
    Ok(())
}

/// The request with its prompt and everything that is known about its turn.
fn request(app: &App, asked: &PlayInput, body: &PlayBody) -> Result<ProxyRequest, Problem> {
    let PlayInput { path, messages, cast, user } = asked;
    let player = cast.next(body.speaker.as_deref(), messages);
    if let (Some(id), None) = (&body.speaker, player) {
        return Err(Problem::value("speaker", "must take part in the story", id.as_str()));
    }
    let connections = app.connections.now();
    checked_choice(&body.model)?;
    let mut choice = body.model.over(&cast.setup.model);
    let connection = proxy::route(&connections, choice.model.as_deref());
    if let Some(problem) = nameless(&connection, &choice) {
        return Err(Problem::new(Code::Conflict, problem).at("model"));
    }
    choice.model = choice.model.or_else(|| connection.model.clone());
    let (lore, card) = (app.lore.current(), cast.card_texts(player));
    let speaker = cast.speaker_name(player).map(|name| Speaker {
        tags: player.map(|player| player.card.tags.clone()),
        ..Speaker::named(name)
    });
    let input = TurnInput {
        generation: body.generation,
        user: user.clone(),
        speaker: speaker.clone(),
        card: card.clone(),
        at: Some(app.clock.now()),
        ..TurnInput::default()
    };
    let transcript = Transcript::of(path, lore.rules().world_info.include_names);
    let turn = input.turn(path, &transcript);
    let (messages, generation) = (messages.clone(), body.generation);
    let prompt = PromptRequest { cast, player, messages, generation, card: &card };
    let template = cast.setup.template.as_ref().unwrap_or(&lore.rules().template);
    let built = prompt.build(template, &turn.macros(), connection.strict_roles);
    let bytes = Bytes::from(built.body(&choice, body.seed).to_string());
    let played = PlayedTurn {
        path: path.clone(),
        prompt: built.prompt,
        layout: built.layout,
        generation,
        user: user.clone(),
        speaker,
        card,
        group: cast.setup.group.clone(),
        stated: stated(cast, player),
    };
    ProxyRequest::played(connections, parts()?, bytes, played)
        .map_err(|error| Problem::new(Code::Conflict, error.to_string()).at("model"))
}

/// What the setup states about the story besides its messages.
fn stated(cast: &StoryCast, player: Option<&Player>) -> StoryContext {
    let setup = &cast.setup;
    let examples = player.map(|player| player.card.mes_example.clone());
    let macros = examples
        .filter(|text| !text.is_empty())
        .map(|examples| [(EXAMPLES.to_owned(), examples)].into_iter().collect());
    StoryContext {
        note: setup.note.clone(),
        greeting: setup.greeting,
        group: setup.group.clone(),
        macros,
        ..StoryContext::default()
    }
}

/// The head of a request for a chat completion.
fn parts() -> Result<Parts, Problem> {
    let request = Request::post("/v1/chat/completions").header(CONTENT_TYPE, "application/json");
    let request =
        request.body(()).map_err(|error| Problem::new(Code::Failed, error.to_string()))?;
    Ok(request.into_parts().0)
}
