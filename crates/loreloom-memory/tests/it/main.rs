//! Properties of memory that hold for every input.

mod budgets;
mod nothing_lost;
mod parsers;
mod story;
