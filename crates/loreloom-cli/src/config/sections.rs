//! The parts of a configuration file that are no settings, and what settings mean to the server.

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use loreloom_core::library::Binding;
use loreloom_server::{Access, FeatureChoice, Features, Keys, Origins, ServerLimits};
use loreloom_settings::{BookDialect, Changes, ServerLimitSection, ServerSection};
use serde::{Deserialize, Deserializer, de};

/// Bytes of a kibibyte.
const KIBI: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);

/// What one client may take.
pub(crate) fn server_limits(section: &ServerLimitSection) -> ServerLimits {
    let size = |number: u32, unit: usize| {
        usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(unit)
    };
    let time = |seconds: f64, usual: Duration| {
        Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).unwrap_or(usual)
    };
    let usual = ServerLimits::default();
    let least_rate = NonZeroU32::new(section.least_kb_per_second);
    ServerLimits {
        body: size(section.body_mb, 1 << 20),
        head: size(section.head_kb, 1 << 10),
        head_time: time(section.head_seconds, usual.head_time),
        stall: time(section.stall_seconds, usual.stall),
        least_rate: least_rate.map_or(usual.least_rate, |rate| rate.saturating_mul(KIBI)),
        connections: size(section.connections, 1).max(1),
    }
}

/// Who may ask a server at this address.
pub(crate) fn access(section: &ServerSection, address: SocketAddr) -> Access {
    // On loopback a number of another network is another's name for us.
    let open = !address.ip().is_loopback();
    Access {
        origins: Origins {
            hosts: section.hosts.clone(),
            pages: section.origins.clone(),
            trusted_proxies: section.trusted_proxies.clone(),
            numbers: open,
        },
        require_key: open || section.require_key,
        keys: Keys::default(),
    }
}

/// Which connection does what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FeaturesConfig {
    /// Tells the story: where requests go that no route names.
    pub(crate) writer: Option<FeatureChoice>,
    /// Reads along and keeps memories.
    pub(crate) extractor: Option<FeatureChoice>,
    /// Selects notes of vaults.
    pub(crate) selector: Option<FeatureChoice>,
    /// Finds entries by meaning.
    pub(crate) embedder: Option<FeatureChoice>,
}

/// A book of the configuration.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BookConfig {
    pub(crate) file: PathBuf,
    #[serde(default = "everywhere", deserialize_with = "bindings")]
    pub(crate) to: Vec<Binding>,
    #[serde(default)]
    pub(crate) dialect: Option<BookDialect>,
    /// Its own settings.
    #[serde(skip)]
    pub(crate) overrides: Changes,
}

/// A vault of the configuration.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VaultConfig {
    pub(crate) folder: PathBuf,
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Its own settings.
    #[serde(skip)]
    pub(crate) overrides: Changes,
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
                "a book is attached to `everywhere`, `character:NAME`, `persona:NAME`, \
                 `group:NAME` or `chat:ID`, found `{text}`"
            ))
        })
    };
    texts.iter().map(binding).collect()
}
