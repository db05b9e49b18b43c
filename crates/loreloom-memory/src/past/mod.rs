//! The past of stories: going back to a turn, deciding it again, telling a chat again, and a
//! chat as one document.
//!
//! Everything here works on any [`StoryStore`](crate::ports::StoryStore), so that the command
//! line and the server look back the same way. [`fold`] and [`checks`] are the rules that all
//! stores share.

pub mod again;
pub mod archive;
pub mod checks;
pub mod fold;
pub mod runs;
pub mod stored;
pub mod travel;
