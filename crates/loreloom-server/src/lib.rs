//! Loreloom's server: a proxy that weaves lore into requests on their way to a model, and
//! pages that show what it did.
//!
//! The server is handed a store, an upstream and a clock through the traits of
//! `loreloom-ports`; it names no database and no HTTP client.

mod announcements;
mod api;
mod app;
mod assets;
mod bookcase;
mod catalog;
mod chat_import;
mod connection_service;
mod connection_settings;
mod connections;
mod document_sync;
mod events;
mod fail_opens;
mod features;
mod figures;
mod frequency;
mod gate;
mod graph;
mod guard;
mod keys;
mod labels;
mod last_turn;
mod limits;
mod live;
mod live_features;
mod looking_back;
mod lore;
pub mod lore_vectors;
mod metrics;
mod models;
mod moving;
mod notices;
mod own_connections;
mod pages;
pub mod past;
mod prompt_map;
mod proxy;
mod questions;
mod replays;
mod router;
mod routing;
mod serve;
mod stacks;
mod timings;
mod trying;
mod turn;
mod unopened;
pub mod vault_select;
mod vaults;

pub use self::{
    api::document as api_document,
    app::{App, AppParts, Defaults, Services, Weaving},
    bookcase::{Bookcase, BookcaseError, Contents, Maker, Shelved, Standing},
    chat_import::{ChatCounts, ChatImportError, import_chats, read_archive},
    connection_settings::{
        ConnectionKind, ConnectionSettings, KeySource, Prices, ServerUrl, SettingsError,
        TokenizerSetting,
    },
    connections::{
        Connection, Connections, ConnectionsError, Counting, Holding, Opening, Prospect,
        Prospecting,
    },
    features::{Feature, FeatureChoice, Features},
    gate::Access,
    guard::Origins,
    keys::{KeyCabinet, KeyError, KeyRecord, Keys, Scope},
    labels::{Label, Labels},
    last_turn::LastTurn,
    limits::Limits,
    live_features::Started,
    lore::{Lore, LoreError},
    notices::{Happened, Notice, Notices},
    own_connections::{OwnConnection, Reach},
    questions::Questions,
    routing::{KeptRouting, RouteSetting, Routing},
    serve::serve,
    stacks::{Stacks, StacksError},
    turn::{Choosing, Placement},
    vaults::{OpenVault, RegisteredVault, VaultKeeper, VaultRefusal},
};
