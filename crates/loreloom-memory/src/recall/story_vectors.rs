//! Where the vectors of a story come from.
//!
//! A table turns any text into a vector at once, and the one in the binary knows only English. A
//! server is asked beforehand, so a search only looks up what it answered. Words are always a
//! table's: a story has too many of them to ask a server for each.

use loreloom_ports::Vector;

use super::{language::Language, packed::PackedVector};

/// Turns the texts of a story into vectors, without waiting.
pub trait StoryVectors {
    /// Whether it has vectors for the words of a language.
    fn knows_words(&self, language: Language) -> bool;

    /// The vector of a word.
    fn word(&self, word: &str) -> PackedVector;

    /// The vector of a piece of the story, if there is one.
    fn piece(&self, text: &str, language: Language) -> Option<PackedVector>;

    /// The vector of a question, if there is one.
    fn question(&self, text: &str, language: Language) -> Option<PackedVector> {
        self.piece(text, language)
    }
}

/// A table that knows only English.
impl<F: Fn(&str) -> Vector> StoryVectors for F {
    fn knows_words(&self, language: Language) -> bool {
        language == Language::English
    }

    fn word(&self, word: &str) -> PackedVector {
        PackedVector::of(&self(word))
    }

    fn piece(&self, text: &str, language: Language) -> Option<PackedVector> {
        self.knows_words(language).then(|| self.word(text))
    }
}
