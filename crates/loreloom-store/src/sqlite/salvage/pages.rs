//! The pages of a database file and of its log, read without SQLite.
//!
//! SQLite refuses a file with a damaged first page or a missing end, and stops reading a log at
//! the first damaged frame. Here every page is read on its own.

use std::{fs::File, io::Read, path::Path};

use rustc_hash::FxHashMap;

use crate::sqlite::log::{DEFAULT_PAGE, LogReader, is_page_size, log_of, number};

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
        let log = bytes(&log_of(path)).unwrap_or_default();
        Ok(Self::of(file, &log))
    }

    /// Takes the bytes of a file and of its log.
    pub(super) fn of(file: Vec<u8>, log: &[u8]) -> Self {
        let stated = number(&file, 16, 2).map(|size| if size == 1 { 65_536 } else { size });
        let logged = number(log, 8, 4);
        let whole = file.starts_with(MAGIC);
        let size = stated.filter(|_| whole).or(logged).filter(|size| is_page_size(*size));
        let size = size.unwrap_or(DEFAULT_PAGE);
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

    /// Adds the frames of a log, also those behind a damaged one.
    fn log(&mut self, log: &[u8]) {
        let Ok(Some(mut reader)) = LogReader::begin(log, self.size) else { return };
        let mut broken = !reader.is_sound;
        let mut since = FxHashMap::default();
        let mut waiting = 0;
        while let Ok(Some(frame)) = reader.next_frame() {
            if !frame.is_whole || frame.content.len() != self.size {
                broken = true;
                continue;
            }
            waiting += usize::from(broken);
            since.insert(frame.page, frame.content.to_vec());
            if frame.is_commit {
                self.newer.extend(since.drain());
                self.unseen += std::mem::take(&mut waiting);
            }
        }
    }
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
