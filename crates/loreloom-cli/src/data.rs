//! Where stories are kept.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_store::SqliteStore;

/// Which stories.
#[derive(Clone, Debug, Args)]
pub(crate) struct DataArguments {
    /// The folder stories are kept in
    #[arg(long, value_name = "FOLDER", global = true)]
    data: Option<PathBuf>,
}

impl DataArguments {
    /// The database file.
    pub(crate) fn file(&self) -> anyhow::Result<PathBuf> {
        let folder = match &self.data {
            Some(folder) => folder.clone(),
            None => default_folder()?,
        };
        Ok(folder.join("stories.sqlite"))
    }

    /// The database file, in a folder that is made if it is not there.
    pub(crate) fn file_to_make(&self) -> anyhow::Result<PathBuf> {
        let file = self.file()?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        }
        Ok(file)
    }

    /// The stories, a new store if there are none.
    pub(crate) fn open_or_make(&self) -> anyhow::Result<SqliteStore> {
        open(&self.file_to_make()?)
    }

    /// The stories that are there.
    pub(crate) fn open(&self) -> anyhow::Result<SqliteStore> {
        let file = self.file()?;
        anyhow::ensure!(file.exists(), "there are no stories: `{}` is missing", file.display());
        open(&file)
    }
}

fn open(file: &Path) -> anyhow::Result<SqliteStore> {
    SqliteStore::open(file).with_context(|| format!("`{}` cannot be opened", file.display()))
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
