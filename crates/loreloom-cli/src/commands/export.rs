//! A chat as a file.

use std::{io::Write, path::PathBuf};

use clap::Args;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_store::archive;

use super::serve::runtime;
use crate::{data::DataArguments, files};

/// Write a chat with all its branches, turns and books as one JSON document.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The chat
    #[arg(value_name = "CHAT")]
    chat: String,

    /// The file, which must not be there yet; printed without one
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    data: DataArguments,
}

impl Export {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let store = self.data.open()?;
        let (tenant, chat) = (TenantId::local(), ChatId::from(self.chat.as_str()));
        let archive = archive::export(&store, &tenant, &chat);
        let archive = serde_json::to_vec_pretty(&runtime()?.block_on(archive)?)?;
        match self.file {
            Some(file) => files::write_new(&file, &archive),
            None => Ok(out.write_all(&archive).and_then(|()| out.write_all(b"\n"))?),
        }
    }
}
