//! Rules that hold for the workspace as a whole, and checks of the testkit's own programs.

mod arrows;
mod cards;
mod crash;
mod house;
mod memory;
mod recall;
mod source_rules;
mod walls;
mod workspace;
