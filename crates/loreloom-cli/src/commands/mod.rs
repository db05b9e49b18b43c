//! One module for each command; its doc comment is its help.

mod demo;
mod serve;
mod table;
mod weave;

use std::io::Write;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play a short story through a small world, with no model, and show what was woven in
    Demo(demo::Demo),
    /// Run the proxy between a front end and a model
    Serve(serve::Serve),
    /// Weave lore into a chat and print the prompt
    Weave(weave::Weave),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Self::Demo(demo) => demo.run(out),
            Self::Serve(serve) => serve.run(out),
            Self::Weave(weave) => weave.run(out),
        }
    }
}
