//! Words that end a scene: time passes, people travel, sleep or wake, or the author draws a line.
//!
//! A bare "a week" does not count ("it takes a week to mend a sail"): the text must say that the
//! time passed.

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

/// Families of patterns; any match counts. The phrases are those of Smart Memory.
const FAMILIES: [(Break, &str); 10] = [
    (
        Break::TimePassed,
        concat!(
            r"(?i)\b(?:later that (?:day|night|evening|morning)",
            r"|the next (?:day|morning|evening|night)",
            r"|(?:hours|days|weeks|months|years?) later",
            r"|an? (?:week|month|year|decade) (?:later|passed|had passed|went by|had gone by)",
            r"|the following (?:day|morning|week|month|year)",
            r"|some time later|meanwhile|after (?:a while|some time))\b",
        ),
    ),
    (
        Break::Stretch,
        concat!(
            r"(?i)\b(?:several (?:days|weeks|months|years)",
            r"|[a-z]+ (?:day|week|month|year)s? (?:passed|went by|had passed|had gone by))\b",
        ),
    ),
    (
        Break::Arrival,
        concat!(
            r"(?i)\b(?:arrived at (?:the|an?|\w+'s) \w",
            r"|found (?:him|her|my|your|them)sel(?:f|ves) (?:in|at) (?:the|an?)\b",
            r"|made (?:his|her|their|my|your) way (?:to|into) (?:the\b|an?\b|\w+'s)",
            r"|(?:fled|escaped) (?:to|into) (?:the|an?)\b)",
        ),
    ),
    (
        Break::Travel,
        r"(?i)\b(?:headed|led (?:him|her|them|us)|walked|wandered) (?:over )?(?:to|into|toward) (?:the|an?|\w+'s) \w",
    ),
    (
        Break::Settled,
        concat!(
            r"(?i)\b(?:settled (?:in|into|down in)",
            r"|made (?:a|his|her|their|my) (?:home|camp|base) (?:in|at)",
            r"|took (?:shelter|refuge) (?:in|at|among))\b",
        ),
    ),
    (
        Break::Daylight,
        concat!(
            r"(?i)\b(?:as (?:dawn|morning|daylight|the sun) (?:broke|crept|arrived|filtered through|rose|spread)",
            r"|when (?:dawn|morning) (?:came|broke|arrived)",
            r"|as (?:night|darkness|dusk|evening) (?:fell|settled|crept|arrived|descended)",
            r"|when (?:night|darkness|dusk) (?:came|fell|settled))\b",
        ),
    ),
    (
        Break::Asleep,
        r"(?i)\b(?:dozed? off|fell asleep|drifted off|fell into (?:a )?(?:deep )?(?:sleep|slumber))\b",
    ),
    (
        Break::Awake,
        concat!(
            r"(?i)\b(?:woke|stirred|roused) (?:up|to find|beside",
            r"|from (?:(?:a|his|her|their) )?(?:sleep|slumber|nap|rest)",
            r"|as \w+|with the (?:sun|light|dawn))\b",
        ),
    ),
    (Break::Separator, r"(?m)^[-*~]{3,}\r?$|\*\s*\*\s*\*"),
    (
        Break::Return,
        concat!(
            r"(?i)\b(?:regained consciousness|came to (?:his|her|their|my|your) senses?\b",
            r"|opened (?:his|her|their|my|your) eyes (?:to find|and found|and saw)\b",
            r"|returned (?:back )?to (?:the\b|an?\b|\w+'s)",
            r"|made (?:his|her|their|my|your) way back (?:to|into) (?:the\b|an?\b|\w+'s)",
            r"|upon (?:arriving|reaching|entering) (?:at )?(?:the\b|an?\b|\w+'s)",
            r"|the morning after\b|by (?:morning|nightfall|dawn|dusk|daybreak|sundown|nighttime)\b",
            r"|in the (?:day|week|month|year)s? (?:that|which) followed\b)",
        ),
    ),
];

#[expect(clippy::expect_used, reason = "the patterns are literals, compiled by a test")]
static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(FAMILIES.iter().map(|(_, source)| source)).expect("literal patterns are valid")
});

/// What in this text ends a scene.
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
            ("A few days had passed.", Some(Break::Stretch)),
            ("An hour later he came.", None),
            ("A month later he came.", Some(Break::TimePassed)),
            ("Moments later he came.", None),
            ("Two hours passed.", None),
            ("22 years passed.", None),
            ("Twenty-two years passed.", Some(Break::Stretch)),
            ("We can talk later, she said.", None),
            ("It takes a week to mend a sail.", None),
            ("Several weeks of rain", Some(Break::Stretch)),
            ("Three months went by.", Some(Break::Stretch)),
            ("They arrived at Odo's boathouse.", Some(Break::Arrival)),
            ("They arrived at Odo’s boathouse.", None),
            ("He found himself in trouble.", None),
            ("He found himself in a cell.", Some(Break::Arrival)),
            ("We made our way to the inn.", None),
            ("He fled to safety.", None),
            ("She walked towards the door.", None),
            ("She entered the room and sat.", None),
            ("He headed over to the door.", Some(Break::Travel)),
            ("They took refuge among reeds.", Some(Break::Settled)),
            ("When darkness fell, they left.", Some(Break::Daylight)),
            ("As the night fell, they left.", None),
            ("As the sun rose, they left.", Some(Break::Daylight)),
            ("He dozed off.", Some(Break::Asleep)),
            ("She fell into a dreamless sleep.", None),
            ("She fell into a deep sleep.", Some(Break::Asleep)),
            ("Pell stirred from a long slumber.", None),
            ("Pell stirred from his slumber.", Some(Break::Awake)),
            ("The end.\n---\nElsewhere", Some(Break::Separator)),
            ("wait * * * then", Some(Break::Separator)),
            ("* \n * \n *", Some(Break::Separator)),
            ("text\n--- \ntext", None),
            ("pause -- go on", None),
            ("**bold** word", None),
            ("By dawn the fog had cleared.", Some(Break::Return)),
            ("He returned to Odo.", None),
            ("He returned to Odo's mill.", Some(Break::Return)),
            ("She made her way back into the hall.", Some(Break::Return)),
            ("in the weeks which followed", Some(Break::Return)),
            ("\"Pass the rope,\" Mara said.", None),
        ] {
            assert_eq!(find_break(text), expected, "{text}");
        }
    }
}
