//! Runs recorded cases and says where we differ.
//!
//! A case file is read exactly as it is. A suite turns one case into the actual output in
//! the shape of `expected`; everything else (files, arrays of cases, exceptions, emitting,
//! counting) is the same for all suites and lives here.

mod difference;
mod exceptions;
mod run;

pub use self::{
    difference::first_difference,
    exceptions::{Exceptions, ExceptionsError},
    run::{Outcome, RunError, Suite, Summary, run},
};
