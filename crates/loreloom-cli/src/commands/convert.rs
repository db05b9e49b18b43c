//! Converting between formats.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use loreloom_formats::{ExportOptions, Exported, Format, Loss, export};
use serde::Serialize;

use crate::{files, lore};

/// Convert a lorebook or card to another format.
///
/// Prints what the other format has no place for; most of that is kept in `extensions`, so
/// that the way back loses nothing.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The file to convert
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// The file to write
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// The format to write, for example `sillytavern`, `card-v3` or `lorebook-v3`
    #[arg(long, value_name = "NAME")]
    format: String,

    /// Write over a file that is there
    #[arg(long)]
    force: bool,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    from: Format,
    to: Format,
    entries: usize,
    losses: &'a [Loss],
}

impl Convert {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let format = Format::from_name(&self.format).with_context(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
            format!("there is no format `{}`; the formats are: {}", self.format, names.join(", "))
        })?;
        anyhow::ensure!(
            self.force || !self.to.exists(),
            "`{}` is there already: `--force` writes over it",
            self.to.display()
        );
        let imported =
            lore::read_book(&self.from, &files::stem(&self.from), &files::stem(&self.from))?;
        let original = files::read(&self.from)?;
        let options = ExportOptions {
            card: imported.card.as_ref(),
            original: Some(&original),
            ..ExportOptions::default()
        };
        let Exported { bytes, mut losses } = export(&imported.book, format, &options)
            .with_context(|| format!("`{}` as {}", self.from.display(), format.as_str()))?;
        if let Some(card) = imported.card.as_ref().filter(|_| format.card().is_none()) {
            let value = serde_json::Value::String(card.name.clone());
            losses.push(Loss { entry: None, field: "card".to_owned(), value });
        }
        files::write(&self.to, &bytes)?;
        let entries = imported.book.entries.len();
        if self.json {
            let report = Report { from: imported.format, to: format, entries, losses: &losses };
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
            return Ok(());
        }
        print(out, &self.to, entries, format, &losses)
    }
}

fn print(
    out: &mut dyn Write,
    to: &Path,
    entries: usize,
    format: Format,
    losses: &[Loss],
) -> anyhow::Result<()> {
    writeln!(out, "{}: {entries} entries as {}", to.display(), format.as_str())?;
    if losses.is_empty() {
        writeln!(out, "nothing is lost")?;
        return Ok(());
    }
    writeln!(out, "{} has no place for:", format.as_str())?;
    for loss in losses {
        let entry = loss.entry.as_ref().map_or("the book", |entry| entry.as_str());
        writeln!(out, "  {entry}: {} = {}", loss.field, loss.value)?;
    }
    Ok(())
}
