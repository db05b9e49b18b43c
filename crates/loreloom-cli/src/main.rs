//! The `loreloom` command.

fn main() {}
