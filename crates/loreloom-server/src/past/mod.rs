//! Past turns: deciding a turn again, and running a whole chat again.
//!
//! Everything here works on any [`StoryStore`](loreloom_ports::StoryStore), so that the command
//! line and the server look back the same way.

pub mod again;
pub mod runs;
pub mod stored;
