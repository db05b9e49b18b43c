//! What kind of turn the story is in, from the words of its last message.

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

/// First hit wins: closeness, then change of place or time, then danger.
static CLASSES: LazyLock<[(TurnKind, Regex); 3]> = LazyLock::new(|| {
    [
        (
            TurnKind::Intimate,
            pattern(
                r"(?ix)\b(?: (?:kiss|caress|embrac|moan|whisper|tender|gentl|touch|strok|blush)\w*
                  | hearts?\s+(?:\w+\s+)?(?:rac|pound|flutter)\w*
                  | breath(?:ing)?\s+(?:\w+\s+)?(?:quicken|hitch|caught|catch)\w* )\b",
            ),
        ),
        (
            TurnKind::Transition,
            pattern(
                r"(?ix)\b(?: (?:minutes?|hours?|days?|weeks?|months?|years?)\s+(?:later|pass(?:ed)?|went\s+by)
                  | later\s+that | (?:the\s+)?(?:next|following)\s+(?:day|morning|evening|night|week|month|year)
                  | meanwhile | some\s+time\s+later | after\s+a\s+while
                  | arrived\s+(?:at|in) | return(?:ed|s)\s+(?:to|home) | left\s+(?:the|an?)
                  | moved\s+(?:to|out|away) | journey\w* | travel\w* | w(?:oke|akes)\s+up )\b",
            ),
        ),
        (
            TurnKind::Action,
            pattern(
                r"(?ix)\b(?: (?:stab|slash|shoot|explo[ds]|punch|flee|dodg|charg|attack|fight|battl|wound|injur|sweat|panic|adrenalin|urgen)\w*
                  | runs?|running|ran|shots?|fled|fought|blood(?:y|ied|stain\w*)?|chaos|chaotic )\b",
            ),
        ),
    ]
});

/// The kind of turn this message makes.
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
            ("Her heart was racing.", TurnKind::Intimate),
            ("They journeyed north and fought.", TurnKind::Transition),
            ("Three days later it rained.", TurnKind::Transition),
            ("She slashed the rope.", TurnKind::Action),
            ("The bomb exploded.", TurnKind::Action),
            ("He ran.", TurnKind::Action),
            ("The rune glowed.", TurnKind::Dialogue),
            ("We can talk later.", TurnKind::Dialogue),
            ("", TurnKind::Dialogue),
        ] {
            assert_eq!(classify(text), expected, "{text}");
        }
    }
}
