//! All settings of Loreloom in one place.
//!
//! [`Settings`] is a typed tree whose sections are the rules that the engine and memory read.
//! [`SETTINGS`] is a table with one row for each of its leaves: name, kind, range, scopes, the
//! names that other programs use, and one sentence. The configuration file, the flags, the API,
//! the page and the reference chapter are made from that table. Defaults and the values of
//! profiles are read from the typed values, so they are written only once.
//!
//! A value is written through the tree's JSON form. That costs a serialisation for each set of
//! changes, which happens when somebody changes a setting and never during a turn.
//!
//! ```
//! use loreloom_settings::{Changes, StartSettings};
//!
//! let mut flags = Changes::default();
//! flags.set_text("world_info.scan_depth", "4")?;
//! let started = StartSettings::resolve(Changes::default(), flags)?;
//! assert_eq!(started.settings.world_info.depth, 4);
//! # Ok::<(), loreloom_settings::SettingError>(())
//! ```

mod changes;
mod error;
mod import;
mod overrides;
mod profiles;
mod reference;
mod setting;
mod start;
mod table;
mod toml_text;
mod tree;
mod value;

pub use self::{
    changes::Changes,
    error::SettingError,
    import::{ImportedSettings, import_settings},
    overrides::{override_book, override_note},
    profiles::{CardProfile, MemoryProfile, ProfileRow, Profiles, VaultProfile, other_profiles},
    reference::reference,
    setting::{Program, ProgramName, Setting, SettingScope, TakesEffect, ValueKind},
    start::{SettingsView, StartSettings, ValueSource},
    table::{SETTINGS, find, find_for_program, nearest, section_title},
    toml_text::{TomlView, toml_text, toml_value},
    tree::{
        BookDialect, ConnectionDefaults, FeatureSection, FileLimits, LogFormat, LoreSection,
        MemorySection, ModelNotebookSection, NotebookMaker, NotebookSection, OnSelectorFailure,
        OnSelectorNothing, PlacementMode, RefreshSection, RefreshWhen, SelectionMode,
        SelectionSection, SelectorSection, ServerLimitSection, ServerSection, Settings,
        StoreSection, StorySection, VaultSection, WeavingSection,
    },
};
