//! Background jobs: memory's work for a model.

use std::io::Write;

use clap::Args;
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{Clock as _, JobId};

use super::serve::runtime;
use crate::{clock::SystemClock, dates, plural::counted, store::StoreArguments};

/// List jobs, oldest first, or cancel some.
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// Only this chat's
    #[arg(long, value_name = "CHAT")]
    chat: Option<String>,

    /// Also list finished jobs
    #[arg(long)]
    all: bool,

    /// Cancel these
    #[arg(long, value_name = "JOB", num_args = 1..)]
    cancel: Vec<u64>,

    /// Print a JSON list for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

impl Jobs {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let tenant = TenantId::local();
        runtime()?.block_on(async {
            let store = self.store.open().await?;
            if !self.cancel.is_empty() {
                let ids: Vec<JobId> = self.cancel.iter().copied().map(JobId).collect();
                let reason = "cancelled by hand";
                let count = store.cancel(&tenant, &ids, reason, SystemClock.now()).await?;
                let jobs = counted(count, "job is", "jobs are");
                return Ok(writeln!(out, "{jobs} cancelled")?);
            }
            let chat = self.chat.as_deref().map(ChatId::from);
            let jobs = store.jobs(&tenant, chat.as_ref(), self.all).await?;
            if self.json {
                return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&jobs)?)?);
            }
            writeln!(
                out,
                "{:>6}  {:<9} {:<9} TRIES  DONE     CHANGED (UTC)     CHAT",
                "JOB", "KIND", "STATE"
            )?;
            for job in jobs {
                let done = match job.body.total {
                    0 => "-".to_owned(),
                    total => format!("{}/{total}", job.body.done),
                };
                let (kind, state) = (job.kind.as_str(), job.state.as_str());
                let (tries, at) = (job.attempts, dates::shown(job.updated));
                writeln!(
                    out,
                    "{:>6}  {kind:<9} {state:<9} {tries:>5}  {done:<7}  {at}  {}",
                    job.id, job.chat
                )?;
                if let Some(error) = &job.error {
                    writeln!(out, "        {error}")?;
                }
            }
            Ok(())
        })
    }
}
