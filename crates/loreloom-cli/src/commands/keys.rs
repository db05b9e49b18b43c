//! Keys for servers that others can reach.

use std::{collections::BTreeSet, io::Write};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_core::ids::TenantId;
use loreloom_ports::Clock as _;
use loreloom_server::{KeyCabinet, KeyDraft, KeyRecord, PageOrigin, Scope};
use serde_json::json;

use super::serve::runtime;
use crate::{clock::SystemClock, config::ConfigArguments, dates, store::StoreArguments};

/// Make, list and revoke keys.
///
/// A server that listens beyond this machine lets in only who sends one of them.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    what: KeysCommand,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    config: ConfigArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key and print it, once: only its hash is kept
    Add {
        /// What it is for
        #[arg(long, default_value = "", value_name = "NAME")]
        name: String,

        /// What it may do: `read`, `write`, `proxy`, `admin`; may be given several times
        /// [default: read, write, proxy]
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<Scope>,

        /// Whose data it sees; tenants share nothing
        #[arg(long, default_value = "local", value_name = "NAME")]
        tenant: String,

        /// A page that may use the server with it from a browser, for example SillyTavern at
        /// `http://127.0.0.1:8000`; may be given several times
        #[arg(long = "page", value_name = "ADDRESS")]
        pages: Vec<PageOrigin>,
    },
    /// List the keys by their ids
    List,
    /// Revoke a key; running servers notice within a second
    Revoke {
        /// The key's id, from the list
        id: String,
    },
}

impl Keys {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let store = self.store.under(&self.config.read()?);
        runtime()?.block_on(async {
            let store = store.open_or_make().await?;
            let cabinet = KeyCabinet { documents: store.as_ref() };
            match &self.what {
                KeysCommand::Add { name, scopes, tenant, pages } => {
                    let scopes = if scopes.is_empty() {
                        BTreeSet::from([Scope::Read, Scope::Write, Scope::Proxy])
                    } else {
                        scopes.iter().copied().collect()
                    };
                    let draft = KeyDraft {
                        name: name.clone(),
                        tenant: TenantId::from(tenant.as_str()),
                        scopes,
                        pages: pages.clone(),
                    };
                    self.add(out, &cabinet, draft).await
                }
                KeysCommand::List => self.list(out, &cabinet.list().await?),
                KeysCommand::Revoke { id } => {
                    let gone = cabinet.revoke(id, SystemClock.now()).await?;
                    writeln!(out, "revoked {}", named(&gone))?;
                    Ok(())
                }
            }
        })
    }

    async fn add(
        &self,
        out: &mut dyn Write,
        cabinet: &KeyCabinet<'_>,
        draft: KeyDraft,
    ) -> anyhow::Result<()> {
        let mut random = [0; 32];
        getrandom::fill(&mut random)
            .map_err(|error| anyhow::anyhow!("{error}"))
            .context("the system gives no random numbers")?;
        let (key, record) = cabinet.add(draft, random, SystemClock.now()).await?;
        if self.json {
            let line = json!({ "id": record.id(), "key": key, "tenant": record.tenant, "pages": record.pages });
            writeln!(out, "{line}")?;
        } else {
            writeln!(out, "{key}")?;
        }
        Ok(())
    }

    fn list(&self, out: &mut dyn Write, records: &[KeyRecord]) -> anyhow::Result<()> {
        if self.json {
            for record in records {
                let line = json!({
                    "id": record.id(), "name": record.name, "tenant": record.tenant,
                    "scopes": record.scopes, "created": record.created, "pages": record.pages,
                });
                writeln!(out, "{line}")?;
            }
            return Ok(());
        }
        writeln!(out, "{:<10}  {:<12}  {:<24}  {:<16}  NAME", "KEY", "TENANT", "MAY", "SINCE")?;
        for record in records {
            let scopes: Vec<&str> = record.scopes.iter().map(|scope| scope.as_str()).collect();
            writeln!(
                out,
                "{:<10}  {:<12}  {:<24}  {:<16}  {}",
                record.id(),
                record.tenant,
                scopes.join(","),
                dates::shown(record.created),
                record.name
            )?;
        }
        Ok(())
    }
}

fn named(record: &KeyRecord) -> String {
    if record.name.is_empty() {
        record.id().to_owned()
    } else {
        format!("{} ({})", record.id(), record.name)
    }
}
