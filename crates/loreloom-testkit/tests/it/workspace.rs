//! The workspace's folder, packages and files, from cargo and the disk.
//!
//! Files come from the disk and not from git, so that the rules also hold for a
//! source archive and on a machine without git. The cost is that a forgotten
//! scratch file counts as part of the project.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// Anything that keeps a rule from being checked at all.
pub(crate) type Failure = Box<dyn Error>;

/// A member of the workspace with the dependencies its manifest names.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

impl Package {
    /// Names of the dependencies that reach the shipped crate, in the manifest's order.
    pub(crate) fn normal_dependencies(&self) -> impl Iterator<Item = &str> {
        self.dependencies
            .iter()
            .filter(|dependency| dependency.kind.is_none())
            .map(|dependency| dependency.name.as_str())
    }
}

/// One line of a manifest's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// The folder of the workspace's own `Cargo.toml`.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?)
}

/// Every member of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>, Failure> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root()?)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    Ok(metadata.packages)
}

/// Every file of the project, without what is built or downloaded.
pub(crate) fn files() -> Result<Vec<PathBuf>, Failure> {
    const NOT_OURS: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];
    let mut files = Vec::new();
    let mut folders = vec![root()?];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let entry = entry?;
            if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The bytes of one file, with its path in the error.
#[expect(clippy::disallowed_methods, reason = "the rules are about the files on the disk")]
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|source| format!("{}: {source}", path.display()).into())
}

/// The text of one file, with its path in the error.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path)?).map_err(|source| format!("{}: {source}", path.display()).into())
}
