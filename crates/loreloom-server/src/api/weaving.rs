//! Weaving for front ends that build their own prompt.

use std::sync::Arc;

use axum::extract::State;
use loreloom_core::{
    chat::{GenerationType, Message, Path, Role},
    ids::{ChatId, PrefixHash},
    place::{Injection, Place},
    prompt::PromptMessage,
    report::{BudgetUse, RoomUse, Warning},
    state::StoryState,
    turn::{CardTexts, Speaker, StoryContext, TurnInput},
    units::Tokens,
};
use loreloom_ports::{StoreError, TurnId};
use loreloom_recognise::{
    Explicit, layout_of,
    wire::{CHAT_NAMES, is_chat_name},
};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
    threads::{Thread, of_report},
    undoing,
};
use crate::{
    app::App,
    chat_metadata::ChatMetadata,
    connections::ModelRoute,
    play::narrator_line,
    prompt_map::PromptMap,
    turn::{
        self, Deadline, DecidedTurn, ExpectedRequest, LONGEST_CARD, PlacedTurn, QueueKey,
        TurnStory, Turns, recall,
    },
};

routes! {
    POST "/weave" => weave,
}

/// A message of a story.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Said))]
pub(super) struct StoryMessage {
    /// Who speaks.
    pub(super) role: Role,
    /// The speaker's name.
    pub(super) name: Option<String>,
    /// What is said.
    pub(super) content: String,
    /// Whether the model shall not see it.
    #[serde(default)]
    pub(super) hidden: bool,
    /// Whether it is a narrator's line, which nobody speaks. Its role does not count.
    #[serde(default)]
    pub(super) narrator: bool,
}

impl StoryMessage {
    pub(super) fn message(&self) -> Message {
        let message = if self.narrator {
            narrator_line(self.name.as_deref(), &self.content)
        } else {
            Message::new(self.role, self.name.as_deref(), self.content.as_str())
        };
        Message { hidden: self.hidden, ..message }
    }

    fn prompt(&self) -> PromptMessage {
        let (role, name, content) = (self.role, self.name.clone(), self.content.clone());
        PromptMessage { role, name, content: content.into() }
    }
}

/// A turn to be woven.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct WeaveBody {
    /// The chat; made if it is not there and `dry_run` is false.
    chat: String,
    /// The node that the turn follows; the chat's tip by default, and all zeros for the beginning.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, pattern = "^[0-9a-f]{32}$"))]
    tip: Option<PrefixHash>,
    /// What is said after that.
    #[serde(default)]
    messages: Vec<StoryMessage>,
    /// The prompt to sew the lore into; without it the story's own messages.
    prompt: Option<Vec<StoryMessage>>,
    /// The model it is for: chooses connection and tokenizer.
    model: Option<String>,
    /// The user's name.
    user: Option<String>,
    /// The character who speaks next.
    character: Option<String>,
    /// The name that character filters compare with: SillyTavern's avatar file without its
    /// extension. The character's name without it.
    character_file: Option<String>,
    /// The character's tags, for filters by tag.
    character_tags: Option<Vec<String>>,
    /// The group, in a chat of several characters.
    group: Option<String>,
    /// The texts of card and persona, for entries that look into them.
    card: Option<CardTexts>,
    /// What is asked for.
    #[serde(default)]
    generation: GenerationType,
    /// The model's context size.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    context: Option<u32>,
    /// The longest reply, in tokens: so much of the context is kept free.
    max_tokens: Option<u32>,
    /// The seed of all rolls.
    seed: Option<u64>,
    /// Decide, but store nothing. True without it.
    #[serde(default = "yes")]
    dry_run: bool,
    /// The front end puts the texts into its prompt and sends that next: the proxy does not weave
    /// it again, and regex scripts are the front end's. A turn that is stored counts as such.
    #[serde(default)]
    placed: bool,
    /// Answer as soon as the texts are known: without `prompt`, and before the turn is stored.
    /// `GET /generations/{id}` gives the turn then.
    #[serde(default)]
    quick: bool,
}

impl WeaveBody {
    /// Who speaks next, if the call says so.
    fn speaker(&self) -> Option<Speaker> {
        let name = self.character.clone().filter(|name| !name.is_empty())?;
        let named = Speaker::named(name);
        let filter_name = self.character_file.clone().or(named.filter_name);
        Some(Speaker { filter_name, tags: self.character_tags.clone(), ..named })
    }
}

/// The card as memory gets it.
fn card_text(card: &CardTexts) -> Arc<str> {
    let CardTexts { description, personality, scenario, persona, .. } = card;
    let parts = [description, personality, scenario, persona];
    let parts: Vec<&str> =
        parts.into_iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    parts.join("\n").chars().take(LONGEST_CARD).collect::<String>().into()
}

