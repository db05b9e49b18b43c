//! The current state of people and things: a card of fields for each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EntityKind, Ordered};

/// What kinds of entity have a card, in the order cards are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKind {
    /// A person.
    Character,
    /// A thing.
    Object,
    /// A place.
    Place,
    /// A group.
    Faction,
}

impl StateKind {
    /// All kinds, in the order they are shown.
    pub const ALL: [Self; 4] = [Self::Character, Self::Object, Self::Place, Self::Faction];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Character => "character",
            Self::Object => "object",
            Self::Place => "place",
            Self::Faction => "faction",
        }
    }

    /// The fields a prompt shows, in order. Others are kept but not shown.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Character => {
                &["location", "injuries", "outfit_disguise", "mood", "active_goal", "carried_items"]
            }
            Self::Object => &["owner", "location", "condition", "status"],
            Self::Place => {
                &["occupants", "hazards", "political_control", "damage", "accessibility"]
            }
            Self::Faction => &["leadership", "objective", "alliances", "hostility_level"],
        }
    }

    /// The kind of card an entity of this kind has.
    pub fn of(kind: EntityKind) -> Option<Self> {
        match kind {
            EntityKind::Character => Some(Self::Character),
            EntityKind::Object => Some(Self::Object),
            EntityKind::Place => Some(Self::Place),
            EntityKind::Faction => Some(Self::Faction),
            EntityKind::Concept | EntityKind::Unknown => None,
        }
    }
}

/// The state of one entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateCard {
    /// Its name as first written.
    #[serde(rename = "_name", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Field values.
    #[serde(flatten)]
    pub fields: BTreeMap<String, String>,
}

/// State cards by `name|kind`, lower-cased.
pub type Ledger = Ordered<StateCard>;

impl Ledger {
    /// The key of an entity's card.
    pub fn key(name: &str, kind: &str) -> String {
        format!("{}|{}", name.trim().to_lowercase(), kind.trim().to_lowercase())
    }

    /// Writes the fields that `news` has over those known, leaving the others.
    pub fn merge(&mut self, news: &Self) {
        for (key, card) in news.iter() {
            let known = self.entry(key);
            known.name.clone_from(&card.name);
            known.fields.extend(card.fields.clone());
        }
    }
}
