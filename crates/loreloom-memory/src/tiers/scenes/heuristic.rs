//! Words that show a scene ending: time passes, people travel, sleep, wake, or the author
//! draws a line.
//!
//! A bare "a week" is none of these ("it takes a week to mend a sail"): a stretch of time
//! counts only when the text says that it passed.

use std::sync::LazyLock;

use regex::RegexSet;

/// What ended a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Time passed, relative to before.
    TimePassed,
    /// A stretch of time passed.
    Stretch,
    /// Somebody arrived.
    Arrival,
    /// Somebody travelled.
    Travel,
    /// Somebody settled down.
    Settled,
    /// Night or day fell.
    Daylight,
    /// Somebody fell asleep.
    Asleep,
    /// Somebody woke.
    Awake,
    /// A line was drawn.
    Separator,
    /// Somebody came back, or came to.
    Return,
}

/// Families of patterns; any match counts.
const FAMILIES: [(Break, &str); 10] = [
    (
        Break::TimePassed,
        r"(?ix)\b(?: later\s+that\s+(?:day|night|evening|morning|afternoon)
          | the\s+next\s+(?:day|morning|evening|night)
          | (?:hours?|days?|weeks?|months?|years?)\s+later
          | an?\s+(?:few\s+)?(?:moments?|minutes?|hours?|days?|weeks?|months?|years?)\s+(?:later|passed|had\s+passed)
          | the\s+following\s+(?:day|morning|week|month|year)
          | some\s+time\s+later | meanwhile | after\s+(?:a\s+while|some\s+time) )\b",
    ),
    (
        Break::Stretch,
        r"(?ix)\b(?: several\s+(?:minutes|hours|days|weeks|months|years|decades)
          | [\w-]+\s+(?:minutes?|hours?|days?|weeks?|months?|years?|decades?)\s+(?:passed|went\s+by|had\s+passed|had\s+gone\s+by) )\b",
    ),
    (
        Break::Arrival,
        r"(?ix)\b(?: arrived\s+at\s+(?:the|an?|[\w-]+['’]s)\s+\w+
          | found\s+(?:him|her|it|my|your|them|our)sel(?:f|ves)\s+(?:in|at)
          | made\s+(?:\w+\s+)?way\s+(?:to|into)
          | (?:fled|escaped)\s+(?:to|into) )\b",
    ),
    (
        Break::Travel,
        r"(?ix)\b(?: headed | led\s+(?:him|her|them|us|me|you|it) | walked | wandered )\s+(?:over\s+)?(?:to|into|towards?)\s+(?:the|an?|[\w-]+['’]s)\s+\w+",
    ),
    (
        Break::Settled,
        r"(?ix)\b(?: settled\s+(?:in|into|down\s+in)
          | made\s+(?:an?|his|her|their|our|my|its)\s+(?:home|camp|base)\s+(?:in|at)
          | took\s+(?:shelter|refuge)\s+(?:in|at|among) )\b",
    ),
    (
        Break::Daylight,
        r"(?ix)\b(?: (?:as|when)\s+(?:the\s+)?(?:dawn|morning|daylight|sun)\s+(?:broke|crept|arrived|filtered\s+through|rose|spread|came)
          | (?:as|when)\s+(?:the\s+)?(?:dusk|night|nightfall|evening|twilight|darkness)\s+(?:fell|settled|crept|arrived|descended|came) )\b",
    ),
    (
        Break::Asleep,
        r"(?ix)\b(?: dozed?\s+off | fell\s+asleep | drifted\s+off | fell\s+into\s+(?:an?\s+)?(?:\w+\s+)?(?:sleep|slumber) )\b",
    ),
    (
        Break::Awake,
        r"(?ix)\b(?:woke|stirred|roused)\s+(?: up | to\s+find | beside
          | from\s+(?:\w+\s+){0,2}(?:sleep|slumber|nap|rest) | as\s+\w+ | with\s+the\s+(?:sun|light|dawn) )\b",
    ),
    (Break::Separator, r"(?m)^[ \t]*[-*~]{3,}[ \t]*\r?$|\*[ \t]*\*[ \t]*\*"),
    (
        Break::Return,
        r"(?ix)\b(?: regained\s+consciousness | came\s+to\s+(?:\w+\s+)?senses
          | opened\s+(?:\w+\s+)?eyes\s+(?:to\s+find|and\s+found|and\s+saw)
          | returned\s+(?:back\s+)?to\s+\w+ | made\s+(?:\w+\s+)?way\s+back\s+to
          | upon\s+(?:arriving|reaching|entering)
          | the\s+morning\s+after | by\s+(?:morning|nightfall|dawn|dusk|daybreak|sundown|nighttime)
          | in\s+the\s+(?:days|weeks|months|years)\s+that\s+followed )\b",
    ),
];

#[expect(clippy::expect_used, reason = "the patterns are literals, compiled by a test")]
static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(FAMILIES.iter().map(|(_, source)| source)).expect("literal patterns are valid")
});

/// What in this text ends a scene, if anything does.
pub fn find_break(text: &str) -> Option<Break> {
    PATTERNS.matches(text).iter().next().map(|at| FAMILIES[at].0)
}

/// Whether this text ends a scene.
pub fn is_break(text: &str) -> bool {
    PATTERNS.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_is_recognised_and_its_near_misses_are_not() {
        for (text, expected) in [
            ("Hours later the lamp went out.", Some(Break::TimePassed)),
            ("A few days had passed.", Some(Break::TimePassed)),
            ("We can talk later, she said.", None),
            ("It takes a week to mend a sail.", None),
            ("Several weeks of rain", Some(Break::Stretch)),
            ("Three months went by.", Some(Break::Stretch)),
            ("They arrived at Odo's boathouse.", Some(Break::Arrival)),
            ("She entered the room and sat.", None),
            ("He headed over to the door.", Some(Break::Travel)),
            ("They took refuge among reeds.", Some(Break::Settled)),
            ("When darkness fell, they left.", Some(Break::Daylight)),
            ("He dozed off.", Some(Break::Asleep)),
            ("She fell into a deep sleep.", Some(Break::Asleep)),
            ("Pell stirred from a long slumber.", Some(Break::Awake)),
            ("The end.\n---\nElsewhere", Some(Break::Separator)),
            ("wait * * * then", Some(Break::Separator)),
            ("pause -- go on", None),
            ("**bold** word", None),
            ("By dawn the fog had cleared.", Some(Break::Return)),
            ("\"Pass the rope,\" Mara said.", None),
        ] {
            assert_eq!(find_break(text), expected, "{text}");
        }
    }
}
