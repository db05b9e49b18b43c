//! Who knows what, and who hides what from others.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use super::lenient;

/// How a person relates to a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum InsightKind {
    /// Knows it to be true.
    Knows,
    /// Guesses it.
    Suspects,
    /// Believes it, but it is false.
    Believes,
    /// Does not know it.
    Unaware,
    /// Knows it and hides it from somebody.
    Hiding,
}

impl InsightKind {
    /// The tag models use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Knows => "knows",
            Self::Suspects => "suspects",
            Self::Believes => "believes",
            Self::Unaware => "unaware",
            Self::Hiding => "hiding",
        }
    }

    /// The kind with that tag, in any case.
    pub fn from_tag(tag: &str) -> Option<Self> {
        [Self::Knows, Self::Suspects, Self::Believes, Self::Unaware, Self::Hiding]
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(tag.trim()))
    }
}

/// What one person knows, guesses, believes, misses or hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insight {
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// Whether the subject knows, suspects, believes, misses or hides it.
    #[serde(rename = "type")]
    pub kind: InsightKind,
    /// The person.
    pub subject: String,
    /// The person it is hidden from.
    #[serde(default)]
    pub target: Option<String>,
    /// The knowledge.
    pub content: String,
    /// When it was stored.
    #[serde(default)]
    pub ts: Option<i64>,
    /// The first and last position of its messages.
    #[serde(default, deserialize_with = "lenient::range")]
    pub source_messages: Option<(i64, i64)>,
    /// The messages it comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<MessageId>,
    /// When it was retired. It is kept for history and never shown to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<i64>,
    /// Names, numbers and quotes that no message supports. If there are any, it waits for a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ungrounded: Vec<String>,
}

impl Insight {
    /// Whether it is used.
    pub fn holds(&self) -> bool {
        self.retired.is_none() && self.ungrounded.is_empty()
    }

    /// Whether the two can mean the same: same kind, same person, same target.
    pub fn is_comparable(&self, other: &Self) -> bool {
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        self.kind == other.kind
            && same(&self.subject, &other.subject)
            && (self.kind != InsightKind::Hiding
                || same(
                    self.target.as_deref().unwrap_or_default(),
                    other.target.as_deref().unwrap_or_default(),
                ))
    }
}
