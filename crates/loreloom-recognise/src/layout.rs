//! The layout of a recognised prompt: where lore can be placed.

use std::ops::Range;

use super::{
    Body, KnownStories, PartKind, Recognition, Request, WireMessage,
    named_turns::{SEPARATOR, is_separator},
    text::bracketed,
    window::{Part, Shape, is_example_marker, is_filler, is_start_marker},
};
use loreloom_core::{
    assemble::{Layout, MarkKind, PromptForm, PromptMark},
    chat::{GenerationType, Role},
    instruct::trimmed,
    prompt::PromptMessage,
};

impl Recognition {
    /// The layout of the recognised request. `strict` keeps the roles alternating.
    pub fn layout(&self, request: &Request, strict: bool) -> Layout {
        let form = match self.window.shape {
            Shape::Prompt | Shape::PromptMerged => PromptForm::Text,
            Shape::Single => PromptForm::Single,
            Shape::Merged => PromptForm::Alternating,
            Shape::Plain if strict => PromptForm::Alternating,
            Shape::Plain => PromptForm::Messages,
        };
        let head = self.window.preamble.iter().map(|part| mark(request, part, head_kind(part)));
        let mut head: Vec<PromptMark> = head.collect();
        if let (PromptForm::Text, Body::Prompt(prompt)) = (form, &request.body) {
            self.mark_story_string(prompt, &mut head);
        }
        if self.window.shape == Shape::Plain {
            // Each message is one piece, whatever paragraphs it has.
            head.dedup_by_key(|mark| mark.message);
            for mark in &mut head {
                mark.range = None;
            }
        }
        let chat = self.window.parts.iter().zip(&self.part_kinds);
        let chat = chat.map(|(part, kind)| mark(request, part, mark_kind(part, *kind)));
        Layout {
            form,
            continues: self.generation == GenerationType::Continue,
            system_inside: self.window.shape == Shape::Merged && has_system_inside(request),
            head,
            chat: chat.collect(),
            ..Layout::default()
        }
    }
}

impl Recognition {
    /// Marks main prompt and card in the story string of a text prompt, which is its first piece
    /// whatever its role: the card begins with the line that begins with the character's name, or
    /// with the second line.
    fn mark_story_string(&self, prompt: &str, head: &mut Vec<PromptMark>) {
        let Some(first) = self.window.preamble.first() else { return };
        let examples = head.iter().rposition(|mark| mark.kind == MarkKind::Example);
        for (at, (part, mark)) in self.window.preamble.iter().zip(head.iter_mut()).enumerate() {
            if is_filler(&part.text) {
                mark.kind = MarkKind::Start;
            } else if is_separator(&part.text) {
                let before_examples = examples.is_some_and(|last| at < last);
                mark.kind = if before_examples { MarkKind::Example } else { MarkKind::Start };
            }
        }
        let (start, end) = story_string(prompt, first.spot.range.clone());
        let lines = prompt[start..end].match_indices('\n').map(|(at, _)| start + at + 1);
        let lines: Vec<usize> = lines.collect();
        let char = self.speakers.next.as_deref().unwrap_or_default();
        let names = |at: &usize| !char.is_empty() && prompt[*at..end].starts_with(char);
        let card = lines.iter().find(|at| names(at)).or(lines.first()).copied();
        let card = card.filter(|_| !names(&start));
        let piece = |start: usize, end: usize| {
            let range = trimmed(prompt, start..end);
            let range = Some((range.start, range.end));
            PromptMark { message: 0, range, role: Role::System, kind: MarkKind::Head }
        };
        let pieces = match card {
            Some(card) => vec![piece(start, card), piece(card, end)],
            None => vec![piece(start, end)],
        };
        head.splice(..1, pieces);
    }
}

/// Whether there is a system message after the first other message.
fn has_system_inside(request: &Request) -> bool {
    let Body::Messages(messages) = &request.body else { return false };
    let mut chat = messages.iter().skip_while(|message| message.role == Role::System);
    chat.any(|message| message.role == Role::System)
}

/// What templates write around the story string inside of its turn.
const AROUND: [(&str, &str); 3] =
    [("<<SYS>>", "<</SYS>>"), ("BEGINNING OF CONVERSATION:", ""), ("[gMASK]<sop>", "")];

/// The bytes of the story string itself in its turn.
fn story_string(prompt: &str, turn: Range<usize>) -> (usize, usize) {
    let text = &prompt[turn.clone()];
    let (mut start, mut end) = (turn.start, turn.end);
    for (before, after) in AROUND {
        if !text.starts_with(before) {
            continue;
        }
        start = turn.start + before.len();
        if let Some(at) = prompt[start..end].rfind(after).filter(|_| !after.is_empty()) {
            end = start + at;
        }
    }
    // Without an end of its own it goes on with the line that parts it from the chat.
    let range = trimmed(prompt, start..end);
    let own = prompt[range.clone()]
        .strip_suffix(SEPARATOR)
        .map_or(range.end, |own| range.start + own.len());
    let range = trimmed(prompt, range.start..own);
    (range.start, range.end)
}

/// The layout of a prompt without a known story. `strict` keeps the roles alternating.
pub fn layout_of(prompt: &[PromptMessage], strict: bool) -> Layout {
    let message = |message: &PromptMessage| WireMessage {
        role: message.role,
        name: message.name.clone(),
        text: message.content.clone(),
        tool: message.role == Role::Tool,
        ..WireMessage::default()
    };
    let body = Body::Messages(prompt.iter().map(message).collect());
    let request = Request { body, ..Request::default() };
    KnownStories::new().recognise(&request).layout(&request, strict)
}

fn mark(request: &Request, part: &Part, kind: MarkKind) -> PromptMark {
    let range = part.spot.range.clone();
    let length = match &request.body {
        Body::Messages(messages) => messages.get(part.spot.message).map(|one| one.text.len()),
        Body::Prompt(prompt) => Some(prompt.len()),
    };
    let range = (Some(range.len()) != length).then_some((range.start, range.end));
    PromptMark { message: part.spot.message, range, role: part.role, kind }
}

fn head_kind(part: &Part) -> MarkKind {
    if is_start_marker(&part.text) {
        MarkKind::Start
    } else if part.role != Role::System || is_example_marker(&part.text) {
        MarkKind::Example
    } else {
        MarkKind::Head
    }
}

fn mark_kind(part: &Part, kind: PartKind) -> MarkKind {
    match kind {
        PartKind::Story => MarkKind::Story,
        PartKind::Tool => MarkKind::Tool,
        PartKind::Note => MarkKind::Note,
        PartKind::Injected if bracketed(&part.text) => MarkKind::Note,
        PartKind::Injected | PartKind::Instruction | PartKind::Prefill => MarkKind::Aside,
    }
}
