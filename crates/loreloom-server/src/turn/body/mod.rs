//! The body of a request: its prompt is read and changed, all else stays byte for byte.

mod limits;
mod message;
mod own;
mod raw;
mod write;

use bytes::Bytes;
use http::{HeaderMap, Method};
use loreloom_core::{
    assemble::Plan,
    cache_placement::CacheMark,
    chat::Role,
    instruct::{Template, template_of},
    prompt::PromptMessage,
    room::Cut,
    turn::StoryContext,
};
use loreloom_formats::JsonEdits;
use loreloom_recognise::{
    Body as Prompt, Request, WireMessage,
    wire::{self, PromptField, WireBody, outline::Outline},
};
use memchr::memmem;

pub(crate) use self::limits::StatedLimits;
use crate::half_pairs::without_half_pairs;

/// Our own field in a body. It is read and never sent on.
const OWN_FIELD: &str = "loreloom";

/// A body that asks for text.
pub(super) struct RequestBody {
    /// The bytes of the request.
    came: Bytes,
    /// Whether it has our own field.
    has_own: bool,
    /// Where its parts are.
    outline: Outline,
    /// Where the prompt is.
    field: PromptField,
    /// The request as the recogniser reads it.
    pub(super) request: Request,
    /// The model it asks for.
    pub(super) model: Option<String>,
    /// What it states about the story besides its messages.
    pub(super) stated: StoryContext,
    /// The limits that it states.
    pub(super) limits: StatedLimits,
    /// What is wrong with our own field or headers.
    pub(super) complaint: Option<String>,
}

/// Why a body is sent on unchanged.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    /// It is compressed.
    #[error("the body is compressed")]
    Compressed,
    /// It is not a JSON object.
    #[error("the body is not a JSON object")]
    NotAnObject,
    /// It has no prompt that could be woven into.
    #[error("the body has neither `messages` nor one `prompt` or `input`")]
    NoPrompt,
}

impl RequestBody {
    /// Reads a body.
    pub(super) fn read(path: &str, headers: &HeaderMap, came: &Bytes) -> Result<Self, Unreadable> {
        if headers.get("content-encoding").is_some_and(|encoding| encoding != "identity") {
            return Err(Unreadable::Compressed);
        }
        let came = without_half_pairs(came);
        let text = std::str::from_utf8(&came).map_err(|_| Unreadable::NotAnObject)?;
        let (body, outline) = WireBody::read(text).ok_or(Unreadable::NotAnObject)?;
        let field = body.field().ok_or(Unreadable::NoPrompt)?;
        let (model, own) = (body.model.clone(), body.own.clone());
        // Names of chats may be any UTF-8, and clients do not escape them.
        let header = |name: &str| {
            headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
        };
        let request = wire::read(Method::POST.as_str(), path, header, body);
        let request = request.ok_or(Unreadable::NoPrompt)?;
        let (stated, misstated) = own.as_ref().map(own::stated).unwrap_or_default();
        let complaint = own.as_ref().and_then(own::complaint).or(misstated);
        let complaint = complaint.or_else(|| own::misheaded(headers));
        let limits = StatedLimits::of(&raw::RawFields::over(text, &outline));
        let has_own = own.is_some();
        Ok(Self { came, has_own, outline, field, request, model, stated, limits, complaint })
    }

    /// Takes out the prompt as reports show it: a text prompt is one message.
    pub(super) fn take_prompt(&mut self) -> Vec<PromptMessage> {
        match &mut self.request.body {
            Prompt::Messages(messages) => {
                let message = |message: WireMessage| PromptMessage {
                    role: message.role,
                    name: message.name,
                    content: message.text,
                };
                std::mem::take(messages).into_iter().map(message).collect()
            }
            Prompt::Prompt(text) => {
                vec![PromptMessage {
                    role: Role::User,
                    name: None,
                    content: std::mem::take(text).into(),
                }]
            }
        }
    }

    /// The texts of the prompt's messages.
    pub(super) fn texts(&self) -> Vec<&str> {
        match &self.request.body {
            Prompt::Messages(messages) => messages.iter().map(|one| one.text.as_str()).collect(),
            Prompt::Prompt(text) => vec![text],
        }
    }

    /// Whether the prompt is a text to be completed.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.request.body, Prompt::Prompt(_))
    }

    /// The template of a prompt that is one text, if it is known.
    pub(super) fn template(&self) -> Option<&'static Template> {
        match &self.request.body {
            Prompt::Prompt(text) => template_of(text),
            Prompt::Messages(_) => None,
        }
    }

    /// How many of its messages nothing can be put before.
    pub(super) fn fixed(&self) -> usize {
        usize::from(self.field == PromptField::Input { instructed: true })
    }

    /// Leaves the oldest messages out of the prompt.
    pub(super) fn leave_out(&mut self, cut: &Cut) {
        // It was read as text.
        let text = std::str::from_utf8(&self.came).unwrap_or_default();
        let shorter = write::shortened(text, &self.outline, self.field, cut);
        let Some(outline) = Outline::of(&shorter) else { return };
        (self.came, self.outline, self.has_own) = (Bytes::from(shorter), outline, false);
    }

    /// The body with a plan applied to its prompt and breakpoints for the prompt cache. If there
    /// is nothing to do, the body stays byte for byte.
    pub(super) fn woven(self, plan: &Plan, breakpoints: &[CacheMark]) -> Bytes {
        // It was read as text.
        let text = std::str::from_utf8(&self.came).unwrap_or_default();
        let changes = self.has_own || !plan.is_empty();
        let woven = changes.then(|| write::woven(text, &self.outline, self.field, plan));
        let marked = write::marked(woven.as_deref().unwrap_or(text), self.field, breakpoints);
        match marked.or(woven) {
            Some(text) => Bytes::from(text),
            None => self.came,
        }
    }
}

/// The model a request asks for: in its body (Ollama also calls it `name`), or at the end of
/// its path.
pub(crate) fn model_of(path: &str, body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Asks {
        model: Option<String>,
        name: Option<String>,
    }
    if let Some((_, model)) = path.split_once("/models/") {
        return Some(model.to_owned());
    }
    let Asks { model, name } = serde_json::from_slice(body).ok()?;
    model.or(name)
}

/// A body for another model, which `change` returns; `None` if the model stays.
pub(crate) fn with_model(
    text: &str,
    mut change: impl FnMut(&str) -> Option<String>,
) -> Option<String> {
    let fields = raw::RawFields::of(text)?;
    let written = ["model", "name"].into_iter().find_map(|field| fields.get(field))?;
    let model: String = serde_json::from_str(written).ok()?;
    let mut edits = JsonEdits::default();
    edits.replace(raw::range_of(written, text), raw::quoted(&change(&model)?));
    Some(edits.apply(text))
}

/// A body without our own field.
pub(crate) fn without_own_field(came: &Bytes) -> Bytes {
    let holds = memmem::find(came, OWN_FIELD.as_bytes()).is_some();
    let text = std::str::from_utf8(came).ok().filter(|_| holds);
    match text.and_then(|text| raw::without(text, OWN_FIELD)) {
        Some(stripped) => Bytes::from(stripped),
        None => came.clone(),
    }
}

#[cfg(test)]
mod tests;
