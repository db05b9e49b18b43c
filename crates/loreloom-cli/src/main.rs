//! The `loreloom` command: arguments and wiring.

mod allocator;
mod clock;
mod commands;
mod config;
mod dates;
mod edit;
mod embedding_table;
mod files;
mod limits;
mod logs;
mod lore;
mod model;
mod notes_folder;
mod open_files;
mod plural;
mod settings;
mod stage_trace;
mod store;
mod stored;
mod tokenizer;
mod vault;
mod vault_folder;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

use crate::commands::{Command, Different};

/// Lore and memory for long stories with language models.
#[derive(Debug, Parser)]
#[command(name = "loreloom", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// How much of a file is read: `text=64MB`, `entries=100000`; as often as needed. docs/books.md
    /// lists the limits
    #[arg(long, global = true, value_name = "NAME=VALUE", hide = true)]
    limit: Vec<limits::LimitArgument>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    logs::begin();
    let mut out = io::stdout().lock();
    let failure = arguments.command.failure();
    let done = limits::set(&arguments.limit).and_then(|()| arguments.command.run(&mut out));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has seen enough (`| head`) is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Different>() => ExitCode::from(1),
        Err(error) => {
            // Nothing is left to do if even the error cannot be printed.
            let _unwritten = writeln!(io::stderr(), "loreloom: {}", limits::error_text(&error));
            ExitCode::from(failure)
        }
    }
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
