//! Relationships: a few words with a strength for each pair of people.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Ordered;

/// How strong a feeling is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Magnitude {
    /// Faint.
    Low,
    /// Plain.
    #[default]
    Medium,
    /// Strong.
    High,
}

impl Magnitude {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The strength with that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High]
            .into_iter()
            .find(|magnitude| magnitude.as_str().eq_ignore_ascii_case(name.trim()))
    }
}

/// A feeling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The word for it.
    pub word: String,
    /// How strong it is.
    #[serde(default)]
    pub magnitude: Magnitude,
}

/// A person and the one they have feelings for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'name> {
    /// The person who feels.
    pub subject: &'name str,
    /// The person the feeling is for.
    pub target: &'name str,
}

impl<'name> Pair<'name> {
    /// Reads a key `subject→target`.
    pub fn of_key(key: &'name str) -> Option<Self> {
        let (subject, target) = key.split_once('→')?;
        Some(Self { subject: subject.trim(), target: target.trim() })
    }

    /// The key of this pair.
    pub fn key(self) -> String {
        format!("{}→{}", self.subject, self.target)
    }
}

/// What one person feels for another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relationship {
    /// The feelings, oldest first.
    pub descriptors: Vec<Descriptor>,
    /// When they last changed.
    pub updated_at: Option<i64>,
}

/// All relationships, by `subject→target`.
pub type Relationships = Ordered<Relationship>;

impl Serialize for Relationship {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored {
            descriptors: self.descriptors.iter().cloned().map(Word::Rated).collect(),
            magnitude: None,
            updated_at: self.updated_at,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Relationship {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let magnitude = stored.magnitude.unwrap_or_default();
        let descriptors = stored
            .descriptors
            .into_iter()
            .map(|word| match word {
                Word::Rated(descriptor) => descriptor,
                Word::Plain(word) => Descriptor { word, magnitude },
            })
            .collect();
        Ok(Self { descriptors, updated_at: stored.updated_at })
    }
}

/// The stored form. Old data of Smart Memory have plain words and one strength for all.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default)]
    descriptors: Vec<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    magnitude: Option<Magnitude>,
    #[serde(rename = "updatedAt", default)]
    updated_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Word {
    Rated(Descriptor),
    Plain(String),
}
