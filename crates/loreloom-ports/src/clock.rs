//! The time of day, as an input.

use loreloom_core::units::Timestamp;

/// The current time. Tests use a clock that does not move.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