fn yes() -> bool {
    true
}

/// Texts of one place and role, joined.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Slot))]
struct PlacedSlot {
    /// Where they go.
    place: Place,
    /// Their role.
    role: Role,
    /// The texts, one under the other.
    text: String,
    /// Their tokens.
    tokens: Tokens,
    /// The texts one by one.
    injections: Vec<Injection>,
}

/// A woven turn.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct WovenView {
    /// The chat.
    chat: ChatId,
    /// The story's node that was woven for.
    node: PrefixHash,
    /// The texts by place and role.
    slots: Vec<PlacedSlot>,
    /// What was woven in, carried on or cut.
    threads: Vec<Thread>,
    /// How the pools used their budgets.
    budgets: Vec<BudgetUse>,
    /// Things a person should know.
    warnings: Vec<Warning>,
    /// How the prompt fits into the model's context, where something had to give way.
    room: Option<RoomUse>,
    /// The prompt with the texts sewn in; none for a `quick` call.
    prompt: Option<PromptMap>,
    /// The stored turn; none for a dry run or a `quick` call.
    turn: Option<TurnId>,
    /// Takes the turn back; none for a dry run or a `quick` call.
    undo: Option<String>,
    /// The number of the request that the front end sends next, for `GET /generations/{id}`;
    /// none for a dry run.
    generation: Option<u64>,
}

/// Decides a turn: which texts go where, and why. With `dry_run` false the turn is stored and
/// waits for its reply.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/weave", tag = "weave", request_body = WeaveBody,
    responses((status = 200, body = WovenView))
))]
async fn weave(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<WeaveBody>,
) -> Result<Json<WovenView>, Problem> {
    app.sync.take_up().await?;
    app.turns.late.settled(&ChatId::from(body.chat.as_str())).await;
    let path = path_of(&app, &caller, &body).await?;
    let state = state_before(&app, &caller, &path).await?;
    let (live, connections) = (app.settings.now(), app.connections.now());
    let connection = connections.of(body.model.as_deref());
    let route = app.connections.route(connection, body.model.as_deref());
    let stated = StoryContext {
        user: body.user.clone(),
        char: body.character.clone(),
        card: body.card.clone(),
        ..StoryContext::default()
    };
    let story = TurnStory::new(&app.turns, path, state, stated);
    let context = &story.context;
    let user = context.user().map_or_else(|| live.defaults.user.clone(), str::to_owned);
    let known = || context.char().map(Speaker::named);
    let speaker = body.speaker().or_else(known).or_else(|| live.defaults.speaker.clone());
    let card = context.card.clone().unwrap_or_default();
    // A preview is made at every key that is pressed: no model is asked for it.
    let story = Box::new(TurnStory { preview: body.dry_run, card: card_text(&card), ..story });
    let input = TurnInput {
        generation: body.generation,
        context: body.context.map_or(route.context, Tokens),
        context_stated: body.context.is_some() || route.context_stated,
        reply_tokens: Tokens(body.max_tokens.unwrap_or_default()),
        seed: body.seed.unwrap_or(live.defaults.seed),
        user,
        speaker,
        card,
        group: body.group,
        scripts_elsewhere: body.placed,
        ..TurnInput::default()
    };
    let input = story.complete(input, app.clock.now(), None);
    let turn = decided(&app.turns, story, input, route).await?;
    let seen = turn.story.path.items().iter().filter(|item| item.message.is_seen());
    let prompt: Vec<PromptMessage> = match &body.prompt {
        Some(prompt) => prompt.iter().map(StoryMessage::prompt).collect(),
        None => seen.map(sent).collect(),
    };
    let layout = layout_of(&prompt, turn.route.connection.strict_roles);
    let placed = PlacedTurn::new(turn, &live.weaving.placement, prompt, layout);
    let mut view = WovenView::of(&app, &placed);
    view.prompt = (!body.quick).then(|| prompt_map(&app, &placed));
    if body.placed || !body.dry_run {
        view.generation = expect(&app, &placed);
    }
    match view.generation.filter(|_| body.quick) {
        _ if body.dry_run => {}
        Some(generation) => turn::commit_later(&app.turns, generation, placed),
        None => {
            let stored = turn::commit(&app.turns, placed).await?;
            view.turn = Some(stored.turn);
            view.undo = Some(undoing::of_chat(&view.chat, stored.version));
        }
    }
    Ok(Json(view))
}

