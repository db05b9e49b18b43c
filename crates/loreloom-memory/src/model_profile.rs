//! Two profiles of models, and what each can do.

use serde::{Deserialize, Serialize};

/// How capable the model is that does memory's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelProfile {
    /// A local, weak model: fewer calls, fewer memories.
    #[default]
    A,
    /// A hosted, strong model.
    B,
}

/// From which similarity on two texts mean the same, or are about the same thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The same, in memories of one kind.
    pub duplicate: f64,
    /// The same, in memories of two kinds.
    pub across_kinds: f64,
    /// About the same thing.
    pub same_topic: f64,
}

impl ModelProfile {
    /// The profile of a generation source; `chosen` wins.
    pub fn of(source: &str, chosen: Option<Self>) -> Self {
        chosen.unwrap_or(match source {
            "ollama" | "webllm" => Self::A,
            _ => Self::B,
        })
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    /// The most new memories of one kind in one pass.
    pub fn new_per_kind(self) -> usize {
        match self {
            Self::A => 2,
            Self::B => 4,
        }
    }

    /// Thresholds for the cosine of two vectors.
    pub fn cosine(self) -> Thresholds {
        match self {
            Self::A => Thresholds { duplicate: 0.82, across_kinds: 0.88, same_topic: 0.55 },
            Self::B => Thresholds { duplicate: 0.85, across_kinds: 0.91, same_topic: 0.52 },
        }
    }

    /// Thresholds for shared words.
    pub fn words(self) -> Thresholds {
        match self {
            Self::A => Thresholds { duplicate: 0.65, across_kinds: 0.75, same_topic: 0.40 },
            Self::B => Thresholds { duplicate: 0.68, across_kinds: 0.78, same_topic: 0.38 },
        }
    }

    /// How much likeness to the current turn weighs.
    pub fn turn_weight(self) -> f64 {
        match self {
            Self::A => 0.2,
            Self::B => 0.6,
        }
    }

    /// Whether the model is asked for trigger words by default.
    pub fn asks_for_triggers(self) -> bool {
        self == Self::B
    }

    /// Whether every reply is checked for contradictions.
    pub fn checks_every_reply(self) -> bool {
        self == Self::B
    }

    /// Whether it can answer for several tiers at once in JSON.
    pub fn answers_in_form(self) -> bool {
        self == Self::B
    }

    /// Whether canon is written again when an arc ends.
    pub fn writes_canon(self) -> bool {
        self == Self::B
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_sources_are_weak_unless_told_otherwise() {
        for (source, chosen, expected) in [
            ("ollama", None, ModelProfile::A),
            ("webllm", None, ModelProfile::A),
            ("main", None, ModelProfile::B),
            ("openai_compatible", None, ModelProfile::B),
            ("ollama", Some(ModelProfile::B), ModelProfile::B),
            ("main", Some(ModelProfile::A), ModelProfile::A),
        ] {
            assert_eq!(ModelProfile::of(source, chosen), expected, "{source}");
        }
    }
}
