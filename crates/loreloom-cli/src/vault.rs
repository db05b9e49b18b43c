//! Vaults as the commands use them: which folders, read by which rules, kept up to date.

mod arguments;
mod choosing;
mod contents;
mod keeper;
mod notebooks;
mod rest;
mod scene;

pub(crate) use self::{
    arguments::{VaultArguments, VaultRulesArguments, VaultSettings},
    choosing::SelectorArguments,
    contents::{Contents, Vaults, error_chain, read_definitions, take_definitions},
    keeper::Keeper,
    rest::{RestAccess, RestArguments, RestVault, is_address},
    scene::SceneArguments,
};
