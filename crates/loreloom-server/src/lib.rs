//! Loreloom's server: a proxy that weaves lore into requests on their way to a model, and
//! pages that show what it did.
//!
//! The server is handed a store, an upstream and a clock through the traits of
//! `loreloom-memory`; it names no database and no HTTP client.

mod app;
mod bookcase;
mod choosing;
mod guard;
mod lore;
mod noting;
mod pages;
mod proxy;
mod recogniser;
mod remembering;
mod router;
mod serve;
mod stacks;
mod story;

pub use self::{
    app::{App, AppParts, Defaults, Weaving},
    bookcase::{Bookcase, BookcaseError, Contents, Shelved, Standing},
    choosing::Choosing,
    lore::{Lore, LoreError},
    recogniser::Recogniser,
    router::router,
    serve::serve,
    stacks::{Stacks, StacksError},
    story::LastTurn,
};
