//! Where imported lore goes: into a book or into a vault.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use loreloom_core::{
    book::{Book, Entry, Extensions},
    ids::EntryId,
};
use loreloom_formats::{
    ExportOptions, Format, ImportOptions, Imported, export, import,
    vault::{NoteFile, entry_of, file_name, notes_of},
};

use super::{super::loss_report::in_words, ImportSummary};
use crate::{files, limits::limits, lore, notes_folder::NotesFolder, vault::RestAccess};

/// What a new book is before anything is added.
const NEW_BOOK: &[u8] = b"{\n    \"entries\": {}\n}\n";

/// Where lore goes.
pub(super) enum Target {
    Book(Box<TargetBook>),
    Vault(NotesFolder),
}

/// A book that grows; written once, when all files are read.
pub(super) struct TargetBook {
    path: PathBuf,
    original: Vec<u8>,
    imported: Imported,
    /// What each of its entries says, so that none comes twice.
    said: HashSet<String>,
    is_new: bool,
    added: usize,
}

impl Target {
    /// The target that `--into KIND PATH` names.
    pub(super) fn of(into: &[String], force: bool, access: &RestAccess) -> anyhow::Result<Self> {
        match into {
            [kind, path] if kind == "book" => {
                Ok(Self::Book(Box::new(TargetBook::open(Path::new(path))?)))
            }
            [kind, path] if kind == "vault" => {
                let folder = NotesFolder::new(Path::new(path), force).leaving_changed();
                Ok(Self::Vault(folder.reached_by(access.clone())))
            }
            _ => {
                let found = into.join(" ");
                anyhow::bail!("`--into` needs `book FILE` or `vault FOLDER`, found `{found}`")
            }
        }
    }

    /// Adds a file's lore.
    pub(super) fn add(&mut self, path: &Path, imported: Imported) -> anyhow::Result<ImportSummary> {
        let format = Some(imported.format.as_str());
        let entries = Some(imported.book.entries.len());
        let mut left_alone = Vec::new();
        let (losses, known) = match self {
            Self::Book(book) => book.add(&imported)?,
            Self::Vault(folder) => {
                let name = Some(&imported.book.name).filter(|name| !name.trim().is_empty());
                let name = file_name(&name.cloned().unwrap_or_else(|| files::stem(path)));
                let notes = notes_of(&imported.book);
                let mut losses = imported.card.as_ref().map(loreloom_formats::card_losses);
                let losses = losses.get_or_insert_default();
                losses.extend(notes.iter().flat_map(|note| note.losses.clone()));
                left_alone = folder.write(&name, &notes)?;
                (std::mem::take(losses), None)
            }
        };
        let (lost, notes) = (in_words(&imported.book, &losses), imported.notes);
        Ok(ImportSummary {
            format,
            entries,
            known,
            notes,
            losses,
            lost,
            left_alone,
            ..ImportSummary::default()
        })
    }

    /// Adds a note of a vault.
    pub(super) fn add_note(&mut self, path: &Path, text: &str) -> anyhow::Result<ImportSummary> {
        let Self::Book(target) = self else {
            let left_out = Some("a note: `--into book FILE` makes it an entry".to_owned());
            return Ok(ImportSummary { left_out, ..ImportSummary::default() });
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let file = NoteFile { vault: "", path: &name, text };
        let entry = match entry_of(EntryId(format!("note/{name}")), file) {
            Ok(entry) => entry,
            Err(skip) => {
                let left_out = Some(format!("no note of lore ({})", skip.code()));
                return Ok(ImportSummary { left_out, ..ImportSummary::default() });
            }
        };
        let mut book = Book::new("note", "");
        book.entries.push(entry);
        let (losses, known) = target.add_book(&book, None)?;
        let lost = in_words(&book, &losses);
        Ok(ImportSummary {
            format: Some("note"),
            entries: Some(1),
            known,
            losses,
            lost,
            ..ImportSummary::default()
        })
    }

    /// Writes what is written at the end; whether the target is there now.
    pub(super) fn finish(self) -> anyhow::Result<bool> {
        match self {
            Self::Book(book) => book.write(),
            Self::Vault(_) => Ok(true),
        }
    }
}

impl TargetBook {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let stem = files::stem(path);
        if path.exists() {
            let imported = lore::read_book(path, "book", &stem)?;
            let original = files::read(path)?;
            return Self::holding(path, original, imported, false);
        }
        let imported = import(NEW_BOOK, &ImportOptions::new("book").named(stem))?;
        Self::holding(path, NEW_BOOK.to_vec(), imported, true)
    }

    fn holding(
        path: &Path,
        original: Vec<u8>,
        imported: Imported,
        is_new: bool,
    ) -> anyhow::Result<Self> {
        let said = imported.book.entries.iter().map(said).collect::<anyhow::Result<_>>()?;
        Ok(Self { path: path.into(), original, imported, said, is_new, added: 0 })
    }

    fn add(
        &mut self,
        from: &Imported,
    ) -> anyhow::Result<(Vec<loreloom_formats::Loss>, Option<usize>)> {
        self.add_book(&from.book, from.card.as_ref())
    }

    /// Adds the entries that are not there yet, in the words of this book's format.
    fn add_book(
        &mut self,
        from: &Book,
        card: Option<&loreloom_formats::Card>,
    ) -> anyhow::Result<(Vec<loreloom_formats::Loss>, Option<usize>)> {
        let format = self.imported.format;
        let options = ExportOptions { card, limits: limits(), ..ExportOptions::default() };
        // A card in the target is another character: only its book is wanted.
        let plain = if format.card().is_some() { Format::LorebookV3 } else { format };
        let crossed =
            export(from, plain, &options).with_context(|| format!("as {}", plain.as_str()))?;
        let options = ImportOptions {
            file_name: Some(format!("book.{}", plain.file_extension())),
            plain_text: plain == Format::Perchance,
            limits: limits(),
            ..ImportOptions::new("book")
        };
        let entries = import(&crossed.bytes, &options)?.book.entries;
        let mut known = 0;
        for entry in entries {
            let entry = Entry {
                id: EntryId(format!("book/new-{}", self.imported.book.entries.len())),
                original_id: None,
                raw: None,
                ..entry
            };
            if self.said.insert(said(&entry)?) {
                self.imported.book.entries.push(entry);
                self.added += 1;
            } else {
                known += 1;
            }
        }
        Ok((crossed.losses, Some(known)))
    }

    fn write(self) -> anyhow::Result<bool> {
        if self.added == 0 {
            return Ok(!self.is_new);
        }
        let options = ExportOptions {
            card: self.imported.card.as_ref(),
            original: Some(&self.original),
            limits: limits(),
            ..ExportOptions::default()
        };
        let written = export(&self.imported.book, self.imported.format, &options)
            .with_context(|| format!("`{}`", self.path.display()))?;
        files::write(&self.path, &written.bytes)?;
        Ok(true)
    }
}

/// What an entry says, whatever it is called in its file.
fn said(entry: &Entry) -> anyhow::Result<String> {
    let mut rest = entry.rest.clone();
    rest.display_index = None;
    let entry = Entry {
        id: EntryId(String::new()),
        original_id: None,
        raw: None,
        extensions: Extensions::new(),
        rest,
        ..entry.clone()
    };
    Ok(serde_json::to_string(&entry)?)
}
