//! Rules that hold for the workspace as a whole rather than for one crate.

mod arrows;
mod house;
mod workspace;
