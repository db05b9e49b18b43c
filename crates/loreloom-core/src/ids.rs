//! Ids. Each has its own type, so that they cannot be mixed up.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! text_id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )+};
}

text_id! {
    /// Who owns the data: the leading key of every stored row.
    TenantId,
    /// One story, with all its branches.
    ChatId,
    /// A lorebook; given by us and never read from a file.
    BookId,
    /// An entry of a book; unique over all books.
    EntryId,
    /// A character, by whatever stable name the host knows it.
    CharacterId,
    /// The user's persona.
    PersonaId,
    /// Several characters that play together.
    GroupId,
    /// A named model connection.
    ConnectionId,
}

impl TenantId {
    /// The tenant of an installation that has only one.
    pub fn local() -> Self {
        Self("local".to_owned())
    }
}

/// A 128-bit content hash, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The first eight digits, enough for a person to distinguish messages.
    pub fn short(self) -> String {
        let mut text = self.to_string();
        text.truncate(8);
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The text is not a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 32 hexadecimal digits, found `{found}`")]
pub struct DigestError {
    /// What was found instead.
    pub found: String,
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || DigestError { found: text.to_owned() };
        if text.len() != 32 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 16];
        for (byte, at) in bytes.iter_mut().zip((0..32).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! digest_id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[cfg_attr(
            feature = "schema",
            schema(value_type = String, pattern = "^[0-9a-f]{32}$", min_length = 32, max_length = 32)
        )]
        #[serde(transparent)]
        pub struct $name(pub Digest);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = DigestError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )+};
}

digest_id! {
    /// A message, independent of its ancestors (see [`crate::chat::identity`]).
    MessageId,
    /// The exact state of a story: the hash of all message ids up to a point.
    PrefixHash,
    /// A compiled library: equal versions decide alike.
    LibraryVersion,
    /// A book as it was kept: the hash of all it says.
    BookVersion,
    /// A file as it was kept: the hash of its bytes.
    FileVersion,
    /// A text that was placed in a story (see [`crate::cache_placement`]).
    SlipId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_what_it_writes() {
        let digest = Digest([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(digest.to_string(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.short(), "00010203");
    }

    #[test]
    fn a_digest_of_the_wrong_length_or_alphabet_names_what_it_found() {
        for text in
            ["", "00", "zz0102030405060708090a0b0c0d0eff", "é00102030405060708090a0b0c0d0ef"]
        {
            let error = text.parse::<Digest>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("a digest is 32 hexadecimal digits, found `{text}`")
            );
        }
    }
}
