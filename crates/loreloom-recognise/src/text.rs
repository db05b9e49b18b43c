//! When two texts are the same message.
//!
//! A front end sends the same message in many forms: with and without a speaker's name, with
//! and without its reasoning, with other line ends. The key of a text leaves all of that out,
//! and all blanks, because a continued reply is joined with or without one. Other changes (a
//! reply cut short, an expanded macro, a regex that hides old actions) are found by comparing
//! texts, and only where few texts are possible.

use super::markup::Markup;
use loreloom_core::{digest::Hasher, ids::Digest, instruct::LONGEST_NAME};

/// The identity of a text, the same in every form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(Digest);

impl TextKey {
    /// The key of a text.
    pub fn of(text: &str) -> Self {
        let words = words(text);
        if !words.is_ascii() {
            return Self(Hasher::new("text").field(squeezed(words).as_bytes()).finish());
        }
        // The same as `squeezed`, but byte by byte: this runs for every message of every request.
        let (mut kept, mut length) = (vec![0; words.len()], 0);
        for byte in words.bytes() {
            kept[length] = byte;
            length += usize::from(!matches!(byte, b'\t'..=b'\r' | b' '));
        }
        Self(Hasher::new("text").field(&kept[..length]).finish())
    }
}

/// The text without reasoning, speaker and blanks.
pub(super) fn squeezed(text: &str) -> String {
    let words = words(text);
    let mut out = String::with_capacity(words.len());
    words.split_whitespace().for_each(|word| out.push_str(word));
    out
}

/// The text without leading reasoning and names, however many there are and in any order.
pub(super) fn words(text: &str) -> &str {
    let mut bare = text;
    loop {
        let next = without_reasoning(bare);
        let next = speaker(next).map_or(next, |(_, rest)| rest);
        if next.len() == bare.len() {
            return bare;
        }
        bare = next;
    }
}

/// The text after a leading `<think>…</think>`.
pub(super) fn without_reasoning(text: &str) -> &str {
    let trimmed = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        let rest = trimmed.strip_prefix(open).and_then(|rest| rest.split_once(close));
        if let Some((_, after)) = rest.filter(|(_, after)| !after.trim().is_empty()) {
            return after.trim_start();
        }
    }
    text
}

/// The speaker and the words of `Name: words`. A name is short, begins like one and holds
/// no punctuation that only sentences have.
pub(super) fn speaker(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let begin = &text.as_bytes()[..text.len().min(LONGEST_NAME + 1)];
    let at = memchr::memchr(b':', begin)?;
    if at == 0 {
        return None;
    }
    let (name, rest) = (&text[..at], &text[at + 1..]);
    let plain = name.chars().all(|c| c.is_alphanumeric() || " .'-_&".contains(c));
    let words = name.split(' ').enumerate().all(|(at, word)| begins_a_name(word, at));
    let rest = rest.trim_start();
    (plain && words && name.split(' ').count() <= 5 && !rest.is_empty()).then_some((name, rest))
}

/// Whether a word can be word number `at` of a name: it has a capital, or is a small word inside.
pub(super) fn begins_a_name(word: &str, at: usize) -> bool {
    const SMALL: [&str; 11] =
        ["of", "the", "de", "da", "von", "van", "der", "la", "le", "and", "&"];
    let first = word.chars().next();
    let large = first.is_some_and(|c| c.is_alphanumeric() && !c.is_lowercase());
    large || (at > 0 && SMALL.contains(&word))
}

/// Whether the whole text is in square brackets, as front ends write instructions.
pub(super) fn bracketed(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && text.ends_with(']')
}

/// How a text in a prompt differs from the stored text that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The front end cut it short and keeps only this.
    Cut,
    /// Its macros were replaced, only for the prompt: the stored text is still the message.
    Expanded,
    /// Pieces with this markup were left out, by a rule or by an edit.
    Stripped(Markup),
}

/// How `seen` differs from `stored`, if it is the same message. Lost markup is checked first: a
/// text that lost a marked piece at its end was not cut short.
pub(super) fn likeness(stored: &str, seen: &str) -> Option<Likeness> {
    let (old, new) = (squeezed(stored), squeezed(seen));
    if new.is_empty() || old.is_empty() || old == new {
        return None;
    }
    if let Some(markup) = Markup::lost(stored, seen, TextKey::of(seen)) {
        return Some(Likeness::Stripped(markup));
    }
    if old.starts_with(&new) {
        return Some(Likeness::Cut);
    }
    expands(&old, &new).then_some(Likeness::Expanded)
}

