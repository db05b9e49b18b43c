//! The sections of a configuration file but for connections and chats.

use std::{
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    path::PathBuf,
    time::Duration,
};

use clap::ValueEnum;
use loreloom_core::{cache_placement::StableSettings, library::Binding, wrap::WrapFormat};
use loreloom_server::{Access, FeatureChoice, Features, Keys, Origins, ServerLimits};
use loreloom_store::StoreAddress;
use serde::{Deserialize, Deserializer, de};

use crate::{
    commands::PlacementName,
    lore::{DialectName, ProfileName},
};

/// Where the server listens and whom it answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerConfig {
    pub(crate) listen: Option<SocketAddr>,
    /// Names the server may be called by, besides this machine's own.
    pub(crate) hosts: Vec<String>,
    /// Pages that may use it, besides this machine's own.
    pub(crate) origins: Vec<String>,
    /// Proxies whose forwarding headers are believed.
    pub(crate) trusted_proxies: Vec<IpAddr>,
    /// Whether a key is needed on loopback, too.
    pub(crate) require_key: bool,
    /// Where vaults may lie that are registered with a key.
    pub(crate) vault_roots: Vec<PathBuf>,
    pub(crate) limits: LimitsConfig,
}

/// What a client may take.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    body_mb: Option<usize>,
    head_kb: Option<usize>,
    #[serde(deserialize_with = "seconds")]
    head_seconds: Option<Duration>,
    #[serde(deserialize_with = "seconds")]
    stall_seconds: Option<Duration>,
    least_kb_per_second: Option<NonZeroU32>,
    connections: Option<usize>,
}

/// Bytes of a kibibyte.
const KIBI: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);

impl LimitsConfig {
    pub(crate) fn limits(&self) -> ServerLimits {
        let limits = ServerLimits::default();
        ServerLimits {
            body: self.body_mb.map_or(limits.body, |size| size.saturating_mul(1 << 20)),
            head: self.head_kb.map_or(limits.head, |size| size.saturating_mul(1 << 10)),
            head_time: self.head_seconds.unwrap_or(limits.head_time),
            stall: self.stall_seconds.unwrap_or(limits.stall),
            least_rate: self
                .least_kb_per_second
                .map_or(limits.least_rate, |rate| rate.saturating_mul(KIBI)),
            // More than a semaphore can count is no limit.
            connections: self
                .connections
                .map_or(limits.connections, |most| most.clamp(1, usize::MAX >> 4)),
        }
    }
}

impl ServerConfig {
    /// Who may ask a server at this address.
    pub(crate) fn access(&self, address: SocketAddr) -> Access {
        // On loopback a number of another network is another's name for us.
        let open = !address.ip().is_loopback();
        Access {
            origins: Origins {
                hosts: self.hosts.clone(),
                pages: self.origins.clone(),
                trusted_proxies: self.trusted_proxies.clone(),
                numbers: open,
            },
            require_key: open || self.require_key,
            keys: Keys::default(),
        }
    }
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
    /// The longest that a request waits in the queue.
    pub(crate) queue_seconds: Option<u64>,
    #[serde(deserialize_with = "named")]
    pub(crate) placement: Option<PlacementName>,
    /// How the stable placement keeps texts in place.
    pub(crate) stable: Option<StableSettings>,
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

/// Which connection does what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FeaturesConfig {
    /// Tells the story: where requests go that no route names.
    pub(crate) writer: Option<FeatureChoice>,
    /// Reads along and keeps memories.
    pub(crate) extractor: Option<FeatureChoice>,
    /// Chooses notes of vaults.
    pub(crate) selector: Option<FeatureChoice>,
    /// Finds entries by meaning.
    pub(crate) embedder: Option<FeatureChoice>,
    /// How long a turn waits for the embedder.
    #[serde(deserialize_with = "milliseconds")]
    pub(crate) embedder_timeout_ms: Option<Duration>,
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

impl FeaturesConfig {
    /// The connections that are chosen.
    pub(crate) fn chosen(&self) -> Features {
        Features {
            writer: self.writer.clone(),
            extractor: self.extractor.clone(),
            selector: self.selector.clone(),
            embedder: self.embedder.clone(),
        }
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

/// More than no time.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let time = Duration::try_from_secs_f64(value).ok().filter(|time| !time.is_zero());
    let wrong = || de::Error::custom(format!("must be more than 0 seconds, found {value}"));
    time.map(Some).ok_or_else(wrong)
}

/// More than no time.
fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let value = u64::deserialize(deserializer)?;
    let wrong = || de::Error::custom(format!("must be at least 1 millisecond, found {value}"));
    Some(Duration::from_millis(value)).filter(|time| !time.is_zero()).map(Some).ok_or_else(wrong)
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
