//! The built-in storyteller, for a first look without any model.
//!
//! It is not a language model. It finds in the prompt who speaks next, what was said last, and which
//! sentences of the lore are about that. The character or the narrator says those sentences, with a
//! few words around them. So a demo shows at once whether lore reached the prompt. The same request
//! always gives the same reply.

mod asked;
mod completions;
mod embeddings;
mod model;
mod narrate;
mod notes;
mod ollama;
mod phrases;
mod prompts;
mod relate;
mod responses;
mod scene;
mod sentences;
mod upstream;

pub use self::{
    model::{OFFLINE_MODEL, OfflineModel},
    upstream::OfflineUpstream,
};
