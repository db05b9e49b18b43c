//! How a prompt fits into the model's context.

use serde::{Deserialize, Serialize};

use super::words::count;
use crate::{chat::Role, place::Provenance, units::Tokens};

/// How a prompt fits into the model's context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RoomUse {
    /// The size of the context.
    pub context: Tokens,
    /// Whether a setting, the request or the model's server stated that size. If not, it is
    /// assumed, and nothing gives way.
    pub stated: bool,
    /// What is kept free for the reply.
    pub reply: Tokens,
    /// The tokens of the prompt, where they were counted. With an assumed size they are
    /// estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Tokens>,
    /// By how many tokens the prompt is too long after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Tokens>,
    /// The oldest messages of the chat that were not sent. They stay in the stored story.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutMessage>,
    /// The lore and memory that gave way, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
}

impl RoomUse {
    /// In plain English, a line for each thing.
    pub fn lines(&self) -> Vec<String> {
        let Self { context, reply, prompt, left_out, given_up, .. } = self;
        let mut lines = Vec::new();
        if let Some(prompt) = prompt {
            lines
                .push(format!("prompt: {prompt} tokens, {reply} for the reply, context {context}"));
        }
        if !left_out.is_empty() {
            let tokens: Tokens = left_out.iter().map(|one| one.tokens).sum();
            let count = count(u32::try_from(left_out.len()).unwrap_or(u32::MAX), "message");
            lines.push(format!("left out for room: the oldest {count}, {tokens} tokens"));
        }
        if !given_up.is_empty() {
            let tokens: Tokens = given_up.iter().map(|one| one.tokens).sum();
            let count = count(u32::try_from(given_up.len()).unwrap_or(u32::MAX), "text");
            lines.push(format!("gave way for room: {count} of lore and memory, {tokens} tokens"));
        }
        lines.extend(self.too_long());
        lines
    }

    /// That the prompt is too long, in plain English; `None` if it fits.
    pub fn too_long(&self) -> Option<String> {
        let Self { context, reply, prompt, over, stated, .. } = self;
        let (over, prompt) = (over.as_ref()?, prompt.unwrap_or_default());
        let size = if *stated { "is" } else { "is not stated and assumed to be" };
        Some(format!(
            "the prompt may be {over} tokens too long: it has {prompt}, {reply} are for the \
             reply, and the context {size} {context}"
        ))
    }
}

/// A message of the chat that was not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LeftOutMessage {
    /// Its role.
    pub role: Role,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its first words.
    pub begins: String,
}

/// A text that gave way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct GivenUp {
    /// Where the text comes from.
    pub source: Provenance,
    /// Its tokens.
    pub tokens: Tokens,
}
