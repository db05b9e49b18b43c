//! Changes or removes many entries at once, after a dry run if you want one.
//!
//! A batch is one revision: one undo reverts all of it. A dry run makes the same changes to copies
//! and returns the differences. Send its version with `If-Match`, and the batch does exactly what
//! the dry run showed.

use axum::extract::State;
use loreloom_core::{
    book::{Book, Entry, Key},
    ids::{BookId, EntryId},
};
use regex::{NoExpand, Regex, RegexBuilder};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    editing::Editing,
    entry_json,
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    catalog::{self, CatalogFacts, Filter},
    stored_books::StoredBook,
};

routes! {
    PATCH "/lore/entries" versioned => change,
    POST "/lore/replace" versioned => replace,
    POST "/lore/remove" versioned => remove,
}

/// Which entries.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct Selection {
    /// These.
    ids: Option<Vec<EntryId>>,
    /// Or those that fit a filter.
    f: Option<String>,
    /// But not these.
    #[serde(default)]
    except: Vec<EntryId>,
}

/// The same change to many entries.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Batch {
    /// Which entries.
    select: Selection,
    /// Fields to change in each (RFC 7396).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    patch: Map<String, Value>,
    /// Added to each entry's order.
    shift_order: Option<f64>,
    /// Tell what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// A field that differs.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct FieldChange {
    /// The field, with dots.
    pub(super) field: String,
    /// What it was.
    before: Value,
    /// What it becomes.
    after: Value,
}

/// An entry that changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct EntryChange {
    /// The entry.
    id: EntryId,
    /// Its book.
    book: BookId,
    /// What people call it.
    title: String,
    /// What differs.
    fields: Vec<FieldChange>,
    /// Whether it is new.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    added: bool,
    /// Whether it goes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
}

impl EntryChange {
    fn of(book: &Book, entry: &Entry) -> Self {
        let (id, title) = (entry.id.clone(), entry.title().to_owned());
        let book = book.id.clone();
        Self { id, book, title, fields: Vec::new(), added: false, removed: false }
    }

    /// What differs between two versions of a book, entry by entry.
    pub(super) fn between(before: Option<&Book>, after: Option<&Book>) -> Vec<Self> {
        let entries = |book: Option<&Book>| -> FxHashMap<EntryId, Entry> {
            let entries = book.into_iter().flat_map(|book| &book.entries);
            entries.map(|entry| (entry.id.clone(), entry.clone())).collect()
        };
        let (old, new) = (entries(before), entries(after));
        let mut found = Vec::new();
        for (book, entry) in each_entry(after) {
            match old.get(&entry.id) {
                None => found.push(Self { added: true, ..Self::of(book, entry) }),
                Some(was) => {
                    let fields = differences(was, entry);
                    if !fields.is_empty() {
                        found.push(Self { fields, ..Self::of(book, entry) });
                    }
                }
            }
        }
        let gone = each_entry(before).filter(|(_, entry)| !new.contains_key(&entry.id));
        found.extend(gone.map(|(book, entry)| Self { removed: true, ..Self::of(book, entry) }));
        found
    }
}

fn each_entry(book: Option<&Book>) -> impl Iterator<Item = (&Book, &Entry)> {
    book.into_iter().flat_map(|book| book.entries.iter().map(move |entry| (book, entry)))
}

/// What a batch did, or would do.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BatchDone {
    /// Whether nothing was changed.
    dry_run: bool,
    /// How many entries were selected.
    selected: usize,
    /// Those that change.
    changed: Vec<EntryChange>,
    /// Takes the whole batch back; none if nothing changed.
    undo: Option<String>,
    /// The revision of the documents.
    revision: u64,
}

impl BatchDone {
    /// With the version of all books, as `GET /books` has it.
    fn tagged(self) -> Tagged<Self> {
        Tagged { tag: self.revision.to_string(), body: self }
    }
}

/// The books with the entries of each that a selection names.
pub(super) type Selected = Vec<(BookId, Vec<EntryId>)>;

