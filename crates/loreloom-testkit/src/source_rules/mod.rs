//! The published matching rules of other programs, restated as plainly as possible.
//!
//! These functions are slow and obvious on purpose. They were written from the programs' public
//! sources before our own rules, and differential tests compare the engine with them. They hold
//! facts only: no line of those programs is in here.

pub mod kobold;
pub mod risu;
