//! Weaving for front ends that build their own prompt.

use std::sync::Arc;

use axum::extract::State;
use loreloom_core::{
    assemble::Layout,
    chat::{GenerationType, Message, Path, Role},
    ids::{ChatId, PrefixHash},
    place::{Injection, Place},
    prompt::PromptMessage,
    report::{BudgetUse, Warning},
    state::StoryState,
    turn::{Speaker, StoryContext},
    units::Tokens,
};
use loreloom_ports::{StoreError, TurnId};
use loreloom_recognise::{
    layout_of,
    wire::{CHAT_NAMES, is_chat_name},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    extract::Json,
    problem::{Code, Problem},
    threads::{Thread, of_report},
    undoing,
};
use crate::{
    app::App,
    caching::{Placed, Placement},
    choosing::Waiting,
    connections::Line,
    deciding::{Decided, Wish},
    labels::Label,
    prompt_map::PromptMap,
    story::{Names, Sent, Sewn},
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(weave))
}

/// A message of a story.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct Said {
    /// Who speaks.
    pub(super) role: Role,
    /// The speaker's name.
    pub(super) name: Option<String>,
    /// What is said.
    pub(super) content: String,
}

impl Said {
    pub(super) fn message(&self) -> Message {
        Message::new(self.role, self.name.as_deref(), self.content.as_str())
    }

    fn prompt(&self) -> PromptMessage {
        let (role, name, content) = (self.role, self.name.clone(), self.content.clone());
        PromptMessage { role, name, content: content.into() }
    }
}

/// A turn to be woven.
#[derive(Debug, Deserialize, ToSchema)]
struct WeaveBody {
    /// The chat; made if it is not there and `dry_run` is false.
    chat: String,
    /// The node of the chat that the story is told from; where it is without it.
    #[schema(value_type = Option<String>, pattern = "^[0-9a-f]{32}$")]
    tip: Option<PrefixHash>,
    /// What is said after that.
    #[serde(default)]
    messages: Vec<Said>,
    /// The prompt to sew the lore into; without it the story's own messages.
    prompt: Option<Vec<Said>>,
    /// The model it is for: chooses connection and tokenizer.
    model: Option<String>,
    /// The user's name.
    user: Option<String>,
    /// The character who speaks next.
    character: Option<String>,
    /// The group, in a chat of several characters.
    group: Option<String>,
    /// What is asked for.
    #[serde(default)]
    generation: GenerationType,
    /// The model's context size.
    #[schema(minimum = 1)]
    context: Option<u32>,
    /// The seed of all rolls.
    seed: Option<u64>,
    /// Decide, but store nothing. True without it.
    #[serde(default = "yes")]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

/// Texts of one place and role, joined.
#[derive(Debug, Serialize, ToSchema)]
struct Slot {
    /// Where they go.
    place: Place,
    /// The role they are told in.
    role: Role,
    /// The texts, one under the other.
    text: String,
    /// Their tokens.
    tokens: Tokens,
    /// The texts one by one.
    injections: Vec<Injection>,
}

/// A woven turn.
#[derive(Debug, Serialize, ToSchema)]
struct WovenView {
    /// The chat.
    chat: ChatId,
    /// The story's node that was woven for.
    node: PrefixHash,
    /// The texts by place and role.
    slots: Vec<Slot>,
    /// What was woven in, carried on or cut.
    threads: Vec<Thread>,
    /// How the pools used their budgets.
    budgets: Vec<BudgetUse>,
    /// Things a person should know.
    warnings: Vec<Warning>,
    /// The prompt with the texts sewn in.
    prompt: PromptMap,
    /// The stored turn; none for a dry run.
    turn: Option<TurnId>,
    /// Takes the turn back; none for a dry run.
    undo: Option<String>,
}

/// Decides a turn: which texts go where, and why. With `dry_run` false the turn is stored and
/// waits for its reply.
#[utoipa::path(
    post, path = "/weave", tag = "weave", request_body = WeaveBody,
    responses((status = 200, body = WovenView))
)]
async fn weave(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<WeaveBody>,
) -> Result<Json<WovenView>, Problem> {
    app.take_up(&caller.tenant).await?;
    let path = Arc::new(told(&app, &caller, &body).await?);
    let state = state_before(&app, &caller, &path).await?;
    let live = app.live();
    let speaker = match body.character.as_deref() {
        Some(name) => Some(Speaker::named(name)),
        None => live.defaults.speaker.clone(),
    };
    let user = body.user.clone().unwrap_or_else(|| live.defaults.user.clone());
    let speaks = speaker.as_ref().map(|speaker| speaker.name.clone());
    let names = Names { user, speaker: speaks, card: Arc::default() };
    let connections = app.connections();
    let connection = connections.of(body.model.as_deref());
    let line = app.line(connection, body.model.as_deref());
    let wish = Box::new(Wish {
        transcribed: None,
        path: Arc::clone(&path),
        state,
        speaker,
        names,
        generation: body.generation,
        context: body.context.map_or(line.context, Tokens),
        seed: body.seed.unwrap_or(live.defaults.seed),
        group: body.group.clone(),
        stated: StoryContext::default(),
        text: false,
        is_story: true,
        // A preview is made at every key that is pressed: no model is asked for it.
        asks: !body.dry_run,
        seen_from: 0,
        left_at: None,
    });
    let (deciding, runtime, over) = (app.clone(), tokio::runtime::Handle::current(), line.clone());
    let waiting = Waiting::new(&live.weaving.room);
    let deciding = async move { deciding.decide_on(wish, &over, &waiting).await };
    let working = tokio::task::spawn_blocking(move || runtime.block_on(deciding));
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    let mut decided = working.await.map_err(failed)?;
    drop(path);
    let prompt: Vec<PromptMessage> = match &body.prompt {
        Some(prompt) => prompt.iter().map(Said::prompt).collect(),
        None => {
            decided.path().items().iter().filter(|item| item.message.is_seen()).map(sent).collect()
        }
    };
    let (injections, sent) = sewn(&mut decided, &live.weaving.placement, prompt, line);
    let mut view = WovenView::of(&app, &decided, &injections, &sent);
    if !body.dry_run {
        let chat = decided.path().chat().clone();
        let committed = app.commit(decided, sent, &[]).await?;
        view.turn = Some(committed.turn());
        view.undo = Some(undoing::of_chat(&chat, committed.version()));
    }
    Ok(Json(view))
}

