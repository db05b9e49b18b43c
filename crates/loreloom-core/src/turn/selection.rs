//! The answer of the model that selects vault notes.

use serde::{Deserialize, Serialize};

use crate::note_selection::NoteChoice;

/// How the vault notes of a turn were selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The model chose these notes, perhaps none.
    Chosen(Vec<NoteChoice>),
    /// The last choice was reused without asking the model.
    Kept {
        /// The last choice.
        choices: Vec<NoteChoice>,
        /// Why it was reused.
        because: StillHolds,
    },
    /// There was nothing to choose from, so the model was not asked.
    NotAsked,
    /// The model failed, or its answer could not be read.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// Why the last choice of a selecting model was reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StillHolds {
    /// Nothing new was said.
    SameChat,
    /// Nothing came up that it did not choose from.
    SameCandidates,
    /// What was said since names no note.
    NothingNamed,
}
