//! A turn decided again with other lore, rules or slots, before they are saved.

use std::sync::Arc;

use crate::past::again::{Again, as_stored};
use axum::extract::State;
use loreloom_core::{
    ids::{ChatId, EntryId, LibraryVersion},
    library::{Attachment, LibrarySource},
    notebook,
    place::Provenance,
    replay::{TurnChange, TurnLine, compare},
    report::BudgetUse,
    tokens::TokenCounter,
    turn::Speaker,
};
use loreloom_formats::diff::{LineChange, line_changes};
use loreloom_memory::{
    inject::SlotChanges, service::Withheld, settings::Settings as MemorySettings,
};
use loreloom_ports::{TurnId, history::travel::Revisited};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    extract::{Json, Path, read_value},
    lore_patch::LorePatch,
    problem::{Code, Problem},
    replay,
    routes::routes,
    threads::{Thread, of_report},
    turns::prompt_text,
};
use crate::{
    app::App,
    lore::Lore,
    prompt_map::PromptMap,
    turn::recall::{self, PastRecall},
};

routes! {
    POST "/chats/{chat}/turns/{turn}/preview" => preview,
}

/// Whose books a turn is decided with.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = Books))]
enum PreviewBooks {
    /// Those of its day, with the rules of today.
    #[default]
    Then,
    /// Today's.
    Now,
}

/// What to try out.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PreviewBody {
    /// Whose books.
    #[serde(default)]
    books: PreviewBooks,
    // Not `LorePatch` flattened: unknown fields would pass.
    /// Changes of entries of those books, by their ids (RFC 7396).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    entries: Map<String, Value>,
    /// Entries to leave out.
    #[serde(default)]
    without: Vec<EntryId>,
    /// Changes of the engine's rules (RFC 7396).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    rules: Map<String, Value>,
    /// In place of `books`: the lore of this run of `POST /replay`.
    run: Option<u64>,
    /// Decide it as a turn of this character: with its character filters, its books, and what
    /// memory lets it know. What the front end wrote for the other character stays.
    #[cfg_attr(feature = "schema", schema(min_length = 1))]
    speaker: Option<String>,
    /// Changes of memory's slots (RFC 7396), as `set.memory` of the settings. With any, memory is
    /// injected again from what is known on that path today.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    memory: Map<String, Value>,
}

/// A turn as it would be.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PreviewView {
    /// What would be woven in, carried on or cut.
    threads: Vec<Thread>,
    /// How the pools would use their budgets.
    budgets: Vec<BudgetUse>,
    /// The prompt, measured; `unchanged` compares it with the prompt that was sent.
    prompt: PromptMap,
    /// Which entries came, went or changed against what was woven then; none if none did.
    lore: Option<TurnChange>,
    /// What is different in the prompt that was sent, as lines.
    lines: Vec<LineChange>,
    /// As whose turn it was decided, where another speaker was asked for.
    speaker: Option<AsSpeaker>,
}

/// A turn that is decided as another character's.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct AsSpeaker {
    /// The character.
    name: String,
    /// Whether books were chosen by what they are attached to. If the books of the turn are not
    /// today's, its own choice stays: old attachments are not stored.
    followed: bool,
    /// What memory keeps from the character: what it was away for or must not know.
    withheld: Vec<Withheld>,
}

/// Lore to decide a turn with.
struct Chosen {
    source: LibrarySource,
    /// Whom today's books follow; without it the turn's own books are as they were.
    followed: Option<Arc<Lore>>,
}

impl Chosen {
    async fn of(
        app: &App,
        caller: &Caller,
        body: PreviewBody,
        version: LibraryVersion,
    ) -> Result<Self, Problem> {
        let now = app.lore.current();
        let (source, followed) = match (body.run, body.books) {
            (Some(run), _) => {
                let run = replay::run(app, caller, run)?;
                (run.library_source().clone(), Some(Arc::clone(run.lore())))
            }
            (None, PreviewBooks::Now) => (now.library_source().clone(), Some(now)),
            (None, PreviewBooks::Then) => {
                let unknown =
                    || Problem::new(Code::Conflict, "the books of the turn were not kept");
                let mut source = shelf_of(app, caller, version).await?.ok_or_else(unknown)?;
                // What is changed are the rules that work now.
                source.rules = now.rules().clone();
                let is_todays = now.library().version() == version;
                (source, (body.speaker.is_some() && is_todays).then_some(now))
            }
        };
        let PreviewBody { entries, without, rules, .. } = body;
        let patch = LorePatch { entries, without, rules };
        Ok(Self { source: patch.over(&source, None)?, followed })
    }

    /// The books that are active for a turn, where they are not those of its day.
    fn attachments(&self, past: &Revisited) -> Option<Vec<Attachment>> {
        let (lore, input) = (self.followed.as_ref()?, past.record.input.as_deref()?);
        Some(lore.attachments(&input.cast(past.path.chat())))
    }
}

/// Decides a past turn again with other lore, rules or slots of memory, and compares it with
/// what was sent. Nothing is stored.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/turns/{turn}/preview", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    request_body = PreviewBody,
    responses((status = 200, body = PreviewView))
))]
async fn preview(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
    Json(mut body): Json<PreviewBody>,
) -> Result<Json<PreviewView>, Problem> {
    app.sync.take_up().await?;
    let looked = app.past.look_at(&caller.tenant, &ChatId(chat), TurnId(turn)).await?;
    let memory = std::mem::take(&mut body.memory);
    let name = body.speaker.clone();
    let chosen = Chosen::of(&app, &caller, body, looked.past.record.library).await?;
    let counter = app.connections.counter_of(looked.past.record.input.as_deref());
    let mut past = looked.past.clone();
    let speaker = match name {
        Some(name) => Some(speak_as(&app, &caller, &mut past, &chosen, name).await?),
        None => None,
    };
    let slots = slots(&app, memory)?;
    if let Some(settings) =
        slots.or_else(|| speaker.as_ref().map(|_| (*app.settings.now().memory).clone()))
    {
        remember(&app, &caller, &mut past, counter.as_ref(), &settings).await?;
    }
    let working = tokio::task::spawn_blocking(move || {
        let view = decided(&looked.past, &past, &chosen, counter.as_ref())?;
        Ok(PreviewView { speaker, ..view })
    });
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    working.await.map_err(failed)?.map(Json)
}

