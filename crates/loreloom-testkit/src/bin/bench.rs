//! `bench [NAME…] [--json]`: runs benchmarks.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use loreloom_testkit::bench::{self, Printer};

fn main() -> ExitCode {
    let (flags, mut names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| *flag != "--json") {
        return fail(&format!("unknown option `{flag}`; usage: bench [NAME…] [--json]"));
    }
    if names.is_empty() {
        names = bench::NAMES.map(str::to_owned).to_vec();
    }
    let mut printer = Printer::new(io::stdout().lock(), !flags.is_empty());
    for name in &names {
        let mut unwritten = None;
        let result = bench::run(name, &mut |figure| {
            unwritten = unwritten.take().or(printer.print(&figure).err());
        });
        match (result, unwritten) {
            (Ok(()), None) => {}
            (Err(error), _) => return fail(&error),
            (Ok(()), Some(error)) => return fail(&error.to_string()),
        }
    }
    ExitCode::SUCCESS
}

fn fail(error: &str) -> ExitCode {
    // Nothing is left to do if even the error cannot be told.
    let _unwritten = writeln!(io::stderr(), "bench: {error}");
    ExitCode::FAILURE
}
