//! The speakers of a story.

use rustc_hash::FxHashSet;

/// Speakers in the order in which they first speak.
#[derive(Clone, Debug, Default)]
pub(super) struct SpeakerList {
    names: Vec<String>,
    /// The lower-cased words of all names.
    words: FxHashSet<String>,
}

impl SpeakerList {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds a speaker, if it is a new one.
    pub(super) fn add(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
            self.words.extend(words(name));
        }
    }

    pub(super) fn truncate(&mut self, left: usize) {
        if left < self.names.len() {
            self.names.truncate(left);
            self.words = self.names.iter().flat_map(|name| words(name)).collect();
        }
    }

    /// The place of a name in the list.
    pub(super) fn place(&self, name: &str) -> Option<u32> {
        let place = self.names.iter().position(|known| known == name)?;
        u32::try_from(place).ok()
    }

    /// Whether a lower-case word is part of a speaker's name.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

fn words(name: &str) -> impl Iterator<Item = String> {
    name.split_whitespace().map(str::to_lowercase)
}
