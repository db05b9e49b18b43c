//! Tests of the crate from outside.

#![expect(clippy::unwrap_used, reason = "a test whose surroundings cannot be set up has failed")]

mod names;
mod placing;
mod templates;