fn sent(item: &loreloom_core::chat::PathItem) -> PromptMessage {
    let Message { role, name, text, .. } = item.message.clone();
    PromptMessage { role, name, content: text }
}

/// The story the turn is about.
async fn told(app: &App, caller: &Caller, body: &WeaveBody) -> Result<Path, Problem> {
    let chat = ChatId::from(body.chat.as_str());
    if !is_chat_name(&body.chat) {
        return Err(Problem::value("chat", CHAT_NAMES, body.chat.as_str()));
    }
    let record = app.store.chat(&caller.tenant, &chat).await?;
    let tip = match (body.tip, record) {
        (Some(_), None) => return Err(StoreError::NoChat { chat }.into()),
        (tip, Some(record)) => tip.unwrap_or(record.tip),
        (None, None) => PrefixHash::default(),
    };
    let mut nodes = Vec::new();
    if tip != PrefixHash::default() {
        nodes = app.store.path(&caller.tenant, &chat, tip).await?;
    }
    Label::read(app.store.as_ref(), &caller.tenant, &chat).await?.show_all(&mut nodes);
    let stored = nodes.into_iter().map(|node| node.message);
    let path = Path::of(chat, stored.chain(body.messages.iter().map(Said::message)));
    if path.items().is_empty() {
        let detail = "a turn needs a story: name a chat that is there, or give `messages`";
        return Err(Problem::new(Code::WrongValue, detail).at("messages"));
    }
    Ok(path)
}

/// The state before the newest message.
async fn state_before(app: &App, caller: &Caller, path: &Path) -> Result<StoryState, Problem> {
    let Some((_, earlier)) = path.items().split_last() else { return Ok(StoryState::default()) };
    let earlier = earlier.iter().map(|item| item.message.clone());
    let earlier = Path::of(path.chat().clone(), earlier);
    match app.store.state(&caller.tenant, &earlier).await {
        Err(StoreError::NoChat { .. }) => Ok(StoryState::default()),
        state => Ok(state?),
    }
}

impl WovenView {
    fn of(app: &App, decided: &Decided, injections: &[Injection], sent: &Sent) -> Self {
        let titles = |source: &_| app.source_title(source);
        let counter = sent.line.counter.as_ref();
        let map = PromptMap::of(&sent.prompt, &sent.spans, None, titles, counter);
        let lore = app.stacks.lore();
        let vault = lore.library().vault();
        let is_note = |id: &_| vault.is_some_and(|vault| vault.find(id).is_some());
        Self {
            chat: decided.path().chat().clone(),
            node: decided.path().prefix(),
            slots: slots(injections),
            threads: of_report(injections, &decided.woven.report, is_note),
            budgets: decided.woven.report.budgets.clone(),
            warnings: decided.woven.report.warnings.clone(),
            prompt: map,
            turn: None,
            undo: None,
        }
    }
}

/// Texts that stand together, in the order they were decided in.
fn slots(injections: &[Injection]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for injection in injections {
        let is_same =
            |slot: &&mut Slot| slot.place == injection.place && slot.role == injection.role;
        let text = injection.text.as_str();
        if let Some(slot) = slots.iter_mut().find(is_same) {
            slot.text = format!("{}\n{text}", slot.text);
            slot.tokens = slot.tokens.saturating_add(injection.tokens);
            slot.injections.push(injection.clone());
        } else {
            slots.push(Slot {
                place: injection.place.clone(),
                role: injection.role,
                text: text.to_owned(),
                tokens: injection.tokens,
                injections: vec![injection.clone()],
            });
        }
    }
    slots
}

/// The texts in their places, and the prompt with them as it is stored with the turn.
fn sewn(
    decided: &mut Decided,
    placement: &Placement,
    prompt: Vec<PromptMessage>,
    line: Line,
) -> (Vec<Injection>, Sent) {
    let wrap = decided.lore.rules().wrap.clone();
    let layout = Layout { wrap, ..layout_of(&prompt, line.connection.strict_roles) };
    // The prompt may hold less of the story than there is: then the oldest are missing.
    let Placed { injections, moving } = decided.place(placement, 0, &prompt, &layout);
    let plan = layout.plan(&prompt, &injections);
    let injections = injections.into_owned();
    (injections, Sewn { prompt, layout, plan, moving, line }.sent())
}
