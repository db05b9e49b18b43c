//! The sections of a configuration file but for connections and chats.

use std::{net::SocketAddr, path::PathBuf};

use clap::ValueEnum;
use loreloom_core::{library::Binding, wrap::WrapFormat};
use loreloom_store::StoreAddress;
use serde::{Deserialize, Deserializer, de};

use crate::lore::{DialectName, ProfileName};

/// Where the server listens and whom it answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerConfig {
    pub(crate) listen: Option<SocketAddr>,
}

/// Where stories are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreConfig {
    pub(crate) data: Option<PathBuf>,
    #[serde(deserialize_with = "parsed")]
    pub(crate) address: Option<StoreAddress>,
}

/// What requests do not say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoryConfig {
    pub(crate) user: Option<String>,
    pub(crate) character: Option<String>,
    pub(crate) context: Option<u32>,
    pub(crate) seed: Option<u64>,
}

/// Whether and how lore is woven.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WeavingConfig {
    pub(crate) on: Option<bool>,
    pub(crate) deadline_ms: Option<u64>,
}

/// The rules lore is woven by.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RulesConfig {
    #[serde(deserialize_with = "named")]
    pub(crate) profile: Option<ProfileName>,
    #[serde(deserialize_with = "named")]
    pub(crate) dialect: Option<DialectName>,
    pub(crate) depth: Option<u32>,
    pub(crate) budget: Option<f64>,
    #[serde(deserialize_with = "parsed")]
    pub(crate) wrap: Option<WrapFormat>,
    pub(crate) near: Option<f64>,
}

/// Whether stories are remembered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MemoryConfig {
    pub(crate) on: Option<bool>,
}

/// Which models go where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteConfig {
    pub(crate) models: String,
    pub(crate) connection: String,
}

/// Which connection does what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FeaturesConfig {
    /// Tells the story: where requests go that no route names.
    pub(crate) writer: Option<FeatureConfig>,
    /// Reads along and keeps memories.
    pub(crate) extractor: Option<FeatureConfig>,
    /// Finds entries by meaning.
    pub(crate) embedder: Option<FeatureConfig>,
}

/// A connection, and a model of it where it is not the connection's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum FeatureConfig {
    /// The connection.
    Connection(String),
    /// The connection and a model.
    Model(FeatureModel),
}

/// A connection and a model of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeatureModel {
    connection: String,
    model: String,
}

/// A book that is woven from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BookConfig {
    pub(crate) file: PathBuf,
    #[serde(default = "everywhere", deserialize_with = "bindings")]
    pub(crate) to: Vec<Binding>,
    #[serde(default, deserialize_with = "named")]
    pub(crate) dialect: Option<DialectName>,
}

/// A vault that is woven from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VaultConfig {
    pub(crate) folder: PathBuf,
    #[serde(default)]
    pub(crate) name: Option<String>,
}

impl FeatureConfig {
    pub(crate) fn connection(&self) -> &str {
        match self {
            Self::Connection(connection) | Self::Model(FeatureModel { connection, .. }) => {
                connection
            }
        }
    }

    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Connection(_) => None,
            Self::Model(FeatureModel { model, .. }) => Some(model),
        }
    }
}

impl FeaturesConfig {
    /// Those that are set, with their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &FeatureConfig)> {
        let all = [
            ("writer", &self.writer),
            ("extractor", &self.extractor),
            ("embedder", &self.embedder),
        ];
        all.into_iter().filter_map(|(name, feature)| feature.as_ref().map(|one| (name, one)))
    }
}

fn everywhere() -> Vec<Binding> {
    vec![Binding::Everywhere]
}

fn bindings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Binding>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let binding = |text: &String| {
        Binding::parse(text).ok_or_else(|| {
            de::Error::custom(format!(
                "a book follows `everywhere`, `character:NAME`, `persona:NAME`, `group:NAME` or \
                 `chat:ID`, found `{text}`"
            ))
        })
    };
    texts.iter().map(binding).collect()
}

/// One of an argument's values.
fn named<'de, D: Deserializer<'de>, T: ValueEnum>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    T::from_str(&text, false).map(Some).map_err(|_unknown| {
        let known = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known = known.map(|value| format!("`{}`", value.get_name())).collect::<Vec<_>>();
        de::Error::custom(format!("must be one of {}, found `{text}`", known.join(", ")))
    })
}

/// A text with a form of its own.
fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(de::Error::custom)
}
