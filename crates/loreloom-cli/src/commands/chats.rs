//! The list of chats.

use std::io::Write;

use clap::Args;
use loreloom_core::ids::TenantId;
use loreloom_server::AllChatMetadata;

use super::serve::runtime;
use crate::{dates, store::StoreArguments, stored::excerpt};

/// List the stored chats, last changed first.
#[derive(Debug, Args)]
pub(crate) struct Chats {
    #[command(flatten)]
    store: StoreArguments,

    /// The deleted ones instead of the others
    #[arg(long)]
    deleted: bool,

    /// Print a JSON list for scripts
    #[arg(long)]
    json: bool,
}

impl Chats {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
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
