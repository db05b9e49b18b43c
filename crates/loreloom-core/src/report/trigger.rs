//! How an entry came to fire: the proof behind an activation.

use serde::{Deserialize, Serialize};

use crate::{chat::Role, ids::EntryId};

/// Trigger metadata of an activated entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Trigger {
    /// The rule that let it in.
    pub reason: super::Reason,
    /// In which phase of the scan.
    pub phase: ScanPhase,
    /// The pass of the scan loop, counted from 1.
    pub pass: u32,
    /// How many messages its scan covered.
    pub depth: u32,
    /// The first primary key that was found, and where.
    pub primary: Option<KeyMatch>,
    /// The secondary keys that were found.
    pub secondary: Vec<KeyMatch>,
    /// The entries whose text activated it.
    pub parents: Vec<EntryId>,
}

/// A phase of the scan loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScanPhase {
    /// The chat and its sources.
    Initial,
    /// The text of activated entries too.
    Recursion,
    /// Further back in the chat, because too few entries were active.
    MinActivations,
}

/// A key that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct KeyMatch {
    /// The key as written.
    pub key: String,
    /// The key after macros, when that differs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expanded: Option<String>,
    /// Where it was found; a key that matches everything is found nowhere in particular.
    pub at: Option<MatchPlace>,
    /// Where else it was found: the other messages, card texts and prompts that were scanned.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<MatchPlace>,
}

impl KeyMatch {
    /// All places in which it was found.
    pub fn places(&self) -> impl Iterator<Item = &MatchPlace> {
        self.at.iter().chain(&self.also)
    }
}

/// Where a key was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MatchPlace {
    /// The text it was found in.
    pub source: TextSource,
    /// First byte of the match in that text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A text that is scanned for keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TextSource {
    /// A message of the chat.
    Message {
        /// Counted from the oldest message of the path, from 0.
        index: u32,
        /// Its role.
        role: Role,
        /// Its speaker.
        name: Option<String>,
    },
    /// The speaker's name before a message.
    Speaker {
        /// The message, counted from the oldest of the path, from 0.
        index: u32,
    },
    /// The persona's description.
    Persona,
    /// The character's description.
    Description,
    /// The character's personality.
    Personality,
    /// The character's note.
    DepthPrompt,
    /// The scenario.
    Scenario,
    /// The creator's notes.
    CreatorNotes,
    /// A prompt of the front end that asked to be scanned.
    Prompt {
        /// Its name.
        name: String,
    },
    /// The text of an activated entry.
    Entry {
        /// The entry.
        entry: EntryId,
    },
    /// Several texts at once: a regular expression that spans them.
    Joined,
}
