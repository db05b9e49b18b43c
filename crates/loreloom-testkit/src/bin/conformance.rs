//! `conformance --suite NAME DIR [--emit OUT] [--passing FILE]`: runs recorded cases.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use loreloom_testkit::{
    conformance::{Exceptions, Outcome, Summary, run},
    suites,
};

const USAGE: &str = "usage: conformance --suite worldinfo|vault|memory|formats|traffic|cards DIR [--emit OUT] [--passing FILE]";

struct Arguments {
    suite: String,
    folder: PathBuf,
    emit: Option<PathBuf>,
    passing: Option<PathBuf>,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|arguments| execute(&arguments)) {
        Ok(summary) if summary.counts().1 == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to do if even the error cannot be printed.
            let _unwritten = writeln!(io::stderr(), "conformance: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut suite, mut folder, mut emit, mut passing) = (None, None, None, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            "--suite" => suite = Some(value()?),
            "--emit" => emit = Some(PathBuf::from(value()?)),
            "--passing" => passing = Some(PathBuf::from(value()?)),
            _ if folder.is_none() && !word.starts_with('-') => folder = Some(PathBuf::from(word)),
            _ => return Err(format!("unknown argument `{word}`\n{USAGE}")),
        }
    }
    match (suite, folder) {
        (Some(suite), Some(folder)) => Ok(Arguments { suite, folder, emit, passing }),
        _ => Err(USAGE.to_owned()),
    }
}

fn execute(arguments: &Arguments) -> Result<Summary, String> {
    let suite = suites::named(&arguments.suite).ok_or_else(|| {
        format!(
            "there is no suite `{}`; the suites are: {}",
            arguments.suite,
            suites::NAMES.join(", ")
        )
    })?;
    // The project's own list: cases run from elsewhere have the same exceptions.
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance");
    let exceptions = PathBuf::from(project).join(&arguments.suite).join("EXCEPTIONS.md");
    let exceptions = Exceptions::read(&exceptions).map_err(|error| error.to_string())?;
    let summary = run(suite.as_ref(), &arguments.folder, &exceptions, arguments.emit.as_deref())
        .map_err(|error| describe(&error))?;
    print(&summary).map_err(|error| format!("the result cannot be printed: {error}"))?;
    if let Some(path) = &arguments.passing {
        let names: Vec<&str> = summary.passing().collect();
        let names = names.join("\n") + "\n";
        #[expect(clippy::disallowed_methods, reason = "the path is in the error")]
        std::fs::write(path, names).map_err(|error| format!("`{}`: {error}", path.display()))?;
    }
    Ok(summary)
}

fn describe(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn print(summary: &Summary) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, outcome) in &summary.0 {
        match outcome {
            Outcome::Passed => {}
            Outcome::Failed(difference) => writeln!(out, "fail {name}: {difference}")?,
            Outcome::Skipped(reason) => writeln!(out, "skip {name}: {reason}")?,
        }
    }
    let (passed, failed, skipped) = summary.counts();
    writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")
}
