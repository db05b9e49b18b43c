//! Where stories are kept: a folder of the user's, a file, or a server.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use loreloom_ports::{Store, StoreError};
use loreloom_settings::{Changes, StoreSection};
use loreloom_store::{SpillFile, SqliteStore, StoreAddress, private};
use serde_json::json;

use crate::config::Config;

/// Which stories.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArguments {
    /// The database: a file, or a server as `postgres://user@host/database`
    #[arg(long, value_name = "FILE|URL", conflicts_with = "data", global = true)]
    store: Option<StoreAddress>,

    /// The folder where stories are stored
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
        let store = match address.open().await {
            // It names the file itself.
            Err(error @ StoreError::Missing { .. }) => return Err(error.into()),
            other => other.with_context(|| format!("`{address}` cannot be opened"))?,
        };
        self.keep_private(&address);
        Ok(store)
    }

    /// Opens the stories, a new store if there are none. A folder is made if it is not there.
    pub(crate) async fn open_or_make(&self) -> anyhow::Result<Arc<dyn Store>> {
        let address = self.address()?;
        if let Some(folder) = address.file().and_then(|file| file.parent()) {
            private::create_folder(folder)
                .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        }
        let opened = address.open_or_make().await;
        let store = opened.with_context(|| format!("`{address}` cannot be opened"))?;
        self.keep_private(&address);
        Ok(store)
    }

    /// A place on this machine for turns that the store does not take: beside a file, else in the
    /// data folder, else among the temporary files.
    pub(crate) fn spill(&self) -> anyhow::Result<SpillFile> {
        let address = self.address()?;
        let own = match address.file() {
            Some(file) => std::path::absolute(file)?.parent().map(PathBuf::from),
            None => self.data.clone().or_else(|| default_folder().ok()),
        };
        let temporary = std::env::temp_dir().join(format!("loreloom-{}", user()));
        Ok(SpillFile::new(own.into_iter().chain([temporary]).collect(), &address))
    }

    /// Where keys of connections are kept that are given while the server runs.
    pub(crate) fn key_folder(&self) -> anyhow::Result<PathBuf> {
        let address = self.address()?;
        let beside = address.file().and_then(|file| file.parent()).map(PathBuf::from);
        let folder = match beside.or_else(|| self.data.clone()) {
            Some(folder) => folder,
            None => default_folder()?,
        };
        Ok(folder.join("keys"))
    }

    /// Takes the permissions of others from the data folder and the file, and says so. Only what
    /// was opened is ours: a name that was mistyped may be that of any file. The folder of a file
    /// that `--store` names may have other uses, so it stays.
    fn keep_private(&self, address: &StoreAddress) {
        let Some(file) = address.file() else { return };
        let folder = file.parent().filter(|_| self.store.is_none());
        let narrowed = folder.map_or(Ok(None), private::narrow).and_then(|folder| {
            Ok(folder.into_iter().chain(private::narrow_database(file)?).collect::<Vec<_>>())
        });
        match narrowed {
            Ok(narrowed) => {
                for private::Narrowed { path, before } in narrowed {
                    tracing::warn!(
                        "others could read `{}` (permissions {before:o}): now only its owner can",
                        path.display()
                    );
                }
            }
            Err(error) => tracing::warn!(%error, "others may be able to read the stories"),
        }
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
        let store = SqliteStore::open(&file)?;
        self.keep_private(&StoreAddress::File(file));
        Ok(store)
    }
}

/// The user's data folder.
#[expect(clippy::disallowed_methods, reason = "the environment says where users keep their data")]
fn default_folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/share")))
        .or_else(|| set("APPDATA").map(PathBuf::from))
        .map(|folder| folder.join("loreloom"))
        .context("no data folder is known: say one with `--data FOLDER`")
}

/// Separates the temporary files of users.
#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}
