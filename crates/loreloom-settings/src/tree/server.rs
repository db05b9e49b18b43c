//! The server, its connections and its store.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

/// Where the server listens, and which requests it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSection {
    /// The address.
    pub listen: SocketAddr,
    /// Names that the server may be called by, besides those of this machine.
    pub hosts: Vec<String>,
    /// Pages that may use it, besides its own.
    pub origins: Vec<String>,
    /// Proxies whose forwarding headers are believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether a key is needed on loopback too.
    pub require_key: bool,
    /// Where vaults may be that are registered with a key.
    pub vault_roots: Vec<PathBuf>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// What one client may take.
    pub limits: ServerLimitSection,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object in a line.
    Json,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8686),
            hosts: Vec::new(),
            origins: Vec::new(),
            trusted_proxies: Vec::new(),
            require_key: false,
            vault_roots: Vec::new(),
            log_format: LogFormat::default(),
            limits: ServerLimitSection::default(),
        }
    }
}

/// What one client may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerLimitSection {
    /// The largest body of a request, in MiB.
    pub body_mb: u32,
    /// The largest head of a request, in KiB.
    pub head_kb: u32,
    /// How long a head may take, and a connection stay idle.
    pub head_seconds: f64,
    /// How long a client may neither send nor take.
    pub stall_seconds: f64,
    /// How much of a body a client must send in a second, in KiB.
    pub least_kb_per_second: u32,
    /// How many connections are open at once.
    pub connections: u32,
}

impl Default for ServerLimitSection {
    fn default() -> Self {
        Self {
            body_mb: 64,
            head_kb: 64,
            head_seconds: 30.0,
            stall_seconds: 60.0,
            least_kb_per_second: 4,
            connections: 4096,
        }
    }
}

/// Where stories are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSection {
    /// The folder.
    pub data: Option<PathBuf>,
    /// The database: a file or a server.
    pub address: Option<String>,
}

/// What connections do not say themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionDefaults {
    /// Models refuse prompts whose roles do not alternate.
    pub strict_roles: bool,
    /// How long a connection may take to be made.
    pub connect_seconds: Option<f64>,
    /// How long the first byte of an answer may take.
    pub first_byte_seconds: Option<f64>,
    /// How long a stream may be silent.
    pub silence_seconds: Option<f64>,
    /// How often a request is sent again.
    pub retries: Option<u32>,
    /// The longest wait between two tries.
    pub longest_wait_seconds: Option<f64>,
    /// Failures in a row after which a server is left alone.
    pub breaker_failures: Option<u32>,
    /// For how long.
    pub breaker_seconds: Option<f64>,
    /// How many requests run at once.
    pub at_once: Option<usize>,
}

/// What asks a model besides the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureSection {
    /// How long a turn waits for an embedder.
    pub embedder_timeout_ms: u64,
    /// A table of vectors that replaces the one in the binary.
    pub embedding_table: Option<String>,
}

impl Default for FeatureSection {
    fn default() -> Self {
        Self { embedder_timeout_ms: 2000, embedding_table: None }
    }
}
