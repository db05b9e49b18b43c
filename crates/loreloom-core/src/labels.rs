//! Headings that look like speakers.
//!
//! In `Mood: wary` and `**Location:** pier` the word before the colon is no person. Cards end
//! replies with such status lines, and instructions are written in them.

/// First words of headings, in the singular. Sorted.
const LABELS: [&str; 58] = [
    "affection",
    "answer",
    "appearance",
    "attire",
    "chapter",
    "character",
    "clothes",
    "clothing",
    "condition",
    "context",
    "current",
    "date",
    "day",
    "description",
    "emotion",
    "energy",
    "example",
    "feeling",
    "genre",
    "goal",
    "health",
    "hint",
    "hp",
    "inner",
    "instruction",
    "internal",
    "inventory",
    "level",
    "location",
    "mood",
    "name",
    "narrator",
    "note",
    "objective",
    "ooc",
    "outfit",
    "persona",
    "personality",
    "place",
    "position",
    "quest",
    "relationship",
    "scenario",
    "scene",
    "setting",
    "stamina",
    "stat",
    "status",
    "step",
    "style",
    "summary",
    "task",
    "thought",
    "time",
    "title",
    "trust",
    "warning",
    "weather",
];

/// Whether a text before a colon is a heading and no speaker.
pub fn is_label(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or_default().to_lowercase();
    let numbered = name.split(' ').any(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let is_listed = |word: &str| LABELS.binary_search(&word).is_ok();
    numbered || is_listed(&first) || is_listed(first.trim_end_matches('s'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_no_speakers() {
        assert!(LABELS.is_sorted());
        for (name, expected) in [
            ("Location", true),
            ("Scene 3", true),
            ("Message 7", true),
            ("Thoughts", true),
            ("Current Mood", true),
            ("Mira Vell", false),
        ] {
            assert_eq!(is_label(name), expected, "{name}");
        }
    }
}