/// What a selection names, of what can be changed.
pub(super) async fn selected(
    app: &App,
    caller: &Caller,
    select: &Selection,
) -> Result<Selected, Problem> {
    app.sync.take_up().await?;
    let filter = match (&select.ids, &select.f) {
        (Some(_), None) => Filter::default(),
        (None, Some(text)) => Filter::parse(text)
            .map_err(|error| Problem::value("select.f", error.rule, error.term))?,
        (Some(_), Some(_)) | (None, None) => {
            let detail = "`select` must have either `ids` or `f`";
            return Err(Problem::new(Code::WrongValue, detail).at("select"));
        }
    };
    let lore = app.lore.current();
    let known = CatalogFacts::gather(app, &caller.tenant, &lore, &filter).await?;
    let rows = catalog::rows(&lore);
    let there: FxHashSet<&EntryId> = rows.iter().map(|row| row.id).collect();
    if let Some(id) = select.ids.iter().flatten().find(|id| !there.contains(id)) {
        return Err(Problem::missing("entry", id.as_str()).at("select.ids"));
    }
    let wanted: Option<FxHashSet<&EntryId>> = select.ids.as_ref().map(|ids| ids.iter().collect());
    let mut books: Selected = Vec::new();
    for row in rows {
        let named = wanted.as_ref().is_none_or(|wanted| wanted.contains(row.id));
        if !named || select.except.contains(row.id) || !filter.fits(&row, &known) {
            continue;
        }
        if row.is_note() || app.lore.is_mounted(&BookId::from(row.book)) {
            // A filter picks what can be changed; an entry that was named must be changeable.
            if select.ids.is_some() {
                let detail = format!("`{}` cannot be changed here", row.id);
                return Err(Problem::new(Code::Conflict, detail).with(row.id.to_string()));
            }
            continue;
        }
        match books.last_mut() {
            Some((book, ids)) if book.as_str() == row.book => ids.push(row.id.clone()),
            Some(_) | None => books.push((BookId::from(row.book), vec![row.id.clone()])),
        }
    }
    Ok(books)
}

/// Changes entries by a rule; `change` gives an entry as it becomes, or nothing if it goes.
async fn carry_out(
    app: &App,
    caller: &Caller,
    seen: &IfMatch,
    (select, dry_run): (&Selection, bool),
    change: impl Fn(&Entry) -> Result<Option<Entry>, Problem>,
) -> Result<Tagged<BatchDone>, Problem> {
    let selected = selected(app, caller, select).await?;
    let editing = Editing { app, tenant: &caller.tenant };
    let count = selected.iter().map(|(_, ids)| ids.len()).sum();
    let books: Vec<BookId> = selected.iter().map(|(book, _)| book.clone()).collect();
    let all = |books: &mut [(StoredBook, Book)]| {
        let mut changed = Vec::new();
        for ((_, book), (_, ids)) in books.iter_mut().zip(&selected) {
            change_in(book, ids, &change, &mut changed)?;
        }
        Ok(changed)
    };
    let done = if dry_run || books.is_empty() {
        editing.rehearsed(seen, &books, all).await?
    } else {
        editing.books_at(seen, &books, all).await?
    };
    let (undo, revision, changed) = (done.undo, done.revision, done.made);
    Ok(BatchDone { dry_run, selected: count, changed, undo, revision }.tagged())
}

/// Changes these entries of one book, and notes what differs.
fn change_in(
    book: &mut Book,
    ids: &[EntryId],
    change: impl Fn(&Entry) -> Result<Option<Entry>, Problem>,
    changed: &mut Vec<EntryChange>,
) -> Result<(), Problem> {
    let ids: FxHashSet<&EntryId> = ids.iter().collect();
    let mut kept = Vec::with_capacity(book.entries.len());
    for entry in std::mem::take(&mut book.entries) {
        if !ids.contains(&entry.id) {
            kept.push(entry);
            continue;
        }
        let seen = EntryChange::of(book, &entry);
        match change(&entry)? {
            Some(after) => {
                let fields = differences(&entry, &after);
                if fields.is_empty() {
                    kept.push(entry);
                } else {
                    changed.push(EntryChange { fields, ..seen });
                    kept.push(after);
                }
            }
            None => changed.push(EntryChange { removed: true, ..seen }),
        }
    }
    book.entries = kept;
    Ok(())
}

/// The fields in which two entries differ.
fn differences(before: &Entry, after: &Entry) -> Vec<FieldChange> {
    let mut found = Vec::new();
    differ("", &entry_json::shown(before), &entry_json::shown(after), &mut found);
    found
}

/// Adds the fields in which two values differ, with the path of each.
pub(super) fn differ(at: &str, before: &Value, after: &Value, found: &mut Vec<FieldChange>) {
    if before == after {
        return;
    }
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        let (before, after) = (before.clone(), after.clone());
        return found.push(FieldChange { field: at.to_owned(), before, after });
    };
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    for name in names {
        let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        let value = |of: &Map<String, Value>| of.get(name).cloned().unwrap_or_default();
        differ(&at, &value(old), &value(new), found);
    }
}

