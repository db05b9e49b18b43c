//! Comparing lorebooks.

use std::{
    collections::HashSet,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use loreloom_formats::{
    diff::{BookDiff, Change, FieldChange, diff, diff_around},
    own_word,
};

use crate::{files, is_broken_pipe, lore};

/// Compare two versions of a lorebook by meaning, not by bytes.
///
/// Entries are matched by identity, keys are compared as sets and texts by line; the formats
/// may differ.
///
/// The status is 0 if they mean the same, 1 if they differ and 2 if one cannot be read, as with
/// `git diff --exit-code` and `diff`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The old version
    old: PathBuf,

    /// The new version
    new: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (old, new) = (
            lore::read_book(&self.old, "book", "book")?,
            lore::read_book(&self.new, "book", "book")?,
        );
        let mut changes = diff(&old.book, &new.book);
        let reading = |path: &Path| lore::reading(path, "book", "book");
        let around = diff_around(
            (&files::read(&self.old)?, &reading(&self.old)),
            (&files::read(&self.new)?, &reading(&self.new)),
        );
        changes.file = around.with_context(|| format!("`{}`", self.new.display()))?;
        let written = if self.json {
            writeln!(out, "{}", serde_json::to_string(&changes)?).map_err(anyhow::Error::from)
        } else {
            print(out, &changes, (&old.book, &new.book))
        };
        match written {
            Ok(()) if changes.is_empty() => Ok(()),
            // A reader that has seen enough (`| head`) still gets the status.
            Err(error) if !is_broken_pipe(&error) => Err(error),
            Ok(()) | Err(_) => Err(Different.into()),
        }
    }
}

/// Two files differ, or lore fails its tests. All about it is printed already: only the status is
/// left.
#[derive(Debug, thiserror::Error)]
#[error("they differ")]
pub(crate) struct Different;

fn print(
    out: &mut dyn Write,
    changes: &BookDiff,
    (old, new): (&Book, &Book),
) -> anyhow::Result<()> {
    if changes.is_empty() {
        writeln!(out, "no difference")?;
        return Ok(());
    }
    print_fields(out, "book", &changes.fields, |field| own_word(new, None, field))?;
    for (word, ids, book) in [("added", &changes.added, new), ("removed", &changes.removed, old)] {
        if !ids.is_empty() {
            writeln!(out, "{word}: {}", titles(ids, book))?;
        }
    }
    for entry in &changes.changed {
        let word = |field: &str| own_word(new, Some(&entry.new), field);
        print_fields(out, &entry.title, &entry.fields, word)?;
    }
    print_fields(out, "around the book", &changes.file, str::to_owned)?;
    if changes.reordered {
        writeln!(out, "the entries stand in another order")?;
    }
    Ok(())
}

/// What people call these entries.
fn titles(ids: &[EntryId], book: &Book) -> String {
    let ids: HashSet<&EntryId> = ids.iter().collect();
    let entries = book.entries.iter().filter(|entry| ids.contains(&entry.id));
    entries.map(Entry::title).collect::<Vec<_>>().join(", ")
}

fn print_fields(
    out: &mut dyn Write,
    of: &str,
    fields: &[FieldChange],
    word: impl Fn(&str) -> String,
) -> anyhow::Result<()> {
    for field in fields {
        writeln!(out, "{of}: {}", word(&field.field))?;
        match &field.change {
            Change::Value { old, new } => writeln!(out, "  - {old}\n  + {new}")?,
            Change::Set { added, removed } => {
                for member in removed {
                    writeln!(out, "  - {member}")?;
                }
                for member in added {
                    writeln!(out, "  + {member}")?;
                }
            }
            Change::Lines(lines) => {
                for line in lines {
                    writeln!(out, "  line {}", line.at + 1)?;
                    for removed in &line.removed {
                        writeln!(out, "  - {removed}")?;
                    }
                    for added in &line.added {
                        writeln!(out, "  + {added}")?;
                    }
                }
            }
        }
    }
    Ok(())
}
