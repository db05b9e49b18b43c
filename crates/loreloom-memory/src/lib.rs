//! Loreloom's memory: what a story remembers, as pure decisions, and the traits through
//! which the server reaches the outside world.
//!
//! Nothing here reads a clock or draws a random number, and only [`drive`] awaits. A pass is
//! a function of its input and of the answers it has been given ([`pass`]).

pub mod budget;
pub mod change;
pub mod cycle;
pub mod drive;
pub mod entities;
pub mod event;
pub mod hardware;
pub mod ids;
pub mod inject;
pub mod migrate;
mod number;
pub mod pass;
pub mod ports;
pub mod recall;
pub mod recap;
pub mod record;
pub mod rules;
pub mod schedule;
pub mod score;
pub mod search;
pub mod settings;
pub mod similarity;
pub mod text;
pub mod tiers;
pub mod turn;
pub mod verify;
pub mod window;
