//! Whether a line talks to a person or about them.
//!
//! "Odo, who has the key?" is about a key. A name behind or before a comma, at either end of its
//! sentence, is an address.

use crate::text::{is_unspaced, sentences};

/// Whether a text is about a person of this name, and not only addressed to them.
pub(super) fn speaks_about(text: &str, name: &str) -> bool {
    sentences(text).iter().any(|sentence| {
        let (sentence, name) = (sentence.to_lowercase(), name.to_lowercase());
        let is_border = |one: Option<char>| one.is_none_or(|one| !one.is_alphanumeric());
        let unspaced = name.chars().all(is_unspaced);
        sentence.match_indices(&name).any(|(at, found)| {
            let (before, after) = (&sentence[..at], &sentence[at + found.len()..]);
            let alone = is_border(before.chars().next_back()) && is_border(after.chars().next());
            !found.is_empty() && (unspaced || alone) && !is_address(before, after)
        })
    })
}

/// Whether the name between these parts of a sentence is an address.
fn is_address(before: &str, after: &str) -> bool {
    let opens = before.chars().all(|one| !one.is_alphanumeric());
    let closes = after.chars().all(|one| !one.is_alphanumeric());
    let parted = before.trim_end().ends_with([',', '，', '、']);
    opens && after.starts_with([',', '!', '，', '！']) || closes && parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_set_apart_at_either_end_of_a_sentence_is_an_address() {
        for (text, expected) in [
            ("Where does Odo keep bees?", true),
            ("Odo keeps bees.", true),
            ("Odo's bees", true),
            ("Odo, who keeps bees?", false),
            ("Odo! Look.", false),
            ("Who keeps bees, Odo?", false),
            ("\"Odo, hush.\" But Odo sang.", true),
            ("Odonata are dragonflies.", false),
            ("Bread, salt and Odo, all gone.", true),
        ] {
            assert_eq!(speaks_about(text, "Odo"), expected, "{text}");
        }
        assert!(speaks_about("明日香は来た", "明日香"));
        assert!(!speaks_about("anything", ""));
    }
}
