//! The files of vault notes: their whole texts, read and changed in place.
//!
//! A note belongs to the user's folder, not to the store. So a change is refused if the file says
//! something else than the caller has seen, and what the file said before is kept as a document:
//! the change is a revision, and undoing it writes the old text back, by the same rule.

use axum::extract::State;
use loreloom_core::{digest::Hasher, ids::EntryId};
use loreloom_ports::{Change, Changed};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    caller::{Admin, Caller},
    editing::{Editing, Wrote},
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    vaults::{NoteFile, NotePlace, NoteRefusal},
};

routes! {
    GET "/lore/notes/{note}" => show,
    PUT "/lore/notes/{note}" versioned => put,
}

/// Documents of changed notes begin with this.
pub(super) const NOTES: &str = "note/";
/// The most bytes of a note.
const LONGEST: usize = 4 << 20;

/// The file of a note.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NoteView {
    /// The note's id.
    id: EntryId,
    /// The file inside its vault.
    path: String,
    /// All that the file says.
    text: String,
    /// Whether it can be changed here.
    writable: bool,
}

/// A note's file with another text.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewNoteText {
    /// All that the file shall say.
    #[cfg_attr(feature = "schema", schema(max_length = 4_194_304))]
    text: String,
}

/// A change of a note, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct NoteEdit {
    was: String,
    text: String,
}

impl From<NoteRefusal> for Problem {
    fn from(refusal: NoteRefusal) -> Self {
        let code = match refusal {
            NoteRefusal::Elsewhere | NoteRefusal::Unwritable { .. } => Code::Conflict,
            NoteRefusal::Changed => Code::Outdated,
            NoteRefusal::Unreadable { .. } => Code::Failed,
        };
        Self::new(code, refusal.to_string())
    }
}

fn tag(text: &str) -> String {
    let digest = Hasher::new("note text").field(text.as_bytes()).finish().to_string();
    digest.chars().take(16).collect()
}

/// Where the note of that id is.
fn place(app: &App, id: &EntryId) -> Result<NotePlace, Problem> {
    let lore = app.lore.current();
    let mut notes = lore.library_source().notes.iter();
    let note = notes.find(|note| note.id() == *id);
    let note = note.ok_or_else(|| Problem::missing("note", id.as_str()))?;
    Ok(NotePlace { vault: note.vault.clone(), path: note.path.clone() })
}

async fn file(app: &App, place: &NotePlace) -> Result<NoteFile, Problem> {
    let keeper = app.lore.vault_keeper().ok_or(NoteRefusal::Elsewhere)?;
    Ok(keeper.note(place).await?)
}

/// The whole text of a vault note's file, properties included. A key needs the scope `admin`:
/// files hold more than what is woven.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/lore/notes/{note}", tag = "entries",
    params(("note" = String, Path, description = "The note's id, its slashes written as %2F")),
    responses((status = 200, body = NoteView))
))]
async fn show(
    State(app): State<App>,
    Admin(_): Admin,
    Path(note): Path<String>,
) -> Result<Tagged<NoteView>, Problem> {
    let id = EntryId(note);
    let place = place(&app, &id)?;
    let NoteFile { text, writable } = file(&app, &place).await?;
    Ok(Tagged { tag: tag(&text), body: NoteView { id, path: place.path, text, writable } })
}

/// Writes a vault note's file. The vault takes it up as it takes up any change of its files. A
/// key needs the scope `admin`.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/lore/notes/{note}", tag = "entries",
    params(
        ("note" = String, Path, description = "The note's id, its slashes written as %2F"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = NewNoteText,
    responses((status = 200, body = Wrote<NoteView>))
))]
async fn put(
    State(app): State<App>,
    Admin(caller): Admin,
    Path(note): Path<String>,
    seen: IfMatch,
    Json(NewNoteText { text }): Json<NewNoteText>,
) -> Result<Tagged<Wrote<NoteView>>, Problem> {
    if text.len() > LONGEST {
        let rule = format!("must have at most {LONGEST} bytes");
        return Err(Problem::value("text", &rule, text.len()));
    }
    let id = EntryId(note);
    let place = place(&app, &id)?;
    let was = file(&app, &place).await?.text;
    seen.check(&tag(&was))?;
    let edit = NoteEdit { was, text };
    let done = write(&app, &caller, &place, &edit).await?;
    let view = NoteView { id, path: place.path, text: edit.text, writable: true };
    Ok(Tagged { tag: tag(&view.text), body: done.with(view) })
}

type NoteDone = super::editing::Done<()>;

/// Writes the file, and keeps what it said before. What cannot be kept is not written: nobody
/// could undo it.
async fn write(
    app: &App,
    caller: &Caller,
    place: &NotePlace,
    edit: &NoteEdit,
) -> Result<NoteDone, Problem> {
    let keeper = app.lore.vault_keeper().ok_or(NoteRefusal::Elsewhere)?;
    let before = app.store.revision(&caller.tenant).await?;
    keeper.write_note(place, &edit.was, &edit.text).await?;
    let value =
        json!({"vault": place.vault, "path": place.path, "was": edit.was, "text": edit.text});
    let key = format!("{NOTES}{}:{}", place.vault, place.path);
    let change = Change { key, value: Some(value) };
    let stored = app.store.change(&caller.tenant, &[change], None, app.clock.now()).await;
    let revision = match stored {
        Ok(revision) => revision,
        Err(error) => {
            keeper.write_note(place, &edit.text, &edit.was).await?;
            return Err(error.into());
        }
    };
    Editing { app, tenant: &caller.tenant }.done(before, revision, ()).await
}

/// Takes a change of a note back. `None` if the revision changed no note.
pub(super) async fn undo(
    app: &App,
    caller: &Caller,
    changes: &[Changed],
) -> Result<Option<u64>, Problem> {
    let edited = changes.iter().find(|change| change.key.starts_with(NOTES));
    let Some(value) = edited.and_then(|change| change.after.as_ref()) else { return Ok(None) };
    let damaged = |error: serde_json::Error| Problem::new(Code::Failed, error.to_string());
    let place = NotePlace::deserialize(value).map_err(damaged)?;
    let NoteEdit { was, text } = NoteEdit::deserialize(value).map_err(damaged)?;
    let done = write(app, caller, &place, &NoteEdit { was: text, text: was }).await?;
    Ok(Some(done.revision))
}

/// What a change of a note shows: the text before and after.
pub(super) fn shown(change: Changed) -> Changed {
    let text = |name: &str| {
        let value = change.after.as_ref().and_then(|after| after.get(name));
        value.map(|text: &Value| json!({ "text": text }))
    };
    if !change.key.starts_with(NOTES) {
        return change;
    }
    Changed { before: text("was"), after: text("text"), key: change.key.clone() }
}
