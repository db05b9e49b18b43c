//! Where stories are kept: a folder of the user's, a file, or a server.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use loreloom_ports::{Store, StoreError};
use loreloom_settings::{Changes, StoreSection};
use loreloom_store::{SqliteStore, StoreAddress};
use serde_json::json;

use crate::config::Config;

/// Which stories.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArguments {
    /// The database: a file, or a server as `postgres://user@host/database`
    #[arg(long, value_name = "FILE|URL", conflicts_with = "data", global = true)]
    store: Option<StoreAddress>,

    /// The folder stories are kept in
    #[arg(long, value_name = "FOLDER", global = true)]
    data: Option<PathBuf>,
}

impl StoreArguments {
    /// What the configuration says where these arguments say nothing.
    pub(crate) fn under(&self, config: &Config) -> Self {
        if self.store.is_some() || self.data.is_some() {
            return self.clone();
        }
        let text = |name: &str| {
            let value = config.settings.get(name).and_then(|value| value.as_str());
            value.filter(|value| *value != "none")
        };
        let store = text("store.address").and_then(|address| address.parse().ok());
        let data = text("store.data").filter(|_| store.is_none()).map(PathBuf::from);
        Self { store, data }
    }

    /// Where stories are, as settings name it.
    pub(crate) fn of(section: &StoreSection) -> Self {
        let store = section.address.as_deref().and_then(|address| address.parse().ok());
        Self { data: section.data.clone().filter(|_| store.is_none()), store }
    }

    /// These arguments as settings.
    pub(crate) fn changes(&self) -> anyhow::Result<Changes> {
        let mut changes = Changes::default();
        if let Some(folder) = &self.data {
            changes.set("store.data", json!(folder))?;
            changes.set("store.address", json!("none"))?;
        }
        match &self.store {
            Some(StoreAddress::File(file)) => changes.set("store.address", json!(file))?,
            Some(StoreAddress::Server(url)) => changes.set("store.address", json!(url))?,
            None => {}
        }
        Ok(changes)
    }

    /// Where they are.
    pub(crate) fn address(&self) -> anyhow::Result<StoreAddress> {
        if let Some(address) = &self.store {
            return Ok(address.clone());
        }
        let folder = match &self.data {
            Some(folder) => folder.clone(),
            None => default_folder()?,
        };
        Ok(folder.join("stories.sqlite").into())
    }

    /// Opens the stories that are there.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        let address = self.address()?;
        match address.open().await {
            // It names the file itself.
            Err(error @ StoreError::Missing { .. }) => Err(error.into()),
            other => other.with_context(|| format!("`{address}` cannot be opened")),
        }
    }

    /// Opens the stories, a new store if there are none. A folder is made if it is not there.
    pub(crate) async fn open_or_make(&self) -> anyhow::Result<Arc<dyn Store>> {
        let address = self.address()?;
        if let Some(folder) = address.file().and_then(|file| file.parent()) {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        }
        address.open_or_make().await.with_context(|| format!("`{address}` cannot be opened"))
    }

    /// The file stories are in, for what only a file needs. `instead` says what does it for a
    /// server.
    pub(crate) fn file(&self, instead: &str) -> anyhow::Result<PathBuf> {
        match self.address()? {
            StoreAddress::File(file) => Ok(file),
            address @ StoreAddress::Server(_) => {
                anyhow::bail!("`{address}` is a server: {instead}")
            }
        }
    }

    /// Opens the file stories are in.
    pub(crate) fn open_file(&self, instead: &str) -> anyhow::Result<SqliteStore> {
        let file = self.file(instead)?;
        let is_there = file.metadata().is_ok_and(|file| file.len() > 0);
        anyhow::ensure!(
            is_there,
            "there are no stories in `{}`: it is missing or empty",
            file.display()
        );
        Ok(SqliteStore::open(file)?)
    }
}

/// The user's data folder.
#[expect(
    clippy::disallowed_methods,
    reason = "where users keep their data is told by the environment"
)]
fn default_folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/share")))
        .or_else(|| set("APPDATA").map(PathBuf::from))
        .map(|folder| folder.join("loreloom"))
        .context("no data folder is known: say one with `--data FOLDER`")
}
