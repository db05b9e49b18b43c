//! Where injected text goes, and the injection itself.

use serde::{Deserialize, Serialize};

use crate::{
    chat::Role,
    ids::{BookId, EntryId},
    units::{Depth, Tokens},
};

/// A place in a prompt that text can be put into. Every source of text uses these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before the main prompt.
    BeforeMain,
    /// After the main prompt.
    AfterMain,
    /// Before the character's card.
    BeforeCharacter,
    /// After the character's card.
    AfterCharacter,
    /// Before the example messages.
    BeforeExamples,
    /// After the example messages.
    AfterExamples,
    /// Above the author's note.
    NoteTop,
    /// Below the author's note.
    NoteBottom,
    /// Inside the chat, so many messages from its end.
    AtDepth(Depth),
    /// Where the prompt says `{{outlet::name}}`.
    Outlet(String),
    /// A named slot of the prompt template.
    Slot(String),
}

impl Place {
    /// The depth inside the chat, if it is there.
    pub fn depth(&self) -> Option<Depth> {
        if let Self::AtDepth(depth) = self { Some(*depth) } else { None }
    }

    /// Whether it moves with the end of the chat.
    pub fn is_in_chat(&self) -> bool {
        matches!(self, Self::NoteTop | Self::NoteBottom | Self::AtDepth(_))
    }
}

/// The slot that card books go to. Its texts stay messages of their own, each in its role.
pub const LOREBOOK_SLOT: &str = "lorebook";

/// Where an injected text comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// An entry of a book.
    Lore {
        /// The book.
        book: BookId,
        /// The entry.
        entry: EntryId,
    },
    /// The author's note.
    AuthorsNote,
    /// A memory tier, by its slot's name.
    Memory(String),
}

/// A text for the prompt. Injections at one place are in prompt order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Injection {
    /// Where it goes.
    pub place: Place,
    /// The role of the message it becomes part of.
    pub role: Role,
    /// The text, ready to be sent.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// Where it comes from.
    pub source: Provenance,
}
