//! All entries of all books as a table: rows, filters, orders.
//!
//! Works on the compiled lore, so that the table shows what turns are decided with. Columns
//! that cost something (tokens, how often an entry fired) are made for the rows that are
//! looked at, unless a filter or an order asks for all.

mod changes;
mod filter;
mod findings;
mod firings;
mod known;
mod makers;

use loreloom_core::{
    book::{Entry, Position},
    dialects::vault::Note,
    digest::Hasher,
    ids::{BookId, EntryId},
    library::Dialect,
    tokens::TokenCounter,
};
use serde::Serialize;

pub(crate) use self::{
    filter::{Filter, Order},
    findings::{LintFinding, lint},
    firings::{Fires, Firings},
    known::CatalogFacts,
    makers::maker,
};
use crate::lore::Lore;

/// What lets an entry in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FiresBy {
    /// Nothing: it is switched off.
    Nothing,
    /// It always fires.
    Constant,
    /// Its meaning.
    Meaning,
    /// Its keys.
    Keys,
}

/// What a row is about.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'lore> {
    Entry { entry: &'lore Entry, dialect: Dialect },
    Note(&'lore Note),
}

/// An entry's place in the lore.
#[derive(Clone, Copy)]
pub(crate) struct Row<'lore> {
    /// Its number over all books, in order.
    pub(crate) at: usize,
    pub(crate) book: &'lore str,
    pub(crate) id: &'lore EntryId,
    pub(crate) subject: Subject<'lore>,
}

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct EntryRow {
    /// Its id.
    pub(crate) id: EntryId,
    /// Its book or vault.
    pub(crate) book: BookId,
    /// Whether it is a note of a vault.
    pub(crate) note: bool,
    /// Whether it can be changed here.
    pub(crate) editable: bool,
    /// What people call it.
    pub(crate) title: String,
    /// Its keys.
    pub(crate) keys: Vec<String>,
    /// What lets it in.
    pub(crate) fires_by: FiresBy,
    /// Where it goes.
    pub(crate) position: Option<Position>,
    /// Its place among entries of one position.
    pub(crate) order: Option<f64>,
    /// The tokens of its text.
    pub(crate) tokens: u32,
    /// Its tags.
    pub(crate) tags: Vec<String>,
    /// Its folder.
    pub(crate) folder: Option<String>,
    /// At how many turns it fired.
    pub(crate) fired: u64,
    /// At how many turns it had no room.
    pub(crate) cut: u64,
    /// Its version, as `If-Match` takes it.
    pub(crate) version: String,
}

impl<'lore> Row<'lore> {
    pub(crate) fn title(&self) -> &'lore str {
        match self.subject {
            Subject::Entry { entry, .. } => entry.title(),
            Subject::Note(note) => &note.title,
        }
    }

    pub(crate) fn content(&self) -> &'lore str {
        match self.subject {
            Subject::Entry { entry, .. } => &entry.content,
            Subject::Note(note) => &note.content,
        }
    }

    pub(crate) fn keys(&self) -> Vec<&'lore str> {
        match self.subject {
            Subject::Entry { entry, .. } => {
                entry.activation.keys.iter().map(loreloom_core::book::Key::raw).collect()
            }
            Subject::Note(note) => note.keys.iter().map(String::as_str).collect(),
        }
    }

    pub(crate) fn fires_by(&self) -> FiresBy {
        match self.subject {
            Subject::Entry { entry, .. } if !entry.activation.enabled => FiresBy::Nothing,
            Subject::Entry { entry, .. } if entry.activation.constant => FiresBy::Constant,
            Subject::Entry { entry, .. } if entry.activation.vectorized => FiresBy::Meaning,
            Subject::Note(note) if note.kind.constant => FiresBy::Constant,
            Subject::Entry { .. } | Subject::Note(_) => FiresBy::Keys,
        }
    }

    pub(crate) fn tags(&self) -> &'lore [String] {
        match self.subject {
            Subject::Entry { entry, .. } => &entry.rest.tags,
            Subject::Note(note) => &note.tags,
        }
    }

    pub(crate) fn folder(&self) -> Option<&'lore str> {
        match self.subject {
            Subject::Entry { entry, .. } => entry.rest.folder.as_deref(),
            Subject::Note(note) => note.folder(),
        }
    }

    pub(crate) fn order(&self) -> Option<f64> {
        match self.subject {
            Subject::Entry { entry, .. } => entry.placement.order,
            Subject::Note(note) => Some(note.priority),
        }
    }

    pub(crate) fn is_note(&self) -> bool {
        matches!(self.subject, Subject::Note(_))
    }

    /// The row as it is shown.
    pub(crate) fn shown(
        &self,
        counter: &dyn TokenCounter,
        fires: Fires,
        editable: bool,
    ) -> EntryRow {
        EntryRow {
            id: self.id.clone(),
            book: BookId::from(self.book),
            note: self.is_note(),
            editable,
            title: self.title().to_owned(),
            keys: self.keys().into_iter().map(str::to_owned).collect(),
            fires_by: self.fires_by(),
            position: match self.subject {
                Subject::Entry { entry, .. } => Some(entry.placement.position.clone()),
                Subject::Note(_) => None,
            },
            order: self.order(),
            tokens: counter.count(self.content()).0,
            tags: self.tags().to_vec(),
            folder: self.folder().map(str::to_owned),
            fired: fires.fired,
            cut: fires.cut,
            version: self.version(),
        }
    }

    /// The hash of all it says.
    pub(crate) fn version(&self) -> String {
        match self.subject {
            Subject::Entry { entry, .. } => version_of(entry),
            Subject::Note(note) => note.hash.to_string(),
        }
    }
}

/// The hash of all an entry says.
pub(crate) fn version_of(entry: &Entry) -> String {
    // An entry always has a JSON form: its maps have texts as keys.
    let bytes = serde_json::to_vec(entry).unwrap_or_default();
    Hasher::new("entry").field(&bytes).finish().to_string()
}

/// All rows, in the order of the books.
pub(crate) fn rows(lore: &Lore) -> Vec<Row<'_>> {
    let library = lore.library();
    let entries = library.books().iter().enumerate().flat_map(|(at, book)| {
        let dialect = library.dialect(at);
        book.entries
            .iter()
            .map(move |entry| (book.id.as_str(), &entry.id, Subject::Entry { entry, dialect }))
    });
    let notes = library.vault().into_iter().flat_map(|vault| {
        vault.entries().map(move |ix| {
            let note = vault.note(ix);
            (note.vault.as_str(), vault.id(ix), Subject::Note(note))
        })
    });
    let all = entries.chain(notes).enumerate();
    all.map(|(at, (book, id, subject))| Row { at, book, id, subject }).collect()
}
