//! Chats from files.

use std::{
    io::Write,
    path::{Path as FilePath, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_formats::{
    Limits,
    chat::{ImportedChat, import_chat},
};
use loreloom_memory::ports::{Clock as _, StoryStore};
use loreloom_store::archive::{self, Archive};

use super::serve::runtime;
use crate::{clock::SystemClock, data::DataArguments, files, stored::excerpt};

/// Read a chat into the store: what `export` wrote, or a `SillyTavern` .jsonl chat or
/// `OpenAI` messages. Every swipe becomes a branch.
///
/// Several files become one chat: a branch that `SillyTavern` saved as a file of its own
/// shares its beginning with the file it left.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The new chat's id, instead of the first file's name
    #[arg(long, value_name = "CHAT")]
    chat: Option<String>,

    /// Add to a chat that is there already
    #[arg(long)]
    add: bool,

    #[command(flatten)]
    data: DataArguments,
}

/// What a chat file had.
#[derive(Default)]
struct Counts {
    messages: usize,
    branches: usize,
    left_out: usize,
}

impl Import {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let [file] = self.files.as_slice()
            && let Some(archive) = read_archive(file)?
        {
            anyhow::ensure!(!self.add && self.chat.is_none(), "an export keeps its own chat's id");
            let store = self.data.open_or_make()?;
            let tenant = TenantId::local();
            let chat = runtime()?.block_on(archive::import(&store, &tenant, &archive))?;
            let (messages, turns) = (archive.nodes.len(), archive.turns.len());
            writeln!(out, "chat `{}`: {messages} messages, {turns} turns", chat.id)?;
            return Ok(());
        }
        // All files are read before anything is written.
        let mut chats = Vec::new();
        for file in &self.files {
            let chat = import_chat(&files::read(file)?, &Limits::default());
            chats.push(chat.with_context(|| format!("`{}`", file.display()))?);
        }
        let id = match (&self.chat, self.files.first()) {
            (Some(id), _) => id.clone(),
            (None, Some(file)) => files::stem(file),
            (None, None) => String::new(),
        };
        let id = ChatId(id);
        let store = self.data.open_or_make()?;
        let now = SystemClock.now();
        let counts = runtime()?.block_on(store_all(&store, &id, &chats, self.add, now))?;
        let Counts { messages, branches, left_out } = counts;
        writeln!(out, "chat `{id}`: {messages} messages, {branches} other versions as branches")?;
        if left_out > 0 {
            writeln!(out, "{left_out} narrator messages are no part of the story and stay out")?;
        }
        Ok(())
    }
}

/// The export in a file, unless it is something else.
fn read_archive(file: &FilePath) -> anyhow::Result<Option<Archive>> {
    let bytes = files::read(file)?;
    let value: Result<serde_json::Value, _> = serde_json::from_slice(&bytes);
    match value {
        Ok(value) if value["format"] == "loreloom-chat" => {
            let archive = serde_json::from_value(value);
            Ok(Some(archive.with_context(|| format!("`{}` is damaged", file.display()))?))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

async fn store_all(
    store: &dyn StoryStore,
    id: &ChatId,
    chats: &[ImportedChat],
    add: bool,
    now: Timestamp,
) -> anyhow::Result<Counts> {
    let tenant = TenantId::local();
    let known = store.chat(&tenant, id).await?.is_some();
    anyhow::ensure!(
        !known || add,
        "chat `{id}` is there already: `--chat` names another, `--add` adds to it"
    );
    let first = chats.iter().flat_map(|chat| &chat.messages).next();
    let title = first.map_or(String::new(), |one| excerpt(&one.message.text, 60));
    store.open_chat(&tenant, id, &title, now).await?;
    let mut counts = Counts::default();
    let mut tips = Vec::new();
    for chat in chats {
        tips.push(store_one(store, id, chat, now, &mut counts).await?);
    }
    // The story is where the first file has it.
    if let Some(tip) = tips.first() {
        store.move_tip(&tenant, id, *tip, None, now).await?;
    }
    counts.messages = store.tree(&tenant, id).await?.len();
    Ok(counts)
}

/// Stores a file's path, and every version of a message that was not chosen as a branch.
async fn store_one(
    store: &dyn StoryStore,
    id: &ChatId,
    chat: &ImportedChat,
    now: Timestamp,
    counts: &mut Counts,
) -> anyhow::Result<loreloom_core::ids::PrefixHash> {
    let tenant = TenantId::local();
    let mut path = Path::new(id.clone());
    for one in &chat.messages {
        if one.message.role == Role::System {
            counts.left_out += 1;
            continue;
        }
        for swipe in one.swipes.iter().filter(|swipe| **swipe != one.message.text) {
            let mut side = path.clone();
            let mut message = one.message.clone();
            swipe.clone_into(&mut message.text);
            side.push(message);
            store.commit_path(&tenant, &side, None, now).await?;
            counts.branches += 1;
        }
        path.push(one.message.clone());
    }
    store.commit_path(&tenant, &path, None, now).await?;
    Ok(path.prefix())
}
