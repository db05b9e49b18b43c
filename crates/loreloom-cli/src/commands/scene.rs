//! A chat's scene, by hand: what it is like, and which notes people want in it.

use std::io::Write;

use clap::Args;
use loreloom_core::{dialects::vault::NoteMark, turn::VaultContext};

use super::serve::runtime;
use crate::{edit::Editing, store::StoreArguments, vault::SceneArguments};

/// Set the fields of a chat's scene, and pin or block notes of vaults in it.
///
/// Without changes, prints the scene. What is said counts from the last message of the user
/// on, and not in other branches.
#[derive(Debug, Args)]
pub(crate) struct SceneCommand {
    /// The chat
    chat: String,

    #[command(flatten)]
    said: SceneArguments,

    /// A field that the scene no longer has; may be given several times
    #[arg(long = "without", value_name = "FIELD")]
    without: Vec<String>,

    /// A note that is no longer pinned
    #[arg(long, value_name = "TITLE")]
    unpin: Vec<String>,

    /// A note that is no longer blocked
    #[arg(long, value_name = "TITLE")]
    unblock: Vec<String>,

    /// Look into all folders again
    #[arg(long)]
    all_folders: bool,

    /// Begin with an empty scene
    #[arg(long)]
    clear: bool,

    /// The name of a vault that pins and blocks may name, as in `VAULT:TITLE`; may be given
    /// several times
    #[arg(long = "vault-name", value_name = "NAME")]
    vaults: Vec<String>,

    #[command(flatten)]
    store: StoreArguments,
}

impl SceneCommand {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let scene = runtime()?.block_on(async {
            let editing = Editing::open(&self.store, &self.chat).await?;
            let scene = self.changed(editing.newest.vault_context.clone());
            if scene != editing.newest.vault_context {
                editing.keep(|state| state.vault_context.clone_from(&scene)).await?;
            }
            anyhow::Ok(scene)
        })?;
        writeln!(out, "{}", serde_json::to_string_pretty(&scene)?)?;
        Ok(())
    }

    /// The scene after what was said.
    fn changed(&self, before: VaultContext) -> VaultContext {
        let names: Vec<&str> = self.vaults.iter().map(String::as_str).collect();
        let said = self.said.scene(&names);
        let mut scene = if self.clear { VaultContext::default() } else { before };
        scene.context.retain(|field, _| !self.without.contains(field));
        scene.context.extend(said.context);
        if self.all_folders {
            scene.folders.clear();
        }
        for folder in said.folders {
            if !scene.folders.contains(&folder) {
                scene.folders.push(folder);
            }
        }
        let is_named = |mark: &NoteMark, titles: &[String]| {
            let same = |title: &String| title.to_lowercase() == mark.title.to_lowercase();
            titles.iter().any(same)
        };
        scene.pins.retain(|mark| !is_named(mark, &self.unpin));
        scene.blocks.retain(|mark| !is_named(mark, &self.unblock));
        for (marks, said) in [(&mut scene.pins, said.pins), (&mut scene.blocks, said.blocks)] {
            for mark in said {
                if !marks.contains(&mark) {
                    marks.push(mark);
                }
            }
        }
        scene
    }
}
