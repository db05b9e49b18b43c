//! The list of chats, and a chat as a file.

use std::{io::Write, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_formats::chat::{export_markdown, export_sillytavern};
use loreloom_server::{AllChatMetadata, exported_archive, exported_chat};

use super::serve::runtime;
use crate::{dates, files, store::StoreArguments, stored::excerpt};

/// List the stored chats, last changed first.
#[derive(Debug, Args)]
pub(crate) struct Chats {
    #[command(subcommand)]
    what: Option<ChatsCommand>,

    #[command(flatten)]
    store: StoreArguments,

    /// List the deleted chats instead
    #[arg(long)]
    deleted: bool,

    /// Print a JSON list for scripts
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ChatsCommand {
    /// Write a chat as a file
    Export {
        /// The chat's id
        chat: String,
        /// The file; printed without one
        file: Option<PathBuf>,
        /// The form of the file
        #[arg(long, value_enum, default_value_t)]
        format: ChatFileForm,
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
    },
}

/// The form of a chat's file.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ChatFileForm {
    /// The current path with the versions of its messages, as `SillyTavern` reads it (.jsonl)
    #[default]
    Sillytavern,
    /// The current path as Markdown
    Markdown,
    /// One JSON document with every branch, turn, report and prompt
    Loreloom,
}

impl Chats {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(ChatsCommand::Export { chat, file, format, force }) = &self.what {
            let text = self.written(&ChatId::from(chat.as_str()), *format)?;
            return match file {
                Some(file) if *force => files::write(file, text.as_bytes()),
                Some(file) => files::write_new(file, text.as_bytes()),
                None => Ok(out.write_all(text.as_bytes())?),
            };
        }
        self.list(out)
    }

    /// A chat as the text of a file.
    fn written(&self, chat: &ChatId, form: ChatFileForm) -> anyhow::Result<String> {
        runtime()?.block_on(async {
            let (store, tenant) = (self.store.open().await?, TenantId::local());
            if let ChatFileForm::Loreloom = form {
                let archive = exported_archive(store.as_ref(), &tenant, chat).await?;
                return Ok(serde_json::to_string_pretty(&archive)? + "\n");
            }
            let (title, file) = exported_chat(store.as_ref(), &tenant, chat).await?;
            let title = if title.is_empty() { chat.as_str() } else { &title };
            Ok(match form {
                ChatFileForm::Markdown => export_markdown(&file, title),
                ChatFileForm::Sillytavern | ChatFileForm::Loreloom => export_sillytavern(&file),
            })
        })
    }

    fn list(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let chats = runtime()?.block_on(async {
            let (store, tenant) = (self.store.open().await?, TenantId::local());
            let mut chats = store.chats(&tenant).await?;
            let all = AllChatMetadata::read(store.as_ref(), &tenant).await?;
            chats.retain_mut(|one| all.apply(&mut one.chat) == self.deleted);
            anyhow::Ok(chats)
        })?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&chats)?)?;
            return Ok(());
        }
        let width = chats.iter().map(|one| one.chat.id.as_str().chars().count()).max();
        let width = width.unwrap_or(4).clamp(4, 40);
        writeln!(out, "{:<width$}  MESSAGES  TURNS  CHANGED (UTC)     TITLE", "CHAT")?;
        for one in chats {
            let (id, title) = (one.chat.id.as_str(), excerpt(&one.chat.title, 40));
            let changed = dates::shown(one.chat.updated);
            let (messages, turns) = (one.messages, one.turns);
            writeln!(out, "{id:<width$}  {messages:>8}  {turns:>5}  {changed}  {title}")?;
        }
        Ok(())
    }
}
