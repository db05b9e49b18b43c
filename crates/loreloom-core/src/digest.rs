//! The one hash behind message ids, prefix hashes, library versions and rolls.
//!
//! SHA-256 cut to 128 bits: the same on every platform and in every release, which
//! stored chats depend on. Fields are length-prefixed, so `("ab", "c")` and
//! `("a", "bc")` differ.

use sha2::{Digest as _, Sha256};

use crate::ids::Digest;

/// Builds a [`Digest`] from fields.
#[derive(Clone, Debug)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Starts a hash of one kind of thing; kinds never collide.
    pub fn new(kind: &str) -> Self {
        Self(Sha256::new()).field(kind.as_bytes())
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        self.field(&number.to_le_bytes())
    }

    /// The hash of all fields so far.
    pub fn finish(self) -> Digest {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.0.finalize()[..16]);
        Digest(bytes)
    }

    /// The first 64 bits, for rolls.
    pub fn finish_u64(self) -> u64 {
        let Digest(bytes) = self.finish();
        u64::from_le_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_into_each_other() {
        let split =
            |a: &str, b: &str| Hasher::new("t").field(a.as_bytes()).field(b.as_bytes()).finish();
        assert_ne!(split("ab", "c"), split("a", "bc"));
    }

    /// Stored chats hold these: if this fails, every stored id has changed.
    #[test]
    fn the_hash_never_changes() {
        let digest = Hasher::new("message").field(b"hello").number(1).finish();
        assert_eq!(digest.to_string(), "2006c30dbb583165d12b8b838e695d39");
    }
}
