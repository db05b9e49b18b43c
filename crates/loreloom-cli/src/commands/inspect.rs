//! Saying what a file is.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use loreloom_core::{
    book::{Book, Entry, Key},
    library::{BookRules, EntryIx, Library},
    report::{Warning, words},
    rules::Rules,
};
use loreloom_formats::{
    Format, FormatError, ImportNote, Imported, Loss, RoundTripProof, dialect_of,
    diff::marked_conflicts,
};
use serde::Serialize;

use super::{
    conversion::{self, Target, progress},
    import::found,
    loss_report,
};
use crate::{files, limits, lore::ReadingArguments};

/// Show what a file is and what it contains.
///
/// With `--format`, also what that format could not say about it.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Lorebooks or cards of any format; folders are searched for them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also say what a format has no place for, such as `agnai` or `vault`, without writing
    /// anything
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: ReadingArguments,
}

#[derive(Serialize)]
struct InspectedFile {
    file: String,
    format: Format,
    name: String,
    character: Option<String>,
    /// The rules the book runs by.
    rules: BookRules,
    entries: usize,
    disabled: usize,
    constant: usize,
    regex_keys: usize,
    /// Keys that look like regular expressions and are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_regexes: Vec<NotRegex>,
    /// Conflicts of an earlier merge that are still marked.
    #[serde(skip_serializing_if = "is_zero")]
    conflicts: usize,
    notes: Vec<ImportNote>,
    /// What the format that was asked about has no place for.
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<Vec<Loss>>,
    /// What the way back from that format shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    way_back: Option<RoundTripProof>,
    /// The same in words.
    #[serde(skip)]
    lost: Vec<String>,
}

#[derive(Serialize)]
struct NotRegex {
    entry: String,
    key: String,
}

/// The keys of a book that look like regular expressions and are none.
fn not_regexes(mut book: Book) -> Vec<NotRegex> {
    // Otherwise the text of a large book is in memory twice more.
    book.origin = None;
    for entry in &mut book.entries {
        entry.raw = None;
    }
    let library = Library::under([Arc::new(book)], &Rules::default());
    let not_regex = |(ix, key): (EntryIx, &str)| NotRegex {
        entry: library.entry(ix).title().to_owned(),
        key: key.to_owned(),
    };
    library.not_regexes().map(not_regex).collect()
}

impl Inspect {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let target = self.format.as_deref().map(Target::named).transpose()?;
        let (mut unread, mut read) = (0, 0);
        let mut named = found::find(&self.files)?;
        // Chats and notes are no lorebooks, though `import` takes them.
        named.retain(|found| !found.in_folder || !is_chat_or_note(&found.path));
        let bar = progress(named.len(), self.json);
        for found::ImportSource { path, in_folder } in bar.wrap_iter(named.iter()) {
            let imported = match self.reading.read(path, "book", &files::stem(path)) {
                Ok(imported) => imported,
                // Nobody said that every file of a folder holds lore.
                Err(error) if *in_folder && is_something_else(&error) => continue,
                Err(error) => {
                    unread += 1;
                    // One file that cannot be read does not hide the others.
                    writeln!(std::io::stderr(), "loreloom: {}", limits::error_text(&error))?;
                    continue;
                }
            };
            let losses = target.map(|to| conversion::losses(path, &imported, to)).transpose()?;
            read += 1;
            let found = InspectedFile::of(path, imported, losses);
            if self.json {
                writeln!(out, "{}", serde_json::to_string(&found)?)?;
            } else {
                found.print(out)?;
            }
        }
        anyhow::ensure!(unread == 0, "{unread} of {} files cannot be read", named.len());
        anyhow::ensure!(read > 0, "there is no lore in {}", found::listed(&self.files));
        Ok(())
    }
}

/// Whether a file's name says that it is a chat or a note.
pub(super) fn is_chat_or_note(path: &Path) -> bool {
    path.extension()
        .is_some_and(|one| one.eq_ignore_ascii_case("jsonl") || one.eq_ignore_ascii_case("md"))
}

/// Whether nothing is wrong with a file but that it holds no lore.
pub(super) fn is_something_else(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<FormatError>();
    matches!(error, Some(FormatError::Unknown { .. } | FormatError::NoLore { .. }))
}

impl InspectedFile {
    /// Takes the book itself: a copy of a large one would be as large.
    fn of(
        path: &Path,
        imported: Imported,
        losses: Option<(Vec<Loss>, Option<RoundTripProof>)>,
    ) -> Self {
        let (losses, way_back) =
            losses.map_or((None, None), |(losses, proof)| (Some(losses), proof));
        let Imported { book, card, format, notes } = imported;
        let lost = losses.as_deref().map(|losses| loss_report::in_words(&book, losses));
        let lost = lost.unwrap_or_default();
        let count =
            |wanted: fn(&Entry) -> bool| book.entries.iter().filter(|entry| wanted(entry)).count();
        let keys = book.entries.iter().flat_map(|entry| &entry.activation.keys);
        Self {
            file: path.display().to_string(),
            format,
            name: book.name.clone(),
            character: card.map(|card| card.name),
            rules: BookRules::of(&book, dialect_of(&book), &Rules::default()),
            entries: book.entries.len(),
            disabled: count(|entry| !entry.activation.enabled),
            constant: count(|entry| entry.activation.constant),
            regex_keys: keys.filter(|key| matches!(key, Key::Regex(_))).count(),
            conflicts: marked_conflicts(&book),
            not_regexes: not_regexes(book),
            notes,
            lost,
            losses,
            way_back,
        }
    }

    fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(out, "{}: {}", self.file, self.format.as_str())?;
        if let Some(character) = &self.character {
            writeln!(out, "  character  {character}")?;
        }
        writeln!(out, "  book       {}", self.name)?;
        writeln!(out, "  dialect    {}", self.rules.dialect)?;
        writeln!(out, "  rules      {}", self.rules.line())?;
        writeln!(out, "  place      {}", self.rules.place)?;
        writeln!(
            out,
            "  entries    {} ({} constant, {} switched off, {} regex keys)",
            self.entries, self.constant, self.disabled, self.regex_keys
        )?;
        for NotRegex { entry, key } in &self.not_regexes {
            let (entry, key) = (entry.clone(), key.clone());
            writeln!(out, "  {}", words::warning(&Warning::KeyNotARegex { entry, key }))?;
        }
        if self.conflicts > 0 {
            let are = if self.conflicts == 1 { "is" } else { "are" };
            writeln!(out, "  conflicts  {} of a merge {are} marked", self.conflicts)?;
        }
        for note in &self.notes {
            writeln!(out, "  {note}")?;
        }
        let Some(losses) = &self.losses else { return Ok(()) };
        loss_report::print_losses(out, &self.lost)?;
        loss_report::print_proof(out, losses.is_empty(), self.way_back.as_ref())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
