//! Loreloom's memory, and the traits through which the server reaches the outside world.

pub mod ports;
