//! Moving or copying many entries into another book, with a look before.

use axum::extract::State;
use loreloom_core::{
    book::{Book, Entry},
    ids::{BookId, EntryId},
};
use loreloom_formats::Loss;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{
    batch::{Selection, selected},
    caller::Caller,
    editing::Editing,
    entry_writes::free_id,
    extract::Json,
    problem::Problem,
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{app::App, entry_moves, stored_books::StoredBook};

routes! {
    POST "/lore/move" versioned => carry,
}

/// Entries to move or copy.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Move {
    /// Which entries.
    select: Selection,
    /// The book they go into.
    into: BookId,
    /// Leave them where they are, too.
    #[serde(default)]
    copy: bool,
    /// Leave out those whose title an entry of that book has. Without it both are there:
    /// nothing is ever overwritten.
    #[serde(default)]
    skip_clashes: bool,
    /// Tell what would happen, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// An entry that goes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Moved {
    /// The entry.
    id: EntryId,
    /// Its book.
    from: BookId,
    /// What people call it.
    title: String,
    /// What it is called by in the other book.
    becomes: EntryId,
}

/// An entry whose title an entry of the other book has.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Clash {
    /// The entry.
    id: EntryId,
    /// What both are called.
    title: String,
    /// The entry of the other book.
    with: EntryId,
}

/// What a move did, or would do.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct MoveDone {
    /// Whether nothing was changed.
    dry_run: bool,
    /// How many entries were selected.
    selected: usize,
    /// Those that go.
    moved: Vec<Moved>,
    /// Those whose title is taken there.
    clashes: Vec<Clash>,
    /// What a file of the other book's format has no place for. It stays in the book here,
    /// and is left out when that is written as such a file.
    losses: Vec<Loss>,
    /// Takes all of it back; none if nothing changed.
    undo: Option<String>,
    /// The revision of the documents.
    revision: u64,
}

impl Move {
    /// Moves the selected entries of the books before the last one into the last one.
    fn carry_out(
        &self,
        books: &mut [(StoredBook, Book)],
        selected: &[(BookId, Vec<EntryId>)],
    ) -> MoveDone {
        let mut done = MoveDone::default();
        let Some(((_, into), sources)) = books.split_last_mut() else { return done };
        for (book, ids) in selected {
            let ids: FxHashSet<&EntryId> = ids.iter().collect();
            let source = sources.iter_mut().find(|(_, one)| one.id == *book);
            match source {
                Some((_, source)) => self.carry(source, &ids, into, &mut done),
                // An entry that is in the book already stays; a copy of it is another entry.
                None if self.copy => {
                    let mut same = into.clone();
                    self.carry(&mut same, &ids, into, &mut done);
                }
                None => {}
            }
        }
        done
    }

    /// Moves these entries of one book into another.
    fn carry(
        &self,
        source: &mut Book,
        ids: &FxHashSet<&EntryId>,
        into: &mut Book,
        done: &mut MoveDone,
    ) {
        let mut going: Vec<Entry> = Vec::new();
        for entry in source.entries.iter().filter(|entry| ids.contains(&entry.id)) {
            let with = into.entries.iter().find(|one| is_called(one, entry.title()));
            if let Some(with) = with {
                let (id, title) = (entry.id.clone(), entry.title().to_owned());
                done.clashes.push(Clash { id, title, with: with.id.clone() });
                if self.skip_clashes {
                    continue;
                }
            }
            going.push(entry.clone());
        }
        if going.is_empty() {
            return;
        }
        let gone: FxHashSet<EntryId> = going.iter().map(|entry| entry.id.clone()).collect();
        let was: Vec<(EntryId, String)> =
            going.iter().map(|entry| (entry.id.clone(), entry.title().to_owned())).collect();
        let crossed = entry_moves::crossed(source, going, into);
        entry_moves::put_folders(into, crossed.folders);
        for ((id, title), entry) in was.into_iter().zip(crossed.entries) {
            let becomes = free_id(into);
            entry_moves::put(into, entry, becomes.clone());
            done.moved.push(Moved { id, from: source.id.clone(), title, becomes });
        }
        done.losses.extend(crossed.losses);
        if !self.copy {
            source.entries.retain(|entry| !gone.contains(&entry.id));
        }
    }
}

/// Whether people call an entry so.
fn is_called(entry: &Entry, title: &str) -> bool {
    entry.title().trim().to_lowercase() == title.trim().to_lowercase()
}

/// Moves or copies many entries into another book, as one revision. They keep their meaning;
/// `losses` lists what a file of that book's format could not store. With `dry_run`, only returns
/// what would happen.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lore/move", tag = "entries", request_body = Move,
    params(("if-match" = Option<String>, Header, description = "The version of all books that the caller has seen: that of `GET /books`, or of a dry run")),
    responses((status = 200, body = MoveDone))
))]
async fn carry(
    State(app): State<App>,
    caller: Caller,
    seen: IfMatch,
    Json(wanted): Json<Move>,
) -> Result<Tagged<MoveDone>, Problem> {
    let selected = selected(&app, &caller, &wanted.select).await?;
    let editing = Editing { app: &app, tenant: &caller.tenant };
    let count = selected.iter().map(|(_, ids)| ids.len()).sum();
    let mut books: Vec<BookId> = selected.iter().map(|(book, _)| book.clone()).collect();
    books.retain(|book| *book != wanted.into);
    books.push(wanted.into.clone());
    let dry_run = wanted.dry_run;
    let change = |books: &mut [(StoredBook, Book)]| Ok(wanted.carry_out(books, &selected));
    let done = if dry_run {
        editing.rehearsed(&seen, &books, change).await?
    } else {
        editing.books_at(&seen, &books, change).await?
    };
    let (undo, revision) = (done.undo, done.revision);
    let body = MoveDone { dry_run, selected: count, undo, revision, ..done.made };
    Ok(Tagged { tag: revision.to_string(), body })
}
