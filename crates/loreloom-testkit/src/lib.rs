//! Development only: fixtures and suites that several crates test with.

pub mod store_suite;
