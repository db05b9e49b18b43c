//! What a character's memory is used for.

use serde::{Deserialize, Serialize};

/// What a character's memory is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It is read and written, over all chats.
    #[default]
    Full,
    /// Memories of other chats are left out.
    Local,
    /// It is read and not written.
    ReadOnly,
    /// It is neither read nor written.
    Off,
}

impl Policy {
    /// Whether anything may be written.
    pub fn writes(self) -> bool {
        matches!(self, Self::Full | Self::Local)
    }

    /// Whether this is what memory usually is for.
    pub fn is_usual(&self) -> bool {
        *self == Self::Full
    }
}
