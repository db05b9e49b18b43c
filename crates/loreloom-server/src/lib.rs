//! Loreloom's server: a proxy that weaves lore into requests on their way to a model, and
//! pages that show what it did.
//!
//! The server is handed a store, an upstream and a clock through the traits of
//! `loreloom-memory`; it names no database and no HTTP client.

mod api;
mod app;
mod assets;
mod bookcase;
mod catalog;
mod events;
mod guard;
mod looking_back;
mod lore;
mod pages;
mod prompt_map;
mod proxy;
mod recogniser;
mod remembering;
mod router;
mod serve;
mod stacks;
mod story;

pub use self::{
    api::document as api_document,
    app::{App, AppParts, Defaults, Weaving},
    bookcase::{Bookcase, BookcaseError, Contents, Shelved, Standing},
    lore::{Lore, LoreError},
    recogniser::Recogniser,
    router::router,
    serve::serve,
    stacks::{Stacks, StacksError},
    story::LastTurn,
};
