//! Merging lorebooks.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::book::Book;
use loreloom_formats::{ExportOptions, diff::merge, export};

use crate::{files, lore};

/// Merge two changed versions of a lorebook.
///
/// Writes the result over OURS, or to `--output`, in the format of OURS, and ends with
/// status 1 if both sides changed the same thing: ours then stands, and every conflict is
/// printed. As a git merge driver: `loreloom merge %O %A %B`.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The version both come from
    base: PathBuf,

    /// Our version
    ours: PathBuf,

    /// Their version
    theirs: PathBuf,

    /// Where to write the result instead of over OURS
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the conflicts as JSON, one object a line
    #[arg(long)]
    json: bool,
}

impl Merge {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        // Git hands in an empty base for a file that both sides added.
        let base = if files::read(&self.base)?.is_empty() {
            Book::new("book", "book")
        } else {
            lore::read_book(&self.base, "book", "book")?.book
        };
        let ours = lore::read_book(&self.ours, "book", "book")?;
        let theirs = lore::read_book(&self.theirs, "book", "book")?;
        let merged = merge(&base, &ours.book, &theirs.book);
        let original = files::read(&self.ours)?;
        let options = ExportOptions {
            card: ours.card.as_ref(),
            original: Some(&original),
            ..ExportOptions::default()
        };
        let exported = export(&merged.book, ours.format, &options)
            .with_context(|| format!("`{}`", self.ours.display()))?;
        files::write(self.output.as_ref().unwrap_or(&self.ours), &exported.bytes)?;
        for conflict in &merged.conflicts {
            if self.json {
                writeln!(out, "{}", serde_json::to_string(conflict)?)?;
                continue;
            }
            let entry = conflict.entry.as_ref().map_or("the book", |entry| entry.as_str());
            writeln!(out, "conflict in {entry}: {}", conflict.field)?;
            writeln!(out, "  base   {}", conflict.base)?;
            writeln!(out, "  ours   {}", conflict.ours)?;
            writeln!(out, "  theirs {}", conflict.theirs)?;
        }
        let count = merged.conflicts.len();
        anyhow::ensure!(count == 0, "{count} conflicts: ours was kept");
        Ok(())
    }
}
