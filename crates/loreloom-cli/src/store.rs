//! Which store: a file, or a server.

use std::sync::Arc;

use clap::Args;
use loreloom_memory::ports::Store;
use loreloom_store::{SqliteStore, StoreAddress};

use crate::data::DataArguments;

/// Where stories are kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArguments {
    /// The database: a file, or a server as `postgres://user@host/database`
    #[arg(long, value_name = "FILE|URL", conflicts_with = "data")]
    store: Option<StoreAddress>,

    #[command(flatten)]
    data: DataArguments,
}

impl StoreArguments {
    /// Where they are.
    pub(crate) fn address(&self) -> anyhow::Result<StoreAddress> {
        match &self.store {
            Some(address) => Ok(address.clone()),
            None => Ok(self.data.file()?.into()),
        }
    }

    /// Opens the stories that are there.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.address()?.open().await?)
    }

    /// The file stories are in, for what only a file needs. `instead` says what does it for a
    /// server.
    pub(crate) fn file(&self, instead: &str) -> anyhow::Result<std::path::PathBuf> {
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
