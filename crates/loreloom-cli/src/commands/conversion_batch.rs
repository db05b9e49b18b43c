//! Whole folders into another format.

use std::{
    collections::HashSet,
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    conversion::{Converted, CrossingArguments, Target, progress},
    import::found::{self, ImportSource},
    inspect::{is_chat_or_note, is_something_else},
};
use crate::limits;

/// A folder whose files become files of another format, each at the place it had.
pub(super) struct Batch<'a> {
    pub(super) from: &'a Path,
    pub(super) to: &'a Path,
    pub(super) format: Option<&'a str>,
    pub(super) crossing: CrossingArguments,
    /// Overwrites existing files.
    pub(super) force: bool,
    pub(super) json: bool,
}

impl Batch<'_> {
    /// Converts all files that hold lore. One that cannot be converted stops no other.
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(format) = self.format else {
            anyhow::bail!("`--format` says what the files of `{}` become", self.from.display())
        };
        let target = Target::named(format)?;
        anyhow::ensure!(
            !self.to.is_file(),
            "`{}` is a file: the files of a folder go into a folder",
            self.to.display()
        );
        let mut files = found::find(&[self.from.to_owned()])?;
        files.retain(|file| !is_chat_or_note(&file.path));
        let bar = progress(files.len(), self.json);
        let mut output: Vec<u8> = Vec::new();
        let (mut failed, mut converted) = (0, 0);
        let mut taken: HashSet<PathBuf> = HashSet::new();
        for file in bar.wrap_iter(files.iter()) {
            match self.one(file, target, &mut taken, &mut output) {
                Ok(()) => converted += 1,
                // Nobody said that every file of a folder holds lore.
                Err(error) if is_something_else(&error) => {}
                Err(error) => {
                    failed += 1;
                    let (file, error) = (file.path.display(), limits::error_text(&error));
                    if self.json {
                        writeln!(
                            output,
                            "{}",
                            json!({ "file": file.to_string(), "error": error })
                        )?;
                    } else {
                        writeln!(output, "{file}: not converted: {error}")?;
                    }
                }
            }
        }
        // After the bar, which would write over it.
        out.write_all(&output)?;
        let folder = self.from.display();
        anyhow::ensure!(failed + converted > 0, "there is no lore in `{folder}`");
        anyhow::ensure!(failed == 0, "{failed} of {} files were not converted", failed + converted);
        Ok(())
    }

    fn one(
        &self,
        file: &ImportSource,
        target: Target,
        taken: &mut HashSet<PathBuf>,
        output: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let converted = Converted::of(&file.path, self.crossing, None, self.format)?;
        let to = match target {
            Target::Vault => self.to.to_owned(),
            Target::File(format) => {
                let inside = file.path.strip_prefix(self.from).unwrap_or(&file.path);
                let to = self.to.join(inside).with_extension(format.file_extension());
                anyhow::ensure!(
                    taken.insert(to.clone()),
                    "another file of the folder became `{}`",
                    to.display()
                );
                if let Some(folder) = to.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                to
            }
        };
        converted.write(&to, self.force)?;
        converted.tell(Some(&to), self.json, output)
    }
}
