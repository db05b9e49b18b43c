//! Recognises statements about a change.

use std::sync::LazyLock;

use regex::RegexSet;

/// Phrases of change, whole words, any case, one blank between words.
const MARKERS: &[&str] = &[
    r"no longer|not anymore|no more",
    r"(?:is|are|can) now|now \w+",
    r"former(?:ly)?|used to|has since",
    r"once (?:was|were|believed?|thought|feared|distrusted|had)",
    r"became|stopped|switched (?:to|from)|moved (?:to|away|from|out)",
    r"reconciled|separated|ended the|broke up",
    r"healed|recovered|destroyed|burned down|defected",
    r"(?:lost|stole) (?:the|a|an|his|her|their|my)",
    r"abandoned (?:the|a|an|his|her|their)",
    r"(?:joined|left) (?:the|a|an)",
    r"was (?:killed|murdered|captured|freed|released|exiled|banished|promoted|demoted|betrayed|stolen|destroyed|burned|lost)",
    r"has died",
    r"has been (?:killed|captured|freed|released|exiled|banished|promoted|demoted|stolen|destroyed)",
];

static CHANGE: LazyLock<RegexSet> = LazyLock::new(|| compile(MARKERS));

/// Compiles phrases as whole words of any case.
#[expect(clippy::expect_used, reason = "the phrases are literals, compiled by a test")]
fn compile(phrases: &[&str]) -> RegexSet {
    let whole = |phrase: &&str| format!(r"(?i)\b(?:{phrase})\b");
    RegexSet::new(phrases.iter().map(whole)).expect("literal patterns are valid")
}

/// Whether a statement is about a change.
pub fn marks_change(text: &str) -> bool {
    CHANGE.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_needs_a_phrase_of_change() {
        for (text, expected) in [
            ("Mara NO LONGER sails", true),
            ("Mara no  longer sails", false),
            ("not anymore", true),
            ("not any more", false),
            ("they once believe", true),
            ("She stole my boat", true),
            ("She stole your boat", false),
            ("They abandoned their post", true),
            ("I abandoned my post", false),
            ("They live apart now", false),
            ("They now live apart", true),
            ("They know each other", false),
            ("She lost her boat", true),
            ("She lost patience", false),
            ("The guards confiscated the boat", false),
            ("Lis left the guild", true),
            ("Lis left quietly", false),
            ("The king has died", true),
            ("Unstopped wine", false),
            ("", false),
        ] {
            assert_eq!(marks_change(text), expected, "{text}");
        }
    }
}
