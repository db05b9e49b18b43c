//! The part of a chat that a request carries, cut into pieces.
//!
//! A piece is what was one message before the front end built its prompt: merged roles are
//! taken apart again, turns are read out of a text prompt, and everything before the chat
//! (main prompt, card, examples, marker) is kept apart as the preamble. Which pieces are
//! story is not decided here.

mod glue;
mod prompt;

use std::ops::Range;

use self::glue::Cut;
pub(crate) use self::prompt::is_filler;
use super::{
    Body, Request, WireMessage,
    following::Following,
    speakers::Speakers,
    text::{TextKey, bracketed, speaker},
};
use loreloom_core::chat::{Role, Text};

/// One piece of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its role, as far as the prompt shows.
    pub role: Role,
    /// The speaker, where certain.
    pub name: Option<String>,
    /// Its text without a certain speaker's name.
    pub text: Text,
    /// What names the text.
    pub key: TextKey,
    /// Whether it is a tool call or its result.
    pub tool: bool,
    /// Its place in the request.
    pub spot: Spot,
}

/// The place of a piece in the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The message; 0 in a text prompt.
    pub message: usize,
    /// The bytes of that message's text.
    pub range: Range<usize>,
}

/// How a prompt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a finished message.
    Closed,
    /// With a turn that has only been opened.
    Open(Role),
    /// In the middle of a message that the model is to go on with.
    Unfinished,
}

/// What the front end did to the roles of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing: every message is its own.
    Plain,
    /// Neighbours of one role are joined; late instructions may be the user's.
    Merged,
    /// All is one message of the user.
    Single,
    /// A text prompt whose instructions have a role of their own.
    Prompt,
    /// A text prompt whose instructions are written as the user's.
    PromptMerged,
}

impl Shape {
    /// Whether an instruction after the chat may look like the user's message.
    pub(super) fn hides_instructions(self) -> bool {
        matches!(self, Self::Merged | Self::PromptMerged)
    }
}

/// The pieces of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// What comes before the chat.
    pub preamble: Vec<Part>,
    /// The chat, with whatever is injected into it.
    pub parts: Vec<Part>,
    /// How it ends.
    pub end: End,
    /// How many pieces of examples the preamble has.
    pub examples: usize,
    /// What was done to the roles.
    pub shape: Shape,
}

impl Window {
    /// Cuts a request.
    pub(super) fn of(request: &Request, reader: PartReader<'_>) -> Self {
        match &request.body {
            Body::Messages(messages) => of_messages(messages, reader),
            Body::Prompt(prompt) => prompt::read(prompt, reader),
        }
    }
}

/// Reads pieces of a request: who speaks, and what is known already.
#[derive(Clone, Copy)]
pub(super) struct PartReader<'a> {
    pub(super) speakers: &'a Speakers,
    pub(super) known: &'a Following<'a>,
}

impl PartReader<'_> {
    /// A piece of a message.
    fn part(self, role: Role, name: Option<&str>, text: &str, spot: Spot) -> Part {
        self.message(role, name, &text.into(), spot)
    }

    /// A whole message. The part shares its text.
    fn message(self, role: Role, name: Option<&str>, text: &Text, spot: Spot) -> Part {
        let (prefix, words) = self.speakers.split(text);
        let text = text.cut_to(words);
        Part {
            role,
            name: name.or(prefix).map(|name| name.replace('_', " ")),
            key: self.known.key_of(role, &text),
            text,
            tool: false,
            spot,
        }
    }
}

/// Whether a text is the line that front ends put before a chat.
pub(super) fn is_start_marker(text: &str) -> bool {
    let text = text.trim_start();
    if !text.starts_with('[') {
        return false;
    }
    let begins =
        |with: &str| text.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    begins("[start a new chat") || begins("[start a new group chat")
}

pub(super) fn is_example_marker(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("[example chat]")
}

