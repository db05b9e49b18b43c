//! The prompt of a past turn as another prompt template would have built it.

use axum::extract::State;
use loreloom_core::{
    assemble::{Assembled, Layout, PromptTemplate},
    chat::Message,
    ids::ChatId,
    place::Provenance,
    prompt::PromptMessage,
    report::Span,
    turn::{Transcript, TurnInput},
};
use loreloom_ports::{TurnId, history::travel::Revisited};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    lore::Lore,
    play::{PromptRequest, StoryCast},
    prompt_map::PromptMap,
};

routes! {
    POST "/chats/{chat}/turns/{turn}/template" => preview,
}

/// What to try out.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TemplateBody {
    /// The blocks of the prompt; those that work now without it.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>))]
    template: Option<PromptTemplate>,
}

/// A prompt as a template builds it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TemplatePreview {
    /// The prompt, measured. What was woven into the turn is in its place.
    prompt: PromptMap,
}

/// Builds the prompt of a past turn with another prompt template. What was woven in stays the
/// same. Nothing is stored, and no model is asked.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/turns/{turn}/template", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    request_body = TemplateBody,
    responses((status = 200, body = TemplatePreview))
))]
async fn preview(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
    Json(body): Json<TemplateBody>,
) -> Result<Json<TemplatePreview>, Problem> {
    let chat = ChatId(chat);
    let looked = app.past.look_at(&caller.tenant, &chat, TurnId(turn)).await?;
    let past = &looked.past;
    let unknown = || Problem::new(Code::Conflict, "what the turn was given was not kept");
    let input = past.record.input.as_deref().ok_or_else(unknown)?;
    let messages: Vec<Message> =
        past.path.items().iter().map(|item| item.message.clone()).collect();
    let cast = StoryCast::read(app.store.as_ref(), &caller.tenant, &chat, &messages).await?;
    let lore = app.lore.current();
    let own = body.template.as_ref().or(cast.setup.template.as_ref());
    let template = own.unwrap_or(&lore.rules().template);
    let (messages, spans) = built(past, input, &cast, (template, &lore));
    let titles = |source: &Provenance| match source {
        Provenance::Lore { entry, .. } => {
            lore.library().title(entry).unwrap_or_default().to_owned()
        }
        Provenance::AuthorsNote => "authors_note".to_owned(),
        Provenance::Memory(slot) => slot.clone(),
    };
    let counter = app.connections.counter_of(Some(input));
    let sent = Some(past.record.prompt.as_slice());
    let prompt = PromptMap::of(&messages, &spans, sent, titles, counter.as_ref());
    Ok(Json(TemplatePreview { prompt }))
}

/// The prompt of a template, with what was woven into the turn.
fn built(
    past: &Revisited,
    input: &TurnInput,
    cast: &StoryCast,
    (template, lore): (&PromptTemplate, &Lore),
) -> (Vec<PromptMessage>, Vec<Span>) {
    let rules = lore.rules();
    let speaker = input.speaker.as_ref().map(|speaker| speaker.name.as_str());
    let player = cast.players.iter().find(|player| Some(player.name()) == speaker);
    let transcript = Transcript::of(&past.path, rules.world_info.include_names);
    let turn = input.turn(&past.path, &transcript);
    let messages = past.path.items().iter().map(|item| item.message.clone()).collect();
    let (generation, card) = (input.generation, &input.card);
    let request = PromptRequest { cast, player, messages, generation, card };
    let built = request.build(template, &turn.macros(), false);
    let layout = Layout {
        wrap: rules.wrap.clone(),
        slot: template.slot_place(),
        lore_format: rules.wi_format.clone(),
        ..built.layout
    };
    let plan = layout.plan(&built.prompt, &past.record.injections);
    let Assembled { messages, spans } = plan.apply(built.prompt);
    (messages, spans)
}
