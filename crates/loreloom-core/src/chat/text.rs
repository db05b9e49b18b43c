//! A text that is held in many places at once.
//!
//! A request repeats its whole story, and each of its messages is held as it was read, as a piece
//! of the prompt, as a message of the path and in the prompt that is sent. All of them hold the
//! same text, so that a known message is never copied, and two that hold the same one are equal
//! without being looked at: what is not touched need not be fetched after a pause.

use std::{
    borrow::Borrow,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// An unchanging text that is cheap to hold.
#[derive(Clone, Default, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(Arc<str>);

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A part of this text: all of it is held, a piece is copied.
    #[must_use]
    pub fn cut_to(&self, part: &str) -> Self {
        let whole: &str = self;
        if std::ptr::eq(part, whole) { self.clone() } else { part.into() }
    }

    /// Holds what another holds, where both say the same: then nobody looks again. Says whether
    /// they do.
    pub fn share(&mut self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        let same = self.0 == other.0;
        if same {
            self.0 = Arc::clone(&other.0);
        }
        same
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        *self.0 == **other
    }
}

impl PartialEq<Text> for String {
    fn eq(&self, other: &Text) -> bool {
        *other == *self
    }
}

impl PartialEq<Text> for &str {
    fn eq(&self, other: &Text) -> bool {
        *other == *self
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self(Arc::from(text.as_str()))
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl From<Text> for Arc<str> {
    fn from(text: Text) -> Self {
        text.0
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        (*text.0).to_owned()
    }
}

/// The text with every run of blanks as one space.
pub fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds_the_same(one: &Text, other: &Text) -> bool {
        Arc::ptr_eq(&one.0, &other.0)
    }

    #[test]
    fn a_text_that_is_cut_to_all_of_itself_is_held_and_a_piece_is_copied() {
        let text = Text::from("Orla: I wait.");
        assert!(holds_the_same(&text.cut_to(&text), &text));
        let words = text.cut_to(&text[6..]);
        assert_eq!(words, "I wait.");
        // As long and not a part of it.
        let other = text.cut_to("Mira: I wait.");
        assert_eq!(other, "Mira: I wait.");
    }

    #[test]
    fn equal_texts_are_held_once_and_others_stay_apart() {
        let (mut one, same, other) = (Text::from("yes"), Text::from("yes"), Text::from("no"));
        assert!(!one.share(&other));
        assert_eq!(one, "yes");
        assert!(one.share(&same));
        assert!(holds_the_same(&one, &same));
        assert_eq!((one == same, one == other), (true, false));
    }

    #[test]
    fn it_is_written_and_read_as_a_string() {
        let text = Text::from("a \"b\"");
        let written = serde_json::to_string(&text).unwrap();
        assert_eq!(written, r#""a \"b\"""#);
        assert_eq!(serde_json::from_str::<Text>(&written).unwrap(), text);
    }
}
