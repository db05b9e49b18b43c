//! An entry's own text in its file.
//!
//! A book keeps the text of its file, and each entry its part of that text. The part is shared
//! with the whole, so that a large book is in memory once.

use std::{ops::Deref, sync::Arc};

use memchr::memmem;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Book;

/// A part of a shared text.
#[derive(Clone)]
pub struct RawEntry {
    whole: Arc<str>,
    start: usize,
    end: usize,
}

impl Deref for RawEntry {
    type Target = str;

    fn deref(&self) -> &str {
        // The range lies on character boundaries, or it was not made.
        self.whole.get(self.start..self.end).unwrap_or_default()
    }
}

impl<T: Into<Arc<str>>> From<T> for RawEntry {
    fn from(text: T) -> Self {
        let whole = text.into();
        Self { start: 0, end: whole.len(), whole }
    }
}

impl std::fmt::Debug for RawEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, formatter)
    }
}

impl PartialEq for RawEntry {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for RawEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for RawEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Book {
    /// Makes the entries' own texts parts of the file's text. Entries nearly always have the order
    /// of the file. The first that does not ends the search, so that it takes linear time.
    pub fn share_source(&mut self) {
        let Some(whole) = self.origin.as_ref().and_then(|origin| origin.source.clone()) else {
            return;
        };
        let mut from = 0;
        for entry in &mut self.entries {
            let Some(raw) = entry.raw.as_mut().filter(|raw| !raw.is_empty()) else { continue };
            let Some(at) = memmem::find(&whole.as_bytes()[from..], raw.as_bytes()) else { return };
            let start = from + at;
            let end = start + raw.len();
            *raw = RawEntry { whole: Arc::clone(&whole), start, end };
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::{Container, Entry, Origin, TextStyle};

    fn book(source: &str, raws: &[Option<&str>]) -> Book {
        let mut book = Book::new("b", "B");
        book.origin = Some(Origin {
            format: "sillytavern".to_owned(),
            version: None,
            container: Container::Text,
            style: TextStyle::default(),
            source: Some(source.into()),
            program: None,
            assumed_name: None,
        });
        for (at, raw) in raws.iter().enumerate() {
            let mut entry = Entry::new(format!("b/{at}"));
            entry.raw = raw.map(RawEntry::from);
            book.entries.push(entry);
        }
        book
    }

    #[test]
    fn entries_are_parts_of_the_file_from_its_beginning_to_the_first_that_is_not() {
        let raws = [Some("{é}"), None, Some("{1}"), Some("{1}"), Some("{other}"), Some("{2}")];
        let mut book = book("[{é},{1},{1},{2}]", &raws);
        let before = book.clone();
        book.share_source();
        assert_eq!(book, before);
        let whole = book.origin.as_ref().and_then(|origin| origin.source.clone());
        let shared = |entry: &Entry| {
            let raw = entry.raw.as_ref()?;
            Arc::ptr_eq(&raw.whole, whole.as_ref()?).then_some((raw.start, raw.end))
        };
        let found: Vec<_> = book.entries.iter().map(shared).collect();
        assert_eq!(found, [Some((1, 5)), None, Some((6, 9)), Some((10, 13)), None, None]);
    }
}
