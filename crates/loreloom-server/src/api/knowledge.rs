//! Telling people of a story something: who knows what, by hand.

use axum::extract::State;
use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, MessageId},
};
use loreloom_memory::{record::InsightKind, service::Who};
use loreloom_ports::{RecordKey, RecordKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    caller::Caller,
    extract::{Json, Path},
    memory::{items, service},
    problem::Problem,
    routes::routes,
    undoing,
};
use crate::{app::App, events::ServerEvent};

routes! {
    POST "/chats/{chat}/knowledge" => note,
}

/// What somebody knows from now on.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewKnowledge {
    /// The character whose memory holds it.
    who: String,
    /// Whose knowledge it is.
    subject: String,
    /// How they relate to it.
    kind: InsightKind,
    /// Who it is hidden from.
    target: Option<String>,
    /// The knowledge.
    content: String,
}

/// What noting knowledge gives back.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct KnowledgeWrote {
    /// Takes the write back, as `POST /undo` takes it.
    undo: String,
    /// The record it made.
    id: String,
}

/// Notes who knows, suspects, believes, misses or hides what, from where the story is.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/knowledge", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id")), request_body = NewKnowledge,
    responses((status = 200, body = KnowledgeWrote))
))]
async fn note(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(body): Json<NewKnowledge>,
) -> Result<Json<KnowledgeWrote>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    let texts = [("who", &body.who), ("subject", &body.subject), ("content", &body.content)];
    for (field, text) in texts {
        if text.trim().is_empty() {
            return Err(Problem::value(field, "must not be empty", text.as_str()));
        }
    }
    let path = items(&app, &caller, &chat, None).await?;
    let receipts: Vec<MessageId> = path.last().map(|item| item.id).into_iter().collect();
    let now = app.clock.now().0;
    let owner = Who::named(&body.who).owner();
    // The same words of the same moment are the same knowledge.
    let said = [body.subject.trim(), body.content.trim()];
    let said =
        said.iter().fold(Hasher::new("knowledge"), |hasher, text| hasher.field(text.as_bytes()));
    let id = format!("hand-{now}-{}", said.finish());
    let mut fields = Map::new();
    fields.insert("id".to_owned(), json!(id));
    fields.insert("type".to_owned(), json!(body.kind));
    fields.insert("subject".to_owned(), json!(body.subject.trim()));
    fields.insert("target".to_owned(), json!(body.target));
    fields.insert("content".to_owned(), json!(body.content.trim()));
    fields.insert("ts".to_owned(), json!(now));
    fields.insert("receipts".to_owned(), json!(receipts));
    fields.retain(|_, value| *value != Value::Null);
    let key = RecordKey::new(RecordKind::Insight, id.clone());
    let write = memory.edits.put(&caller.tenant, &owner, key, fields).await?;
    app.events.tell(&caller.tenant, ServerEvent::Memory { write: write.to_string() });
    Ok(Json(KnowledgeWrote { undo: undoing::of_memory(&write), id }))
}
