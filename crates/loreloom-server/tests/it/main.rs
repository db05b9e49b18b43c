//! The server against the scripted model server, over real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose surroundings cannot be set up has failed"
)]

mod api;
mod endpoints;
mod harness;
mod proxy;
mod remembering;
mod story;
mod traffic;
mod wrap;
