//! Stored books, and what they are attached to.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_core::{
    ids::{BookId, TenantId},
    library::{Binding, BookRules, Dialect, Volume},
    rules::Rules,
    units::Timestamp,
};
use loreloom_formats::{Card, dialect_of, repeated_texts};
use loreloom_ports::{Clock as _, Revision};
use loreloom_server::{Maker, StoredBook, StoredBooks};

use super::serve::runtime;
use crate::{clock::SystemClock, dates, files, lore::read_book, store::StoreArguments};

/// Store books with the stories, so that `serve` weaves from them.
///
/// A book is attached to everything, a character, a persona, a group or one chat. Every change has
/// a number and can be undone.
#[derive(Debug, Args)]
pub(crate) struct BooksArguments {
    #[command(subcommand)]
    what: BooksCommand,

    #[command(flatten)]
    store: StoreArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum BooksCommand {
    /// List the books and what they are attached to
    List,
    /// Add books, or new versions of stored books
    Add(NewBooks),
    /// Attach a book
    Attach {
        /// The book
        book: String,
        /// What it is attached to, as in `add`
        #[arg(required = true, value_name = "WHERE", value_parser = binding)]
        to: Vec<Binding>,
    },
    /// Detach a book
    Detach {
        /// The book
        book: String,
        /// What it is detached from, as in `add`; by default, everything
        #[arg(value_name = "WHERE", value_parser = binding)]
        from: Vec<Binding>,
    },
    /// Remove a book; `undo` restores it
    Remove {
        /// The book
        book: String,
    },
    /// List the changes, newest first
    Log {
        /// How many
        #[arg(long, default_value_t = 20)]
        most: u32,
    },
    /// Undo a change; the undo is a change too
    Undo {
        /// The change's number; the last one without it
        revision: Option<u64>,
    },
}

#[derive(Debug, Args)]
struct NewBooks {
    /// Lorebooks or cards of any format
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What they are attached to: `everywhere`, `character:NAME`, `card:NAME`, `persona:NAME`,
    /// `group:NAME` or `chat:ID`; may be given several times. A stored book keeps its own; the
    /// book of a new card is attached to its character
    #[arg(long = "to", value_name = "WHERE", value_parser = binding)]
    to: Vec<Binding>,

    /// The rules they run by, such as `risu` or `seed-002`. Without it those of the program they
    /// come from; a stored book keeps its own
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    dialect: Option<Dialect>,

    /// The id of a single book, instead of its file's name
    #[arg(long, value_name = "BOOK")]
    id: Option<String>,
}

fn dialect(text: &str) -> Result<Dialect, String> {
    Dialect::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.as_str()).collect();
        format!("a dialect is one of {}, found `{text}`", names.join(", "))
    })
}

fn binding(text: &str) -> Result<Binding, String> {
    Binding::parse(text).ok_or_else(|| {
        format!(
            "a book is attached to `everywhere`, `character:NAME`, `card:NAME`, `persona:NAME`, \
             `group:NAME` or `chat:ID`, found `{text}`"
        )
    })
}

impl BooksArguments {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let tenant = TenantId::local();
        let now = SystemClock.now();
        runtime()?.block_on(async {
            let store = self.store.open_or_make().await?;
            let case = StoredBooks { documents: store.as_ref(), tenant: &tenant };
            match &self.what {
                BooksCommand::List => list(out, &case, self.json).await,
                BooksCommand::Log { most } => {
                    let revisions = store.revisions(&tenant, None, *most).await?;
                    log(out, &revisions, self.json)
                }
                other @ (BooksCommand::Add(_)
                | BooksCommand::Attach { .. }
                | BooksCommand::Detach { .. }
                | BooksCommand::Remove { .. }
                | BooksCommand::Undo { .. }) => {
                    let before = store.revision(&tenant).await?;
                    let revision = change(&case, other, now).await?;
                    report(out, &case, before, revision, self.json).await
                }
            }
        })
    }
}

/// Carries out a change and returns its revision.
async fn change(
    case: &StoredBooks<'_>,
    what: &BooksCommand,
    now: Timestamp,
) -> anyhow::Result<u64> {
    Ok(match what {
        BooksCommand::Add(new) => new.add(case, now).await?,
        BooksCommand::Attach { book, to } => {
            case.arrange(&book.as_str().into(), None, now, |shelved| {
                shelved.bindings.extend(to.iter().cloned());
                shelved.bindings.sort();
                shelved.bindings.dedup();
            })
            .await?
        }
        BooksCommand::Detach { book, from } => {
            let standing = case.find(&book.as_str().into()).await?;
            let missing = from.iter().find(|one| !standing.shelved.bindings.contains(one));
            if let Some(missing) = missing {
                anyhow::bail!("`{book}` is not attached to `{missing}`");
            }
            case.arrange(&standing.id, None, now, |shelved| {
                shelved.bindings.retain(|one| !from.is_empty() && !from.contains(one));
            })
            .await?
        }
        BooksCommand::Remove { book } => case.remove(&book.as_str().into(), None, now).await?,
        BooksCommand::Undo { revision } => {
            let revision = match revision {
                Some(revision) => *revision,
                None => case.documents.revision(case.tenant).await?,
            };
            case.documents.undo(case.tenant, revision, now).await?
        }
        BooksCommand::List | BooksCommand::Log { .. } => {
            case.documents.revision(case.tenant).await?
        }
    })
}

