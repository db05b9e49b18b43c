//! The JSON of what stores and the server both keep.
//!
//! The compiler makes the reader and the writer of a type again in each crate that needs them,
//! unless a crate that all of them use has made them. So those of the largest types are made here,
//! also for types that contain them. This holds for crates with an `opt-level` below 2, which
//! share what they make; `loreloom-core` does not.

use loreloom_core::{
    book::{Book, Entry},
    report::Report,
    state::StateDelta,
    turn::TurnInput,
    vault_notes::Note,
};

/// A type that is kept as JSON.
pub trait StoredJson: Sized {
    /// Reads it.
    fn from_json(bytes: &[u8]) -> Result<Self, serde_json::Error>;

    /// Writes it.
    fn to_json(&self) -> Result<Vec<u8>, serde_json::Error>;
}

macro_rules! stored_json {
    ($($stored:ty),+) => {$(
        impl StoredJson for $stored {
            fn from_json(bytes: &[u8]) -> Result<Self, serde_json::Error> {
                serde_json::from_slice(bytes)
            }

            fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
                serde_json::to_vec(self)
            }
        }
    )+};
}

stored_json!(Book, Report, StateDelta, TurnInput, Vec<Entry>, Vec<Note>);
