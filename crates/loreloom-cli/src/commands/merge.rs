//! Merging lorebooks.

use std::{
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
    ExportOptions,
    diff::{mark_conflicts, merge, merge_around},
    export, import, own_word,
};
use serde_json::Value;

use crate::{files, limits::limits, lore, plural::counted};

/// Merge two changed versions of a lorebook.
///
/// Writes the result over OURS, or to `--output`, in the format of OURS. If both sides changed the
/// same thing, OURS wins, the status is 1, and every conflict is printed and marked in the file
/// with all three values, as `loreloom_conflicts` of the entry. As a git merge driver: `loreloom
/// merge %O %A %B %P`.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The version both come from
    base: PathBuf,

    /// Our version
    ours: PathBuf,

    /// Their version
    theirs: PathBuf,

    /// The file's name, if the three are copies with other names
    name: Option<PathBuf>,

    /// Where to write the result instead of over OURS
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the conflicts as JSON, one object a line
    #[arg(long)]
    json: bool,
}

impl Merge {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let options = lore::reading(self.name.as_deref().unwrap_or(&self.ours), "book", "book");
        let (base, ours) = (files::read(&self.base)?, files::read(&self.ours)?);
        let theirs = files::read(&self.theirs)?;
        // First the part around the book: the lore is then merged into that.
        let around = merge_around(&base, &ours, &theirs, &options)
            .with_context(|| format!("`{}`", self.ours.display()))?;
        let original = around.bytes.unwrap_or(ours);
        let imported = |bytes: &[u8], path: &Path| {
            import(bytes, &options).with_context(|| format!("`{}`", path.display()))
        };
        // Git hands in an empty base for a file that both sides added.
        let base = if base.is_empty() {
            Book::new("book", "book")
        } else {
            imported(&base, &self.base)?.book
        };
        let ours = imported(&original, &self.ours)?;
        let theirs = imported(&theirs, &self.theirs)?;
        let mut merged = merge(&base, &ours.book, &theirs.book);
        mark_conflicts(&mut merged.book, &around.conflicts);
        merged.conflicts.splice(0..0, around.conflicts);
        let options = ExportOptions {
            card: ours.card.as_ref(),
            original: Some(&original),
            limits: limits(),
            ..ExportOptions::default()
        };
        // Some files can only be read: they stay as they are while nothing is new.
        let bytes = if merged.book == ours.book {
            original
        } else {
            let exported = export(&merged.book, ours.format, &options);
            exported.with_context(|| format!("`{}`", self.ours.display()))?.bytes
        };
        files::write(self.output.as_ref().unwrap_or(&self.ours), &bytes)?;
        for conflict in &merged.conflicts {
            if self.json {
                writeln!(out, "{}", serde_json::to_string(conflict)?)?;
                continue;
            }
            let named = |id: &EntryId| titled(id, [&merged.book, &theirs.book]);
            let entry = conflict.entry.as_ref().map_or_else(|| "the book".to_owned(), named);
            let word = own_word(&ours.book, conflict.entry.as_ref(), &conflict.field);
            writeln!(out, "conflict in {entry}: {word}")?;
            let is_whole = conflict.field == "entry";
            for (side, value) in
                [("base", &conflict.base), ("ours", &conflict.ours), ("theirs", &conflict.theirs)]
            {
                writeln!(out, "  {side:<6} {}", shown(value, is_whole))?;
            }
        }
        let count = merged.conflicts.len();
        let name = self.output.as_ref().or(self.name.as_ref()).unwrap_or(&self.ours);
        anyhow::ensure!(
            count == 0,
            "{}: ours was kept, and each is marked as `loreloom_conflicts` in `{}`",
            counted(count as u64, "conflict", "conflicts"),
            name.display()
        );
        Ok(())
    }
}

/// What people call an entry, and its id, by which the file knows it.
fn titled(id: &EntryId, books: [&Book; 2]) -> String {
    let entries = books.into_iter().flat_map(|book| &book.entries);
    let title = entries.into_iter().find(|entry| entry.id == *id).map_or("", Entry::title);
    if title.is_empty() || title == id.as_str() {
        id.to_string()
    } else {
        format!("{title} ({id})")
    }
}

/// A value of a conflict; of a whole entry only its text, the rest is in the file.
fn shown(value: &Value, is_whole: bool) -> String {
    if is_whole && value.is_null() {
        return "removed".to_owned();
    }
    let text = value.get("content").filter(|_| is_whole);
    text.unwrap_or(value).to_string()
}
