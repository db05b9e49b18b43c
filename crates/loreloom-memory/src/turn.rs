//! The kind of a turn, from the words of its last message.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::text::pattern;

/// The kind of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnKind {
    /// People talk.
    #[default]
    Dialogue,
    /// People fight or flee.
    Action,
    /// Time or place changes.
    Transition,
    /// People are close.
    Intimate,
}

impl TurnKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dialogue => "dialogue",
            Self::Action => "action",
            Self::Transition => "transition",
            Self::Intimate => "intimate",
        }
    }

    /// The kind of that name; unknown names are dialogue.
    pub fn from_name(name: &str) -> Self {
        match name {
            "action" => Self::Action,
            "transition" => Self::Transition,
            "intimate" => Self::Intimate,
            _ => Self::Dialogue,
        }
    }
}

/// The first match wins: intimacy, then change of place or time, then danger. These are exactly the
/// words of Smart Memory, because its budgets were tuned on them.
static CLASSES: LazyLock<[(TurnKind, Regex); 3]> = LazyLock::new(|| {
    [
        (
            TurnKind::Intimate,
            pattern(
                r"(?ix)\b(?: (?:kiss|caress|touch|blush)(?:es|ed)? | (?:embrace|stroke)[sd]?
                  | (?:moan|whisper)(?:s|ed)? | tender | gentle
                  | heart\s+(?:race|pound|flutter)s?
                  | (?:breath(?:ing)?|pulse)\s+(?:quicken|hitch|catch) )\b",
            ),
        ),
        (
            TurnKind::Transition,
            pattern(
                r"(?ix)\b(?: (?:minute|hour|day|week)s?\s+later | later\s+that
                  | the\s+next\s+(?:day|morning|night) | time\s+(?:passed|skip(?:ped)?)
                  | meanwhile | some\s+time\s+later | after\s+(?:a\s+while|some\s+time)
                  | arrived?\s+(?:at|in) | returned\s+(?:to|home) | left\s+(?:the|a)
                  | moved?\s+(?:to|out|away) | journey(?:ed)? | travelled | woke\s+up )\b",
            ),
        ),
        (
            TurnKind::Action,
            pattern(
                r"(?ix)\b(?: stab(?:s|bed)? | (?:slash|punch)(?:es|ed)? | shoots? | shot
                  | explod(?:es|ed)? | run(?:s|ning)? | flees? | fled | (?:dodge|charge|battle)[sd]?
                  | (?:attack|wound)(?:s|ed)? | fight(?:s|ing)? | bloody? | injur(?:y|ed)?
                  | sweat(?:s|ing|ed)? | adrenaline | chaos | panic(?:s|ked)? | urgent(?:ly)? )\b",
            ),
        ),
    ]
});

/// The kind of turn of this message.
pub fn classify(text: &str) -> TurnKind {
    CLASSES
        .iter()
        .find(|(_, words)| words.is_match(text))
        .map_or(TurnKind::Dialogue, |(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_with_a_word_in_the_message_wins() {
        for (text, expected) in [
            ("He kissed her as the battle raged.", TurnKind::Intimate),
            ("Her heart races.", TurnKind::Intimate),
            ("Her heart was racing.", TurnKind::Dialogue),
            ("He feels his pulse quicken.", TurnKind::Intimate),
            ("Her breath hitched.", TurnKind::Dialogue),
            ("He was kissing her gently.", TurnKind::Dialogue),
            ("They journeyed north and fought.", TurnKind::Transition),
            ("Time passed.", TurnKind::Transition),
            ("After some time they arrive at the inn.", TurnKind::Transition),
            ("Years later they travel on.", TurnKind::Dialogue),
            ("The following day he left an apple.", TurnKind::Dialogue),
            ("Three days later it rained.", TurnKind::Transition),
            ("She slashed the rope.", TurnKind::Action),
            ("The bomb exploded.", TurnKind::Action),
            ("He is running.", TurnKind::Action),
            ("He ran.", TurnKind::Dialogue),
            ("The explosion left injuries.", TurnKind::Dialogue),
            ("The rune glowed.", TurnKind::Dialogue),
            ("We can talk later.", TurnKind::Dialogue),
            ("", TurnKind::Dialogue),
        ] {
            assert_eq!(classify(text), expected, "{text}");
        }
    }
}
