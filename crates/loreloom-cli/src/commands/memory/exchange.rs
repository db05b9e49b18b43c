//! Taking memory out and in.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::ChatId;
use loreloom_memory::service::{ExchangeError, Imported, pinned_groups};
use loreloom_ports::{Owner, RecordKind};
use serde_json::Value;

use super::MemoryContext;
use crate::files;

/// Write everything that is remembered as JSON.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The file; without one it is printed
    file: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let archive = context.service.exchange.export(&context.tenant).await?;
        let text = serde_json::to_string_pretty(&archive)?;
        match self.file {
            Some(file) => files::write(&file, text.as_bytes()),
            None => Ok(writeln!(out, "{text}")?),
        }
    }
}

/// Read an archive of `export`, Smart Memory's settings (all characters), or a chat of
/// SillyTavern that Smart Memory worked on. What is known already stays as it is.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file
    file: PathBuf,

    /// The chat that a chat's data go to
    #[arg(long, value_name = "CHAT")]
    chat: Option<String>,

    /// Only the pinned threads of this group of Smart Memory's; they go to `--chat`
    #[arg(long, value_name = "GROUP", requires = "chat")]
    group: Option<String>,
}

impl Import {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let bytes = files::read(&self.file)?;
        let value = first_value(&bytes).with_context(|| format!("`{}`", self.file.display()))?;
        let chat = self.chat.map(ChatId::from);
        // In an empty folder the chat comes later.
        let is_empty = context.store.chats(&context.tenant).await?.is_empty();
        if let Some(chat) = chat.as_ref().filter(|_| !is_empty) {
            context.must_know(chat).await?;
        }
        if let (Some(group), Some(chat)) = (&self.group, &chat) {
            let new =
                context.service.exchange.import_group(&context.tenant, &value, group, chat).await?;
            return Ok(writeln!(out, "{chat}: {}", outcome(new.is_some()))?);
        }
        let groups = pinned_groups(&value);
        match context.service.exchange.import_any(&context.tenant, value, chat.as_ref()).await {
            Err(ExchangeError::NoChat) => {
                anyhow::bail!("say which chat these data go to with `--chat CHAT`")
            }
            taken => match taken? {
                Imported::Archive { new } => {
                    match new {
                        1 => writeln!(out, "1 write is new")?,
                        new => writeln!(out, "{new} writes are new")?,
                    }
                    stored(context, out).await?;
                }
                Imported::Characters(characters) => {
                    for (name, new) in characters {
                        writeln!(out, "{name}: {}", outcome(new))?;
                    }
                    for (group, threads) in groups {
                        let hint = format!("`--group {group} --chat CHAT`");
                        let threads = match threads {
                            1 => "1 thread waits".to_owned(),
                            threads => format!("{threads} threads wait"),
                        };
                        writeln!(out, "group {group}: {threads} for {hint}")?;
                    }
                }
                Imported::Chat(new) => {
                    let chat = chat.map(|chat| chat.0).unwrap_or_default();
                    writeln!(out, "{chat}: {}", outcome(new))?;
                    context.say_if_waiting(&Owner::Chat(chat.into()), out).await?;
                }
            },
        }
        Ok(())
    }
}

/// Says who remembers how much now.
async fn stored(context: &MemoryContext, out: &mut dyn Write) -> anyhow::Result<()> {
    for (owner, _) in context.store.owners(&context.tenant).await? {
        let records = context.service.views.records(&context.tenant, &owner).await?;
        let count = records.iter().filter(|(key, _)| key.kind != RecordKind::Marks).count();
        let (kind, id) = (owner.kind(), owner.id());
        writeln!(out, "{kind} {id}: {count} {}", if count == 1 { "record" } else { "records" })?;
        context.say_if_waiting(&owner, out).await?;
    }
    Ok(())
}

fn outcome(new: bool) -> &'static str {
    if new { "taken in" } else { "nothing new" }
}

/// The document, or the first line of a file of lines.
fn first_value(bytes: &[u8]) -> anyhow::Result<Value> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    Ok(values.next().context("the file is empty")??)
}