/// Whether `new` is `old` with its macros replaced by something.
fn expands(old: &str, new: &str) -> bool {
    let pieces = literal_pieces(old);
    if pieces.len() < 2 {
        return false;
    }
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return false };
    if !new.starts_with(first.as_str()) || !new.ends_with(last.as_str()) {
        return false;
    }
    let mut at = 0;
    pieces.iter().all(|piece| match new[at..].find(piece.as_str()) {
        Some(found) => {
            at += found + piece.len();
            true
        }
        None => false,
    })
}

/// The text between macros: `{{…}}`, `<USER>`, `<BOT>`, `<CHAR>`.
fn literal_pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = text;
    while !rest.is_empty() {
        let macro_end = if rest.starts_with("{{") {
            rest.find("}}").map(|end| end + 2)
        } else {
            ["<USER>", "<BOT>", "<CHAR>"]
                .iter()
                .find(|name| rest.starts_with(**name))
                .map(|n| n.len())
        };
        if let Some(end) = macro_end {
            pieces.push(String::new());
            rest = &rest[end..];
        } else {
            let mut chars = rest.chars();
            if let (Some(c), Some(piece)) = (chars.next(), pieces.last_mut()) {
                piece.push(c);
            }
            rest = chars.as_str();
        }
    }
    pieces
}

/// Whether one text looks like an edit of the other: they begin and end alike for most of
/// the shorter one.
pub(super) fn similar(a: &str, b: &str) -> bool {
    let split = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (a, b) = (split(a), split(b));
    let shorter = a.len().min(b.len());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tails = a[head..].iter().rev().zip(b[head..].iter().rev());
    let tail = tails.take_while(|(a, b)| a == b).count();
    head + tail >= 2 && (head + tail) * 3 >= shorter * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_key_in_every_form() {
        let plain = TextKey::of("She waits. Then she goes.");
        for form in [
            "Mira Vell: She waits. Then she goes.",
            "  She waits.\r\nThen she goes. ",
            "<think>Be calm.</think>\nShe waits. Then she goes.",
            "She waits.Then she goes.",
            "Wren: Mira Vell: She waits. Then she goes.",
            "Mira Vell: <think>Be calm.</think>\nShe waits. Then she goes.",
        ] {
            assert_eq!(TextKey::of(form), plain, "{form}");
        }
        assert_ne!(TextKey::of("She waits. Then he goes."), plain);
        assert_ne!(TextKey::of("Listen:"), TextKey::of(""));
    }

    #[test]
    fn a_key_is_that_of_the_squeezed_text() {
        let of = |text: &str| TextKey(Hasher::new("text").field(text.as_bytes()).finish());
        for byte in 0..=127_u8 {
            let text = format!("one{}two", char::from(byte));
            assert_eq!(TextKey::of(&text), of(&squeezed(&text)), "{text:?}");
            let wide = format!("\u{e9}\u{a0}{text}\u{2003}");
            assert_eq!(TextKey::of(&wide), of(&squeezed(&wide)), "{wide:?}");
        }
    }

    #[test]
    fn a_speaker_is_a_short_name_with_words_after_it() {
        for (text, expected) in [
            ("Mira Vell: hello", Some(("Mira Vell", "hello"))),
            ("Mira Vell:", None),
            ("see http://x.org", None),
            ("\"Wait: now,\" she says", None),
            ("He said this: no, and, well, again: yes", None),
            ("美羅: はい", Some(("美羅", "はい"))),
        ] {
            assert_eq!(speaker(text), expected, "{text}");
        }
    }

    #[test]
    fn a_changed_text_is_recognised_by_how_it_was_changed() {
        for (stored, seen, expected) in [
            ("I nod.\nWren: And then.", "I nod.", Some(Likeness::Cut)),
            ("Hello {{user}}, I am {{char}}.", "Hello Wren, I am Mira.", Some(Likeness::Expanded)),
            (
                "*She turns.* Come in.",
                "Come in.",
                Some(Likeness::Stripped(Markup::Between("*", "*"))),
            ),
            (
                "Come in. *She turns.*",
                "Come in.",
                Some(Likeness::Stripped(Markup::Between("*", "*"))),
            ),
            ("Come in.", "Go away.", None),
            ("Come in.", "Come in.", None),
        ] {
            assert_eq!(likeness(stored, seen), expected, "{stored} / {seen}");
        }
    }

    #[test]
    fn an_edit_begins_and_ends_like_the_text() {
        assert!(similar("Plain turn.", "Plain turn, edited."));
        assert!(!similar("Plain turn.", "Something quite different here."));
        assert!(similar("What time is it?", "What time is it, truly?"));
        assert!(!similar("Hello.", "Hello there."));
        assert!(!similar("...", "!!!"));
    }
}
