//! All settings as one typed value.
//!
//! Sections are the rules that the engine and memory read, where those are plain values. Where a
//! rule is optional as a whole, the section has a switch or a mode instead, so that each of its
//! parts can be set by name.

mod memory;
mod notebooks;
mod selection;
mod server;
mod vault;
mod weaving;

use loreloom_core::{
    book::Book,
    dialects::{cards::CardRules, worldinfo::WorldInfoRules},
    engine::SameText,
    hygiene::Hygiene,
    library::Dialect,
    regex_script::RegexScript,
    room::RoomRules,
    rules::Rules,
    scan::StepLimits,
    wrap::WrapFormat,
};
pub use loreloom_formats::Limits as FileLimits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    memory::MemorySection,
    notebooks::{ModelNotebookSection, NotebookMaker, NotebookSection},
    selection::{
        OnSelectorFailure, OnSelectorNothing, SelectionMode, SelectionSection, SelectorSection,
    },
    server::{
        ConnectionDefaults, FeatureSection, LogFormat, ServerLimitSection, ServerSection,
        StoreSection,
    },
    vault::{RefreshSection, RefreshWhen, VaultSection},
    weaving::{PlacementMode, StorySection, WeavingSection},
};
use crate::{error::SettingError, profiles::Profiles};

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The profile of each section that has some.
    pub profiles: Profiles,
    /// All lore.
    pub lore: LoreSection,
    /// World Info.
    pub world_info: WorldInfoRules,
    /// Card books.
    pub cards: CardRules,
    /// Vaults.
    pub vault: VaultSection,
    /// The notebooks of chats.
    pub notebooks: NotebookSection,
    /// Memory.
    pub memory: MemorySection,
    /// Whether and how lore goes into requests.
    pub weaving: WeavingSection,
    /// The budget over everything.
    pub budget: RoomRules,
    /// What requests do not say.
    pub story: StorySection,
    /// What connections do not say.
    pub connection: ConnectionDefaults,
    /// What asks a model besides the story.
    pub features: FeatureSection,
    /// The server.
    pub server: ServerSection,
    /// Where stories are.
    pub store: StoreSection,
    /// How much of a file is read.
    pub limits: FileLimits,
}

/// Settings of all lore.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoreSection {
    /// How books are read.
    pub dialect: BookDialect,
    /// How each entry is wrapped.
    pub wrap: WrapFormat,
    /// Scripts that change entries on their way into the prompt.
    pub regex_scripts: Vec<RegexScript>,
    /// What happens to a text that two books have.
    pub same_text: SameText,
    /// What happens to text that would break out of its place in a prompt.
    pub hygiene: Hygiene,
    /// What surrounds the lore before and after the character.
    pub wi_format: String,
    /// How many steps regular expressions may take.
    pub steps: StepLimits,
}

/// The rules that books run by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BookDialect {
    /// Those of the program that a book comes from.
    #[default]
    Auto,
    /// These.
    #[serde(untagged)]
    Chosen(Dialect),
}

impl BookDialect {
    /// The dialect of a book.
    pub fn of(self, book: &Book) -> Dialect {
        match self {
            Self::Auto => loreloom_formats::dialect_of(book),
            Self::Chosen(dialect) => dialect,
        }
    }
}

impl Settings {
    /// The JSON form.
    pub fn tree(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads the JSON form.
    pub(crate) fn read(tree: Value) -> Result<Self, SettingError> {
        serde_json::from_value(tree).map_err(|error| SettingError::Value {
            name: "settings".to_owned(),
            rule: "readable".to_owned(),
            found: error.to_string(),
        })
    }

    /// What types alone do not check.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.lore.regex_scripts.iter().find(|script| !script.compiles()) {
            Some(bad) => Err(format!("`{}` is not a regular expression", bad.find_regex)),
            None => Ok(()),
        }
    }

    /// The rules of the engine. Vaults define their fields themselves.
    pub fn rules(&self) -> Rules {
        Rules {
            world_info: self.world_info.clone(),
            cards: self.cards.clone(),
            regex_scripts: self.lore.regex_scripts.clone(),
            wrap: self.lore.wrap.clone(),
            vault: self.vault.using(),
            notebooks: self.notebooks.rules(),
            budget: self.budget.clone(),
            same_text: self.lore.same_text,
            template: self.weaving.template.clone(),
            hygiene: self.lore.hygiene,
            wi_format: self.lore.wi_format.clone(),
            steps: self.lore.steps,
        }
    }

    /// Takes over the rules of the engine.
    pub fn set_rules(&mut self, rules: &Rules) {
        self.world_info.clone_from(&rules.world_info);
        self.cards.clone_from(&rules.cards);
        self.lore.regex_scripts.clone_from(&rules.regex_scripts);
        self.lore.wrap.clone_from(&rules.wrap);
        self.vault.set_using(&rules.vault);
        self.notebooks.set_rules(&rules.notebooks);
        self.budget.clone_from(&rules.budget);
        self.lore.same_text = rules.same_text;
        self.weaving.template.clone_from(&rules.template);
        self.lore.hygiene = rules.hygiene;
        self.lore.wi_format.clone_from(&rules.wi_format);
        self.lore.steps = rules.steps;
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        dialects::vault::{SelectionRules, VaultRules},
        notebook::{ModelNotebook, NotebookMode, NotebookRules, NotebookSeat},
        rules::{Profile, VaultUse},
    };

    use super::*;

    #[test]
    fn the_rules_of_the_engine_survive_the_way_through_the_tree() {
        let mut set = Profile::SillyTavern119.rules();
        set.wrap = WrapFormat::Lb;
        set.hygiene = Hygiene::Strip;
        set.wi_format = "[{0}]".to_owned();
        set.steps = StepLimits { key: 5, turn: 6 };
        set.vault = VaultUse {
            rules: VaultRules::deeplore_2(),
            selection: Some(SelectionRules::default()),
            feeds_world_info: true,
            ..VaultUse::default()
        };
        set.notebooks = NotebookRules {
            author: Some(NotebookSeat::default()),
            model: Some(ModelNotebook { mode: NotebookMode::Extract, ..ModelNotebook::default() }),
        };
        for rules in [Rules::default(), set] {
            let mut settings = Settings::default();
            settings.set_rules(&rules);
            let settings = Settings::read(settings.tree()).unwrap();
            assert_eq!(settings.rules(), rules);
        }
    }
}
