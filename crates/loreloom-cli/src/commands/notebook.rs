//! A chat's notebooks, by hand.

use std::io::{Read as _, Write};

use clap::{Args, Subcommand};
use loreloom_core::state::StoryState;

use super::serve::runtime;
use crate::{edit::Editing, store::StoreArguments};

/// Read or write the notebooks of a chat.
///
/// They belong to the story's path: what is written now counts from the last message of the
/// user on, also if the last reply is asked for again, and not in other branches.
#[derive(Debug, Args)]
pub(crate) struct Notebook {
    #[command(subcommand)]
    deed: NotebookCommand,
}

#[derive(Debug, Subcommand)]
enum NotebookCommand {
    /// Print a notebook
    Show(Which),
    /// Replace a notebook's text
    Write(Writing),
    /// Add lines to a notebook
    Add(Writing),
    /// Empty a notebook
    Clear(Which),
}

#[derive(Debug, Args)]
struct Which {
    /// The chat
    chat: String,

    /// The notebook that the model keeps, not the author's
    #[arg(long)]
    ai: bool,

    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Debug, Args)]
struct Writing {
    #[command(flatten)]
    which: Which,

    /// The text; `-` reads standard input
    #[arg(long, value_name = "TEXT")]
    text: String,
}

impl Writing {
    fn text(&self) -> anyhow::Result<String> {
        if self.text != "-" {
            return Ok(self.text.clone());
        }
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Which {
    fn of<'a>(&self, state: &'a mut StoryState) -> &'a mut String {
        if self.ai { &mut state.notebooks.model } else { &mut state.notebooks.author }
    }

    fn change(self, change: impl FnOnce(&mut String)) -> anyhow::Result<()> {
        runtime()?.block_on(async {
            let editing = Editing::open(&self.store, &self.chat).await?;
            let mut after = editing.newest.clone();
            change(self.of(&mut after));
            if self.ai {
                return editing.keep_at_end(&after).await;
            }
            let author = after.notebooks.author;
            editing.keep(|state| state.notebooks.author.clone_from(&author)).await
        })
    }
}

impl Notebook {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.deed {
            NotebookCommand::Show(which) => {
                let mut state = runtime()?.block_on(async {
                    anyhow::Ok(Editing::open(&which.store, &which.chat).await?.newest)
                })?;
                writeln!(out, "{}", which.of(&mut state).trim_end())?;
                Ok(())
            }
            NotebookCommand::Write(writing) => {
                let text = writing.text()?;
                writing.which.change(|notebook| *notebook = text)
            }
            NotebookCommand::Add(writing) => {
                let text = writing.text()?;
                writing.which.change(|notebook| {
                    if !notebook.is_empty() && !notebook.ends_with('\n') {
                        notebook.push('\n');
                    }
                    notebook.push_str(&text);
                })
            }
            NotebookCommand::Clear(which) => which.change(String::clear),
        }
    }
}
