//! The character's name, found in the card when nothing else gives it.
//!
//! Cards introduce their character: a line begins with the name, or a field holds it. Cards and
//! greetings also name the user, but the narration of replies is about the character, and the user
//! is addressed in speech. So of several introduced names the one that narration has most often
//! counts, and none if two are equal.

use super::naming::name_at;

/// What comes before the name in cards that are written as lists.
const FIELDS: [&str; 6] = ["name:", "character:", "char:", "character(", "name is ", "named "];

/// The name that a card and the replies in its chat are most probably about.
pub(super) fn introduced(
    card: &[&str],
    replies: &[&str],
    is_other: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for line in card.iter().flat_map(|piece| piece.lines()) {
        for name in [field(line), subject(line)].into_iter().flatten() {
            if !names.contains(&name) && !is_other(name) {
                names.push(name);
            }
        }
    }
    // A first name means the whole one.
    let whole = |name: &str| {
        let mut longer = names.iter().filter(|other| other.len() > name.len());
        longer
            .find(|other| {
                other.starts_with(&format!("{name} ")) || other.ends_with(&format!(" {name}"))
            })
            .copied()
    };
    let narration: Vec<String> = replies.iter().map(|reply| narrated(reply)).collect();
    let mentions = |name: &str| narration.iter().map(|text| occurrences(text, name)).sum::<usize>();
    let mut counted: Vec<(usize, &str)> = Vec::new();
    for name in &names {
        let (count, name) = (mentions(name), whole(name).unwrap_or(name));
        match counted.iter_mut().find(|(_, other)| *other == name) {
            // The first name is counted in the whole one, too.
            Some(known) => known.0 = known.0.max(count),
            None => counted.push((count, name)),
        }
    }
    counted.sort_by_key(|(count, name)| std::cmp::Reverse((*count, name.len())));
    match counted[..] {
        [(0, name)] => {
            let texts = card.iter().chain(replies);
            (texts.map(|text| occurrences(text, name)).sum::<usize>() > 1).then(|| name.to_owned())
        }
        [(most, name), ref others @ ..] => {
            let next = others.first().map_or(0, |other| other.0);
            (most > next).then(|| name.to_owned())
        }
        [] => None,
    }
}

/// A text without the speech in it.
fn narrated(text: &str) -> String {
    let mut narration = String::with_capacity(text.len());
    let mut speech = false;
    for letter in text.chars() {
        match letter {
            '"' => speech = !speech,
            '\u{201c}' | '\u{ab}' | '\u{300c}' => speech = true,
            '\u{201d}' | '\u{bb}' | '\u{300d}' => speech = false,
            '\n' => {
                speech = false;
                narration.push(letter);
            }
            _ if !speech => narration.push(letter),
            _ => {}
        }
    }
    narration
}

/// The name in a field of a list.
fn field(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['[', '{', '-', '*', '#', ' ']);
    let small = line.to_ascii_lowercase();
    let start = FIELDS.iter().find_map(|field| small.strip_prefix(field).map(|_| field.len()))?;
    name_at(&line[start..]).map(|found| found.0)
}

/// The name that a line begins with, if a sentence about it follows.
fn subject(line: &str) -> Option<&str> {
    let (name, rest) = name_at(line)?;
    let owns = rest.starts_with("'s ") || rest.starts_with("\u{2019}s ");
    let verb = rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_lowercase));
    let described = rest.starts_with(", ") || rest.trim_start().starts_with('(');
    (owns || verb || described).then_some(name)
}

/// How often a text has a name, as whole words.
fn occurrences(text: &str, name: &str) -> usize {
    let whole = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + name.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    };
    text.match_indices(name).map(|(at, _)| at).filter(whole).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_is_introduced_by_the_card_and_named_in_narration() {
        let persona = "Wren carries letters. Wren limps.";
        let card = "Mira Vell keeps the ferry of Harrow. Wren is her guest.";
        let greeting = "The door opens. \"You must be Wren,\" says Mira Vell. \"Wren, come in.\"";
        let found = |card: &[&str], replies: &[&str]| {
            introduced(card, replies, |name| name == "Harrow").unwrap_or_default()
        };
        assert_eq!(found(&[persona, card], &[greeting]), "Mira Vell");
        assert_eq!(
            found(&[persona, card], &["\"Come in, Wren,\" she says."]),
            "",
            "narration names nobody"
        );
        assert_eq!(found(&["Mira keeps it. Mira is old."], &["I open the door."]), "Mira");
        assert_eq!(found(&["[Character(\"Orla\")\nAge: 30]"], &["Orla waits."]), "Orla");
        assert_eq!(found(&["Mira waits.\nWren waits."], &["Mira and Wren."]), "", "a tie");
        assert_eq!(found(&["Mira waits."], &[]), "", "named once");
        assert_eq!(found(&["Keep it short."], &["Keep going."]), "");
        assert_eq!(found(&["Harrow is a town."], &["Harrow freezes."]), "", "known as another");
    }
}
