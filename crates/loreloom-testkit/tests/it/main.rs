//! Checks of the testkit's own programs.

mod crash;
