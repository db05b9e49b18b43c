//! The clients against a scripted model server.

#![expect(clippy::unwrap_used, reason = "a test whose set-up fails should stop at once")]

mod diagnose;
mod model;
mod obsidian;
mod offline;
mod reach;
mod server;
mod steady;
mod upstream;
