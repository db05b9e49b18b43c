//! Separates messages that the front end joined.
//!
//! Front ends join messages with blank lines, and messages have blank lines of their own.
//! A run of paragraphs that is known to be one message stays one; what is left is cut by
//! what its role allows.

use std::ops::Range;

use super::{
    End, Part, PartReader, Shape, Spot, Window, WireMessage, bracketed, is_example_marker,
    is_start_marker, speaker,
};
use loreloom_core::{
    chat::Role,
    instruct::{only_a_name, trimmed},
};

use crate::{following::Following, kind::is_continue_nudge, text::TextKey};

/// The most paragraphs that are tried as one known message.
const LONGEST_RUN: usize = 24;

/// Where unknown text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Only at known messages.
    Nowhere,
    /// Also before a paragraph that names a speaker.
    AtNames,
    /// At every paragraph.
    Everywhere,
}

/// The paragraphs of a text, without outer blanks.
pub(super) fn paragraphs(text: &str) -> Vec<Range<usize>> {
    split(text, 0..text.len(), "\n\n")
}

fn split(text: &str, within: Range<usize>, separator: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = within.start;
    for piece in text[within].split(separator) {
        let range = trimmed(text, at..at + piece.len());
        at += piece.len() + separator.len();
        if !range.is_empty() {
            ranges.push(range);
        }
    }
    ranges
}

/// The messages that were joined to this text.
pub(super) fn pieces(
    text: &str,
    separator: &str,
    cut: Cut,
    known: &Following<'_>,
) -> Vec<Range<usize>> {
    pieces_within(text, 0..text.len(), separator, cut, known)
}

pub(super) fn pieces_within(
    text: &str,
    within: Range<usize>,
    separator: &str,
    cut: Cut,
    known: &Following<'_>,
) -> Vec<Range<usize>> {
    let whole = trimmed(text, within.clone());
    let ranges = split(text, within, separator);
    if ranges.len() < 2 || known.in_a_chat(TextKey::of(&text[whole.clone()])) {
        return if whole.is_empty() { Vec::new() } else { vec![whole] };
    }
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut at = 0;
    while at < ranges.len() {
        // A name without words is a message that the front end emptied: it begins no other.
        let emptied = cut == Cut::AtNames && only_a_name(&text[ranges[at].clone()]);
        let run = if emptied { None } else { known_run(text, &ranges[at..], known) };
        if let Some(length) = run {
            out.push(ranges[at].start..ranges[at + length - 1].end);
            open = false;
            at += length;
            continue;
        }
        let piece = &text[ranges[at].clone()];
        let alone = bracketed(piece);
        let starts = match cut {
            Cut::Nowhere => false,
            Cut::AtNames => speaker(piece).is_some(),
            Cut::Everywhere => true,
        };
        match out.last_mut().filter(|_| open && !alone && !starts) {
            Some(last) => last.end = ranges[at].end,
            None => out.push(ranges[at].clone()),
        }
        open = !alone;
        at += 1;
    }
    out
}

/// How many paragraphs from the first on are one known message; the longest run wins.
fn known_run(text: &str, ranges: &[Range<usize>], known: &Following<'_>) -> Option<usize> {
    let longest = ranges.len().min(LONGEST_RUN);
    (1..=longest).rev().find(|length| {
        let run = ranges[0].start..ranges[length - 1].end;
        known.in_a_chat(TextKey::of(&text[run]))
    })
}

/// A request whose whole chat is one message of the user. Names show who speaks.
pub(super) fn single(message: &WireMessage, reader: PartReader<'_>) -> Window {
    let PartReader { speakers, known } = reader;
    let text = &message.text;
    let ranges = paragraphs(text);
    let marker = ranges.iter().rposition(|range| is_start_marker(&text[range.clone()]));
    let start = marker.map_or(0, |at| at + 1);
    let start = if marker.is_some() {
        start
    } else {
        let unseen = |range: &Range<usize>| {
            let key = TextKey::of(&text[range.clone()]);
            !known.in_a_preamble(key) || known.in_a_chat(key)
        };
        ranges.iter().position(unseen).unwrap_or(ranges.len())
    };
    let part = |role, range: Range<usize>| {
        reader.part(role, None, &text[range.clone()], Spot { message: 0, range })
    };
    let preamble: Vec<Part> =
        ranges[..start].iter().map(|range| part(Role::System, range.clone())).collect();
    let examples = preamble.iter().filter(|part| is_example_marker(&part.text)).count();
    let mut parts = Vec::new();
    if let (Some(first), Some(last)) = (ranges.get(start), ranges.last()) {
        let chat = pieces_within(text, first.start..last.end, "\n\n", Cut::AtNames, known);
        let guessed = speakers.user.is_none().then(|| last_speaker(text, &chat)).flatten();
        for range in chat {
            let role = match speaker(&text[range.clone()]) {
                Some((name, _)) if speakers.is_user(name) || guessed.as_deref() == Some(name) => {
                    Role::User
                }
                Some(_) => Role::Assistant,
                None => Role::System,
            };
            parts.push(part(role, range));
        }
    }
    Window { preamble, parts, end: End::Closed, examples, shape: Shape::Single }
}

/// The speaker of the last named piece: in a request it is the user who spoke last, unless the
/// last reply is to be continued.
fn last_speaker(text: &str, chat: &[Range<usize>]) -> Option<String> {
    let continues = chat.last().is_some_and(|last| is_continue_nudge(&text[last.clone()]));
    let mut named = chat.iter().rev().filter_map(|range| speaker(&text[range.clone()]));
    let (last, _) = named.next()?;
    if !continues {
        return Some(last.to_owned());
    }
    named.map(|(name, _)| name).find(|name| *name != last).map(str::to_owned)
}
