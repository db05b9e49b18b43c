//! The configuration file: settings by section, and connections, routes, books, vaults and chats.
//!
//! Unknown names are refused with their line and the nearest known name, because a misspelt
//! setting that is ignored is worse than none. Paths are relative to the file.

mod connection;
mod edit;
mod key;
mod keyring;
mod sections;
mod setting_lines;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::turn::StoryContext;
use loreloom_server::{ConnectionSettings, RouteSetting};
use loreloom_settings::{Changes, SettingScope};
use serde::Deserialize;
use serde_json::json;

use self::setting_lines::SettingLines;
pub(crate) use self::{
    connection::{ForAll, KeyFolder, Opened, fixed, opening, prospecting},
    edit::edited,
    key::read as read_key,
    sections::{BookConfig, FeaturesConfig, VaultConfig, access, server_limits},
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
#[serde(default)]
pub(crate) struct Config {
    /// By name, in order of their names.
    pub(crate) connections: std::collections::BTreeMap<String, ConnectionSettings>,
    pub(crate) routes: Vec<RouteSetting>,
    pub(crate) features: FeaturesConfig,
    pub(crate) books: Vec<BookConfig>,
    pub(crate) vaults: Vec<VaultConfig>,
    /// What is stated about chats, by their ids; `*` is all of them.
    pub(crate) chats: std::collections::BTreeMap<String, StoryContext>,
    /// The settings, by name.
    #[serde(skip)]
    pub(crate) settings: Changes,
    /// The folder that paths are relative to.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

/// The parts of a file that are no settings.
pub(crate) const PARTS: [&str; 5] = ["connections", "routes", "books", "vaults", "chats"];

impl ConfigArguments {
    /// The file that was named, or the user's own if there is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match &self.config {
            Some(file) => Some(file.clone()),
            None => default_file().filter(|file| file.is_file()),
        }
    }

    /// Reads the file that was named, or the user's own if there is one.
    pub(crate) fn read(&self) -> anyhow::Result<Config> {
        self.file().map_or_else(|| Ok(Config::default()), |file| Config::read(&file))
    }

    /// The file that settings are written to: the named one, or the user's own.
    pub(crate) fn target(&self) -> anyhow::Result<PathBuf> {
        let file = self.config.clone().or_else(default_file);
        file.context("no configuration folder is known: name a file with `--config FILE`")
    }
}