/// Gives the turn to another character.
async fn speak_as(
    app: &App,
    caller: &Caller,
    past: &mut Revisited,
    chosen: &Chosen,
    name: String,
) -> Result<AsSpeaker, Problem> {
    if name.trim().is_empty() {
        return Err(Problem::value("speaker", "must not be empty", name));
    }
    if let Some(input) = &mut past.record.input {
        // Its own speaker has tags and a file name, of others only the name is known.
        if input.speaker.as_ref().is_none_or(|speaker| speaker.name != name) {
            input.speaker = Some(Speaker::named(name.clone()));
        }
    }
    let withheld = recall::withheld(&app.turns, &caller.tenant, &past.path, &name).await?;
    Ok(AsSpeaker { name, followed: chosen.followed.is_some(), withheld })
}

/// The turn as it was, and again with the input of `past`.
fn decided(
    was: &Revisited,
    past: &Revisited,
    chosen: &Chosen,
    counter: &dyn TokenCounter,
) -> Result<PreviewView, Problem> {
    let sent = was.record.prompt.as_slice();
    let unknown = || Problem::new(Code::Conflict, "what the turn was given was not kept");
    let mut input = past.record.input.as_deref().cloned().ok_or_else(unknown)?;
    if let Some(attachments) = chosen.attachments(past) {
        input.attachments = Some(attachments);
    }
    let library = chosen.source.compile();
    let again = Again::decide(past, &input, &library, &chosen.source.rules, counter)?;
    let titles = |source: &Provenance| match source {
        Provenance::Lore { entry, .. } => library.title(entry).unwrap_or_default().to_owned(),
        Provenance::AuthorsNote => "authors_note".to_owned(),
        Provenance::Memory(slot) => slot.clone(),
    };
    let report = &again.woven.report;
    let vault = library.vault();
    let is_note = |id: &EntryId| vault.is_some_and(|vault| vault.find(id).is_some());
    let line = |woven: &_| [TurnLine::of(0, woven)];
    Ok(PreviewView {
        threads: of_report(&again.woven.injections, report, is_note),
        budgets: report.budgets.clone(),
        lore: compare(&line(&as_stored(&was.record)), &line(&again.woven)).pop(),
        lines: line_changes(&prompt_text(sent), &prompt_text(&again.messages)),
        prompt: PromptMap::of(&again.messages, &report.spans, Some(sent), titles, counter),
        speaker: None,
    })
}

/// Today's settings of memory with changed slots; none if nothing is changed.
fn slots(app: &App, changes: Map<String, Value>) -> Result<Option<MemorySettings>, Problem> {
    if changes.is_empty() {
        return Ok(None);
    }
    let slots: Result<SlotChanges, Problem> = read_value(&Value::Object(changes));
    let slots = slots.and_then(|slots| checked_slots(&slots).map(|()| slots));
    let slots = slots.map_err(|problem| problem.inside("memory"))?;
    Ok(Some(slots.over(&app.settings.now().memory)))
}

/// Slots can be moved anywhere; budgets are for those that have one.
fn checked_slots(changes: &SlotChanges) -> Result<(), Problem> {
    match changes.without_budget() {
        Some(slot) => {
            let rule = "must name slots that have a budget of their own";
            Err(Problem::value("budgets", rule, slot.name()))
        }
        None => Ok(()),
    }
}

/// Puts what memory would have in the place of what it gave to the turn.
async fn remember(
    app: &App,
    caller: &Caller,
    past: &mut Revisited,
    counter: &dyn TokenCounter,
    settings: &MemorySettings,
) -> Result<(), Problem> {
    let input = past.record.input.as_deref();
    let speaker =
        input.and_then(|input| input.speaker.as_ref()).map(|speaker| speaker.name.clone());
    // What the model sees anyway is never recalled: the messages of the prompt are the last
    // of the path.
    let prompt = input.and_then(|input| input.seams.unpick(&past.record.prompt));
    let seen = prompt.unwrap_or_default().len();
    let seen_from = past.path.items().len().saturating_sub(seen);
    let turn = PastRecall {
        tenant: &caller.tenant,
        path: &past.path,
        speaker: speaker.as_deref(),
        seen_from,
        counter,
    };
    let remembered = recall::recall_with(&app.turns, turn, settings).await?;
    let record = &mut past.record;
    record.injections.retain(|one| match &one.source {
        Provenance::Memory(slot) => notebook::is_slot(slot),
        Provenance::AuthorsNote | Provenance::Lore { .. } => true,
    });
    record.report.budgets.retain(|budget| budget.pool != recall::MEMORY_POOL);
    record.report.budgets.extend(recall::memory_budget(&remembered));
    record.injections.extend(remembered.injections);
    Ok(())
}

/// The books of a version: who a book follows was decided by their places among them.
async fn shelf_of(
    app: &App,
    caller: &Caller,
    version: LibraryVersion,
) -> Result<Option<LibrarySource>, Problem> {
    let lore = app.lore.current();
    if lore.library().version() == version {
        return Ok(Some(lore.library_source().clone()));
    }
    Ok(app.store.library(&caller.tenant, version).await?)
}
