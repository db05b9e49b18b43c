//! One module for each command; its doc comment is its help.

mod convert;
mod demo;
mod diff;
mod inspect;
mod merge;
mod serve;
mod table;
mod unwrap;
mod weave;

use std::io::Write;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert a lorebook or card to another format
    Convert(convert::Convert),
    /// Play a short story through a small world, with no model, and show what was woven in
    Demo(demo::Demo),
    /// Compare two versions of a lorebook by what they mean
    Diff(diff::Diff),
    /// Say what a file is and what is in it
    Inspect(inspect::Inspect),
    /// Merge two changed versions of a lorebook
    Merge(merge::Merge),
    /// Run the proxy between a front end and a model
    Serve(serve::Serve),
    /// Find the wrapped entries of a prompt
    Unwrap(unwrap::Unwrap),
    /// Weave lore into a chat and print the prompt
    Weave(weave::Weave),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Self::Convert(convert) => convert.run(out),
            Self::Demo(demo) => demo.run(out),
            Self::Diff(diff) => diff.run(out),
            Self::Inspect(inspect) => inspect.run(out),
            Self::Merge(merge) => merge.run(out),
            Self::Serve(serve) => serve.run(out),
            Self::Unwrap(unwrap) => unwrap.run(out),
            Self::Weave(weave) => weave.run(out),
        }
    }
}
