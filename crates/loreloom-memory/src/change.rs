//! Recognising statements that say something is no longer as it was.

use std::sync::LazyLock;

use regex::RegexSet;

/// Phrases of change, whole words, any case.
const MARKERS: &[&str] = &[
    r"no longer|not anymore|not any more|no more",
    r"(?:is|are|can) now|now\s+\w+",
    r"former(?:ly)?|used to|has since",
    r"once (?:was|were|believed|thought|feared|distrusted|had)",
    r"became|stopped|switched (?:to|from)|moved (?:to|away|from|out)",
    r"reconciled|separated|ended the|broke up",
    r"healed|recovered|destroyed|burned down|defected",
    r"(?:lost|stole|abandoned) (?:the|a|an|his|her|hers|its|their|my|your|our)",
    r"(?:joined|left) (?:the|a|an)",
    r"was (?:killed|murdered|captured|freed|released|exiled|banished|promoted|demoted|betrayed|stolen|destroyed|burned|lost)",
    r"has died",
    r"has been (?:killed|captured|freed|released|exiled|banished|promoted|demoted|stolen|destroyed)",
];

static CHANGE: LazyLock<RegexSet> = LazyLock::new(|| compile(MARKERS));

/// Compiles phrases as whole words of any case, with any white space between words.
#[expect(clippy::expect_used, reason = "the phrases are literals, compiled by a test")]
fn compile(phrases: &[&str]) -> RegexSet {
    let whole = |phrase: &&str| format!(r"(?i)\b(?:{})\b", phrase.replace(' ', r"\s+"));
    RegexSet::new(phrases.iter().map(whole)).expect("literal patterns are valid")
}

/// Whether a statement says that something changed.
pub fn marks_change(text: &str) -> bool {
    CHANGE.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_needs_a_phrase_of_change() {
        for (text, expected) in [
            ("Mara NO  LONGER sails", true),
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
