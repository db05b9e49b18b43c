//! A point in a prompt where text can be put, and what must stand around it there.

use super::{super::instruct, Part, Role};

/// Where text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// As a message of its own before this one.
    Before(usize),
    /// Into a message or text prompt.
    Inside {
        message: usize,
        /// The byte of its text.
        at: usize,
        /// What must come before the text.
        lead: String,
        /// What must come after it.
        trail: String,
    },
}

impl Point {
    /// Above a piece, in the same message.
    pub(super) fn before(part: &Part, separator: &str) -> Self {
        Self::Inside {
            message: part.spot.message,
            at: part.spot.range.start,
            lead: String::new(),
            trail: separator.to_owned(),
        }
    }

    /// Below a piece, in the same message.
    pub(super) fn after(part: &Part, separator: &str) -> Self {
        Self::Inside {
            message: part.spot.message,
            at: part.spot.range.end,
            lead: separator.to_owned(),
            trail: String::new(),
        }
    }
}

/// Into the story string of a text prompt: its first line is the main prompt, its end the
/// end of the card.
pub(super) fn in_story_string(prompt: &str, preamble: &[Part], at: usize) -> Point {
    let Some(story) = preamble.first() else {
        return Point::Inside { message: 0, at: 0, lead: String::new(), trail: "\n".to_owned() };
    };
    let range = story.spot.range.clone();
    let line = prompt[range.clone()].find('\n').map(|length| range.start + length);
    match (at, line) {
        (0, _) => Point::before(story, "\n"),
        (1, Some(end)) if preamble.len() > 1 => {
            let lead = "\n".to_owned();
            Point::Inside { message: 0, at: end, lead, trail: String::new() }
        }
        _ => Point::after(story, "\n"),
    }
}

/// Before a turn of a text prompt, in the prompt's own separators.
pub(super) fn before_turn(prompt: &str, part: &Part, role: Role) -> Point {
    let Some(template) = instruct::template_of(prompt) else {
        let at = prompt[..part.spot.range.start].rfind('\n').map_or(0, |line| line + 1);
        return Point::Inside { message: 0, at, lead: String::new(), trail: "\n".to_owned() };
    };
    match template.turn_start(prompt, part.spot.range.start) {
        Some(at) if template.can_write(role) => {
            let (lead, trail) = template.frame(prompt, role);
            Point::Inside { message: 0, at, lead, trail }
        }
        _ => Point::before(part, "\n\n"),
    }
}

/// After the last turn of the story in a text prompt.
pub(super) fn after_turn(prompt: &str, part: &Part, role: Role) -> Point {
    let Some(template) = instruct::template_of(prompt) else {
        return Point::after(part, "\n");
    };
    let end = part.spot.range.end;
    match template.next_turn(prompt, end) {
        Some(at) if template.can_write(role) => {
            let (lead, trail) = template.frame(prompt, role);
            Point::Inside { message: 0, at, lead, trail }
        }
        _ => Point::after(part, "\n\n"),
    }
}
