//! The configuration file: what `serve` is told besides its arguments, which win.
//!
//! Unknown names are refused with their line, because a misspelt setting that is ignored is
//! worse than none. Paths are relative to the file.

mod connection;
mod key;
mod keyring;
mod sections;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::turn::StoryContext;
use loreloom_server::{ConnectionSettings, RouteSetting};
use serde::Deserialize;

pub(crate) use self::{
    connection::{ForAll, Opened, fixed, opening, prospecting},
    key::read as read_key,
    sections::{
        BookConfig, FeaturesConfig, MemoryConfig, RulesConfig, ServerConfig, StoreConfig,
        StoryConfig, VaultConfig, WeavingConfig,
    },
};
use crate::files;

/// Which configuration.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConfigArguments {
    /// The configuration file [default: loreloom/config.toml in the user's configuration
    /// folder, if it is there]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// Everything a configuration file may say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: ServerConfig,
    pub(crate) store: StoreConfig,
    pub(crate) story: StoryConfig,
    pub(crate) weaving: WeavingConfig,
    pub(crate) rules: RulesConfig,
    pub(crate) memory: MemoryConfig,
    /// By name, in order of their names.
    pub(crate) connections: std::collections::BTreeMap<String, ConnectionSettings>,
    pub(crate) routes: Vec<RouteSetting>,
    pub(crate) features: FeaturesConfig,
    pub(crate) books: Vec<BookConfig>,
    pub(crate) vaults: Vec<VaultConfig>,
    /// What is told of chats, by their ids; `*` is all of them.
    pub(crate) chats: std::collections::BTreeMap<String, StoryContext>,
    /// The folder that paths are relative to.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

impl ConfigArguments {
    /// Reads the file that was named, or the user's own if there is one.
    pub(crate) fn read(&self) -> anyhow::Result<Config> {
        let file = match &self.config {
            Some(file) => Some(file.clone()),
            None => default_file().filter(|file| file.is_file()),
        };
        file.map_or_else(|| Ok(Config::default()), |file| Config::read(&file))
    }
}

impl Config {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = files::read(file)?;
        let text = String::from_utf8(bytes)
            .with_context(|| format!("`{}` must be UTF-8 text", file.display()))?;
        let config: Self = toml::from_str(&text)
            .map_err(|error| anyhow::anyhow!("{}", error.to_string().trim_end().to_owned()))
            .with_context(|| format!("`{}`", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let config = Self { folder, ..config };
        config.check().with_context(|| format!("`{}`", file.display()))?;
        Ok(config)
    }

    /// Names that must be there.
    fn check(&self) -> anyhow::Result<()> {
        let known = |name: &str, what: &str| {
            anyhow::ensure!(
                self.connections.contains_key(name),
                "{what} names the connection `{name}`, which there is not"
            );
            Ok(())
        };
        if let Some(found) = self.weaving.deadline_ms {
            anyhow::ensure!(
                (1..=600_000).contains(&found),
                "`deadline_ms` of `[weaving]` must be from 1 to 600000, found {found}"
            );
        }
        if let Some(found) = self.weaving.queue_seconds {
            anyhow::ensure!(
                (1..=600).contains(&found),
                "`queue_seconds` of `[weaving]` must be from 1 to 600, found {found}"
            );
        }
        for route in &self.routes {
            known(route.connection.as_str(), "a route")?;
        }
        for (name, feature) in self.features.chosen().all() {
            known(feature.connection().as_str(), &format!("the feature `{name}`"))?;
        }
        for (name, connection) in &self.connections {
            let check = || -> anyhow::Result<()> {
                connection.check()?;
                connection::address(connection)?;
                Ok(())
            };
            check().with_context(|| format!("connection `{name}`"))?;
        }
        Ok(())
    }

    /// A path of the file.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }
}

/// Where users keep their configuration.
#[expect(
    clippy::disallowed_methods,
    reason = "where users keep their configuration is told by the environment"
)]
fn default_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")))
        .or_else(|| set("APPDATA").map(PathBuf::from))
        .map(|folder| folder.join("loreloom").join("config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        #[expect(clippy::disallowed_methods, reason = "a fixture")]
        std::fs::write(&file, text).unwrap();
        Config::read(&file).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_documented_example_is_read() {
        let example = include_str!("example.toml");
        let config = read(example).unwrap();
        assert_eq!(config.connections.len(), 2);
        assert_eq!(config.routes.len(), 1);
        let empty = read("").unwrap();
        assert_eq!(empty.connections.len(), 0);
    }

    #[test]
    fn unknown_names_and_wrong_values_are_refused_with_their_line() {
        for (text, expected) in [
            ("[server]\n\nport = 3", &["line 3", "unknown field `port`"] as &[_]),
            ("colour = 1", &["line 1", "unknown field `colour`"]),
            ("[connections.a]\nkind = \"openia\"", &["line 2", "`openia`"]),
            ("[connections.a]\nkind = \"openai\"\nurl = \"ftp://x\"", &["line 3", "ftp"]),
            ("[connections.a]\nkind = \"openai\"\nkey = \"sk-secret\"", &["line 3", "env:NAME"]),
            ("[connections.a]\nkind = \"openai\"", &["connection `a`", "`url`"]),
            ("[[routes]]\nmodels = \"*\"\nconnection = \"b\"", &["connection `b`"]),
            ("[features]\nextractor = \"b\"", &["feature `extractor`", "`b`"]),
            ("[[books]]\nfile = \"a\"\nto = [\"everyone\"]", &["line 3", "everyone"]),
            ("[rules]\nprofile = \"best\"", &["line 2", "best"]),
        ] {
            let error = read(text).unwrap_err();
            for part in expected {
                assert!(error.contains(part), "{text}: {error}");
            }
            let quoted =
                error.lines().any(|line| line.contains("sk-secret") && !line.contains('|'));
            assert!(!quoted, "{error}");
        }
    }
}
