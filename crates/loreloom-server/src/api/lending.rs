//! A front end that lends its model to memory.
//!
//! Memory's workers serve all tenants, and their questions hold the stories. So only the server's
//! own tenant lends a model, as it alone sets memory's model.

use axum::extract::State;
use http::StatusCode;
use loreloom_core::{chat::Role, ids::TenantId};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    lent_model::{LentAnswer, LentQuestion},
};

routes! {
    POST "/lent-model/next" => next_question,
    POST "/lent-model/{id}" => answer,
    DELETE "/lent-model" => withdraw_model,
}

/// A message of a question.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct AskedMessage {
    /// Who speaks.
    role: Role,
    /// What is said.
    content: String,
}

/// A question of memory; without an `id` there is none now.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct QuestionView {
    /// Its number.
    id: Option<u64>,
    /// The prompt.
    messages: Vec<AskedMessage>,
    /// The longest reply, in tokens.
    max_tokens: Option<u32>,
}

impl From<LentQuestion> for QuestionView {
    fn from(LentQuestion { id, request }: LentQuestion) -> Self {
        let messages = request
            .messages
            .into_iter()
            .map(|message| AskedMessage { role: message.role, content: message.content.into() });
        Self { id: Some(id), messages: messages.collect(), max_tokens: request.max_tokens }
    }
}

/// The answer to a question.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct QuestionAnswer {
    /// The model's reply.
    text: Option<String>,
    /// Why there is none; the job tries again later.
    failure: Option<String>,
    /// Whether the front end gave up for its user. The job tries again as often as needed.
    #[serde(default)]
    taken_back: bool,
}

/// Refuses other tenants: the questions are about the stories of all.
fn must_be_local(caller: &Caller) -> Result<(), Problem> {
    if caller.tenant == TenantId::local() {
        return Ok(());
    }
    let detail = "memory works for all tenants: only a key of the tenant `local` lends it a model";
    Err(Problem::new(Code::Forbidden, detail).with(caller.tenant.to_string()))
}

/// Lends the front end's model and waits up to 25 seconds for the next question of memory.
///
/// Memory uses the lent model unless another one is set. It asks one question at a time. A front
/// end that does not call for a minute lends nothing any more. Only callers of the tenant `local`
/// may: the questions are about the stories of all tenants.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lent-model/next", tag = "memory", responses((status = 200, body = QuestionView))
))]
async fn next_question(
    State(app): State<App>,
    caller: Caller,
) -> Result<Json<QuestionView>, Problem> {
    must_be_local(&caller)?;
    let off = || Problem::new(Code::SwitchedOff, "stories are not remembered");
    let memory = app.memory.as_ref().ok_or_else(off)?;
    let context = app.settings.now().defaults.context;
    if !app.api.lent.lend(memory, context) {
        let detail = "another model does memory's work";
        return Err(Problem::new(Code::Conflict, detail));
    }
    let question = app.api.lent.next().await;
    Ok(Json(question.map(QuestionView::from).unwrap_or_default()))
}

/// Brings the answer to a question. Only callers of the tenant `local` may.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lent-model/{id}", tag = "memory",
    params(("id" = u64, Path, description = "The question's number")),
    request_body = QuestionAnswer,
    responses((status = 204, description = "The answer is taken"))
))]
async fn answer(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
    Json(body): Json<QuestionAnswer>,
) -> Result<StatusCode, Problem> {
    must_be_local(&caller)?;
    let given = match (body.text, body.failure) {
        (Some(text), _) => LentAnswer::Text(text),
        (None, Some(failure)) if body.taken_back => LentAnswer::TakenBack(failure),
        (None, Some(failure)) => LentAnswer::Failure(failure),
        (None, None) => {
            let detail = "an answer has `text` or `failure`, found neither";
            return Err(Problem::new(Code::WrongValue, detail).at("text"));
        }
    };
    if app.api.lent.answer(id, given) {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::new(Code::NotFound, "nobody waits for this answer any more").with(id))
}

/// Lends nothing any more. Questions that wait are asked again when a model is there. Only callers
/// of the tenant `local` may.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/lent-model", tag = "memory",
    responses((status = 204, description = "The model is not used any more"))
))]
async fn withdraw_model(State(app): State<App>, caller: Caller) -> Result<StatusCode, Problem> {
    must_be_local(&caller)?;
    app.api.lent.withdraw();
    Ok(StatusCode::NO_CONTENT)
}
