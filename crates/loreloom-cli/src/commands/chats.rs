//! The list of chats.

use std::io::Write;

use clap::Args;
use loreloom_core::ids::TenantId;

use super::serve::runtime;
use crate::{moment, store::StoreArguments, stored::excerpt};

/// List the stored chats, last changed first.
#[derive(Debug, Args)]
pub(crate) struct Chats {
    #[command(flatten)]
    store: StoreArguments,

    /// Print a JSON list for scripts
    #[arg(long)]
    json: bool,
}

impl Chats {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let chats = runtime()?.block_on(async {
            anyhow::Ok(self.store.open().await?.chats(&TenantId::local()).await?)
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
            let changed = moment::shown(one.chat.updated);
            let (messages, turns) = (one.messages, one.turns);
            writeln!(out, "{id:<width$}  {messages:>8}  {turns:>5}  {changed}  {title}")?;
        }
        Ok(())
    }
}
