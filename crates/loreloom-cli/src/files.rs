//! Reading files, with their path in every error.

use std::path::Path;

use anyhow::Context as _;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    #[expect(clippy::disallowed_methods, reason = "this is where files come in")]
    std::fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))
}

/// A file's name without folder and extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "unnamed".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
