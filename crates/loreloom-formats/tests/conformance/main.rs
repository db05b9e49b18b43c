//! The crate against recorded files and results.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read the files that the library is given as bytes"
)]

mod audited;
mod conversions;
mod crossing;
mod documented;
mod editing;
mod formats;
mod hostile;
mod pairs;
mod reading;
mod round_trips;

use std::path::{Path, PathBuf};

/// The project's own cases.
fn own(suite: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(suite)
}

/// The shared cases, or where they were looked for.
fn shared(suite: &str) -> Result<PathBuf, PathBuf> {
    let root = std::env::var_os("LORELOOM_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("conformance").join(suite);
    if path.is_dir() { Ok(path) } else { Err(path) }
}
