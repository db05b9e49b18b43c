//! How much of a hostile file is read before giving up.

/// Limits on what a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a text file, or of one file inside an archive.
    pub text_bytes: usize,
    /// Bytes of a chat.
    pub chat_bytes: usize,
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
    /// Ten times and more of what any file we know has, and so little that no file makes
    /// reading it take 256 MB: its bytes, its text, its tree and the book are all in memory
    /// for a moment.
    fn default() -> Self {
        Self {
            text_bytes: 32 << 20,
            chat_bytes: 64 << 20,
            container_bytes: 128 << 20,
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

impl Limits {
    /// How many bytes a file with lore may have that begins with these: a picture, an archive
    /// or a module may hold more than text.
    pub fn of_file(&self, head: &[u8]) -> usize {
        if is_container(head) { self.container_bytes } else { self.text_bytes }
    }
}

/// Whether a file that begins with these bytes is a picture, an archive or a module, and no
/// text.
pub fn is_container(head: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 5] =
        [&crate::png::SIGNATURE, &crate::risum::MARK, b"PK\x03\x04", b"\xFF\xD8\xFF", b"RIFF"];
    BEGINNINGS.iter().any(|beginning| head.starts_with(beginning))
}
