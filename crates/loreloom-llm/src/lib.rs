//! Model connections.

pub mod connection;
pub mod embed;
pub mod offline;
pub mod secret;
pub mod sse;
pub mod think;
pub mod tokenizers;
pub mod upstream;
