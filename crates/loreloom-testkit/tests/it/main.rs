//! Rules that hold for the workspace as a whole, and checks of the testkit's own programs.

mod arrows;
mod cards;
mod crash;
mod house;
mod memory;
mod source_rules;
mod workspace;
