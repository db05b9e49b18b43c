//! Stories that are played here: beginning one, who takes part, and the next turn.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::{
    chat::{Message, Path as Story, Role},
    ids::{BookId, ChatId, FileVersion, PrefixHash},
    library::Binding,
    macros::MacroValues,
};
use loreloom_ports::{Change, StoreError};
use loreloom_recognise::wire::{CHAT_NAMES, is_chat_name};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    caller_cast::{CallerCast, wrote},
    characters::{greetings, stored},
    editing::{Editing, Wrote},
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    cast::{Kept, KeptCharacter, KeptGroup, KeptPersona},
    connection_settings::ConnectionKind,
    connections::Connection,
    events::ServerEvent,
    play::{KeptStory, ModelChoice, Player, StoryCast},
    proxy, stored_books,
};

routes! {
    POST "/stories" => begin,
    GET "/chats/{chat}/setup" => show,
    PATCH "/chats/{chat}/setup" versioned => change,
}

/// A new story.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewStory {
    /// The id of its chat; made of its title without it.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 200))]
    id: Option<String>,
    /// Its title; the names of its characters without it.
    title: Option<String>,
    /// A stored group, whose members, order and name it takes.
    from_group: Option<String>,
    /// The first message of a story without a greeting.
    opening: Option<String>,
    /// Books that are active in this story, besides those that are anyway.
    #[serde(default)]
    books: Vec<BookId>,
    /// Who takes part, and how the story is played.
    #[serde(default)]
    setup: KeptStory,
}

/// A story that was begun.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BegunStory {
    /// Its chat.
    chat: ChatId,
    /// Its title.
    title: String,
}

/// Begins a story. Its greeting is the first message; the other greetings of the card are versions
/// of it.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/stories", tag = "characters", request_body = NewStory,
    responses((status = 201, body = BegunStory))
))]
async fn begin(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewStory>,
) -> Result<Response, Problem> {
    let PreparedStory { chat, title, cast, opening } = prepared(&app, &caller, new).await?;
    let user = cast.user(&app.settings.now().defaults.user);
    let openings = openings(&cast, &user, opening.as_deref());
    let now = app.clock.now();
    app.store.open_chat(&caller.tenant, &chat, &title, now).await?;
    let chosen = cast.setup.greeting.unwrap_or_default() as usize;
    let mut tip = PrefixHash::default();
    for (at, opening) in openings.into_iter().enumerate() {
        let story = Story::of(chat.clone(), opening);
        app.store.commit_path(&caller.tenant, &story, None, now).await?;
        if at == 0 || at == chosen {
            tip = story.prefix();
        }
    }
    if tip != PrefixHash::default() {
        app.store.move_tip(&caller.tenant, &chat, tip, None, now).await?;
    }
    app.sync.take_up().await?;
    app.events.tell(&caller.tenant, ServerEvent::Chat { chat: chat.to_string(), version: 1 });
    Ok((StatusCode::CREATED, Json(BegunStory { chat, title })).into_response())
}

/// How often a story is begun when others change documents at the same time.
const TRIES: usize = 5;

/// A story whose setup and books are stored, before its chat has messages.
struct PreparedStory {
    chat: ChatId,
    title: String,
    cast: StoryCast,
    opening: Option<String>,
}

/// Checks a new story and stores its setup with its books, all in one revision: a story that is
/// refused leaves nothing behind.
async fn prepared(app: &App, caller: &Caller, new: NewStory) -> Result<PreparedStory, Problem> {
    let NewStory { id, title, from_group, opening, books, setup } = new;
    let title = title.filter(|title| !title.trim().is_empty());
    checked_choice(&setup.model)?;
    let mut tries = 0;
    loop {
        tries += 1;
        let edit = CallerCast::of(app, caller).edit().await?;
        let mut setup = setup.clone();
        let mut group = KeptStory::default();
        if let Some(id) = &from_group {
            let KeptGroup { name, members, muted, order } = edit.cast.find(id).await?.value;
            group = KeptStory { characters: members, muted, ..group };
            let (characters, muted) = (group.characters.clone(), group.muted.clone());
            setup = KeptStory { characters, group: Some(name), muted, order, ..setup };
        }
        let setup = checked(edit.cast, setup, &group).await?;
        let cast = StoryCast::of(edit.cast.documents(), Some(setup), &[]).await?;
        let names: Vec<&str> = cast.players.iter().map(Player::name).collect();
        let title = title.clone().or_else(|| cast.setup.group.clone());
        let title = title.unwrap_or_else(|| names.join(", "));
        let chat = chat_id(app, caller, (id.clone(), &title)).await?;
        let mut changes = vec![Kept::put(chat.as_str(), &cast.setup)?];
        changes.extend(attached(app, caller, &chat, &books).await?);
        match edit.change(&changes).await {
            Err(StoreError::Outdated { .. }) if tries < TRIES => {}
            Err(error) => return Err(error.into()),
            Ok(_revisions) => return Ok(PreparedStory { chat, title, cast, opening }),
        }
    }
}

