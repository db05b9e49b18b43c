//! Loreloom's server: a proxy that weaves lore into requests on their way to a model, and
//! pages that show what it did.
//!
//! The server is handed a store, an upstream and a clock through the traits of
//! `loreloom-ports`; it names no database and no HTTP client.

mod announcements;
mod api;
mod app;
mod assets;
mod cast;
mod catalog;
mod chat_export;
mod chat_import;
mod chat_metadata;
mod chat_title;
mod connection_service;
mod connection_settings;
mod connections;
mod document_sync;
mod entry_moves;
mod events;
mod extension;
mod fail_opens;
mod feature_switch;
mod features;
mod figures;
mod frequency;
mod gate;
mod graph;
mod guard;
mod half_pairs;
mod keys;
mod last_turn;
mod lent_model;
mod limits;
mod lore;
mod lore_service;
pub mod lore_vectors;
mod metrics;
mod models;
mod notices;
mod own_connections;
mod page_origin;
mod pages;
pub mod past;
mod past_turns;
mod play;
mod preview;
mod prompt_map;
mod proxy;
mod questions;
mod replays;
mod request_id;
mod router;
mod routing;
mod runtime_settings;
mod scoped_settings;
mod serve;
mod state_edits;
mod stored_books;
mod timings;
mod turn;
mod unopened;
pub mod vault_select;
mod vaults;
mod waiting;

#[cfg(feature = "schema")]
pub use self::api::document as api_document;
pub use self::{
    app::{App, AppParts, Defaults, Services, Weaving},
    cast::{
        CastDocument, CastDocuments, CastError, CharacterFile, GroupMember, Kept, KeptCharacter,
        KeptGroup, KeptPersona, KeptPicture, NewCharacter, StoredCharacters, TurnOrder,
        read_personas,
    },
    chat_export::{exported_archive, exported_chat},
    chat_import::{ChatCounts, ChatImport, ChatImportError, read_archive},
    chat_metadata::{AllChatMetadata, ChatMetadata},
    connection_settings::{
        ConnectionKind, ConnectionSettings, KeySource, Prices, ServerUrl, SettingsError,
        TokenizerSetting,
    },
    connections::{
        Connection, Connections, ConnectionsError, Counting, Holding, KeyKeeper, Opening, Prospect,
        Prospecting,
    },
    feature_switch::Started,
    features::{Feature, FeatureChoice, Features},
    gate::Access,
    guard::Origins,
    keys::{KeyCabinet, KeyDraft, KeyError, KeyRecord, Keys, Scope},
    last_turn::LastTurn,
    limits::ServerLimits,
    lore::{Lore, LoreError},
    lore_service::{LoreService, LoreServiceError},
    notices::{Happened, Notice, Notices},
    own_connections::{ConnectionReach, OwnConnection},
    page_origin::{PageOrigin, PageOriginError},
    questions::{NoEmbedder, Questions},
    routing::{KeptRouting, RouteSetting, Routing},
    runtime_settings::stored_settings,
    serve::serve,
    state_edits::StateEdit,
    stored_books::{Contents, Maker, Shelved, StoredBook, StoredBooks, StoredBooksError},
    turn::{Choosing, LorePlacement, TurnQueue},
    vaults::{
        NoteFile, NotePlace, NoteRefusal, OpenVault, RegisteredVault, VaultKeeper, VaultRefusal,
    },
    waiting::WaitingTurns,
};
