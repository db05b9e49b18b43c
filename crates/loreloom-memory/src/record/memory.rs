//! One remembered statement.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use loreloom_ports::MemoryId;

use super::{EntityId, lenient};
use crate::text::TextRules;

/// What a memory is about. The first five are long-term, the next four belong to a session.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = MemoryKind))]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Something that is so.
    Fact,
    /// How two people relate to each other.
    Relationship,
    /// What a person likes.
    Preference,
    /// Something that happened.
    Event,
    /// A motive, plan or lie that only its owner knows of.
    Private,
    /// Where the session is set.
    Scene,
    /// Something that was revealed.
    Revelation,
    /// Something that changed.
    Development,
    /// A detail that must stay consistent.
    Detail,
    /// A kind that Loreloom does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl MemoryKind {
    /// The kinds of long-term memory.
    pub const LONG_TERM: [Self; 5] =
        [Self::Fact, Self::Relationship, Self::Preference, Self::Event, Self::Private];
    /// The kinds of session memory.
    pub const SESSION: [Self; 4] = [Self::Scene, Self::Revelation, Self::Development, Self::Detail];

    /// The name models use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Relationship => "relationship",
            Self::Preference => "preference",
            Self::Event => "event",
            Self::Private => "private",
            Self::Scene => "scene",
            Self::Revelation => "revelation",
            Self::Development => "development",
            Self::Detail => "detail",
            Self::Other => "other",
        }
    }
}

/// How long a memory lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expiration {
    /// While the scene lasts.
    Scene,
    /// While the session lasts.
    Session,
    /// For ever.
    Permanent,
}

/// The part of the story that a memory is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeScope {
    /// The current scene.
    Scene,
    /// The current session.
    Session,
    /// A story arc.
    Arc,
    /// Everything.
    Global,
}

/// Why a memory was retired without a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retirement {
    /// No pass confirmed it for too long.
    Unconfirmed,
    /// A more useful memory needed its place.
    Evicted,
    /// No message supports it, so a person must review it.
    Held,
    /// A person retired it.
    ByHand,
    /// A person says that it was never so.
    Retconned,
}

/// A remembered statement.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that can be true of it")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: MemoryKind,
    /// The statement.
    pub content: String,
    /// 1 (minor) to 3 (vital).
    #[serde(deserialize_with = "lenient::known")]
    pub importance: Option<u8>,
    /// How long it lasts.
    #[serde(deserialize_with = "lenient::word")]
    pub expiration: Option<Expiration>,
    /// When it was remembered.
    pub ts: Option<i64>,
    /// Whether a consolidation has read it. A missing value means yes.
    #[serde(default = "settled")]
    pub consolidated: bool,
    /// The messages it comes from. They decide on which paths it is active.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<MessageId>,
    /// The same as first and last position, for Smart Memory.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source_messages: Vec<(i64, i64)>,
    /// The chat it comes from.
    pub source_chat_id: Option<String>,
    /// The witnesses. Empty if unknown.
    #[serde(deserialize_with = "lenient::or_default")]
    pub witnessed_by: Vec<String>,
    /// The entities it names.
    #[serde(deserialize_with = "lenient::or_default")]
    pub entities: Vec<EntityId>,
    /// The part of the story it is about.
    #[serde(deserialize_with = "lenient::known")]
    pub time_scope: Option<TimeScope>,
    /// The position from which on it is true.
    pub valid_from: Option<i64>,
    /// The position from which on it is no longer true.
    pub valid_to: Option<i64>,
    /// The memories it replaced.
    #[serde(deserialize_with = "lenient::or_default")]
    pub supersedes: Vec<MemoryId>,
    /// The memory that replaced it.
    #[serde(deserialize_with = "lenient::filled")]
    pub superseded_by: Option<MemoryId>,
    /// Why it was retired without being replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retirement>,
    /// Memories it contradicts.
    #[serde(deserialize_with = "lenient::or_default")]
    pub contradicts: Vec<MemoryId>,
    /// 0 to 1: how certain it is.
    pub confidence: Option<f64>,
    /// Passes since it was last confirmed.
    #[serde(deserialize_with = "lenient::or_default")]
    pub unconfirmed_since: u32,
    /// How often a pass confirmed it.
    #[serde(skip_serializing_if = "is_zero")]
    pub confirmations: u32,
    /// How often it was put into a prompt.
    #[serde(deserialize_with = "lenient::count")]
    pub retrieval_count: u32,
    /// When it was last confirmed or used.
    pub last_confirmed_ts: Option<i64>,
    /// 0 to 3: its relevance for the persona.
    #[serde(deserialize_with = "lenient::known")]
    pub persona_relevance: Option<f64>,
    /// 0 to 3: its relevance for intimacy.
    #[serde(deserialize_with = "lenient::known")]
    pub intimacy_relevance: Option<f64>,
    /// Words that trigger it.
    #[serde(deserialize_with = "lenient::or_default")]
    pub triggers: Vec<String>,
    /// Whether trigger words were asked for.
    #[serde(skip_serializing_if = "is_false")]
    pub triggers_asked: bool,
    /// A person pinned it: it does not fade and is not evicted.
    #[serde(skip_serializing_if = "is_false")]
    pub pinned: bool,
    /// Names, numbers and quotes that its messages do not support.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ungrounded: Vec<String>,
    /// It is similar to another memory, and no model has compared the two.
    #[serde(skip_serializing_if = "is_false")]
    pub unverified: bool,
}

