//! A short text that a regular expression matches, as an example for a person.
//!
//! Only common forms are understood. The result is a guess: callers run the
//! expression over it first.

use std::{iter::Peekable, str::Chars};

/// The most often that something is repeated for a sample.
const MOST_REPEATS: usize = 20;

/// A text that the pattern probably matches; `None` for a pattern that is not understood.
pub(super) fn sample(pattern: &str) -> Option<String> {
    let mut characters = pattern.chars().peekable();
    let text = alternatives(&mut characters)?;
    characters.next().is_none().then_some(text)
}

type Pattern<'a> = Peekable<Chars<'a>>;

/// The first alternative that says something, up to the end or a closing parenthesis.
fn alternatives(pattern: &mut Pattern<'_>) -> Option<String> {
    let mut chosen = sequence(pattern)?;
    while pattern.next_if_eq(&'|').is_some() {
        let other = sequence(pattern)?;
        if chosen.is_empty() {
            chosen = other;
        }
    }
    Some(chosen)
}

fn sequence(pattern: &mut Pattern<'_>) -> Option<String> {
    let mut text = String::new();
    while let Some(&next) = pattern.peek() {
        if matches!(next, '|' | ')') {
            break;
        }
        let one = atom(pattern)?;
        let times = repeats(pattern)?;
        text.push_str(&one.repeat(times));
    }
    Some(text)
}

fn atom(pattern: &mut Pattern<'_>) -> Option<String> {
    Some(match pattern.next()? {
        '(' => group(pattern)?,
        '[' => class(pattern)?.to_string(),
        '.' => "x".to_owned(),
        '^' | '$' => String::new(),
        '\\' => match escape(pattern)? {
            Some(character) => character.to_string(),
            None => String::new(),
        },
        character => character.to_string(),
    })
}

/// The content of parentheses; lookarounds are not understood.
fn group(pattern: &mut Pattern<'_>) -> Option<String> {
    if pattern.next_if_eq(&'?').is_some() {
        match pattern.next()? {
            ':' => {}
            '<' if !matches!(pattern.peek(), Some('=' | '!')) => {
                pattern.find(|&character| character == '>')?;
            }
            _ => return None,
        }
    }
    let text = alternatives(pattern)?;
    pattern.next_if_eq(&')')?;
    Some(text)
}

/// The first character of a class; a class of what is not meant is not understood.
fn class(pattern: &mut Pattern<'_>) -> Option<char> {
    let first = match pattern.next()? {
        '^' | ']' => return None,
        '\\' => escape(pattern)??,
        character => character,
    };
    loop {
        match pattern.next()? {
            ']' => return Some(first),
            '\\' => {
                pattern.next()?;
            }
            _ => {}
        }
    }
}

/// A character that matches an escape; nothing for a word boundary. White space becomes a blank,
/// digits a 1.
#[expect(clippy::option_option, reason = "not understood, or understood as no character")]
fn escape(pattern: &mut Pattern<'_>) -> Option<Option<char>> {
    match pattern.next()? {
        'b' => Some(None),
        'd' => Some(Some('1')),
        's' => Some(Some(' ')),
        'w' => Some(Some('a')),
        character if character.is_ascii_punctuation() => Some(Some(character)),
        _ => None,
    }
}

/// How often the thing before is needed at least; whole words read better with what may be
/// left out.
fn repeats(pattern: &mut Pattern<'_>) -> Option<usize> {
    let times = match pattern.peek() {
        Some('*' | '+' | '?') => {
            let least = usize::from(pattern.next() == Some('+'));
            pattern.next_if_eq(&'?');
            return Some(least);
        }
        Some('{') => {
            pattern.next();
            let mut digits = String::new();
            while let Some(digit) = pattern.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            pattern.find(|&character| character == '}')?;
            pattern.next_if_eq(&'?');
            digits.parse().ok()?
        }
        _ => 1,
    };
    (times <= MOST_REPEATS).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::JsRegex;

    #[test]
    fn common_patterns_get_a_text_that_they_match() {
        for (pattern, text) in [
            ("dragon", "dragon"),
            (r"\b(?:dragon|wyrm)s?\b", "dragon"),
            (r"(?<who>|Mira) [0-9]{2} a+b*c\.", "Mira 00 ac."),
            (r"^\s*old\s+man$", "old man"),
            (r"x.y\d\w", "xxy1a"),
        ] {
            assert_eq!(sample(pattern).as_deref(), Some(text), "{pattern}");
            let regex = JsRegex::new(pattern, "").unwrap();
            assert!(regex.find(text).span().is_some(), "{pattern}");
        }
        for pattern in ["(?=a)b", "(?<!a)b", "[^a]", r"\p{L}", "a{99}", "(a", "a)"] {
            assert_eq!(sample(pattern), None, "{pattern}");
        }
    }
}
