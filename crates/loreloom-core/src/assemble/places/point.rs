//! A point in a prompt where text can be put, and what must be around it there.

use crate::{
    assemble::PromptMark,
    chat::Role,
    instruct::{self, Template, TextTurn},
};

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

/// A text prompt with what is known of its chat.
#[derive(Clone, Copy)]
pub(super) struct TextPrompt<'a> {
    pub(super) text: &'a str,
    pub(super) chat: &'a [PromptMark],
}

impl TextPrompt<'_> {
    /// Before a turn, in the prompt's own separators.
    pub(super) fn before(self, mark: &PromptMark, role: Role) -> Point {
        let (start, _) = range(mark, &[self.text]);
        let Some(template) = instruct::template_of(self.text) else {
            let at = self.text[..start].rfind('\n').map_or(0, |line| line + 1);
            return Point::Inside { message: 0, at, lead: String::new(), trail: "\n".to_owned() };
        };
        let turns = self.turns(template);
        let turn = turns.iter().rfind(|turn| turn.start <= start);
        self.framed(template, &turns, (turn.map_or(0, |turn| turn.start), role))
    }

    /// After the last turn of the story.
    pub(super) fn after(self, mark: &PromptMark, role: Role) -> Point {
        let Some(template) = instruct::template_of(self.text) else {
            return Point::below(mark, &[self.text], "\n");
        };
        let (_, end) = range(mark, &[self.text]);
        let turns = self.turns(template);
        let next = turns.iter().find(|turn| turn.start >= end);
        self.framed(template, &turns, (next.map_or(self.text.len(), |turn| turn.start), role))
    }

    /// The turns, with the roles of the chat: the template alone does not know whose a name is.
    fn turns(self, template: &Template) -> Vec<TextTurn> {
        let mut turns = instruct::turns(self.text, template, |_| false);
        for mark in self.chat {
            let (start, _) = range(mark, &[self.text]);
            let at = turns.partition_point(|turn| turn.start <= start);
            if let Some(turn) = at.checked_sub(1).and_then(|at| turns.get_mut(at)) {
                turn.role = mark.role;
            }
        }
        turns
    }

    /// A turn of its own at a byte of the prompt.
    fn framed(self, template: &Template, turns: &[TextTurn], (at, role): (usize, Role)) -> Point {
        let role = template.writes_as(self.text, role);
        let (lead, trail) = template.frame(self.text, turns, role);
        Point::Inside { message: 0, at, lead, trail }
    }
}
