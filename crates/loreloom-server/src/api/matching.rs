//! Trying lore on a text.

use axum::extract::State;
use loreloom_core::{
    book::Entry,
    ids::{BookId, ChatId, EntryId},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    entry_json,
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    catalog::{self, Subject},
    frequency::{self, Frequency, KeyCount},
    preview,
};

routes! {
    POST "/lore/match" => try_out,
    POST "/lore/frequency" => frequency,
}

/// A text to try entries on.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Try {
    /// The text.
    text: String,
    /// The entries to try; without them all whose keys are plain text or expressions.
    entries: Option<Vec<EntryId>>,
    /// Changes to the first of `entries` that are not saved yet (RFC 7396).
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    draft: Option<Map<String, Value>>,
    /// The user's name, for keys that name it.
    user: Option<String>,
    /// The character's name, for keys that name it.
    character: Option<String>,
}

/// A place in the text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = TextPlace))]
struct TextPlace {
    /// The first byte (UTF-8).
    start: usize,
    /// One past the last byte.
    end: usize,
}

/// A key and where it was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct KeyHits {
    /// The key.
    key: String,
    /// Where it is found.
    places: Vec<TextPlace>,
}

/// An entry and which of its keys were found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct EntryHits {
    /// The entry.
    entry: EntryId,
    /// Its book.
    book: BookId,
    /// What people call it.
    title: String,
    /// Its keys, first and second, with where each is found.
    keys: Vec<KeyHits>,
}

/// What was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Tried))]
struct KeyTrial {
    /// The entries: those asked for, or all of which a key was found.
    items: Vec<EntryHits>,
}

/// The longest text that is tried.
const MOST_TEXT: usize = 256 << 10;
/// The most entries that are tried one by one.
const MOST_ENTRIES: usize = 500;

/// Which keys of which entries are found in a text, and where.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lore/match", tag = "entries", request_body = Try,
    responses((status = 200, body = KeyTrial))
))]
async fn try_out(
    State(app): State<App>,
    _caller: Caller,
    Json(wanted): Json<Try>,
) -> Result<Json<KeyTrial>, Problem> {
    if wanted.text.len() > MOST_TEXT {
        let rule = "must have at most 262144 bytes";
        return Err(Problem::value("text", rule, wanted.text.len()));
    }
    app.sync.take_up().await?;
    let working = tokio::task::spawn_blocking(move || tried(&app, &wanted));
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    working.await.map_err(failed)?.map(Json)
}

/// What the user and the character are called, where keys name them.
fn names(app: &App, user: Option<&str>, character: Option<&str>) -> (String, String) {
    let live = app.settings.now();
    let user = user.unwrap_or(&live.defaults.user).to_owned();
    let speaker = live.defaults.speaker.as_ref().map(|speaker| speaker.name.as_str());
    (user, character.or(speaker).unwrap_or_default().to_owned())
}

fn tried(app: &App, wanted: &Try) -> Result<KeyTrial, Problem> {
    let lore = app.lore.current();
    let rows = catalog::rows(&lore);
    let names = names(app, wanted.user.as_deref(), wanted.character.as_deref());
    let names = (names.0.as_str(), names.1.as_str());
    let (library, rules) = (lore.library(), lore.rules());
    let ids: Vec<EntryId> = match &wanted.entries {
        Some(ids) => ids.clone(),
        None => preview::touched(library, rules, names, &wanted.text),
    };
    if ids.len() > MOST_ENTRIES {
        return Err(Problem::value("entries", "must be at most 500", ids.len()));
    }
    let mut items = Vec::new();
    for (at, id) in ids.into_iter().enumerate() {
        let row = rows.iter().find(|row| *row.id == id);
        let row = row.ok_or_else(|| Problem::missing("entry", id.as_str()))?;
        let Subject::Entry { entry, dialect } = row.subject else { continue };
        let draft: Entry;
        let entry = match &wanted.draft {
            Some(patch) if at == 0 => {
                draft = entry_json::patched(entry, patch)?;
                &draft
            }
            Some(_) | None => entry,
        };
        let hits = preview::hits(entry, dialect, rules, names, &wanted.text);
        items.push(EntryHits {
            entry: entry.id.clone(),
            book: row.book.into(),
            title: entry.title().to_owned(),
            keys: hits.into_iter().map(KeyHits::of).collect(),
        });
    }
    if wanted.entries.is_none() {
        items.retain(|item| item.keys.iter().any(|key| !key.places.is_empty()));
    }
    Ok(KeyTrial { items })
}

impl KeyHits {
    fn of(hits: preview::Hits) -> Self {
        let places = hits.places.into_iter().map(|(start, end)| TextPlace { start, end });
        Self { key: hits.key, places: places.collect() }
    }
}

/// An entry whose keys are to be counted.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Count {
    /// The entry.
    entry: EntryId,
    /// Changes to it that are not saved yet (RFC 7396).
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    draft: Option<Map<String, Value>>,
    /// The user's name, for keys that name it.
    user: Option<String>,
    /// The character's name, for keys that name it.
    character: Option<String>,
}

/// How often each key of an entry is found in the stored chats, by the entry's own matching
/// mode: in how many messages and chats. Each key counts by itself, whatever else the entry
/// asks for. About 8 MB of text are looked at, newest chats first; `complete` says whether that
/// was all.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lore/frequency", tag = "entries", request_body = Count,
    responses((status = 200, body = Frequency))
))]
async fn frequency(
    State(app): State<App>,
    caller: Caller,
    Json(count): Json<Count>,
) -> Result<Json<Frequency>, Problem> {
    app.sync.take_up().await?;
    let chats = caller.chats(&app, false).await?;
    let chats: Vec<ChatId> = chats.into_iter().map(|one| one.chat.id).collect();
    let counting = counting(&app, &count)?;
    Ok(Json(counting.look_at(app.store.as_ref(), &caller.tenant, &chats).await?))
}

fn counting(app: &App, count: &Count) -> Result<KeyCount, Problem> {
    let lore = app.lore.current();
    let row = catalog::rows(&lore).into_iter().find(|row| *row.id == count.entry);
    let row = row.ok_or_else(|| Problem::missing("entry", count.entry.as_str()))?;
    let Subject::Entry { entry, dialect } = row.subject else {
        let detail = format!("`{}` is a note of a vault: its keys are not counted", count.entry);
        return Err(Problem::new(Code::Conflict, detail).with(count.entry.to_string()));
    };
    let draft = count.draft.as_ref().map(|patch| entry_json::patched(entry, patch)).transpose()?;
    let entry = draft.as_ref().unwrap_or(entry);
    let names = names(app, count.user.as_deref(), count.character.as_deref());
    Ok(KeyCount::of(entry, dialect, lore.rules(), names, frequency::MOST_TEXT))
}
