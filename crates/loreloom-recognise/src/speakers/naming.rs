//! What reads as a name in running text.

use loreloom_core::instruct::LONGEST_NAME;
pub(crate) use loreloom_core::labels::is_label;

use crate::text::begins_a_name;

/// The most words of a name.
const WORDS: usize = 5;

/// Words with a capital that begin sentences and headings, not names.
const NO_NAMES: [&str; 40] = [
    "a",
    "ai",
    "always",
    "an",
    "and",
    "as",
    "assistant",
    "be",
    "bot",
    "char",
    "character",
    "compose",
    "continue",
    "create",
    "describe",
    "do",
    "generate",
    "give",
    "i",
    "if",
    "in",
    "it",
    "keep",
    "let",
    "never",
    "not",
    "nsfw",
    "only",
    "produce",
    "provide",
    "roleplay",
    "rp",
    "system",
    "that",
    "this",
    "user",
    "use",
    "write",
    "you",
    "your",
];

/// The name that a text begins with, and what follows it.
pub(super) fn name_at(text: &str) -> Option<(&str, &str)> {
    let start = text.trim_start_matches(['"', '\u{201c}', '\'', '*', '[', '(', '{', ' ']);
    let mut end = 0;
    for (count, word) in words(start).enumerate().take(WORDS) {
        if !begins_a_name(word, count) {
            break;
        }
        let at = end + usize::from(count > 0);
        let small = word.starts_with(char::is_lowercase);
        let length = word.find("'s").or_else(|| word.find("\u{2019}s")).unwrap_or(word.len());
        let bare = word[..length].trim_end_matches(['.', '\'', '-']);
        // A small word is part of a name only if another large one follows.
        let follows =
            || words(&start[at + word.len()..]).nth(1).is_some_and(|next| begins_a_name(next, 0));
        if small && !follows() {
            break;
        }
        let is_title = word.len() <= 4 && word.ends_with('.') && count == 0;
        end = at + if is_title { word.len() } else { bare.len() };
        if bare.len() < word.len() && !is_title {
            break;
        }
    }
    let name = &start[..end];
    is_name(name).then(|| (name, &start[end..]))
}

/// The name that a text ends with.
pub(super) fn name_before(text: &str) -> Option<&str> {
    let line = text.rsplit(['\n', '.', ',', ':', ';', '!', '?', '(', '[', '"', '*']).next()?;
    let (mut start, mut at) = (line.len(), line.len() + 1);
    for word in line.rsplit(' ').take(WORDS) {
        at -= word.len() + 1;
        let plain = word.chars().all(is_part);
        if !plain || !begins_a_name(word, 0) || is_no_name(word) {
            break;
        }
        start = at;
    }
    let name = line[start..].trim();
    is_name(name).then_some(name)
}

/// The words of a text up to the first character that no name has.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find(|c| c != ' ' && !is_part(c)).unwrap_or(text.len());
    text[..end].split(' ')
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || ".'\u{2019}-_&".contains(letter)
}

fn is_no_name(word: &str) -> bool {
    NO_NAMES.contains(&word.to_lowercase().as_str())
}

fn is_name(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or_default();
    let article = first.eq_ignore_ascii_case("the") && !name.contains(' ');
    !name.is_empty() && name.len() <= LONGEST_NAME && !is_no_name(first) && !article
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_up_to_the_first_word_that_is_none() {
        for (text, expected) in [
            ("Mira Vell, keeper of the ferry", Some("Mira Vell")),
            ("\"Mira Vell\" in this roleplay", Some("Mira Vell")),
            ("Mira. Stay in character.", Some("Mira")),
            ("Anne of Harrow and nobody else", Some("Anne of Harrow")),
            ("Anne of course", Some("Anne")),
            ("The Narrator.", Some("The Narrator")),
            ("The best", None),
            ("Dr. Hale is", Some("Dr. Hale")),
            ("Mira's sister", Some("Mira")),
            ("an expert actor", None),
            ("You", None),
            ("AI Dungeon", None),
            ("\u{c9}lodie B. Marr", Some("\u{c9}lodie B")),
        ] {
            assert_eq!(name_at(text).map(|found| found.0), expected, "{text}");
        }
        assert_eq!(name_at("Mira's sister").map(|found| found.1), Some("'s sister"));
    }

    #[test]
    fn a_name_is_read_back_to_the_first_word_that_is_none() {
        for (text, expected) in [
            ("Write Mira Vell", Some("Mira Vell")),
            ("Now continue with Tobin", Some("Tobin")),
            ("Be brief. Orla", Some("Orla")),
            ("Write the next reply", None),
            ("Write", None),
        ] {
            assert_eq!(name_before(text), expected, "{text}");
        }
    }
}
