//! Which files an import is about, and what each of them is.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use loreloom_formats::{
    Format, FormatError, Imported, Limit,
    chat::{ImportedChat, import_chat},
    import, is_container,
};
use loreloom_ports::history::archive::Archive;
use loreloom_server::read_archive;

use super::shown;
use crate::{files, limits::limits, lore::ReadingArguments};

/// How deep folders are searched.
const DEPTH: usize = 20;
/// What files with lore or chats are called; others in a folder are not looked at.
const EXTENSIONS: [&str; 17] = [
    "json", "jsonl", "png", "apng", "charx", "byaf", "risum", "lorebook", "story", "scenario",
    "txt", "md", "yaml", "yml", "webp", "jpg", "jpeg",
];

/// A file to import.
#[derive(Debug)]
pub(in crate::commands) struct ImportSource {
    pub(in crate::commands) path: PathBuf,
    /// Nobody named it: it need not be for us.
    pub(in crate::commands) in_folder: bool,
}

/// What a file is.
pub(super) enum ImportKind {
    Lore(Box<Imported>),
    /// The text of a note of a vault.
    Note(String),
    Chat(Box<ImportedChat>),
    Archive(Box<Archive>),
    /// Neither, and why.
    Nothing(String),
}

/// All files that these paths name, those of folders in order of their names.
pub(in crate::commands) fn find(paths: &[PathBuf]) -> anyhow::Result<Vec<ImportSource>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            search(path, DEPTH, &mut found)?;
        } else {
            found.push(ImportSource { path: path.clone(), in_folder: false });
        }
    }
    Ok(found)
}

/// These paths in a message.
pub(in crate::commands) fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    shown.join(", ")
}

fn search(folder: &Path, depth: usize, found: &mut Vec<ImportSource>) -> anyhow::Result<()> {
    let listed = || format!("`{}` cannot be listed", folder.display());
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(listed)? {
        let entry = entry.with_context(listed)?;
        // Links are not followed: a folder that holds itself has no end.
        let kind = entry.file_type().with_context(listed)?;
        if !entry.file_name().to_string_lossy().starts_with('.') && !kind.is_symlink() {
            inside.push((entry.path(), kind.is_dir()));
        }
    }
    inside.sort();
    for (path, is_folder) in inside {
        let extension = path.extension().map(|one| one.to_string_lossy().to_lowercase());
        if is_folder && depth > 0 {
            search(&path, depth - 1, found)?;
        } else if !is_folder && extension.is_some_and(|one| EXTENSIONS.contains(&one.as_str())) {
            found.push(ImportSource { path, in_folder: true });
        }
    }
    Ok(())
}

impl ImportSource {
    pub(super) fn name(&self) -> String {
        shown(&self.path)
    }

    /// Reads the file and recognises its format.
    pub(super) fn read(&self, reading: ReadingArguments) -> anyhow::Result<ImportKind> {
        let head = files::head(&self.path, 100)?;
        let is_container = is_container(&head);
        // Only our own archives may be larger than what others make.
        let is_ours = contains(&head, b"loreloom-chat");
        let limits = limits();
        let bytes = match (is_ours, is_container) {
            (true, _) => files::read(&self.path),
            (false, true) => files::read_limited(&self.path, Limit::Container),
            (false, false) if limits.text_bytes > limits.chat_bytes => {
                files::read_limited(&self.path, Limit::Text)
            }
            (false, false) => files::read_limited(&self.path, Limit::Chat),
        }?;
        if is_container {
            return self.lore(&bytes, reading);
        }
        if let Some(archive) = read_archive(&bytes)? {
            return Ok(ImportKind::Archive(Box::new(archive)));
        }
        let chat = import_chat(&bytes, &limits);
        let is_lines = self.path.extension().is_some_and(|one| one.eq_ignore_ascii_case("jsonl"));
        match chat {
            Ok(chat) if !chat.messages.is_empty() => return Ok(ImportKind::Chat(Box::new(chat))),
            Err(error) if is_lines => return Err(error.into()),
            Ok(_) | Err(_) => {}
        }
        if self.path.extension().is_some_and(|one| one.eq_ignore_ascii_case("md")) {
            let text = String::from_utf8(bytes).context("not UTF-8 text")?;
            return Ok(ImportKind::Note(text));
        }
        self.lore(&bytes, reading)
    }

    /// The same of a file that must be of this format.
    pub(super) fn read_as(
        &self,
        reading: ReadingArguments,
        format: Option<Format>,
    ) -> anyhow::Result<ImportKind> {
        let kind = self.read(reading)?;
        let ImportKind::Lore(imported) = &kind else { return Ok(kind) };
        if let Some(format) = format {
            let (wanted, found) = (format.as_str(), imported.format.as_str());
            anyhow::ensure!(imported.format == format, "it is {found}, not {wanted}");
        } else if imported.format == Format::Perchance {
            // Any text would do: only one that was named and has paragraphs is taken for lore.
            let why = match (self.in_folder, imported.book.entries.len()) {
                (false, 2..) => return Ok(kind),
                (true, _) => "plain text",
                (false, _) => "plain text of one paragraph",
            };
            return Ok(ImportKind::Nothing(format!(
                "{why}: `--format perchance` takes it for lore"
            )));
        }
        Ok(kind)
    }

    fn lore(&self, bytes: &[u8], reading: ReadingArguments) -> anyhow::Result<ImportKind> {
        let stem = files::stem(&self.path);
        let options = reading.options(&self.path, &stem, &stem);
        match import(bytes, &options) {
            Ok(imported) => Ok(ImportKind::Lore(Box::new(imported))),
            // Nothing is wrong with it, it is only something else.
            Err(error @ (FormatError::Unknown { .. } | FormatError::NoLore { .. })) => {
                Ok(ImportKind::Nothing(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
