//! The clients against a scripted model server.

#![expect(clippy::unwrap_used, reason = "a test whose set-up fails should stop at once")]

mod model;
mod obsidian;
mod offline;
mod server;
mod upstream;
mod vault_select;
