//! The address of a store: a file, or a PostgreSQL server.
//!
//! `postgres://…` and `postgresql://…` are servers. Anything else is the path of an SQLite file. So
//! every command needs only one `--store` option.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use loreloom_ports::{Store, StoreError};

use crate::SqliteStore;

/// The address of a store.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database, as a URL.
    Server(String),
}

impl StoreAddress {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }

    /// Opens a store that exists.
    ///
    /// Fails with [`StoreError::Missing`] if the file does not exist or is empty. A database on a
    /// server may be empty: somebody has created it.
    pub async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        if let Self::File(path) = self
            && path.metadata().map_or(true, |file| file.len() == 0)
        {
            return Err(StoreError::Missing { path: path.display().to_string() });
        }
        self.open_or_make().await
    }

    /// Opens a store, or creates one.
    pub async fn open_or_make(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Self::File(path) => {
                // Opening waits for locks, so it does not run on a thread that serves requests.
                let path = path.clone();
                let open = tokio::task::spawn_blocking(move || SqliteStore::open(path));
                let store = open.await.map_err(|error| StoreError::Database {
                    doing: "opening the database",
                    source: error.into(),
                })?;
                Ok(Arc::new(store?))
            }
            Self::Server(url) => open_server(url).await,
        }
    }
}

#[cfg(feature = "postgres")]
async fn open_server(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(crate::PostgresStore::connect(url).await?))
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "with the feature `postgres` it awaits the server")]
async fn open_server(_url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Contradiction {
        rule: "a PostgreSQL store needs a build with the feature `postgres` \
               (cargo install --locked --path crates/loreloom-cli --features postgres)",
        found: "a build without it".to_owned(),
    })
}

impl FromStr for StoreAddress {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        let is_server =
            ["postgres://", "postgresql://"].iter().any(|scheme| word.starts_with(scheme));
        Ok(if is_server { Self::Server(word.to_owned()) } else { Self::File(word.into()) })
    }
}

impl From<PathBuf> for StoreAddress {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Server(url) => formatter.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StoreAddress({self})")
    }
}

/// The address for messages and logs.
pub(crate) fn without_password(url: &str) -> String {
    let (url, asked) = url.split_once('?').unwrap_or((url, ""));
    let shown = if let Some((scheme, rest)) = url.split_once("://") {
        let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let user = user.split(':').next().filter(|user| !user.is_empty());
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        format!("{scheme}://{user}{place}")
    } else {
        // libpq's other form, `host=… password=…`.
        let words = url.split_whitespace().filter(|word| !word.starts_with("password"));
        words.collect::<Vec<_>>().join(" ")
    };
    let asked: Vec<&str> =
        asked.split('&').filter(|one| !one.is_empty() && !one.starts_with("password")).collect();
    if asked.is_empty() { shown } else { format!("{shown}?{}", asked.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_all_else_a_file() {
        for (word, shown, is_file) in [
            ("stories.sqlite", "stories.sqlite", true),
            ("/data/postgres://x", "/data/postgres://x", true),
            ("postgres://ann:secret@db.example/tales", "postgres://ann@db.example/tales", false),
            (
                "postgresql://db/t?sslmode=require&password=x",
                "postgresql://db/t?sslmode=require",
                false,
            ),
            ("postgres://a:p@ss@h/t", "postgres://a@h/t", false),
        ] {
            let Ok(address) = word.parse::<StoreAddress>();
            assert_eq!(address.to_string(), shown);
            assert_eq!(address.file().is_some(), is_file, "{word}");
            assert!(!format!("{address:?}").contains("secret"));
        }
        assert_eq!(without_password("host=h password=s dbname=d"), "host=h dbname=d");
    }
}
