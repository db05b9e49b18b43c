//! The real binary, as a person runs it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose surroundings cannot be set up has failed"
)]

mod books;
mod burst;
mod by_hand;
mod care;
mod characters;
mod connections;
mod crossing;
mod demo;
mod features;
mod help;
mod hostile;
mod hostile_files;
mod keys;
mod living;
mod logs;
mod lore_tests;
mod memory;
mod outages;
mod own_connections;
mod own_vectors;
mod reading;
mod run;
mod serve;
mod server_settings;
mod settings;
mod stored_turns;
mod stories;
mod two_servers;
mod unwrap;
mod vault;
mod weave;
