//! The pages of a database file and of its log, read without SQLite.
//!
//! SQLite refuses a file with a damaged first page or a missing end, and stops reading a log at
//! the first damaged frame. Here every page is read on its own.

use std::{fs::File, io::Read, path::Path};

use rustc_hash::FxHashMap;

/// The default page size of SQLite.
const DEFAULT_SIZE: usize = 4096;

/// The first bytes of every database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The pages of a database, numbered from 1.
#[derive(Debug, Default)]
pub(super) struct PageReader {
    file: Vec<u8>,
    size: usize,
    /// Pages of the log that are newer than those of the file.
    newer: FxHashMap<usize, Vec<u8>>,
    /// Frames of the log that SQLite does not read.
    pub(super) unseen: usize,
}

impl PageReader {
    /// Reads a file and the log beside it.
    pub(super) fn read(path: &Path) -> std::io::Result<Self> {
        let file = bytes(path)?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = bytes(Path::new(&log)).unwrap_or_default();
        Ok(Self::of(file, &log))
    }

    /// Takes the bytes of a file and of its log.
    pub(super) fn of(file: Vec<u8>, log: &[u8]) -> Self {
        let stated = number(&file, 16, 2).map(|size| if size == 1 { 65_536 } else { size });
        let logged = number(log, 8, 4);
        let is_size = |size: &usize| size.is_power_of_two() && (512..=65_536).contains(size);
        let whole = file.starts_with(MAGIC);
        let size = stated.filter(|_| whole).or(logged).filter(is_size).unwrap_or(DEFAULT_SIZE);
        let mut pages = Self { file, size, ..Self::default() };
        pages.log(log);
        pages
    }

    /// The number of pages.
    pub(super) fn count(&self) -> usize {
        let logged = self.newer.keys().max().copied().unwrap_or(0);
        self.file.len().div_ceil(self.size).max(logged)
    }

    /// One page. A page that is cut off ends with zeros.
    pub(super) fn page(&self, at: usize) -> Option<Vec<u8>> {
        if let Some(page) = self.newer.get(&at) {
            return Some(page.clone());
        }
        let start = at.checked_sub(1)?.checked_mul(self.size)?;
        let end = self.file.len().min(start.checked_add(self.size)?);
        let mut page = self.file.get(start..end)?.to_vec();
        page.resize(self.size, 0);
        Some(page)
    }

    /// Adds the frames of a log. The checksum of a frame continues that of the frame before, which
    /// each frame states. So a damaged frame is skipped, and the checksums of later ones still hold.
    fn log(&mut self, log: &[u8]) {
        let Some(big) = number(log, 0, 4).and_then(|magic| match magic {
            0x377F_0683 => Some(true),
            0x377F_0682 => Some(false),
            _ => None,
        }) else {
            return;
        };
        let Some(salt) = log.get(16..24) else { return };
        let mut before = (word(log, 24, true), word(log, 28, true));
        let mut broken = false;
        let mut since = FxHashMap::default();
        for frame in log.get(32..).unwrap_or_default().chunks_exact(24 + self.size) {
            let (head, page) = frame.split_at(24);
            if head.get(8..16) != Some(salt) {
                break;
            }
            let sum = checksum(checksum(before, &head[..8], big), page, big);
            before = (word(head, 16, true), word(head, 20, true));
            if sum != before {
                broken = true;
                continue;
            }
            self.unseen += usize::from(broken);
            since.insert(number(head, 0, 4).unwrap_or(0), page.to_vec());
            // The last frame of a transaction has the size of the file after it.
            if number(head, 4, 4) != Some(0) {
                self.newer.extend(since.drain());
            }
        }
        self.unseen += usize::from(broken);
    }
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The big-endian number of `width` bytes at `at`.
pub(super) fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let Some(Ok(word)) = bytes.get(at..at + 4).map(<[u8; 4]>::try_from) else { return 0 };
    if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

fn checksum((mut first, mut second): (u32, u32), bytes: &[u8], big: bool) -> (u32, u32) {
    for at in (0..bytes.len()).step_by(8) {
        first = first.wrapping_add(word(bytes, at, big)).wrapping_add(second);
        second = second.wrapping_add(word(bytes, at + 4, big)).wrapping_add(first);
    }
    (first, second)
}
