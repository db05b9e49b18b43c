//! A story: messages, the path they form, and their ids.

mod extras;
pub mod identity;
mod message;
mod path;
mod text;
mod voices;

pub use self::{
    extras::Extras,
    message::{GenerationType, Message, Role},
    path::{Path, PathItem},
    text::{Text, single_spaced},
    voices::Voices,
};
