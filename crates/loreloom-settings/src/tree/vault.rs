//! The settings of vaults.

use loreloom_core::{
    dialects::vault::{Conflict, VaultRules},
    rules::VaultUse,
};
use loreloom_formats::vault::NoteRules;
use serde::{Deserialize, Serialize};

use super::selection::{SelectionMode, SelectionSection, SelectorSection};

/// The settings of vaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultSection {
    /// How a turn is decided.
    pub rules: VaultRules,
    /// Whether World Info looks for its keys in what the vaults put in.
    pub feeds_world_info: bool,
    /// What a selecting model's choice means.
    pub selection: SelectionSection,
    /// How the selecting model is asked.
    pub selector: SelectorSection,
    /// How notes are read.
    pub reading: NoteRules,
    /// Notes of the same title.
    pub conflicts: Conflict,
    /// The file with the vault's own fields.
    pub field_file: String,
    /// When notes that cannot be watched are read again.
    pub refresh: RefreshSection,
}

/// When notes are read again that come over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RefreshSection {
    /// What starts it.
    pub when: RefreshWhen,
    /// How old what was read may be at a turn.
    pub ttl_seconds: u64,
    /// Every so many turns.
    pub turns: u64,
    /// Also every so many seconds, without a turn.
    pub poll_seconds: Option<u64>,
    /// How long a turn waits for them.
    pub wait_ms: u64,
}

/// What starts reading notes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshWhen {
    /// A turn, if what was read is too old.
    #[default]
    Ttl,
    /// Every so many turns.
    Turns,
    /// The signal HUP.
    Manual,
}

impl Default for RefreshSection {
    fn default() -> Self {
        Self {
            when: RefreshWhen::default(),
            ttl_seconds: 300,
            turns: 10,
            poll_seconds: None,
            wait_ms: 2000,
        }
    }
}

impl Default for VaultSection {
    fn default() -> Self {
        Self {
            rules: VaultRules::default(),
            feeds_world_info: false,
            selection: SelectionSection::default(),
            selector: SelectorSection::default(),
            reading: NoteRules::default(),
            conflicts: Conflict::default(),
            // `DeepLore` keeps the definitions there.
            field_file: "DeepLore/field-definitions.yaml".to_owned(),
            refresh: RefreshSection::default(),
        }
    }
}

impl VaultSection {
    /// How a turn uses vaults.
    pub fn using(&self) -> VaultUse {
        VaultUse {
            rules: self.rules.clone(),
            selection: self.selection.rules(),
            feeds_world_info: self.feeds_world_info,
            ..VaultUse::default()
        }
    }

    /// Takes over how a turn uses vaults.
    pub(super) fn set_using(&mut self, using: &VaultUse) {
        self.rules.clone_from(&using.rules);
        self.feeds_world_info = using.feeds_world_info;
        match using.selection {
            Some(rules) => self.selection = SelectionSection::of(rules),
            None => self.selection.mode = SelectionMode::Keyword,
        }
    }
}
