//! The rules a book runs by.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use super::keys::{CompiledKey, Probe};
use crate::dialects::cards::{CardMode, CardRules, resolve_key};

macro_rules! dialects {
    ($(#[doc = $doc:literal] $dialect:ident = $name:literal, $title:literal $(, $mode:ident)?;)+) => {
        /// The rules a book runs by: those of the program it was written for, unless somebody
        /// chooses others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        pub enum Dialect {
            $(#[doc = $doc] #[serde(rename = $name)] $dialect,)+
        }

        impl Dialect {
            /// All dialects.
            pub const ALL: &[Self] = &[$(Self::$dialect),+];

            /// Its name in settings, files and the API.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$dialect => $name),+ }
            }

            /// The program or document whose rules these are.
            pub fn title(self) -> &'static str {
                match self { $(Self::$dialect => $title),+ }
            }

            /// The named rules; `None` where the settings say them.
            fn mode(self) -> Option<CardMode> {
                match self { $(Self::$dialect => [$(CardMode::$mode)?].first().copied()),+ }
            }
        }
    };
}

dialects! {
    #[doc = "SillyTavern's World Info, by the settings `world_info`."]
    WorldInfo = "world-info", "SillyTavern's World Info";
    #[doc = "Books of character cards with decorators, by the settings `cards`."]
    Cards = "cards", "card books";
    #[doc = "Character Card V3 as written."]
    CardV3 = "card-v3", "Character Card V3", CardV3;
    #[doc = "The written rules of the second lore engine."]
    Seed002 = "seed-002", "the written rules of lorebooks", Seed002;
    #[doc = "The second lore engine as its source behaves."]
    Unorouter = "unorouter", "unorouter", Unorouter;
    #[doc = "`RisuAI`."]
    Risu = "risu", "RisuAI", Risu;
    #[doc = "`KoboldAI` Lite."]
    Kobold = "kobold", "KoboldAI Lite", Kobold;
    #[doc = "`AI Dungeon`."]
    AiDungeon = "ai-dungeon", "AI Dungeon", AiDungeon;
    #[doc = "`AgnAI`."]
    Agnai = "agnai", "AgnAI", Agnai;
    #[doc = "`JanitorAI`."]
    Janitor = "janitor", "JanitorAI", Janitor;
    #[doc = "Chub."]
    Chub = "chub", "Chub", Chub;
    #[doc = "Backyard AI."]
    Backyard = "backyard", "Backyard AI", Backyard;
}

impl Default for Dialect {
    fn default() -> Self {
        Self::WorldInfo
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
        match self {
            Self::WorldInfo => Stages::WorldInfo,
            Self::Cards
            | Self::CardV3
            | Self::Seed002
            | Self::Unorouter
            | Self::Risu
            | Self::Kobold
            | Self::AiDungeon
            | Self::Agnai
            | Self::Janitor
            | Self::Chub
            | Self::Backyard => Stages::Cards,
        }
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
        match self.mode() {
            Some(mode) => Cow::Owned(mode.rules_with(own)),
            None => Cow::Borrowed(own),
        }
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