impl NewBooks {
    async fn add(&self, case: &StoredBooks<'_>, now: Timestamp) -> anyhow::Result<u64> {
        let (paths, id) = (&self.files, self.id.as_deref());
        anyhow::ensure!(id.is_none() || paths.len() == 1, "`--id` names a single book");
        // All files are read before anything is written.
        let mut volumes = Vec::new();
        for path in paths {
            let stem = files::stem(path);
            let id = id.unwrap_or(&stem);
            let imported = read_book(path, id, &stem);
            let imported = match paths.len() {
                1 => imported?,
                count => {
                    imported.with_context(|| format!("none of the {count} files is stored"))?
                }
            };
            let card = imported.card.as_ref().map(Card::own_bindings);
            let book = Arc::new(imported.book);
            let twice =
                volumes.iter().any(|(other, _, _): &(Volume, _, _)| other.book.id == book.id);
            anyhow::ensure!(!twice, "two files are called `{}`", book.id);
            let there = case.find(&BookId::from(id)).await.ok();
            let dialect = self.dialect;
            let before = there.as_ref().map(|there| there.shelved.dialect);
            let dialect = dialect.or(before).unwrap_or_else(|| dialect_of(&book));
            let rules = BookRules::of(&book, dialect, &Rules::default());
            writeln!(io::stderr(), "{}: {dialect}: {}", book.id, rules.line())?;
            volumes.push((Volume { book, dialect }, there, card));
        }
        for standing in case.contents().await?.books {
            let other = case.book(&standing).await?;
            let new = volumes.iter().map(|(volume, _, _)| &volume.book);
            for note in
                new.filter(|new| new.id != other.id).flat_map(|new| repeated_texts(new, &other))
            {
                writeln!(io::stderr(), "loreloom: {note}")?;
            }
        }
        let books = volumes.into_iter().map(|(volume, there, card)| {
            let bindings = match there {
                _ if !self.to.is_empty() => self.to.clone(),
                Some(there) => there.shelved.bindings,
                None => card.unwrap_or_else(|| vec![Binding::Everywhere]),
            };
            (volume, bindings)
        });
        Ok(case.put(books.collect(), Maker::Import, None, now).await?)
    }
}

async fn list(out: &mut dyn Write, case: &StoredBooks<'_>, json: bool) -> anyhow::Result<()> {
    let books = case.contents().await?.books;
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&books)?)?);
    }
    if books.is_empty() {
        writeln!(out, "no books: `loreloom books add FILE` puts one in")?;
    }
    let width = books.iter().map(|book| book.id.as_str().chars().count()).max();
    let width = width.unwrap_or(4).clamp(4, 40);
    for (at, StoredBook { id, shelved, .. }) in books.iter().enumerate() {
        if at == 0 {
            writeln!(out, "{:<width$}  ENTRIES  DIALECT     ATTACHED TO", "BOOK")?;
        }
        let attached: Vec<String> = shelved.bindings.iter().map(Binding::to_string).collect();
        let attached = if attached.is_empty() { "nothing".to_owned() } else { attached.join(", ") };
        let dialect = shelved.dialect.as_str();
        let (id, entries) = (id.as_str(), shelved.entries);
        writeln!(out, "{id:<width$}  {entries:>7}  {dialect:<10}  {attached}")?;
    }
    Ok(())
}

fn log(out: &mut dyn Write, revisions: &[Revision], json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(revisions)?)?);
    }
    for Revision { number, created, undoes, changes } in revisions {
        let undoes = undoes.map_or(String::new(), |undone| format!(" (undoes {undone})"));
        writeln!(out, "{number}  {} UTC{undoes}", dates::shown(*created))?;
        for change in changes {
            let done = match (&change.before, &change.after) {
                (None, _) => "put in",
                (Some(_), None) => "taken out",
                (Some(_), Some(_)) => "changed",
            };
            writeln!(out, "   {} {done}", change.key)?;
        }
    }
    Ok(())
}

/// Says what a change did and how to take it back.
async fn report(
    out: &mut dyn Write,
    case: &StoredBooks<'_>,
    before: u64,
    revision: u64,
    json: bool,
) -> anyhow::Result<()> {
    let changed = revision != before;
    if json {
        let answer = serde_json::json!({ "revision": revision, "changed": changed });
        return Ok(writeln!(out, "{answer}")?);
    }
    list(out, case, false).await?;
    if !changed {
        return writeln!(out, "\nnothing changed").context("standard output");
    }
    writeln!(out, "\nchange {revision}; `loreloom books undo {revision}` takes it back")
        .context("standard output")
}
