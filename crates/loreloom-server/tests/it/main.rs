//! The server against the scripted model server, over real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose surroundings cannot be set up has failed"
)]

mod api;
mod cache;
mod choosing;
mod connections;
mod endpoints;
mod exercise;
mod grounding;
mod harness;
mod http_edges;
mod hygiene;
mod long_story;
mod meaning;
mod natural_replies;
mod noting;
mod playing;
mod proxy;
mod remembering;
mod responses;
mod room;
mod safety;
mod shrinking;
mod sillytavern;
mod slots;
mod story;
mod story_context;

mod traffic;
mod vault_select;
mod wrap;
