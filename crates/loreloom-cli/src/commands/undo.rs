//! Taking writes back.

use std::io::Write;

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{Clock as _, WriteId, WriteKind, WriteRecord};
use loreloom_store::counting;

use super::serve::runtime;
use crate::{clock::SystemClock, dates, store::StoreArguments};

/// Undo the last write to a chat. Nothing is deleted: undoing the undo does it again.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The chat
    chat: String,

    /// The write's number in `--list`; without it, the last write in effect
    id: Option<u64>,

    /// List the writes, and undo nothing
    #[arg(long)]
    list: bool,

    /// Print JSON for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

impl Undo {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (tenant, chat) = (TenantId::local(), ChatId::from(self.chat.as_str()));
        runtime()?.block_on(async {
            let store = self.store.open().await?;
            let log = store.writes(&tenant, &chat).await?;
            if self.list {
                return self.tell(&log, out);
            }
            let last = counting(&log).last().copied();
            let write = self.id.map(WriteId).or(last).context("there is nothing to take back")?;
            let record = store.take_back(&tenant, &chat, write, SystemClock.now()).await?;
            if self.json {
                return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&record)?)?);
            }
            let (write, again) = (write.0, record.last_write().0);
            writeln!(out, "write {write} is taken back; `undo {chat} {again}` does it again")?;
            Ok(())
        })
    }

    fn tell(&self, log: &[WriteRecord], out: &mut dyn Write) -> anyhow::Result<()> {
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(log)?)?);
        }
        let counting = counting(log);
        for write in log {
            let id = write.id.0;
            let what = match write.kind {
                WriteKind::Turn(turn) => format!("turn {}", turn.0),
                WriteKind::Reply(turn) => format!("reply to turn {}", turn.0),
                WriteKind::Path => "messages".to_owned(),
                WriteKind::Tip => "move".to_owned(),
            };
            let what = match write.undoes {
                Some(other) => format!("took write {} back ({what})", other.0),
                None if counting.contains(&write.id) => what,
                None => format!("{what}, taken back"),
            };
            writeln!(out, "{id:>6}  {}  {what}", dates::shown(write.created))?;
        }
        Ok(())
    }
}
