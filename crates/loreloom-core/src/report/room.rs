//! How a prompt fits into the model's context.

use serde::{Deserialize, Serialize};

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
