//! Vaults as the commands use them: which folders, read by which rules, kept up to date.

mod advice;
mod arguments;
mod choosing;
mod contents;
mod keeper;
mod rest;
mod scene;

pub(crate) use self::{
    advice::admission_advice,
    arguments::{VaultArguments, VaultSettings},
    choosing::SelectorArguments,
    contents::{Contents, Vaults, error_chain, read_definitions, take_definitions},
    keeper::Keeper,
    rest::{RestAccess, RestVault, is_address},
    scene::SceneArguments,
};
