//! Development only: fixtures, the conformance runner and what tests share.

pub mod conformance;
pub mod suites;