/// A setup without those who were removed since it was `before`. Refuses one that names somebody
/// else who is not there.
async fn checked(
    cast: CallerCast<'_>,
    mut setup: KeptStory,
    before: &KeptStory,
) -> Result<KeptStory, Problem> {
    let documents = cast.documents();
    for id in std::mem::take(&mut setup.characters) {
        if documents.find::<KeptCharacter>(&id).await?.is_some() {
            setup.characters.push(id);
        } else if before.characters.contains(&id) {
            setup.muted.retain(|muted| *muted != id);
        } else {
            return Err(Problem::missing("character", &id));
        }
    }
    if let Some(id) = &setup.persona
        && documents.find::<KeptPersona>(id).await?.is_none()
    {
        if before.persona.as_ref() != Some(id) {
            return Err(Problem::missing("persona", id));
        }
        setup.persona = None;
    }
    Ok(setup)
}

/// The id of a new chat: the one asked for, or one made of its title.
async fn chat_id(
    app: &App,
    caller: &Caller,
    (asked, title): (Option<String>, &str),
) -> Result<ChatId, Problem> {
    if let Some(id) = asked {
        if !is_chat_name(&id) {
            return Err(Problem::value("id", CHAT_NAMES, id));
        }
        let chat = ChatId(id);
        if app.store.chat(&caller.tenant, &chat).await?.is_some() {
            let detail = format!("there is a chat `{chat}` already");
            return Err(Problem::new(Code::Conflict, detail).at("id").with(chat.0));
        }
        return Ok(chat);
    }
    let stem = CallerCast::of(app, caller).documents().free_id::<KeptStory>(title).await?;
    let numbers = std::iter::once(stem.clone()).chain((2_u32..).map(|at| format!("{stem}-{at}")));
    for id in numbers {
        let chat = ChatId(id);
        if app.store.chat(&caller.tenant, &chat).await?.is_none() {
            return Ok(chat);
        }
    }
    Ok(ChatId(stem))
}

/// The beginnings that a story can have: one for each greeting, all with the same number of
/// messages. In a group every member greets.
fn openings(cast: &StoryCast, user: &str, opening: Option<&str>) -> Vec<Vec<Message>> {
    let expanded = |player: Option<&Player>, text: &str| {
        let texts = cast.card_texts(player);
        let char = cast.speaker_name(player).unwrap_or_default();
        let macros = MacroValues {
            user,
            char: &char,
            persona: &texts.persona,
            description: &texts.description,
            personality: &texts.personality,
            scenario: &texts.scenario,
            ..MacroValues::default()
        };
        let name = player.map(Player::name);
        Message::new(Role::Assistant, name, macros.expand(text).into_owned())
    };
    if let Some(opening) = opening.filter(|text| !text.trim().is_empty()) {
        return vec![vec![expanded(cast.players.first().filter(|_| !cast.is_group()), opening)]];
    }
    match cast.players.as_slice() {
        [] => Vec::new(),
        [only] => greetings(&only.card).map(|text| vec![expanded(Some(only), text)]).collect(),
        several => {
            let greeted = several.iter().filter(|one| !cast.setup.muted.contains(&one.id));
            let greet = |player: &Player| {
                let own = player.card.group_only_greetings.first();
                let text = own.or_else(|| greetings(&player.card).next())?;
                Some(expanded(Some(player), text))
            };
            let all: Vec<Message> = greeted.filter_map(greet).collect();
            if all.is_empty() { Vec::new() } else { vec![all] }
        }
    }
}

/// The changes that attach books to a chat.
async fn attached(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    books: &[BookId],
) -> Result<Vec<Change>, Problem> {
    let case = Editing { app, tenant: &caller.tenant }.case();
    let mut changes = Vec::new();
    for (at, book) in books.iter().enumerate() {
        if books[..at].contains(book) {
            continue;
        }
        let mut shelved = case.find(book).await?.shelved;
        let binding = Binding::Chat(chat.clone());
        if !shelved.bindings.contains(&binding) {
            shelved.bindings.push(binding);
            shelved.bindings.sort();
        }
        changes.push(stored_books::change(book, Some(&shelved))?);
    }
    Ok(changes)
}

/// Somebody who takes part in a story.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PlayerView {
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The picture.
    portrait: Option<FileVersion>,
}

/// Where the next turn goes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RoutedModel {
    /// The connection.
    connection: String,
    /// The model; none if nothing names one.
    model: Option<String>,
    /// Whether it is the storyteller that is built in.
    is_storyteller: bool,
    /// Why the connection cannot be used, if it cannot.
    problem: Option<String>,
}

/// The setup of a story and what follows from it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct SetupView {
    /// What was set, or what fits the messages.
    setup: KeptStory,
    /// Whether somebody set it. A story of another front end has none.
    is_set: bool,
    /// The characters.
    players: Vec<PlayerView>,
    /// The persona.
    persona: Option<PlayerView>,
    /// The user's name.
    user: String,
    /// The id of the character who speaks next.
    next: Option<String>,
    /// Where the next turn goes.
    routed: RoutedModel,
}

