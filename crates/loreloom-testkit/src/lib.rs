//! Development only: what the tests of several crates share, and the conformance runner.

pub mod bench;
pub mod conformance;
pub mod faults;
pub mod locomo;
pub mod memory_suite;
pub mod model_server;
pub mod obsidian_server;
pub mod outage;
pub mod postgres;
pub mod source_rules;
pub mod store_suite;
pub mod suites;
