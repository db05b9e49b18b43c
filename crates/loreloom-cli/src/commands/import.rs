//! Lore and chats from files and folders.

pub(super) mod found;
mod lore;

use std::{
    collections::BTreeSet,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_formats::{Format, ImportNote, Loss, chat::ImportedChat};
use loreloom_ports::Clock as _;
use loreloom_ports::history::archive::{self, Archive};
use loreloom_server::{ChatCounts, ChatImport, ChatImportError};
use serde::Serialize;

use self::found::{ImportKind, ImportSource};
use super::{
    conversion::{Target, progress},
    serve::runtime,
};
use crate::{
    clock::SystemClock, files, limits, lore::ReadingArguments, plural::counted,
    store::StoreArguments, vault::RestAccess,
};

/// Read lorebooks, cards and chats, whatever their format.
///
/// The content of a file tells its format. Lorebooks and cards go where `--into` says: into
/// a book, which is created if it does not exist, or as Markdown notes into a vault. Chats (what
/// `export` wrote, `SillyTavern` .jsonl files, `OpenAI` messages) go into the store; every
/// swipe becomes a branch, and several files named together become one chat, since
/// `SillyTavern` saves a branch as a file of its own. Folders are searched for files; each
/// chat found there is a chat of its own.
///
/// A file that cannot be read changes nothing and stops no other; the status is then 1.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Files and folders
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Where lore goes: `book FILE` or `vault FOLDER`
    #[arg(long, num_args = 2, value_names = ["KIND", "PATH"])]
    into: Option<Vec<String>>,

    /// The format that the files must have. Plain text without keys and paragraphs, and plain
    /// text in a folder, is only read as lore with `perchance`
    #[arg(long, value_name = "NAME", requires = "into")]
    format: Option<String>,

    /// Overwrite notes of the vault that have another text
    #[arg(long, requires = "into")]
    force: bool,

    #[command(flatten)]
    reading: ReadingArguments,

    #[command(flatten)]
    access: RestAccess,

    /// The new chat's id, instead of the first file's name
    #[arg(long, value_name = "CHAT", conflicts_with = "into")]
    chat: Option<String>,

    /// Add to an existing chat
    #[arg(long, conflicts_with = "into")]
    add: bool,

    /// Print one JSON object for each file
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

/// What became of a file.
#[derive(Debug, Default, Serialize)]
struct ImportSummary {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    /// Entries that the book had already.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<ImportNote>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses: Vec<Loss>,
    /// The same in words.
    #[serde(skip)]
    lost: Vec<String>,
    /// Notes of the vault that have another text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_alone: Vec<String>,
    /// Why it was left out although nothing is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Import {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let found = found::find(&self.files)?;
        anyhow::ensure!(
            !found.is_empty(),
            "no lorebooks, notes or chats were found in {}",
            found::listed(&self.files)
        );
        if let Some(into) = &self.into {
            let target = lore::Target::of(into, self.force, &self.access)?;
            return self.import_lore(found, target, out);
        }
        if self.files.iter().any(|file| file.is_dir()) {
            return self.import_each(&found, out);
        }
        self.import_named(&found, out)
    }

    fn import_lore(
        &self,
        found: Vec<ImportSource>,
        mut target: lore::Target,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let format = self.format.as_deref().map(named).transpose()?;
        let bar = progress(found.len(), self.json);
        let mut summaries = Vec::with_capacity(found.len());
        for file in found {
            let (name, in_folder) = (file.name(), file.in_folder);
            let mut one = match file.read_as(self.reading, format) {
                Ok(ImportKind::Lore(imported)) => target.add(&file.path, *imported),
                Ok(ImportKind::Note(note)) => target.add_note(&file.path, &note),
                Ok(ImportKind::Chat(_) | ImportKind::Archive(_)) => Ok(ImportSummary {
                    left_out: Some("a chat: import it without `--into`".into()),
                    ..ImportSummary::default()
                }),
                Ok(ImportKind::Nothing(why)) if in_folder => {
                    Ok(ImportSummary { left_out: Some(why), ..ImportSummary::default() })
                }
                Ok(ImportKind::Nothing(why)) => Err(anyhow::anyhow!(why)),
                Err(error) => Err(error),
            }
            .unwrap_or_else(|error| failed(&error));
            one.file = name;
            summaries.push(one);
            bar.inc(1);
        }
        let is_there = target.finish()?;
        bar.finish_and_clear();
        self.tell(&summaries, out)?;
        anyhow::ensure!(is_there, "there is no lore to make a book of");
        Ok(())
    }

    /// Chats of folders, each for itself.
    fn import_each(&self, found: &[ImportSource], out: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::ensure!(self.chat.is_none(), "`--chat` names one chat, a folder may hold several");
        let bar = progress(found.len(), self.json);
        let mut summaries = Vec::with_capacity(found.len());
        for file in found {
            let mut one = match file.read(self.reading) {
                Ok(ImportKind::Chat(chat)) => self.store(&files::stem(&file.path), &[*chat]),
                Ok(ImportKind::Archive(archive)) => self.store_archive(&archive),
                Ok(ImportKind::Lore(_) | ImportKind::Note(_)) => Ok(ImportSummary {
                    left_out: Some(NO_PLACE.into()),
                    ..ImportSummary::default()
                }),
                Ok(ImportKind::Nothing(why)) => {
                    Ok(ImportSummary { left_out: Some(why), ..ImportSummary::default() })
                }
                Err(error) => Err(error),
            }
            .unwrap_or_else(|error| failed(&error));
            one.file = file.name();
            summaries.push(one);
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.tell(&summaries, out)
    }

    /// Files that were named: all are read before anything is stored.
    fn import_named(&self, found: &[ImportSource], out: &mut dyn Write) -> anyhow::Result<()> {
        let mut chats: Vec<ImportedChat> = Vec::new();
        for file in found {
            let named = || format!("`{}`", file.path.display());
            match file.read(self.reading).with_context(named)? {
                ImportKind::Chat(chat) => chats.push(*chat),
                ImportKind::Archive(archive) => {
                    anyhow::ensure!(found.len() == 1, "{} is imported alone", named());
                    anyhow::ensure!(
                        !self.add && self.chat.is_none(),
                        "an export keeps its own chat's id"
                    );
                    let summary = self.store_archive(&archive)?;
                    return self.tell(&[ImportSummary { file: file.name(), ..summary }], out);
                }
                ImportKind::Lore(_) | ImportKind::Note(_) => {
                    anyhow::bail!("{}: {NO_PLACE}", named())
                }
                ImportKind::Nothing(why) => anyhow::bail!("{}: {why}", named()),
            }
        }
        let id = match (&self.chat, found.first()) {
            (Some(id), _) => id.clone(),
            (None, Some(file)) => files::stem(&file.path),
            (None, None) => String::new(),
        };
        let summary = self.store(&id, &chats)?;
        let names: Vec<String> = found.iter().map(ImportSource::name).collect();
        self.tell(&[ImportSummary { file: names.join(", "), ..summary }], out)
    }

    fn store(&self, id: &str, chats: &[ImportedChat]) -> anyhow::Result<ImportSummary> {
        let id = ChatId::from(id);
        let now = SystemClock.now();
        let counts = runtime()?.block_on(async {
            let store = self.store.open_or_make().await?;
            let tenant = TenantId::local();
            let import = ChatImport { store: store.as_ref(), tenant: &tenant, chat: &id, now };
            match import.run(chats, self.add).await {
                Err(known @ ChatImportError::Known { .. }) => {
                    anyhow::bail!("{known}: `--chat` names another, `--add` adds to it")
                }
                counts => Ok(counts?),
            }
        })?;
        let ChatCounts { messages, branches, left_out, effects, variables, .. } = counts;
        let stays_out = match left_out {
            0 => String::new(),
            1 => "\n1 text of the system is no part of the story and stays out".to_owned(),
            count => format!("\n{count} texts of the system are no part of the story and stay out"),
        };
        let count = counted(messages as u64, "message", "messages");
        let others =
            counted(branches as u64, "other version as a branch", "other versions as branches");
        let carried = match (effects as u64, variables as u64) {
            (0, 0) => String::new(),
            (effects, variables) => format!(
                "\n{} and {} are taken over",
                counted(effects, "timed effect", "timed effects"),
                counted(variables, "variable", "variables")
            ),
        };
        let notes: BTreeSet<String> =
            chats.iter().flat_map(|chat| &chat.notes).map(|note| format!("\n{note}")).collect();
        let notes: String = notes.into_iter().collect();
        let said = format!("{count}, {others}{stays_out}{carried}{notes}");
        let format = chats.first().map(|chat| chat.format.as_str());
        let chat = Some(format!("chat `{id}`: {said}"));
        Ok(ImportSummary { format, chat, messages: Some(messages), ..ImportSummary::default() })
    }

    fn store_archive(&self, archive: &Archive) -> anyhow::Result<ImportSummary> {
        let tenant = TenantId::local();
        let chat = runtime()?.block_on(async {
            let store = self.store.open_or_make().await?;
            anyhow::Ok(archive::import(store.as_ref(), &tenant, archive).await?)
        })?;
        let (messages, turns) = (archive.nodes.len(), archive.turns.len());
        let count = counted(messages as u64, "message", "messages");
        let turns = counted(turns as u64, "turn", "turns");
        let chat = Some(format!("chat `{}`: {count}, {turns}", chat.id));
        let format = Some("loreloom-chat");
        Ok(ImportSummary { format, chat, messages: Some(messages), ..ImportSummary::default() })
    }

    fn tell(&self, summaries: &[ImportSummary], out: &mut dyn Write) -> anyhow::Result<()> {
        for one in summaries {
            if self.json {
                writeln!(out, "{}", serde_json::to_string(one)?)?;
            } else {
                one.print(out)?;
            }
        }
        let failed = summaries.iter().filter(|one| one.error.is_some()).count();
        anyhow::ensure!(failed == 0, "{failed} of {} files were not imported", summaries.len());
        Ok(())
    }
}

const NO_PLACE: &str = "lore: `--into book FILE` or `--into vault FOLDER` says where it goes";

fn named(name: &str) -> anyhow::Result<Format> {
    match Target::named(name)? {
        Target::File(format) => Ok(format),
        Target::Vault => anyhow::bail!("notes are read one by one, without `--format`"),
    }
}

fn failed(error: &anyhow::Error) -> ImportSummary {
    ImportSummary { error: Some(limits::error_text(error)), ..ImportSummary::default() }
}

impl ImportSummary {
    fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let file = &self.file;
        if let Some(chat) = &self.chat {
            writeln!(out, "{chat}")?;
        }
        if let Some(why) = self.error.as_ref().or(self.left_out.as_ref()) {
            let word = if self.error.is_some() { "not imported" } else { "left out" };
            writeln!(out, "{file}: {word}: {why}")?;
        }
        if let (Some(format), Some(entries)) = (self.format, self.entries) {
            let known = match self.known {
                Some(1) => ", 1 existed already".to_owned(),
                Some(known) if known > 0 => format!(", {known} existed already"),
                Some(_) | None => String::new(),
            };
            let entries = counted(entries as u64, "entry", "entries");
            writeln!(out, "{file}: {format}, {entries}{known}")?;
        }
        for path in &self.left_alone {
            writeln!(
                out,
                "  left alone: `{path}` exists already with another text: `--force` overwrites it"
            )?;
        }
        for note in &self.notes {
            writeln!(out, "  {note}")?;
        }
        super::loss_report::print_losses(out, &self.lost)
    }
}

/// The name of a path in reports.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
