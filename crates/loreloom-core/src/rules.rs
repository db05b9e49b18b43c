//! All settings of the engine, as data.

use serde::{Deserialize, Serialize};

use crate::{
    cards::CardRules,
    regex_script::RegexScript,
    worldinfo::{Quirks, WorldInfoRules},
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
        Rules {
            world_info: WorldInfoRules { quirks, ..WorldInfoRules::default() },
            ..Rules::default()
        }
    }
}
