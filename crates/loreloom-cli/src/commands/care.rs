//! Care of the stored chats: backup, restore, doctor, vacuum.

use std::{io::Write, path::PathBuf};

use clap::Args;
use loreloom_core::ids::TenantId;
use loreloom_store::{SqliteStore, doctor};

use super::serve::runtime;
use crate::data::DataArguments;

/// Copy all chats to a new file, while they are in use.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The new file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    data: DataArguments,
}

impl Backup {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let store = self.data.open()?;
        runtime()?.block_on(store.back_up(&self.file))?;
        Ok(writeln!(out, "all chats are in `{}`", self.file.display())?)
    }
}

/// Put a backup where the chats are kept. Chats that are there must be moved away first.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    data: DataArguments,
}

impl Restore {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let to = self.data.file_to_make()?;
        SqliteStore::restore(&self.file, &to)?;
        Ok(writeln!(out, "`{}` is restored", to.display())?)
    }
}

/// Look for damage in the stored chats. Nothing is changed; fails if there is any.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print a JSON list for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    data: DataArguments,
}

impl Doctor {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let store = self.data.open()?;
        let findings = runtime()?.block_on(async {
            let mut findings = store.examine().await?;
            findings.extend(doctor::examine(&store, &TenantId::local()).await?);
            anyhow::Ok(findings)
        })?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
        } else {
            for finding in &findings {
                writeln!(out, "{finding}")?;
            }
        }
        anyhow::ensure!(findings.is_empty(), "{} findings; nothing was changed", findings.len());
        if !self.json {
            writeln!(out, "nothing is wrong")?;
        }
        Ok(())
    }
}

/// Give the space of deleted rows back.
#[derive(Debug, Args)]
pub(crate) struct Vacuum {
    #[command(flatten)]
    data: DataArguments,
}

impl Vacuum {
    pub(super) fn run(self, _out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(runtime()?.block_on(self.data.open()?.vacuum())?)
    }
}