impl Memory {
    /// The default confidence.
    pub const USUAL_CONFIDENCE: f64 = 0.7;

    /// Whether it is still used.
    pub fn is_active(&self) -> bool {
        self.superseded_by.is_none() && self.retired.is_none()
    }

    /// Whether it waits for a review.
    pub fn is_held(&self) -> bool {
        self.retired == Some(Retirement::Held)
    }

    /// Its importance, 1 to 3.
    pub fn importance(&self) -> u8 {
        self.importance.unwrap_or(2)
    }

    /// Its confidence.
    pub fn confidence(&self) -> f64 {
        self.confidence.unwrap_or(Self::USUAL_CONFIDENCE).clamp(0.0, 1.0)
    }

    /// Whether this person is a witness. Without named witnesses everybody is. With
    /// [`TextRules::Literal`] another case is another name.
    pub fn witnessed_by(&self, name: &str, words: TextRules) -> bool {
        let is_meant = |witness: &String| match words {
            TextRules::Tolerant => witness.to_lowercase() == name.to_lowercase(),
            TextRules::Literal => witness == name,
        };
        self.witnessed_by.is_empty() || self.witnessed_by.iter().any(is_meant)
    }

    /// The position in its chat that it is about, if known.
    pub fn position(&self) -> Option<i64> {
        self.valid_from.or_else(|| self.source_messages.iter().map(|range| range.1).max())
    }
}

fn settled() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_and_nulls_of_other_programs_are_no_values() -> Result<(), serde_json::Error> {
        let memory: Memory = serde_json::from_str(
            r#"{"type":"rumour","content":"x","expiration":"forever","entities":null,
                "importance":"high","unconfirmed_since":null,"mystery":1}"#,
        )?;
        assert_eq!(memory.kind, MemoryKind::Other);
        assert_eq!((memory.expiration, memory.importance()), (None, 2));
        assert_eq!((memory.entities.len(), memory.unconfirmed_since), (0, 0));
        assert!(memory.is_active());
        assert!(memory.consolidated, "what does not say is settled");
        let memory: Memory = serde_json::from_str(
            r#"{"expiration":" Scene","superseded_by":"","retrieval_count":-3,"consolidated":false}"#,
        )?;
        assert_eq!((memory.expiration, memory.retrieval_count), (Some(Expiration::Scene), 0));
        assert_eq!((memory.superseded_by, memory.consolidated), (None, false));
        Ok(())
    }

    #[test]
    fn a_memory_without_witnesses_is_nobodys_hearsay() {
        let memory = |names: &[&str]| Memory {
            witnessed_by: names.iter().map(|&name| name.to_owned()).collect(),
            ..Memory::default()
        };
        for (names, all, ascii) in [
            (&[][..], true, true),
            (&["Lis", "Mara"], true, true),
            (&["Lis", "mara"], true, false),
            (&["Lis"], false, false),
        ] {
            assert_eq!(memory(names).witnessed_by("Mara", TextRules::Tolerant), all, "{names:?}");
            assert_eq!(memory(names).witnessed_by("Mara", TextRules::Literal), ascii, "{names:?}");
        }
    }
}
