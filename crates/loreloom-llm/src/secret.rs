//! A key that cannot be shown by accident.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;

/// An API key. It has no `Display` and no `Serialize`, and `Debug` hides it: the only way
/// to its text is [`Secret::reveal`], which is easy to find in a review.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a key. White space around it, as files and shells leave it, is removed.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of the key replaced, for error messages that quote what
    /// a server said.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

/// The key that a front end sent last, for background work. It is only ever in
/// memory. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct HeldKey(Arc<Mutex<Option<Secret>>>);

impl HeldKey {
    /// Remembers a key in place of the one before.
    pub fn set(&self, key: Secret) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
    }

    /// The key, if one was sent.
    pub fn get(&self) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PartialEq for HeldKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HeldKey {}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([hidden])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_up_neither_in_debug_nor_in_quoted_answers() {
        let key = Secret::new(" sk-123\n");
        assert_eq!(key.reveal(), "sk-123");
        assert_eq!(format!("{key:?}"), "Secret([hidden])");
        assert_eq!(key.redact("bad key sk-123!"), "bad key [key]!");
        assert_eq!(Secret::new("").redact("abc"), "abc");
    }
}
