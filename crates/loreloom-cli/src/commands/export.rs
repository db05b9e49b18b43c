//! A chat, a lorebook or a card as a file.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::history::archive;

use super::{
    conversion::{Converted, CrossingArguments},
    conversion_batch::Batch,
    serve::runtime,
};
use crate::{files, store::StoreArguments};

/// The format of chats.
const CHAT: &str = "loreloom-chat";

/// Write a chat, a lorebook or a card for another program.
///
/// A stored chat is written with all its branches, turns and books as one JSON document. A file
/// with lore is written in the format of `--format`; what the format cannot store is reported.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A stored chat, a lorebook or card file, or a folder of those
    #[arg(value_name = "WHAT")]
    what: String,

    /// The file; printed without one
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The format to write: `loreloom-chat` for a chat; for lore any that `convert` knows
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    #[command(flatten)]
    crossing: CrossingArguments,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print the report on lore as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

impl Export {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format.as_deref() {
            Some(format) if format != CHAT => self.export_lore(out),
            Some(_) | None => self.export_chat(out),
        }
    }

    fn export_lore(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let from = Path::new(&self.what);
        if from.is_dir() {
            let Some(to) = &self.file else {
                anyhow::bail!("`{}` is a folder: say which folder its files go to", self.what)
            };
            let (format, crossing, json) = (self.format.as_deref(), self.crossing, self.json);
            return Batch { from, to, format, crossing, force: self.force, json }.run(out);
        }
        let converted =
            Converted::of(from, self.crossing, self.file.as_deref(), self.format.as_deref())?;
        if let Some(file) = &self.file {
            converted.write(file, self.force)?;
            return converted.tell(Some(file), self.json, out);
        }
        out.write_all(converted.bytes()?)?;
        // The report must not end up in the file that the output is sent to.
        converted.tell(None, self.json, &mut io::stderr())
    }

    fn export_chat(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.format.is_some() || !Path::new(&self.what).is_file(),
            "`{}` is a file: `--format` says what lore becomes, and `--format {CHAT}` that a chat \
             of this name is meant",
            self.what
        );
        let (tenant, chat) = (TenantId::local(), ChatId::from(self.what.as_str()));
        let archive = runtime()?.block_on(async {
            let store = self.store.open().await?;
            anyhow::Ok(archive::export(store.as_ref(), &tenant, &chat).await?)
        })?;
        let archive = serde_json::to_vec_pretty(&archive)?;
        match &self.file {
            Some(file) if self.force => files::write(file, &archive),
            Some(file) => files::write_new(file, &archive),
            None => Ok(out.write_all(&archive).and_then(|()| out.write_all(b"\n"))?),
        }
    }
}
