//! The texts that one turn refers to.

use loreloom_core::{digest::Hasher, ids::Digest};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Shorter texts cost less in place than as a row of their own.
pub(super) const SHORT: usize = 24;

/// A piece of text. `M` is a reference to a message of the chat: its position on the path in a
/// draft, its number once stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TextPiece<M> {
    /// In place.
    Short(String),
    /// A text of the turn's [`TextList`], by index.
    Text(usize),
    /// The text of a message.
    Message(M),
}

/// The texts of a turn, each once.
#[derive(Debug, Default)]
pub(super) struct TextList {
    texts: Vec<String>,
    indexes: FxHashMap<String, usize>,
}

impl TextList {
    /// Adds a text, unless it is short.
    pub(super) fn add<M>(&mut self, text: &str) -> TextPiece<M> {
        if text.len() < SHORT {
            return TextPiece::Short(text.to_owned());
        }
        if let Some(&index) = self.indexes.get(text) {
            return TextPiece::Text(index);
        }
        let index = self.texts.len();
        self.texts.push(text.to_owned());
        self.indexes.insert(text.to_owned(), index);
        TextPiece::Text(index)
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// The name of a text inside its chat.
pub(crate) fn text_hash(text: &str) -> Digest {
    Hasher::new("text").field(text.as_bytes()).finish()
}
