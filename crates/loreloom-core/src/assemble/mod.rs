//! Putting injections into a prompt.
//!
//! A prompt is either built by us from a [`PromptTemplate`], or arrives ready-made from a
//! front end and gets its lore by a [`Plan`] made for its [`Layout`]. Both join the texts of
//! one place the same way and say where each of them ended up.

mod inside;
mod join;
mod layout;
mod markers;
mod outline;
mod places;
mod plan;
mod seams;
mod template;
mod template_names;

use serde::{Deserialize, Serialize};

pub use self::{
    join::{Joined, JoinedPiece},
    layout::{Layout, MarkKind, PromptForm, PromptMark},
    outline::{ChatPiece, outline},
    plan::{Insertion, Plan, PromptEdit},
    seams::{Marker, Seams},
    template::{PromptBlock, PromptTemplate, PromptTexts, build},
    template_names::TemplateError,
};
use crate::{prompt::PromptMessage, report::Span};

/// A finished prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assembled {
    /// The messages to send.
    pub messages: Vec<PromptMessage>,
    /// Where each injected text is.
    pub spans: Vec<Span>,
}