impl Config {
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = files::read(file)?;
        let text = String::from_utf8(bytes)
            .with_context(|| format!("`{}` must be UTF-8 text", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(&text, folder).with_context(|| format!("`{}`", file.display()))
    }

    pub(crate) fn parse(text: &str, folder: PathBuf) -> anyhow::Result<Self> {
        let plain =
            |error: toml::de::Error| anyhow::anyhow!("{}", error.to_string().trim_end().to_owned());
        let lines = SettingLines::read(text).map_err(plain)?;
        let settings = lines.settings()?;
        let mut config: Self = toml::from_str(text).map_err(plain)?;
        for (at, book) in config.books.iter_mut().enumerate() {
            book.overrides = lines.overrides(SettingScope::Book, at)?;
        }
        for (at, vault) in config.vaults.iter_mut().enumerate() {
            vault.overrides = lines.overrides(SettingScope::Vault, at)?;
        }
        let config = Self { settings, folder, ..config };
        let config = config.with_paths()?;
        config.check()?;
        Ok(config)
    }

    /// Settings that are paths are relative to the file too.
    fn with_paths(mut self) -> anyhow::Result<Self> {
        let data = self.settings.get("store.data").and_then(|value| value.as_str());
        if let Some(data) =
            data.filter(|data| *data != "none").map(|data| self.path(Path::new(data)))
        {
            self.settings.set("store.data", json!(data))?;
        }
        let roots = self.settings.get("server.vault_roots").and_then(|value| value.as_array());
        let roots: Option<Vec<PathBuf>> = roots.map(|roots| {
            let roots = roots.iter().filter_map(|root| root.as_str());
            roots.map(|root| self.path(Path::new(root))).collect()
        });
        if let Some(roots) = roots {
            self.settings.set("server.vault_roots", json!(roots))?;
        }
        Ok(self)
    }

    /// Names that must be there.
    fn check(&self) -> anyhow::Result<()> {
        let known = |name: &str, what: &str| {
            anyhow::ensure!(
                self.connections.contains_key(name),
                "{what} names the connection `{name}`, which does not exist"
            );
            Ok(())
        };
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
    reason = "the environment says where users keep their configuration"
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
        Config::parse(text, PathBuf::from("folder")).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_documented_example_is_read() {
        let example = include_str!("example.toml");
        let config = read(example).unwrap();
        assert_eq!(config.connections.len(), 2);
        assert_eq!(config.routes.len(), 1);
        assert_eq!(config.settings.get("world_info.scan_depth"), Some(&json!(4)));
        let empty = read("").unwrap();
        assert_eq!(empty.connections.len(), 0);
    }

    #[test]
    fn sections_books_and_vaults_carry_settings() {
        let config = read(
            "[vault]\nscan_depth = 6\nselection.mode = \"two-stage\"\nmax_tokens = \"none\"\n\
             [memory.places.arcs]\nposition = \"BEFORE\"\n[store]\ndata = \"stories\"\n\
             [features]\nembedder_timeout_ms = 50\n\
             [[books]]\nfile = \"a.json\"\nworld_info.scan_depth = 9\n\
             [[vaults]]\nfolder = \"notes\"\n[vaults.vault.tags]\nlore = \"mine\"\n",
        );
        let config = config.unwrap();
        for (name, value) in [
            ("vault.scan_depth", json!(6)),
            ("vault.selection.mode", json!("two-stage")),
            ("vault.max_tokens", json!("none")),
            ("memory.places", json!({"arcs": {"position": "BEFORE"}})),
            ("store.data", json!("folder/stories")),
            ("features.embedder_timeout_ms", json!(50)),
        ] {
            assert_eq!(config.settings.get(name), Some(&value), "{name}");
        }
        assert_eq!(config.books[0].overrides.get("world_info.scan_depth"), Some(&json!(9)));
        assert_eq!(config.vaults[0].overrides.get("vault.tags.lore"), Some(&json!("mine")));
    }

    #[test]
    fn unknown_names_and_wrong_values_are_refused_with_their_line() {
        for (text, expected) in [
            ("[server]\n\nport = 3", &["line 3", "there is no setting `server.port`"] as &[_]),
            ("colour = 1", &["line 1", "there is no setting `colour`"]),
            ("[vault]\nscandepth = 1", &["line 2", "did you mean `vault.scan_depth`?"]),
            ("[vault]\nscan_depth = \"x\"", &["line 2", "must be a whole number", "found `x`"]),
            ("[weaving]\ndeadline_ms = 0", &["line 2", "from 1 to 600000", "found 0"]),
            ("[connections.a]\nkind = \"openia\"", &["line 2", "`openia`"]),
            ("[connections.a]\nkind = \"openai\"\nurl = \"ftp://x\"", &["line 3", "ftp"]),
            ("[connections.a]\nkind = \"openai\"\nkey = \"sk-secret\"", &["line 3", "env:NAME"]),
            ("[connections.a]\nkind = \"openai\"", &["connection `a`", "`url`"]),
            ("[[routes]]\nmodels = \"*\"\nconnection = \"b\"", &["connection `b`"]),
            ("[features]\nextractor = \"b\"", &["feature `extractor`", "`b`"]),
            ("[[books]]\nfile = \"a\"\nto = [\"everyone\"]", &["line 3", "everyone"]),
            ("[[books]]\nfile = \"a\"\nfiel = 1", &["line 3", "there is no setting `fiel`"]),
            (
                "[[books]]\nfile = \"a\"\nweaving.on = true",
                &["line 3", "`weaving.on` cannot be set for one book"],
            ),
            ("[world_info]\nprofile = \"best\"", &["line 2", "best"]),
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
