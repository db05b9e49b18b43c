//! A point in a prompt where text can be put, and what must be around it there.

use crate::{assemble::PromptMark, chat::Role, instruct};

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
    pub(super) fn above(mark: &PromptMark, texts: &[&str], separator: &str) -> Self {
        let (start, _) = range(mark, texts);
        let (lead, trail) = (String::new(), separator.to_owned());
        Self::Inside { message: mark.message, at: start, lead, trail }
    }

    /// Below a piece, in the same message.
    pub(super) fn below(mark: &PromptMark, texts: &[&str], separator: &str) -> Self {
        let (_, end) = range(mark, texts);
        let (lead, trail) = (separator.to_owned(), String::new());
        Self::Inside { message: mark.message, at: end, lead, trail }
    }
}

/// The bytes of a piece; the end of its message if the text is another than was marked.
fn range(mark: &PromptMark, texts: &[&str]) -> (usize, usize) {
    let text = texts.get(mark.message).copied().unwrap_or_default();
    mark.range_in(text).unwrap_or((text.len(), text.len()))
}

/// Into the story string of a text prompt: its first line is the main prompt, its end the
/// end of the card.
pub(super) fn in_story_string(prompt: &str, head: &[PromptMark], at: usize) -> Point {
    let Some(story) = head.first() else {
        return Point::Inside { message: 0, at: 0, lead: String::new(), trail: "\n".to_owned() };
    };
    let (start, end) = range(story, &[prompt]);
    let line = prompt[start..end].find('\n').map(|length| start + length);
    match (at, line) {
        (0, _) => Point::above(story, &[prompt], "\n"),
        (1, Some(end)) if head.len() > 1 => {
            let lead = "\n".to_owned();
            Point::Inside { message: 0, at: end, lead, trail: String::new() }
        }
        _ => Point::below(story, &[prompt], "\n"),
    }
}

/// Before a turn of a text prompt, in the prompt's own separators.
pub(super) fn before_turn(prompt: &str, mark: &PromptMark, role: Role) -> Point {
    let (start, _) = range(mark, &[prompt]);
    let Some(template) = instruct::template_of(prompt) else {
        let at = prompt[..start].rfind('\n').map_or(0, |line| line + 1);
        return Point::Inside { message: 0, at, lead: String::new(), trail: "\n".to_owned() };
    };
    match template.turn_start(prompt, start) {
        Some(at) if template.can_write(role) => {
            let (lead, trail) = template.frame(prompt, role);
            Point::Inside { message: 0, at, lead, trail }
        }
        _ => Point::above(mark, &[prompt], "\n\n"),
    }
}

/// After the last turn of the story in a text prompt.
pub(super) fn after_turn(prompt: &str, mark: &PromptMark, role: Role) -> Point {
    let Some(template) = instruct::template_of(prompt) else {
        return Point::below(mark, &[prompt], "\n");
    };
    let (_, end) = range(mark, &[prompt]);
    match template.next_turn(prompt, end) {
        Some(at) if template.can_write(role) => {
            let (lead, trail) = template.frame(prompt, role);
            Point::Inside { message: 0, at, lead, trail }
        }
        _ => Point::below(mark, &[prompt], "\n\n"),
    }
}
