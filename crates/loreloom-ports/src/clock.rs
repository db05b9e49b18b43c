//! The time of day, as an input.

use loreloom_core::units::Timestamp;

/// Tells the time. Tests hand in a clock that stands still.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
