//! The history of chats: the state of a path, going back to a turn, and a chat as one document.
//!
//! [`fold`] and [`checks`] are the rules that all stores share; [`travel`] and [`archive`] work
//! on any [`StoryStore`](crate::StoryStore).

pub mod archive;
pub mod checks;
pub mod fold;
pub mod travel;