async fn view(app: &App, caller: &Caller, chat: &ChatId) -> Result<Tagged<SetupView>, Problem> {
    let record = caller.chat(app, chat).await?;
    let nodes = app.store.path(&caller.tenant, chat, record.tip).await?;
    let messages: Vec<Message> = nodes.into_iter().map(|node| node.message).collect();
    let cast = StoryCast::read(app.store.as_ref(), &caller.tenant, chat, &messages).await?;
    let mut players = Vec::new();
    for player in &cast.players {
        let kept = stored(app, caller).find(&player.id).await?;
        players.push(PlayerView {
            id: player.id.clone(),
            name: player.name().to_owned(),
            portrait: kept.value.portrait.map(|picture| picture.file),
        });
    }
    let persona = cast.persona.as_ref().map(|Kept { id, value, .. }| PlayerView {
        id: id.clone(),
        name: value.name.clone(),
        portrait: value.portrait.as_ref().map(|picture| picture.file),
    });
    let body = SetupView {
        is_set: cast.is_set,
        players,
        persona,
        user: cast.user(&app.settings.now().defaults.user),
        next: cast.next(None, &messages).map(|player| player.id.clone()),
        routed: routed(app, &cast.setup.model),
        setup: cast.setup,
    };
    let revision = app.store.revision(&caller.tenant).await?;
    Ok(Tagged::by_content(revision, body))
}

fn routed(app: &App, choice: &ModelChoice) -> RoutedModel {
    let connections = app.connections.now();
    let connection = proxy::route(&connections, choice.model.as_deref());
    RoutedModel {
        connection: connection.name.to_string(),
        model: choice.model.clone().or_else(|| connection.model.clone()),
        is_storyteller: connection.kind == ConnectionKind::Offline,
        problem: connection.problem.clone().or_else(|| nameless(&connection, choice)),
    }
}

/// What to do where nothing names the model of a turn: no server is asked without a name.
pub(super) fn nameless(connection: &Connection, choice: &ModelChoice) -> Option<String> {
    let is_named = choice.model.is_some() || connection.model.is_some();
    let needs_name = connection.kind != ConnectionKind::Offline;
    (needs_name && !is_named).then(|| {
        format!(
            "connection `{}` names no model: choose one for this story, or set `model` of the \
             connection",
            connection.name
        )
    })
}

/// Who takes part in a story, and how it is played.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/setup", tag = "characters",
    params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = SetupView))
))]
async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Tagged<SetupView>, Problem> {
    view(&app, &caller, &ChatId(chat)).await
}

/// A setup with some fields changed; `null` gives a field its usual value.
fn changed(setup: &KeptStory, fields: Map<String, Value>) -> Result<KeptStory, Problem> {
    let wrong = |error: serde_json::Error| Problem::new(Code::WrongValue, error.to_string());
    let Value::Object(mut whole) = serde_json::to_value(setup).map_err(wrong)? else {
        return Ok(setup.clone());
    };
    for (name, value) in fields {
        whole.shift_remove(&name);
        if !value.is_null() {
            whole.insert(name, value);
        }
    }
    serde_json::from_value(Value::Object(whole)).map_err(|error| wrong(error).at("setup"))
}

/// How much a model may think.
const EFFORTS: [&str; 3] = ["low", "medium", "high"];

/// Refuses values that no server takes.
pub(super) fn checked_choice(choice: &ModelChoice) -> Result<(), Problem> {
    for (name, value, most) in [
        ("temperature", choice.temperature, 5.0),
        ("top_p", choice.top_p, 1.0),
        ("min_p", choice.min_p, 1.0),
    ] {
        if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
            let rule = format!("must be from 0 to {most}");
            return Err(Problem::value(&format!("model.{name}"), &rule, value));
        }
    }
    if let Some(effort) = choice.effort.as_deref().filter(|one| !EFFORTS.contains(one)) {
        let rule = "must be `low`, `medium` or `high`";
        return Err(Problem::value("model.effort", rule, effort));
    }
    match choice.max_tokens {
        Some(0) => Err(Problem::value("model.max_tokens", "must be at least 1", 0)),
        Some(_) | None => Ok(()),
    }
}

/// Changes who takes part in a story, or how it is played. What is not given stays, and `null` gives
/// a field its usual value.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/chats/{chat}/setup", tag = "characters",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = KeptStory,
    responses((status = 200, body = Wrote<SetupView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(patch): Json<Map<String, Value>>,
) -> Result<Tagged<Wrote<SetupView>>, Problem> {
    let chat = ChatId(chat);
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let Tagged { tag, body } = view(&app, &caller, &chat).await?;
    seen.check(&tag)?;
    let setup = checked(edit.cast, changed(&body.setup, patch)?, &body.setup).await?;
    checked_choice(&setup.model)?;
    let revisions = edit.change(&[Kept::put(chat.as_str(), &setup)?]).await?;
    let Tagged { tag, body } = view(&app, &caller, &chat).await?;
    Ok(Tagged { tag, body: wrote(&app, &caller, revisions, body).await? })
}
