//! The part of a turn that asks.
//!
//! A turn of role-play is mostly narration: "*I lean back and watch the rain.* Where did you hide
//! it?" Its words would drown the question. So if what the player says aloud wants to know
//! something, only that is searched for.

use super::asks::AskedFor;

/// Quotation marks, opening and closing.
const QUOTES: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];

/// The words of a turn that are searched for.
pub(super) fn asking_part(turn: &str) -> String {
    let wants = |part: &String| AskedFor::of(part).seeks;
    let parts = [quoted(turn), outside_asterisks(turn)];
    parts.into_iter().flatten().find(wants).unwrap_or_else(|| turn.to_owned())
}

/// What is between quotation marks; `None` if nothing is.
fn quoted(turn: &str) -> Option<String> {
    let mut spoken: Vec<&str> = Vec::new();
    let mut rest = turn;
    while let Some((open, found)) = rest.char_indices().find_map(|(at, letter)| {
        let quote = QUOTES.iter().find(|(open, _)| *open == letter)?;
        Some((at + letter.len_utf8(), quote.1))
    }) {
        let inside = &rest[open..];
        let Some(close) = inside.find(found) else { break };
        spoken.push(&inside[..close]);
        rest = &inside[close + found.len_utf8()..];
    }
    (!spoken.is_empty()).then(|| spoken.join(" "))
}

/// What is not between asterisks; `None` if there are none.
fn outside_asterisks(turn: &str) -> Option<String> {
    let parts: Vec<&str> = turn.split('*').filter(|part| !part.is_empty()).collect();
    let narration = usize::from(turn.starts_with('*'));
    let spoken: Vec<&str> = parts
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 2 == narration)
        .map(|(_, part)| part.trim())
        .collect();
    let spoken = spoken.join(" ").trim().to_owned();
    (parts.len() > 1 && !spoken.is_empty()).then_some(spoken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_aloud_is_searched_for_if_it_asks() {
        for (turn, expected) in [
            ("Where is the key?", "Where is the key?"),
            ("*I watch the rain.* Where is the key? *I wait.*", "Where is the key?"),
            ("I sit. \"You had it. Where is the key?\" I ask.", "You had it. Where is the key?"),
            ("„Wo ist der Schlüssel?“, frage ich am Fenster.", "Wo ist der Schlüssel?"),
            ("「鍵はどこ？」と私は聞いた。", "鍵はどこ？"),
            ("*I blow the whistle.* Now!", "*I blow the whistle.* Now!"),
            (
                "\"Good night,\" I say and close the door.",
                "\"Good night,\" I say and close the door.",
            ),
            ("I wonder who has \"the key", "I wonder who has \"the key"),
            ("**Where** is the key?", "**Where** is the key?"),
        ] {
            assert_eq!(asking_part(turn), expected, "{turn}");
        }
    }
}
