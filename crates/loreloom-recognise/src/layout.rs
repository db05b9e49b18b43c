//! The outline of a recognised prompt, as placing needs it.

use super::{
    Body, KnownStories, Recognition, Request, Standing, WireMessage,
    text::bracketed,
    window::{Part, Shape, is_example_marker, is_start_marker},
};
use loreloom_core::{
    assemble::{Layout, PromptForm, PromptMark, Stands},
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
        let mut head: Vec<PromptMark> = self
            .window
            .preamble
            .iter()
            .map(|part| mark(request, part, head_stands(part)))
            .collect();
        if self.window.shape == Shape::Plain {
            // Each message is one piece: what its paragraphs are is the front end's affair.
            head.dedup_by_key(|mark| mark.message);
            for mark in &mut head {
                mark.range = None;
            }
        }
        let chat = self.window.parts.iter().zip(&self.standings);
        let chat = chat.map(|(part, standing)| mark(request, part, stands(part, *standing)));
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

fn mark(request: &Request, part: &Part, stands: Stands) -> PromptMark {
    let range = part.spot.range.clone();
    let length = match &request.body {
        Body::Messages(messages) => messages.get(part.spot.message).map(|one| one.text.len()),
        Body::Prompt(prompt) => Some(prompt.len()),
    };
    let range = (Some(range.len()) != length).then_some((range.start, range.end));
    PromptMark { message: part.spot.message, range, role: part.role, stands }
}

fn head_stands(part: &Part) -> Stands {
    if is_start_marker(&part.text) {
        Stands::Start
    } else if part.role != Role::System || is_example_marker(&part.text) {
        Stands::Example
    } else {
        Stands::Head
    }
}

fn stands(part: &Part, standing: Standing) -> Stands {
    match standing {
        Standing::Story => Stands::Story,
        Standing::Tool => Stands::Tool,
        Standing::Injected if bracketed(&part.text) => Stands::Note,
        Standing::Injected | Standing::Instruction | Standing::Prefill => Stands::Aside,
    }
}
