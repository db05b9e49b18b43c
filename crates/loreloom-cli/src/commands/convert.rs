//! Converting between formats.

use std::{io::Write, path::PathBuf};

use clap::Args;

use super::{
    conversion::{Converted, CrossingArguments},
    conversion_batch::Batch,
};

/// Convert a lorebook or card to another format.
///
/// Prints what the other format has no place for; most of that is kept in `extensions`, so
/// that the way back loses nothing.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The file to convert, or a folder whose files are all converted
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// The file to write, the folder for the files of a folder, or the folder of a vault
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// The format to write, for example `sillytavern`, `card-v3`, `lorebook-v3` or `vault`;
    /// without it, the one that the name of TO stands for
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    #[command(flatten)]
    crossing: CrossingArguments,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

impl Convert {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (format, force, json) = (self.format.as_deref(), self.force, self.json);
        let crossing = self.crossing;
        if self.from.is_dir() {
            let batch = Batch { from: &self.from, to: &self.to, format, crossing, force, json };
            return batch.run(out);
        }
        let converted = Converted::of(&self.from, crossing, Some(&self.to), format)?;
        converted.write(&self.to, self.force)?;
        converted.tell(Some(&self.to), self.json, out)
    }
}
