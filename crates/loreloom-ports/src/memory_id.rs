//! The id of a memory.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A memory's id.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(pub String);

impl fmt::Display for MemoryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl From<&str> for MemoryId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
