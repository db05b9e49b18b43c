//! One module for each command; its doc comment is its help.

mod books;
mod cache_report;
mod characters;
mod chats;
mod config;
mod connections;
mod conversion;
mod conversion_batch;
mod convert;
mod demo;
mod diff;
mod diff_run;
mod export;
mod import;
mod inspect;
mod jobs;
mod keys;
mod lint;
mod loss_report;
mod maintenance;
mod memory;
mod merge;
mod model_test;
mod notebook;
mod replay;
mod retain;
mod runs;
mod scene;
mod serve;
mod serve_memory;
mod serve_welcome;
mod show;
mod simulate;
mod table;
mod test;
mod tree;
mod undo;
mod unwrap;
mod weave;
mod why;

use std::io::Write;

use clap::Subcommand;

pub(crate) use self::{diff::Different, serve::runtime};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert a lorebook or card to another format
    Convert(convert::Convert),
    /// Play a short story through a small world, with no model, and show what was woven in
    Demo(demo::Demo),
    /// Compare two versions of a lorebook by meaning, not by bytes
    Diff(diff::Diff),
    /// Show what a file is and what it contains
    Inspect(inspect::Inspect),
    /// Merge two changed versions of a lorebook
    Merge(merge::Merge),
    /// Run the proxy between a front end and a model
    Serve(serve::Serve),
    /// Find the wrapped entries of a prompt
    Unwrap(unwrap::Unwrap),
    /// Store books with the stories: add, attach, list, undo
    Books(books::BooksArguments),
    /// Copy all chats to a new file, while they are in use
    Backup(maintenance::Backup),
    /// Compare how much of each prompt a prompt cache can keep, by the place of the lore
    CacheReport(cache_report::CacheReport),
    /// Store characters with the stories: add, list, show, export, remove
    Characters(characters::CharactersArguments),
    /// List the stored chats, or write one as a file
    Chats(chats::Chats),
    /// Show, check, explain and import settings
    Config(config::ConfigCommand),
    /// List the model servers that requests go to, or test those of the configuration
    Connections(connections::Connections),
    /// Show which turns of chats a new version of a book changes
    DiffRun(diff_run::DiffRun),
    /// Look for damage in the stored chats
    Doctor(maintenance::Doctor),
    /// Write a chat, a lorebook or a card for another program
    Export(export::Export),
    /// Read lorebooks, cards and chats, whatever their format
    Import(import::Import),
    /// List or cancel background jobs
    Jobs(jobs::Jobs),
    /// Make, list and revoke keys for servers that others can reach
    Keys(keys::Keys),
    /// Look for mistakes in vaults and lorebooks
    Lint(lint::Lint),
    /// Show and change what is remembered
    Memory(memory::Memory),
    /// Test whether a model can do memory's work
    ModelTest(model_test::ModelTest),
    /// Read or write the notebooks of a chat
    Notebook(notebook::Notebook),
    /// Run whole chats through the engine and print what fires at each turn
    Replay(replay::Replay),
    /// Delete the prompts and verdicts of old turns to save space
    Retain(retain::Retain),
    /// Restore a backup
    Restore(maintenance::Restore),
    /// Set the fields of a chat's scene, and pin or block notes in it
    Scene(scene::SceneCommand),
    /// Show a chat's current path and what was woven in at each message
    Show(show::Show),
    /// Run whole chats through the engine and print what comes in and what leaves at each turn
    Simulate(simulate::Simulate),
    /// Run lore tests: check that the expected entries fire
    Test(test::Test),
    /// Draw the branches of a chat
    Tree(tree::Tree),
    /// Undo the last write to a chat
    Undo(undo::Undo),
    /// Free the space of deleted rows
    Vacuum(maintenance::Vacuum),
    /// Weave lore into a chat and print the prompt
    Weave(weave::Weave),
    /// Decide a past turn again and say why each entry fired or did not
    Why(why::Why),
}

impl Command {
    /// The status of a run that fails: what compares has 1 for another answer.
    pub(crate) fn failure(&self) -> u8 {
        if matches!(self, Self::Diff(_) | Self::Test(_)) { 2 } else { 1 }
    }

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
            Self::Books(books) => books.run(out),
            Self::Backup(backup) => backup.run(out),
            Self::CacheReport(report) => report.run(out),
            Self::Characters(characters) => characters.run(out),
            Self::Chats(chats) => chats.run(out),
            Self::Config(config) => config.run(out),
            Self::Connections(connections) => connections.run(out),
            Self::DiffRun(diff_run) => diff_run.run(out),
            Self::Doctor(doctor) => doctor.run(out),
            Self::Export(export) => export.run(out),
            Self::Import(import) => import.run(out),
            Self::Jobs(jobs) => jobs.run(out),
            Self::Keys(keys) => keys.run(out),
            Self::Lint(lint) => lint.run(out),
            Self::Memory(memory) => memory.run(out),
            Self::ModelTest(model_test) => model_test.run(out),
            Self::Notebook(notebook) => notebook.run(out),
            Self::Replay(replay) => replay.run(out),
            Self::Restore(restore) => restore.run(out),
            Self::Retain(retain) => retain.run(out),
            Self::Scene(scene) => scene.run(out),
            Self::Show(show) => show.run(out),
            Self::Simulate(simulate) => simulate.run(out),
            Self::Test(test) => test.run(out),
            Self::Tree(tree) => tree.run(out),
            Self::Undo(undo) => undo.run(out),
            Self::Vacuum(vacuum) => vacuum.run(out),
            Self::Weave(weave) => weave.run(out),
            Self::Why(why) => why.run(out),
        }
    }
}
