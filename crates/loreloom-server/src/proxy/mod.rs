//! The proxy: requests pass through, with lore woven in.

mod chat;
mod prompt;
mod tee;

pub(crate) use self::chat::{MOST_BYTES, chat_completions, pass_through};
