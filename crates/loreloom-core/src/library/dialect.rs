//! The rules a book runs by.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use super::keys::{CompiledKey, Probe};
use crate::dialects::cards::{CardRules, resolve_key, source_rules_with};

/// The rules a book runs by: those of the program it was written for, unless somebody chooses
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// SillyTavern's World Info, by the settings `world_info`.
    #[default]
    WorldInfo,
    /// Books of character cards with decorators, by the settings `cards`.
    Cards,
    /// Character Card V3 as written.
    CardV3,
    /// The written rules of the second lore engine.
    #[serde(rename = "seed-002")]
    Seed002,
    /// The second lore engine as its source behaves.
    Unorouter,
    /// `RisuAI`.
    Risu,
    /// `KoboldAI` Lite.
    Kobold,
    /// `AI Dungeon`.
    AiDungeon,
    /// `AgnAI`.
    Agnai,
    /// `JanitorAI`.
    Janitor,
    /// Chub.
    Chub,
    /// Backyard AI.
    Backyard,
}

impl Dialect {
    /// All dialects.
    pub const ALL: &[Self] = &[
        Self::WorldInfo,
        Self::Cards,
        Self::CardV3,
        Self::Seed002,
        Self::Unorouter,
        Self::Risu,
        Self::Kobold,
        Self::AiDungeon,
        Self::Agnai,
        Self::Janitor,
        Self::Chub,
        Self::Backyard,
    ];

    /// Its name in settings, files and the API, and the program or document whose rules these are.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::WorldInfo => ("world-info", "SillyTavern's World Info"),
            Self::Cards => ("cards", "card books"),
            Self::CardV3 => ("card-v3", "Character Card V3"),
            Self::Seed002 => ("seed-002", "the written rules of lorebooks"),
            Self::Unorouter => ("unorouter", "unorouter"),
            Self::Risu => ("risu", "RisuAI"),
            Self::Kobold => ("kobold", "KoboldAI Lite"),
            Self::AiDungeon => ("ai-dungeon", "AI Dungeon"),
            Self::Agnai => ("agnai", "AgnAI"),
            Self::Janitor => ("janitor", "JanitorAI"),
            Self::Chub => ("chub", "Chub"),
            Self::Backyard => ("backyard", "Backyard AI"),
        }
    }

    /// Its name in settings, files and the API.
    pub const fn as_str(self) -> &'static str {
        self.names().0
    }

    /// The names of all dialects, in the order of [`Self::ALL`].
    pub const NAMES: [&str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].as_str();
            at += 1;
        }
        names
    };

    /// Those of [`Self::NAMES`] with rules of their own; the settings say the first two.
    pub const SOURCE_NAMES: &[&str] = Self::NAMES.split_at(2).1;

    /// The program or document whose rules these are.
    pub fn title(self) -> &'static str {
        self.names().1
    }
}

/// The order of stages that a dialect is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stages {
    /// Those of World Info.
    WorldInfo,
    /// Those of card books.
    Cards,
}

impl Dialect {
    /// The stages it is made of.
    pub fn stages(self) -> Stages {
        if self == Self::WorldInfo { Stages::WorldInfo } else { Stages::Cards }
    }

    /// Whether its books run through the stages of card books.
    pub fn is_cards(self) -> bool {
        self.stages() == Stages::Cards
    }

    /// The dialect of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.as_str() == name)
    }

    /// Its rules. What no program has an opinion on comes from `own`, the settings.
    pub fn card_rules(self, own: &CardRules) -> Cow<'_, CardRules> {
        source_rules_with(self, own).map_or(Cow::Borrowed(own), Cow::Owned)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Stages {
    /// What a key looks for once its macros are known: `expanded` is the key after them.
    pub(crate) fn resolve(self, key: &CompiledKey, expanded: &str) -> Probe {
        match self {
            Self::WorldInfo => key.resolve(expanded),
            Self::Cards => resolve_key(key, expanded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_has_one_name_everywhere() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::from_name(dialect.as_str()), Some(*dialect));
            assert_eq!(serde_json::json!(dialect), dialect.as_str());
        }
    }

    #[test]
    fn a_source_keeps_its_rules_and_takes_the_rest_from_the_settings() {
        let own = CardRules { scan_depth: 9, wrapper: "<{0}>".to_owned(), ..CardRules::default() };
        let risu = Dialect::Risu.card_rules(&own);
        assert_eq!((risu.scan_depth, risu.wrapper.as_str()), (5, "<{0}>"));
        assert_eq!(*Dialect::Cards.card_rules(&own), own);
    }
}
