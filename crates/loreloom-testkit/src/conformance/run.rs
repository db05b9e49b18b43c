//! Walks a folder of cases, runs each and writes what came out.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Exceptions, ExceptionsError, first_difference};

/// Recorded cases of one peer.
pub trait Suite {
    /// The cases of a file: `None` for a file that holds none (a README, a table). Most
    /// files are one case; a file with an array of cases gives them in order.
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>>;

    /// The name of a case, as exceptions and baselines know it.
    fn name(&self, relative: &str, index: usize, cases: usize) -> String {
        let stem = relative.strip_suffix(".json").unwrap_or(relative);
        if cases == 1 { stem.to_owned() } else { format!("{stem}#{index}") }
    }

    /// The name of a case that carries its own; by default the name of its place.
    fn case_name(&self, _: &Value, relative: &str, index: usize, cases: usize) -> String {
        self.name(relative, index, cases)
    }

    /// The file that `--emit` writes for a case file.
    fn emitted(&self, relative: &str) -> String {
        relative.to_owned()
    }

    /// Our output for a case, in the shape of its `expected`.
    fn run(&self, case: &Value) -> Result<Value, String>;

    /// How our output differs from what the case expects.
    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        first_difference(case.get("expected").unwrap_or(&Value::Null), actual)
    }
}

/// How one case went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As expected.
    Passed,
    /// Not as expected: the first difference, or why it could not be run.
    Failed(String),
    /// Named as an exception.
    Skipped(String),
}

/// How a suite went: each case with its outcome, in order of name.
#[derive(Clone, Debug, Default)]
pub struct Summary(pub Vec<(String, Outcome)>);

impl Summary {
    /// The names of the cases that passed.
    pub fn passing(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(|(_, outcome)| *outcome == Outcome::Passed)
            .map(|(name, _)| name.as_str())
    }

    /// The cases that failed, each with its difference.
    pub fn failed(&self) -> Vec<String> {
        let difference = |(name, outcome): &(String, Outcome)| match outcome {
            Outcome::Failed(difference) => Some(format!("{name}: {difference}")),
            Outcome::Passed | Outcome::Skipped(_) => None,
        };
        self.0.iter().filter_map(difference).collect()
    }

    /// Passed, failed and skipped cases.
    pub fn counts(&self) -> (usize, usize, usize) {
        self.0.iter().fold((0, 0, 0), |(passed, failed, skipped), (_, outcome)| match outcome {
            Outcome::Passed => (passed + 1, failed, skipped),
            Outcome::Failed(_) => (passed, failed + 1, skipped),
            Outcome::Skipped(_) => (passed, failed, skipped + 1),
        })
    }
}

/// The cases could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file or folder.
    #[error("`{path}` cannot be read or written")]
    Io {
        /// Which.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The exceptions.
    #[error(transparent)]
    Exceptions(#[from] ExceptionsError),
    /// The folder has no case.
    #[error("`{path}` holds no case of this suite")]
    Empty {
        /// The folder.
        path: String,
    },
}

/// Runs all cases below `folder`; with `emit`, writes our outputs there under the same
/// relative paths.
pub fn run(
    suite: &dyn Suite,
    folder: &Path,
    exceptions: &Exceptions,
    emit: Option<&Path>,
) -> Result<Summary, RunError> {
    let mut summary = Summary::default();
    for path in files_below(folder)? {
        let relative =
            path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        #[expect(
            clippy::disallowed_methods,
            reason = "the runner is a program; the path is in the error"
        )]
        let bytes = fs::read(&path).map_err(|source| io_error(&path, source))?;
        let Some(cases) = suite.cases(&relative, &bytes) else { continue };
        let outputs = run_file(suite, &relative, cases, exceptions, &mut summary);
        if let Some(out) = emit {
            write(&out.join(suite.emitted(&relative)), &outputs)?;
        }
    }
    if summary.0.is_empty() {
        return Err(RunError::Empty { path: folder.display().to_string() });
    }
    Ok(summary)
}

fn run_file(
    suite: &dyn Suite,
    relative: &str,
    cases: Result<Vec<Value>, String>,
    exceptions: &Exceptions,
    summary: &mut Summary,
) -> Value {
    let cases = match cases {
        Ok(cases) => cases,
        Err(error) => {
            summary.0.push((suite.name(relative, 0, 1), Outcome::Failed(error.clone())));
            return json!({ "skipped": error });
        }
    };
    let count = cases.len();
    let mut outputs = Vec::with_capacity(count);
    for (index, case) in cases.iter().enumerate() {
        let name = suite.case_name(case, relative, index, count);
        let actual = run_case(suite, case);
        let outcome = match (&actual, exceptions.reason(&name)) {
            (_, Some(reason)) => Outcome::Skipped(reason.to_owned()),
            (Ok(actual), None) => {
                suite.difference(case, actual).map_or(Outcome::Passed, Outcome::Failed)
            }
            (Err(error), None) => Outcome::Failed(error.clone()),
        };
        outputs.push(actual.unwrap_or_else(|error| json!({ "skipped": error })));
        summary.0.push((name, outcome));
    }
    if count == 1 { outputs.remove(0) } else { Value::Array(outputs) }
}

/// A panic is a failed case, not the end of the run.
fn run_case(suite: &dyn Suite, case: &Value) -> Result<Value, String> {
    catch_unwind(AssertUnwindSafe(|| suite.run(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("no message")))
    })
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|source| io_error(&folder, source))?;
        for entry in entries {
            let path = entry.map_err(|source| io_error(&folder, source))?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

fn write(path: &Path, value: &Value) -> Result<(), RunError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
    }
    let mut text = format!("{value:#}");
    text.push('\n');
    #[expect(
        clippy::disallowed_methods,
        reason = "emitted files are throw-away; the path is in the error"
    )]
    fs::write(path, text).map_err(|source| io_error(path, source))
}

fn io_error(path: &Path, source: io::Error) -> RunError {
    RunError::Io { path: path.display().to_string(), source }
}
