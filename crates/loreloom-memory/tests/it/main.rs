//! Properties of memory that hold for every input.

mod budgets;
mod cycle;
mod nothing_lost;
mod parsers;
mod passes;
mod scene_breaks;
mod slots;
mod story;
