//! How much of a hostile file is read before giving up.

use serde::{Deserialize, Serialize};

/// One of the limits, by name.
macro_rules! limits {
    ($($(#[$doc:meta])+ $field:ident, $limit:ident, $name:literal, $what:literal, $default:expr;)+) => {
        /// Limits on what a reader accepts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Limits {
            $($(#[$doc])+ pub $field: usize,)+
        }

        impl Default for Limits {
            /// Ten times and more of what any file we know has, and so little that no file
            /// makes reading it take 256 MB: its bytes, its text, its tree and the book are all
            /// in memory for a moment.
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        /// The name of a limit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Limit { $($(#[$doc])+ $limit,)+ }

        impl Limit {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$limit,)+];

            /// Its name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$limit => $name,)+ }
            }

            /// What it counts.
            pub fn what(self) -> &'static str {
                match self { $(Self::$limit => $what,)+ }
            }
        }

        impl Limits {
            /// A limit by its name.
            pub fn get(&self, limit: Limit) -> usize {
                match limit { $(Limit::$limit => self.$field,)+ }
            }

            /// Sets a limit by its name.
            pub fn set(&mut self, limit: Limit, value: usize) {
                match limit { $(Limit::$limit => self.$field = value,)+ }
            }
        }
    };
}

limits! {
    /// Bytes of a text file, or of one file inside an archive.
    text_bytes, Text, "text", "bytes of text", 32 << 20;
    /// Bytes of a chat.
    chat_bytes, Chat, "chat", "bytes of a chat", 64 << 20;
    /// Bytes of a picture or an archive.
    container_bytes, Container, "container", "bytes", 128 << 20;
    /// Entries of a book.
    entries, Entries, "entries", "entries", 50_000;
    /// Bytes of one entry.
    entry_bytes, Entry, "entry", "bytes in one entry", 4 << 20;
    /// Keys of one entry.
    keys, Keys, "keys", "keys in one entry", 10_000;
    /// Levels of nested JSON.
    nesting, Nesting, "nesting", "levels of nesting", 128;
    /// Messages of a chat.
    messages, Messages, "messages", "messages", 100_000;
    /// Files of an archive.
    files, Files, "files", "files", 10_000;
    /// Bytes that all files of an archive may unpack to.
    unpacked_bytes, Unpacked, "unpacked", "bytes when unpacked", 512 << 20;
    /// How many times larger than its packed form a file may be.
    unpack_ratio, Ratio, "ratio", "times its packed size", 100;
    /// Values of a text: two bytes of it may become a hundred in memory.
    values, Values, "values", "JSON values", 1_500_000;
    /// Items of one list or object; no book and no entry may have as many.
    items, Items, "items", "items in one list or object", 200_000;
    /// Values of one entry.
    entry_values, EntryValues, "entry-values", "values in one entry", 50_000;
    /// Values outside of entries. What is not known there is carried along, and takes many
    /// times more memory than the file.
    outside_values, OutsideValues, "outside-values", "values outside of its entries", 200_000;
    /// Values of entries that are only carried along. They are many times larger in memory
    /// than in the file, and copied whenever an entry is.
    unknown_values, UnknownValues, "unknown-values", "values that belong to no lorebook", 300_000;
}

impl Limit {
    /// The limit of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|limit| limit.as_str() == name)
    }
}

impl Limits {
    /// The limit on the bytes of a file with lore that begins with these: a picture, an
    /// archive or a module may hold more than text.
    pub fn which_of_file(head: &[u8]) -> Limit {
        if is_container(head) { Limit::Container } else { Limit::Text }
    }
}

/// Whether a file that begins with these bytes is a picture, an archive or a module, and no
/// text.
pub fn is_container(head: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 5] =
        [&crate::png::SIGNATURE, &crate::risum::MARK, b"PK\x03\x04", b"\xFF\xD8\xFF", b"RIFF"];
    BEGINNINGS.iter().any(|beginning| head.starts_with(beginning))
}
