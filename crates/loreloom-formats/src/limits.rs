//! How much of a hostile file is read before giving up.

/// Limits on what a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a text file, or of one file inside an archive.
    pub text_bytes: usize,
    /// Bytes of a picture or an archive.
    pub container_bytes: usize,
    /// Entries of a book.
    pub entries: usize,
    /// Bytes of one entry.
    pub entry_bytes: usize,
    /// Keys of one entry.
    pub keys: usize,
    /// Levels of nested JSON.
    pub nesting: usize,
    /// Messages of a chat.
    pub messages: usize,
    /// Bytes that all files of an archive may unpack to.
    pub unpacked_bytes: usize,
    /// How many times larger than its packed form a file may be.
    pub unpack_ratio: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes: 64 << 20,
            container_bytes: 256 << 20,
            entries: 50_000,
            entry_bytes: 4 << 20,
            keys: 10_000,
            nesting: 128,
            messages: 100_000,
            unpacked_bytes: 512 << 20,
            unpack_ratio: 100,
        }
    }
}
