//! Comparing lorebooks.

use std::{collections::HashSet, io::Write, path::PathBuf};

use clap::Args;
use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use loreloom_formats::diff::{BookDiff, Change, FieldChange, diff};

use crate::lore;

/// Compare two versions of a lorebook by what they mean.
///
/// Entries are matched by identity, keys are compared as sets and texts by line; the formats
/// may differ.
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
        let changes = diff(&old.book, &new.book);
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&changes)?)?;
            return Ok(());
        }
        print(out, &changes, (&old.book, &new.book))
    }
}

fn print(
    out: &mut dyn Write,
    changes: &BookDiff,
    (old, new): (&Book, &Book),
) -> anyhow::Result<()> {
    if changes.is_empty() {
        writeln!(out, "no difference")?;
        return Ok(());
    }
    print_fields(out, "book", &changes.fields)?;
    for (word, ids, book) in [("added", &changes.added, new), ("removed", &changes.removed, old)] {
        if !ids.is_empty() {
            writeln!(out, "{word}: {}", titles(ids, book))?;
        }
    }
    for entry in &changes.changed {
        print_fields(out, &entry.title, &entry.fields)?;
    }
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

fn print_fields(out: &mut dyn Write, of: &str, fields: &[FieldChange]) -> anyhow::Result<()> {
    for field in fields {
        writeln!(out, "{of}: {}", field.field)?;
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
