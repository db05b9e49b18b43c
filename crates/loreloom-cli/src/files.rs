//! Reading and writing files, with their path in every error.

use std::{fs::File, io::Read as _, path::Path};

use anyhow::Context as _;
use loreloom_formats::{FormatError, Limit};

use crate::limits;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    #[expect(clippy::disallowed_methods, reason = "this is where files come in")]
    std::fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))
}

/// The bytes of a file that may have so many; of a larger one nothing is read.
pub(crate) fn read_within(path: &Path, limit: usize) -> anyhow::Result<Vec<u8>> {
    let unread = || format!("`{}` cannot be read", path.display());
    let file = File::open(path).with_context(unread)?;
    let length = file.metadata().with_context(unread)?.len();
    anyhow::ensure!(
        length <= limit as u64,
        "`{}`: a file may have {limit} bytes, found {length}",
        path.display()
    );
    // Exactly as much as there is: a buffer that grows ends up twice as large.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // One byte above the limit shows that there is more, even for endless devices.
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes).with_context(unread)?;
    anyhow::ensure!(
        bytes.len() <= limit,
        "`{}`: a file may have {limit} bytes, found more",
        path.display()
    );
    Ok(bytes)
}

/// The bytes of a file within one of the limits of this run.
pub(crate) fn read_limited(path: &Path, which: Limit) -> anyhow::Result<Vec<u8>> {
    let unread = || format!("`{}` cannot be read", path.display());
    let limit = limits::limits().get(which);
    let length = File::open(path).and_then(|file| file.metadata()).with_context(unread)?.len();
    let found = usize::try_from(length).unwrap_or(usize::MAX);
    if found > limit {
        let too_large = FormatError::TooLarge { which, limit, found };
        return Err(too_large).with_context(|| format!("`{}`", path.display()));
    }
    read_within(path, limit)
}

/// The first bytes of a file.
pub(crate) fn head(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let unread = || format!("`{}` cannot be read", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(unread)?;
    file.take(most).read_to_end(&mut bytes).with_context(unread)?;
    Ok(bytes)
}

/// Writes a file whole or not at all: a new file takes the old one's place.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    #[expect(clippy::disallowed_methods, reason = "this is where files go out")]
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written
        .inspect_err(|_| {
            // What is half written is of no use, and may not exist at all.
            let _gone = std::fs::remove_file(&part);
        })
        .with_context(|| format!("`{}` cannot be written", path.display()))
}

/// A file's name without folder and extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "unnamed".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Writes a file that is not there yet. It appears only once it is complete.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    anyhow::ensure!(!path.exists(), "`{}` exists already: `--force` overwrites it", path.display());
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    #[expect(clippy::disallowed_methods, reason = "this is where files go out")]
    std::fs::write(&partial, bytes)
        .and_then(|()| std::fs::rename(&partial, path))
        .with_context(|| format!("`{}` cannot be written", path.display()))
}
