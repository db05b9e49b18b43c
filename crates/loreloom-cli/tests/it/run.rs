//! Running the binary.

use std::{
    path::Path,
    process::{Command, Output},
};

/// The binary with its arguments, in a home of its own.
pub(crate) fn loreloom(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loreloom"));
    command.args(arguments).current_dir(home).env("HOME", home).env_remove("XDG_DATA_HOME");
    command.env_remove("XDG_CONFIG_HOME");
    command
}

/// Runs it to its end.
pub(crate) fn run(home: &Path, arguments: &[&str]) -> Output {
    loreloom(home, arguments).output().unwrap()
}

/// What it printed, of a run that succeeded.
pub(crate) fn printed(home: &Path, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it complained about, of a run that failed.
pub(crate) fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?} printed something");
    String::from_utf8(output.stderr).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a fixture is written where the test may write")]
pub(crate) fn write(home: &Path, name: &str, text: &str) {
    std::fs::write(home.join(name), text).unwrap();
}
