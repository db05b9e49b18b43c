//! All settings of the engine, as data.

use serde::{Deserialize, Serialize};

use crate::{
    assemble::PromptTemplate,
    dialects::{
        cards::CardRules,
        vault::{FieldDefinition, SelectionRules, VaultRules},
        worldinfo::{Quirks, WorldInfoRules},
    },
    engine::SameText,
    hygiene::Hygiene,
    notebook::NotebookRules,
    regex_script::RegexScript,
    room::RoomRules,
    scan::StepLimits,
    wrap::WrapFormat,
};

/// The engine's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// World Info.
    pub world_info: WorldInfoRules,
    /// Card books.
    pub cards: CardRules,
    /// Scripts that change lore on its way into the prompt.
    pub regex_scripts: Vec<RegexScript>,
    /// How entries are wrapped on their way into the prompt, after those scripts.
    pub wrap: WrapFormat,
    /// How a vault takes part. Left out where it is the default, so that the versions of
    /// libraries without a vault stay as they were.
    #[serde(skip_serializing_if = "VaultUse::is_default")]
    pub vault: VaultUse,
    /// How a chat's notebooks take part.
    #[serde(skip_serializing_if = "NotebookRules::is_off")]
    pub notebooks: NotebookRules,
    /// The budget over everything.
    #[serde(skip_serializing_if = "RoomRules::is_default")]
    pub budget: RoomRules,
    /// What happens to a text that two books have.
    #[serde(skip_serializing_if = "SameText::is_default")]
    pub same_text: SameText,
    /// The order of the prompts that are built here. In others it says where the slot of card
    /// books is.
    #[serde(skip_serializing_if = "PromptTemplate::is_default")]
    pub template: PromptTemplate,
    /// What happens to text that would break out of its place in a prompt.
    #[serde(skip_serializing_if = "Hygiene::is_default")]
    pub hygiene: Hygiene,
    /// What surrounds the lore before and after the character: `{0}` is the lore. Empty for
    /// nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wi_format: String,
    /// How many steps regular expressions may take.
    #[serde(skip_serializing_if = "StepLimits::is_default")]
    pub steps: StepLimits,
}

/// How a vault takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultUse {
    /// The vault's own rules.
    pub rules: VaultRules,
    /// The vault's own fields.
    pub fields: Vec<FieldDefinition>,
    /// How a selecting model takes part, if one does.
    pub selection: Option<SelectionRules>,
    /// Whether World Info looks for its keys in what the vault wove in.
    pub feeds_world_info: bool,
}

impl Default for VaultUse {
    fn default() -> Self {
        Self {
            rules: VaultRules::default(),
            fields: FieldDefinition::built_in(),
            selection: None,
            feeds_world_info: false,
        }
    }
}

impl VaultUse {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A named set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Profile {
    /// Our own: the peers' rules without their defects.
    #[default]
    #[serde(rename = "loreloom")]
    Loreloom,
    /// SillyTavern 1.19 to the letter.
    #[serde(rename = "sillytavern-1.19")]
    SillyTavern119,
}

impl Profile {
    /// The profile's rules.
    pub fn rules(self) -> Rules {
        let quirks = match self {
            Self::Loreloom => Quirks::default(),
            Self::SillyTavern119 => Quirks::sillytavern_1_19(),
        };
        let same_text = match self {
            Self::Loreloom => SameText::Once,
            Self::SillyTavern119 => SameText::Twice,
        };
        Rules {
            world_info: WorldInfoRules { quirks, ..WorldInfoRules::default() },
            same_text,
            ..Rules::default()
        }
    }
}
