//! People, places and things in memories.

use serde::{Deserialize, Serialize};

use super::lenient;
use loreloom_ports::MemoryId;

/// An entity's id.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub String);

/// What an entity is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum EntityKind {
    /// A person or creature.
    Character,
    /// A place.
    Place,
    /// A thing.
    Object,
    /// A group.
    Faction,
    /// An idea.
    Concept,
    /// Not known.
    #[default]
    #[serde(other)]
    Unknown,
}

impl EntityKind {
    /// The kind with that name, in any case; [`EntityKind::Unknown`] for other names.
    pub fn from_name(name: &str) -> Self {
        match name.trim().to_lowercase().as_str() {
            "character" => Self::Character,
            "place" => Self::Place,
            "object" => Self::Object,
            "faction" => Self::Faction,
            "concept" => Self::Concept,
            _ => Self::Unknown,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Character => "character",
            Self::Place => "place",
            Self::Object => "object",
            Self::Faction => "faction",
            Self::Concept => "concept",
            Self::Unknown => "unknown",
        }
    }
}

/// A person or thing with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entity {
    /// Its id.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// Other spellings and names.
    #[serde(deserialize_with = "lenient::or_default")]
    pub aliases: Vec<String>,
    /// Position of the first message that named it.
    #[serde(deserialize_with = "lenient::or_default")]
    pub first_seen: i64,
    /// Position of the last message that named it.
    #[serde(deserialize_with = "lenient::or_default")]
    pub last_seen: i64,
    /// The memories that name it.
    #[serde(deserialize_with = "lenient::or_default")]
    pub memory_ids: Vec<MemoryId>,
}

impl Entity {
    /// Its name and other names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}
