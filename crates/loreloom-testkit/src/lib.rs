//! Development only: what the tests of several crates share, and the conformance runner.

pub mod bench;
pub mod conformance;
pub mod faults;
pub mod fleet;
pub mod locomo;
pub mod memory_suite;
pub mod model_server;
pub mod obsidian_server;
pub mod outage;
pub mod postgres;
mod real_server;
pub mod recall_languages;
pub mod recall_own;
pub mod soak;
pub mod source_rules;
pub mod store_suite;
pub mod suites;
