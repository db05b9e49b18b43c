//! State cards: the current state of people and things.

use std::collections::BTreeMap;

use loreloom_core::ids::MessageId;
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

    /// The fields in a prompt, in order. Others are stored but not shown.
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
    /// The message each value was read from, if known.
    #[serde(rename = "_sources", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, MessageId>,
    /// Field values.
    #[serde(flatten)]
    pub fields: BTreeMap<String, String>,
}

impl StateCard {
    /// The value of a field, if it has not expired: its message is on the path and recent enough. A
    /// value without a message never expires.
    pub fn believed(
        &self,
        field: &str,
        age: impl Fn(&MessageId) -> Option<usize>,
        lasts: &BTreeMap<String, usize>,
    ) -> Option<&str> {
        let value = self.fields.get(field)?;
        let Some(source) = self.sources.get(field) else { return Some(value) };
        let age = age(source)?;
        lasts.get(field).is_none_or(|most| age <= *most).then_some(value)
    }
}

/// State cards by `name|kind`, lower-cased.
pub type Ledger = Ordered<StateCard>;

impl Ledger {
    /// The key of an entity's card.
    pub fn key(name: &str, kind: &str) -> String {
        format!("{}|{}", name.trim().to_lowercase(), kind.trim().to_lowercase())
    }

    /// Replaces the fields that `news` has. The others stay.
    pub fn merge(&mut self, news: &Self) {
        for (key, card) in news.iter() {
            let known = self.entry(key);
            known.name.clone_from(&card.name);
            for field in card.fields.keys() {
                known.sources.remove(field);
            }
            known.sources.extend(card.sources.clone());
            known.fields.extend(card.fields.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::Digest;

    use super::*;

    #[test]
    fn a_value_is_believed_while_its_message_is_told_and_not_too_long_ago() {
        let message = |number: u8| MessageId(Digest([number; 16]));
        let card = StateCard {
            name: None,
            sources: [("mood".to_owned(), message(1)), ("injuries".to_owned(), message(1))].into(),
            fields: [("mood", "glad"), ("injuries", "a cut"), ("location", "the mill")]
                .map(|(field, value)| (field.to_owned(), value.to_owned()))
                .into(),
        };
        let lasts: BTreeMap<String, usize> = [("mood".to_owned(), 20)].into();
        for (age, expected) in [
            (Some(20), [Some("glad"), Some("a cut"), Some("the mill")]),
            (Some(21), [None, Some("a cut"), Some("the mill")]),
            (None, [None, None, Some("the mill")]),
        ] {
            let shown =
                ["mood", "injuries", "location"].map(|field| card.believed(field, |_| age, &lasts));
            assert_eq!(shown, expected, "{age:?}");
        }
    }

    #[test]
    fn a_card_of_smart_memory_reads_and_writes_back_as_it_was() -> Result<(), serde_json::Error> {
        let json = r#"{"_name":"Odo","location":"the mill"}"#;
        let card: StateCard = serde_json::from_str(json)?;
        assert_eq!(serde_json::to_string(&card)?, json);
        let with = StateCard {
            sources: [("location".to_owned(), MessageId(Digest([7; 16])))].into(),
            ..card
        };
        assert_eq!(serde_json::from_str::<StateCard>(&serde_json::to_string(&with)?)?, with);
        Ok(())
    }
}
