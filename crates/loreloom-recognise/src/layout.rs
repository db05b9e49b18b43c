//! The outline of a recognised prompt, as placing needs it.

use super::{
    Body, KnownStories, Recognition, Request, Standing, WireMessage,
    text::bracketed,
    window::{Part, Shape, is_example_marker, is_start_marker},
};
use loreloom_core::{
    assemble::{Layout, MarkKind, PromptForm, PromptMark},
    chat::{GenerationType, Role},
    prompt::PromptMessage,
};

impl Recognition {
    /// The outline of the request that this was recognised in. `strict` keeps the roles as
    /// they alternate.
    pub fn layout(&self, request: &Request, strict: bool) -> Layout {
        let form = match self.window.shape {
            Shape::Prompt | Shape::PromptMerged => PromptForm::Text,
            Shape::Single => PromptForm::Single,
            Shape::Merged => PromptForm::Alternating,
            Shape::Plain if strict => PromptForm::Alternating,
            Shape::Plain => PromptForm::Messages,
        };
        let mut head: Vec<PromptMark> =
            self.window.preamble.iter().map(|part| mark(request, part, head_kind(part))).collect();
        if self.window.shape == Shape::Plain {
            // Each message is one piece: what its paragraphs are is the front end's affair.
            head.dedup_by_key(|mark| mark.message);
            for mark in &mut head {
                mark.range = None;
            }
        }
        let chat = self.window.parts.iter().zip(&self.standings);
        let chat = chat.map(|(part, standing)| mark(request, part, kind(part, *standing)));
        Layout {
            form,
            continues: self.generation == GenerationType::Continue,
            head,
            chat: chat.collect(),
            ..Layout::default()
        }
    }
}

/// The outline of a prompt of which nothing else is known. `strict` keeps the roles as
/// they alternate.
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

fn kind(part: &Part, standing: Standing) -> MarkKind {
    match standing {
        Standing::Story => MarkKind::Story,
        Standing::Tool => MarkKind::Tool,
        Standing::Injected if bracketed(&part.text) => MarkKind::Note,
        Standing::Injected | Standing::Instruction | Standing::Prefill => MarkKind::Aside,
    }
}
