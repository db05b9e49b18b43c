//! Reading what can be read of a damaged database, and writing it to a new one.
//!
//! The damaged file is only read, byte by byte and without SQLite: a sound page gives its rows,
//! whatever happened to the others. Hashes prove what was read. Everything that is missing is
//! named in the new file. Nothing is deleted.

mod carved_rows;
mod pages;
mod rebuild;
mod record;

use std::path::Path;

use loreloom_ports::StoreError;
use serde::{Deserialize, Serialize};

use self::{carved_rows::CarvedRows, pages::PageReader};
use super::{
    backup::{PartialFile, refuse_to_overwrite},
    connect::DatabaseLocation,
};
use crate::doctor::DamageFinding;

/// What could be read of a damaged database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salvage {
    /// Chats that could be read, at least in part.
    pub chats: u64,
    /// Turns whose state could be read.
    pub turns: u64,
    /// What could not be read.
    pub lost: Vec<DamageFinding>,
}

/// What could be saved of a damaged database. Writes nothing.
pub(super) fn look(from: &Path) -> Result<Salvage, StoreError> {
    rebuild::rebuild(&carve(from)?, &DatabaseLocation::Memory)
}

/// Writes what can be read of a damaged database to a new file.
pub(super) fn save(from: &Path, to: &Path) -> Result<Salvage, StoreError> {
    refuse_to_overwrite(to)?;
    let carved = carve(from)?;
    if carved.chats.is_empty() {
        return Err(StoreError::NotADatabase { path: from.display().to_string() });
    }
    let partial = PartialFile::beside(to);
    let salvage = rebuild::rebuild(&carved, &DatabaseLocation::File(partial.path().to_owned()))?;
    partial.complete(to)?;
    Ok(salvage)
}

fn carve(from: &Path) -> Result<CarvedRows, StoreError> {
    let pages = PageReader::read(from).map_err(|error| StoreError::Database {
        doing: "reading the damaged file",
        source: error.into(),
    })?;
    Ok(CarvedRows::of(&pages))
}

#[cfg(test)]
mod tests {
    use super::{pages::PageReader, record};

    #[test]
    fn bytes_of_any_kind_are_read_without_a_panic() {
        for length in [0, 1, 15, 16, 99, 100, 101, 511, 512, 4096, 9000] {
            for byte in [0_u8, 1, 2, 10, 13, 0x7F, 0x80, 0xFF] {
                let mut file = vec![byte; length];
                for magic in [false, true] {
                    if magic && length >= 16 {
                        file[..16].copy_from_slice(b"SQLite format 3\0");
                    }
                    let pages = PageReader::of(file.clone(), &file);
                    let rows = (0..=pages.count() + 1).map(|page| record::rows(&pages, page).len());
                    assert!(rows.sum::<usize>() < 10_000);
                }
            }
        }
    }
}
