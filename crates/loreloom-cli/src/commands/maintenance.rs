//! Care of the stored chats: backup, restore, doctor, vacuum.

use std::{io::Write, path::PathBuf};

use clap::Args;
use loreloom_core::ids::TenantId;
use loreloom_store::{Diagnosis, Salvage, SqliteStore, StoreAddress, doctor};

use super::serve::runtime;
use crate::{plural::counted, store::StoreArguments};

/// Copy all chats to a new file, while they are in use.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The new file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    store: StoreArguments,
}

impl Backup {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let store = self.store.open_file("back it up with `pg_dump`")?;
        runtime()?.block_on(store.back_up(&self.file))?;
        Ok(writeln!(out, "all chats are in `{}`", self.file.display())?)
    }
}

/// Restore a backup. Existing chats must be moved away first.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    store: StoreArguments,
}

impl Restore {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let to = self.store.file("restore it with `pg_restore` or `psql`")?;
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        SqliteStore::restore(&self.file, &to)?;
        Ok(writeln!(out, "`{}` is restored", to.display())?)
    }
}

/// Look for damage in the stored chats. Nothing is changed; fails if there is any.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Write everything that can be read to a new file, and list what cannot; the damaged
    /// file is not changed
    #[arg(long, value_name = "NEW FILE")]
    repair: Option<PathBuf>,

    /// Print JSON for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

impl Doctor {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(to) = &self.repair {
            let from = self.store.file("it keeps and repairs its files itself")?;
            return report(&SqliteStore::repair(from, to)?, to, self.json, out);
        }
        let tenant = TenantId::local();
        let address = self.store.address()?;
        let diagnosis = runtime()?.block_on(async {
            match &address {
                StoreAddress::File(file) => anyhow::Ok(SqliteStore::diagnose(file, &tenant).await?),
                StoreAddress::Server(_) => {
                    let store = address.open().await?;
                    let findings = doctor::examine(store.as_ref(), &tenant).await?;
                    Ok(Diagnosis { findings, ..Diagnosis::default() })
                }
            }
        })?;
        self.tell(&diagnosis, out)
    }

    fn tell(&self, diagnosis: &Diagnosis, out: &mut dyn Write) -> anyhow::Result<()> {
        let Diagnosis { findings, known, salvage } = diagnosis;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(findings)?)?;
        } else {
            for finding in findings {
                writeln!(out, "{finding}")?;
            }
            for loss in known {
                writeln!(out, "lost before an earlier repair: {loss}")?;
            }
        }
        if let Some(salvage) = salvage.as_ref().filter(|_| !self.json) {
            let Salvage { chats, turns, lost } = salvage;
            writeln!(out, "a repair would save {}", stories(*chats, *turns))?;
            for loss in lost {
                writeln!(out, "it could not save {loss}")?;
            }
            writeln!(out, "`loreloom doctor --repair NEW.sqlite` does it and leaves this file")?;
        }
        let found = counted(findings.len() as u64, "finding", "findings");
        anyhow::ensure!(findings.is_empty(), "{found}; nothing was changed");
        if !self.json {
            writeln!(out, "nothing is wrong")?;
        }
        Ok(())
    }
}

fn stories(chats: u64, turns: u64) -> String {
    let chats = counted(chats, "chat", "chats");
    format!("{chats} with {}", counted(turns, "turn", "turns"))
}

fn report(
    salvage: &Salvage,
    to: &std::path::Path,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(salvage)?)?);
    }
    let Salvage { chats, turns, lost } = salvage;
    let is = if (*chats, *turns) == (1, 1) { "is" } else { "are" };
    writeln!(out, "{} {is} in `{}`", stories(*chats, *turns), to.display())?;
    for loss in lost {
        writeln!(out, "lost: {loss}")?;
    }
    Ok(writeln!(out, "the damaged file is as it was")?)
}

/// Free the space of deleted rows.
#[derive(Debug, Args)]
pub(crate) struct Vacuum {
    #[command(flatten)]
    store: StoreArguments,
}

impl Vacuum {
    pub(super) fn run(self, _out: &mut dyn Write) -> anyhow::Result<()> {
        let store = self.store.open_file("it gives space back by itself")?;
        Ok(runtime()?.block_on(store.vacuum())?)
    }
}
