//! What a passage narrates, without what its people say.
//!
//! "We leave at dawn," says a person; the scene goes on. So quotations are removed, and so is
//! speech after a dash, as Spanish, Portuguese, Russian and others write it.

/// Opening and closing marks of quotations. Straight quotes close themselves.
const QUOTES: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];

/// A text without speech. Line breaks stay.
pub(super) fn narration(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.trim();
        let is_spoken = line.starts_with(['—', '–']) && line.chars().any(char::is_alphanumeric);
        let told: String = if is_spoken {
            // Speech and narration take turns between dashes.
            line.split(['—', '–']).skip(2).step_by(2).collect::<Vec<&str>>().join(" ")
        } else {
            line.to_owned()
        };
        without_quotes(&told)
    });
    lines.collect::<Vec<String>>().join("\n")
}

fn without_quotes(line: &str) -> String {
    let mut kept = String::new();
    let mut closing: Option<char> = None;
    for letter in line.chars() {
        match closing {
            Some(mark) if letter == mark || (mark == '“' && letter == '”') => closing = None,
            Some(_) => {}
            None => match QUOTES.iter().find(|(open, _)| *open == letter) {
                Some((_, close)) => closing = Some(*close),
                None => kept.push(letter),
            },
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speech_is_removed_and_narration_stays() {
        for (text, expected) in [
            ("\"At dawn,\" he says.", " he says."),
            ("„Morgen“, sagt sie.", ", sagt sie."),
            ("« Plus tard », dit-elle.", ", dit-elle."),
            ("—Más tarde —dice ella.", "dice ella."),
            ("— Позже, — говорит он. — Иди.", " говорит он. "),
            ("「後で」と言った。", "と言った。"),
            ("It's late -- too late.", "It's late -- too late."),
            ("———\nNew", "———\nNew"),
        ] {
            assert_eq!(narration(text), expected, "{text}");
        }
    }
}