/// Expects the request that follows a woven turn: the proxy must not weave it again.
fn expect(app: &App, placed: &PlacedTurn) -> Option<u64> {
    let path = &placed.turn.story.path;
    let newest = path.items().iter().rev().find(|item| item.message.is_seen())?;
    let newest = newest.message.text.as_str().trim().to_owned();
    let chat = Some(path.chat().to_string());
    let explicit = Explicit { chat, ..Explicit::default() };
    let expected = ExpectedRequest { explicit, newest, placed: true, ..ExpectedRequest::default() };
    Some(app.turns.expected.put(expected, app.clock.now()))
}

/// Decides a turn on a blocking thread.
async fn decided(
    turns: &Turns,
    story: Box<TurnStory>,
    input: Box<TurnInput>,
    route: ModelRoute,
) -> Result<Box<DecidedTurn>, Problem> {
    let (turns, runtime) = (turns.clone(), tokio::runtime::Handle::current());
    let deciding = async move {
        let chat = QueueKey::of(
            &turns.tenant,
            &http::HeaderMap::new(),
            story.path.chat().as_str().as_bytes(),
        );
        let deadline = Deadline::new(&turns.settings.now().weaving, chat);
        let recall = recall::start(&turns, &story, &input, &route);
        let mut turn = turn::decide(&turns, story, input, route, &deadline).await;
        recall::finish(&turns, recall, &mut turn).await;
        turn
    };
    let working = tokio::task::spawn_blocking(move || runtime.block_on(deciding));
    working.await.map_err(|error| Problem::new(Code::Failed, error.to_string()))
}

fn sent(item: &loreloom_core::chat::PathItem) -> PromptMessage {
    let Message { role, name, text, .. } = item.message.clone();
    PromptMessage { role, name, content: text }
}

/// The story the turn is about.
async fn path_of(app: &App, caller: &Caller, body: &WeaveBody) -> Result<Path, Problem> {
    let chat = ChatId::from(body.chat.as_str());
    if !is_chat_name(&body.chat) {
        return Err(Problem::value("chat", CHAT_NAMES, body.chat.as_str()));
    }
    let record = app.store.chat(&caller.tenant, &chat).await?;
    let tip = match (body.tip, record) {
        (Some(tip), None) if tip != PrefixHash::default() => {
            return Err(StoreError::NoChat { chat }.into());
        }
        (tip, Some(record)) => tip.unwrap_or(record.tip),
        (Some(_) | None, None) => PrefixHash::default(),
    };
    let mut nodes = Vec::new();
    if tip != PrefixHash::default() {
        nodes = app.store.path(&caller.tenant, &chat, tip).await?;
    }
    ChatMetadata::read(app.store.as_ref(), &caller.tenant, &chat).await?.show_all(&mut nodes);
    let stored = nodes.into_iter().map(|node| node.message);
    let path = Path::of(chat, stored.chain(body.messages.iter().map(StoryMessage::message)));
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
    fn of(app: &App, placed: &PlacedTurn) -> Self {
        let (turn, injections) = (&placed.turn, placed.injections());
        let report = &turn.decision.report;
        let lore = app.lore.current();
        let vault = lore.library().vault();
        let is_note = |id: &_| vault.is_some_and(|vault| vault.find(id).is_some());
        Self {
            chat: turn.story.path.chat().clone(),
            node: turn.story.path.prefix(),
            slots: slots(injections),
            threads: of_report(injections, report, is_note),
            budgets: report.budgets.clone(),
            warnings: report.warnings.clone(),
            room: report.room.clone(),
            prompt: None,
            turn: None,
            undo: None,
            generation: None,
        }
    }
}

/// The prompt with the texts of a turn.
fn prompt_map(app: &App, placed: &PlacedTurn) -> PromptMap {
    let (sent, counter) = (placed.assembled(), placed.turn.route.counter.as_ref());
    let titles = |source: &_| app.lore.source_title(source);
    PromptMap::of(&sent.messages, &sent.spans, None, titles, counter)
}

/// Texts with the same place, in the order of the decision.
fn slots(injections: &[Injection]) -> Vec<PlacedSlot> {
    let mut slots: Vec<PlacedSlot> = Vec::new();
    for injection in injections {
        let is_same =
            |slot: &&mut PlacedSlot| slot.place == injection.place && slot.role == injection.role;
        let text = injection.text.as_str();
        if let Some(slot) = slots.iter_mut().find(is_same) {
            slot.text = format!("{}\n{text}", slot.text);
            slot.tokens = slot.tokens.saturating_add(injection.tokens);
            slot.injections.push(injection.clone());
        } else {
            slots.push(PlacedSlot {
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
