//! Vaults as the commands use them: which folders, read by which rules, kept up to date.

mod arguments;
mod contents;
mod scene;

pub(crate) use self::{
    arguments::{VaultArguments, VaultRulesArguments},
    contents::{Contents, Vaults, Watching},
    scene::SceneArguments,
};
