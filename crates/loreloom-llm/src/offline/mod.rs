//! The built-in storyteller, for a first look without any model.
//!
//! It is no language model. It reads the prompt as a player would: who is to speak, what
//! was said last, and which sentences of the lore have to do with it. Those it puts into
//! the character's mouth, or into the narration, between a few words of its own. So a demo
//! shows at once whether lore reached the prompt. The same request always gives the same
//! reply.

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
