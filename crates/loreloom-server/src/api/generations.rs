//! What a front end says about a request before it sends it to the proxy.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::{
    chat::GenerationType,
    macros::EXAMPLES,
    turn::{CardTexts, StatedNote, StoryContext},
    units::Tokens,
};
use loreloom_ports::TurnId;
use loreloom_recognise::{
    Explicit,
    wire::{CHAT_NAMES, is_chat_name},
};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    turn::{ExpectedRequest, StatedLimits},
};

routes! {
    POST "/generations" => announce,
    GET "/generations/{id}" => arrived,
}

/// The next request of a front end.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewGeneration {
    /// The chat.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 200))]
    chat: String,
    /// The text of the newest message, which the prompt contains.
    #[cfg_attr(feature = "schema", schema(min_length = 1))]
    newest: String,
    /// What is asked for.
    #[serde(default)]
    generation: GenerationType,
    /// The user's name.
    user: Option<String>,
    /// The character who speaks next.
    character: Option<String>,
    /// The group, in a chat of several characters.
    group: Option<String>,
    /// The texts of card and persona, for entries that look into them.
    card: Option<CardTexts>,
    /// The example messages of the card.
    examples: Option<String>,
    /// The author's note. The proxy places it.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    note: Option<StatedNote>,
    /// The author's note that the front end puts into the prompt itself: it is no message of the
    /// story, and lore goes above and below it.
    placed_note: Option<String>,
    /// The model's context size, in tokens.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    context: Option<u32>,
    /// The longest reply, in tokens: so much of the context is kept free.
    max_tokens: Option<u32>,
    /// The front end places the lore itself: the proxy does not weave this request.
    #[serde(default)]
    placed: bool,
}

impl NewGeneration {
    /// The request to look for, whose prompt contains `newest`.
    fn expected(self, newest: String) -> ExpectedRequest {
        let examples = self.examples.filter(|examples| !examples.is_empty());
        let macros = examples.map(|examples| [(EXAMPLES.to_owned(), examples)].into());
        ExpectedRequest {
            explicit: Explicit {
                chat: Some(self.chat),
                follows: None,
                generation: Some(self.generation),
                user: self.user.filter(|name| !name.is_empty()),
                char: self.character.filter(|name| !name.is_empty()),
                placed_note: self.placed_note.filter(|note| !note.trim().is_empty()),
            },
            stated: StoryContext {
                group: self.group,
                card: self.card,
                macros,
                note: self.note,
                ..StoryContext::default()
            },
            limits: StatedLimits {
                context: self.context.map(Tokens),
                reply: Tokens(self.max_tokens.unwrap_or_default()),
            },
            newest,
            placed: self.placed,
        }
    }
}

/// An announced request.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct GenerationView {
    /// Its number.
    id: u64,
    /// The chat.
    chat: String,
    /// Whether it came through the proxy.
    arrived: bool,
    /// The turn of a `quick` call of `POST /weave`; none for other requests.
    turn: Option<TurnId>,
}

/// Says which chat the next request to the proxy belongs to and what it is decided from, for front
/// ends whose requests cannot carry our field. It is expected for two minutes.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/generations", tag = "weave", request_body = NewGeneration,
    responses((status = 201, body = GenerationView))
))]
async fn announce(
    State(app): State<App>,
    _caller: Caller,
    Json(new): Json<NewGeneration>,
) -> Result<Response, Problem> {
    if !is_chat_name(&new.chat) {
        return Err(Problem::value("chat", CHAT_NAMES, new.chat));
    }
    let newest = new.newest.trim().to_owned();
    if newest.is_empty() {
        return Err(Problem::value("newest", "must have text", new.newest));
    }
    if new.context == Some(0) {
        return Err(Problem::value("context", "must be at least 1", 0));
    }
    let chat = new.chat.clone();
    let id = app.turns.expected.put(new.expected(newest), app.clock.now());
    let view = GenerationView { id, chat, arrived: false, turn: None };
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// Whether an announced request came through the proxy, and the turn that was woven for it. Waits
/// until that is stored.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/generations/{id}", tag = "weave",
    params(("id" = u64, Path, description = "Its number")),
    responses((status = 200, body = GenerationView))
))]
async fn arrived(
    State(app): State<App>,
    _caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<GenerationView>, Problem> {
    let turn = app.turns.late.outcome(id).await.transpose().map_err(|reason| {
        let detail = format!("the turn of this request is not stored: {reason}");
        Problem::new(Code::Failed, detail).with(id)
    })?;
    let expected = &app.turns.expected;
    let (arrived, chat) = expected.has_arrived(id).zip(expected.chat(id)).ok_or_else(|| {
        Problem::new(Code::NotFound, "this request was not announced, or long ago").with(id)
    })?;
    Ok(Json(GenerationView { id, chat, arrived, turn }))
}