/// Changes fields of many entries, as one revision. With `dry_run`, only returns what would
/// change.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/lore/entries", tag = "entries", request_body = Batch,
    params(("if-match" = Option<String>, Header, description = "The version of all books that the caller has seen: that of `GET /books`, or of a dry run")),
    responses((status = 200, body = BatchDone))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    seen: IfMatch,
    Json(batch): Json<Batch>,
) -> Result<Tagged<BatchDone>, Problem> {
    let change = |entry: &Entry| {
        let mut after = entry_json::patched(entry, &batch.patch)?;
        if let Some(shift) = batch.shift_order {
            after.placement.order = Some(after.placement.order.unwrap_or_default() + shift);
        }
        Ok(Some(after))
    };
    carry_out(&app, &caller, &seen, (&batch.select, batch.dry_run), change).await
}

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum TextField {
    /// The text.
    Content,
    /// The name.
    Name,
    /// The comment.
    Comment,
    /// The keys, first and second.
    Keys,
}

/// A text to find and what to put in its place.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Replace {
    /// Which entries.
    select: Selection,
    /// What to find.
    #[cfg_attr(feature = "schema", schema(min_length = 1))]
    find: String,
    /// What to put in its place; with `regex`, `$1` is the first group.
    with: String,
    /// Whether `find` is a regular expression.
    #[serde(default)]
    regex: bool,
    /// Whether capitals matter.
    #[serde(default)]
    case_sensitive: bool,
    /// Where to look; in the text alone without it.
    fields: Option<Vec<TextField>>,
    /// Tell what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// The largest compiled pattern.
const MOST_PATTERN: usize = 1 << 20;

impl Replace {
    fn pattern(&self) -> Result<Regex, Problem> {
        if self.find.is_empty() {
            return Err(Problem::value("find", "must not be empty", ""));
        }
        let pattern = if self.regex { self.find.clone() } else { regex::escape(&self.find) };
        let built = RegexBuilder::new(&pattern)
            .case_insensitive(!self.case_sensitive)
            .size_limit(MOST_PATTERN)
            .build();
        built.map_err(|error| {
            let detail = format!("`find` is no regular expression: {error}");
            Problem::new(Code::WrongValue, detail).at("find").with(self.find.clone())
        })
    }

    fn apply(&self, pattern: &Regex, entry: &Entry) -> Entry {
        let put = |text: &str| -> String {
            if self.regex {
                pattern.replace_all(text, self.with.as_str()).into_owned()
            } else {
                pattern.replace_all(text, NoExpand(&self.with)).into_owned()
            }
        };
        let keys = |keys: &[Key]| -> Vec<Key> {
            keys.iter().map(|key| entry_json::key_of(&put(key.raw()), entry)).collect()
        };
        let mut after = entry.clone();
        for field in self.fields.as_deref().unwrap_or(&[TextField::Content]) {
            match field {
                TextField::Content => after.content = put(&entry.content),
                TextField::Name => after.name = put(&entry.name),
                TextField::Comment => after.comment = put(&entry.comment),
                TextField::Keys => {
                    after.activation.keys = keys(&entry.activation.keys);
                    after.activation.secondary.keys = keys(&entry.activation.secondary.keys);
                }
            }
        }
        after
    }
}

/// Finds and replaces a text in entries, as one revision. With `dry_run`, only returns what would
/// change.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lore/replace", tag = "entries", request_body = Replace,
    params(("if-match" = Option<String>, Header, description = "The version of all books that the caller has seen: that of `GET /books`, or of a dry run")),
    responses((status = 200, body = BatchDone))
))]
async fn replace(
    State(app): State<App>,
    caller: Caller,
    seen: IfMatch,
    Json(replace): Json<Replace>,
) -> Result<Tagged<BatchDone>, Problem> {
    let pattern = replace.pattern()?;
    let change = |entry: &Entry| Ok(Some(replace.apply(&pattern, entry)));
    carry_out(&app, &caller, &seen, (&replace.select, replace.dry_run), change).await
}

/// Entries to remove.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Remove {
    /// Which entries.
    select: Selection,
    /// Tell what would go, and remove nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Removes many entries, as one revision. With `dry_run`, only returns which would go.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lore/remove", tag = "entries", request_body = Remove,
    params(("if-match" = Option<String>, Header, description = "The version of all books that the caller has seen: that of `GET /books`, or of a dry run")),
    responses((status = 200, body = BatchDone))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    seen: IfMatch,
    Json(remove): Json<Remove>,
) -> Result<Tagged<BatchDone>, Problem> {
    carry_out(&app, &caller, &seen, (&remove.select, remove.dry_run), |_| Ok(None)).await
}