fn of_messages(messages: &[WireMessage], reader: PartReader<'_>) -> Window {
    let shape = shape_of(messages, reader.known);
    if let (Shape::Single, Some(message)) = (shape, messages.first()) {
        return glue::single(message, reader);
    }
    let leading = messages.iter().take_while(|m| m.role == Role::System && !m.tool).count();
    let parts = Vec::with_capacity(messages.len() - leading);
    let mut window = Window { preamble: Vec::new(), parts, end: End::Closed, examples: 0, shape };
    for (index, message) in messages.iter().enumerate() {
        let example = message.name.as_deref().is_some_and(|name| name.starts_with("example_"));
        if index < leading || example || is_start_marker(&message.text) {
            window.examples += usize::from(example);
            window.add_preamble(message, index, reader);
        } else {
            window.add_message(message, index, reader);
        }
    }
    window
}

impl Window {
    fn add_preamble(&mut self, message: &WireMessage, index: usize, reader: PartReader<'_>) {
        for range in glue::paragraphs(&message.text) {
            let text = &message.text[range.clone()];
            self.examples += usize::from(is_example_marker(text));
            let spot = Spot { message: index, range };
            self.preamble.push(reader.part(Role::System, None, text, spot));
        }
    }

    fn add_message(&mut self, message: &WireMessage, index: usize, reader: PartReader<'_>) {
        let name = message.name.as_deref();
        let story_text = message.story_text.as_ref().unwrap_or(&message.text);
        let whole = Spot { message: index, range: 0..message.text.len() };
        if message.tool {
            let part = reader.message(message.role, name, &message.text, whole);
            self.parts.push(Part { tool: true, ..part });
            return;
        }
        if story_text.chars().all(char::is_whitespace) {
            return;
        }
        let (separator, cut) = match (self.shape, message.role) {
            (Shape::Merged, Role::Assistant) => ("\n\n", Cut::AtNames),
            (Shape::Merged, Role::User) => ("\n\n", Cut::Everywhere),
            (Shape::Merged, Role::System | Role::Tool) => ("\n\n", Cut::Nowhere),
            // Squashed: a narrator's line may follow a note.
            (_, Role::System) => ("\n", Cut::Nowhere),
            _ => {
                self.parts.push(reader.message(message.role, name, story_text, whole));
                return;
            }
        };
        for range in glue::pieces(&message.text, separator, cut, reader.known) {
            let text = &message.text[range.clone()];
            let spot = Spot { message: index, range };
            self.parts.push(reader.part(message.role, name, text, spot));
        }
    }
}

/// Roles were merged if a marker, which front ends send as its own message, is inside a longer
/// one, or if pieces of a known preamble are.
fn shape_of(messages: &[WireMessage], known: &Following<'_>) -> Shape {
    let marked = |message: &WireMessage| {
        let ranges = glue::paragraphs(&message.text);
        let is_marker = |range: &Range<usize>| {
            let text = &message.text[range.clone()];
            is_start_marker(text) || is_example_marker(text)
        };
        let seen = |range: &&Range<usize>| {
            known.in_a_preamble(TextKey::of(&message.text[(*range).clone()]))
        };
        ranges.len() > 1 && (ranges.iter().any(is_marker) || ranges.iter().filter(seen).count() > 1)
    };
    let system = messages.iter().take_while(|message| message.role == Role::System).count();
    match messages {
        [only] if only.role == Role::User && marked(only) => Shape::Single,
        _ if system <= 1 && messages.first().is_some_and(marked) => Shape::Merged,
        _ => Shape::Plain,
    }
}

/// Whether a piece can be taken for an instruction by its looks.
pub(super) fn looks_like_instruction(part: &Part) -> bool {
    bracketed(&part.text)
}

/// Whether a piece names a speaker in its text.
pub(super) fn is_named(part: &Part) -> bool {
    part.name.is_some() || speaker(&part.text).is_some()
}
