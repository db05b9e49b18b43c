//! Reading what can be read of a damaged database, and telling it again into a new one.
//!
//! The damaged file is only read, byte by byte and without SQLite, so that a page that is
//! sound gives its rows whatever became of the others. What they say is checked by its
//! hashes, the stories are told again into a new file, and everything that is missing is
//! named there. Nothing is deleted: the damaged file stays where it is.

mod pages;
mod rebuild;
mod record;
mod rows;

use std::path::Path;

use loreloom_ports::StoreError;
use serde::{Deserialize, Serialize};

use self::{pages::Pages, rows::Carved};
use super::{
    connect::Location,
    upkeep::{Partial, refuse_to_overwrite},
};
use crate::doctor::Finding;

/// What could be read of a damaged database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salvage {
    /// Chats that could be read, wholly or in part.
    pub chats: u64,
    /// Turns whose state could be read.
    pub turns: u64,
    /// What could not be read, by name.
    pub lost: Vec<Finding>,
}

/// Reads a damaged database and says what could be saved; writes nothing.
pub(super) fn look(from: &Path) -> Result<Salvage, StoreError> {
    rebuild::rebuild(&carve(from)?, &Location::Memory)
}

/// Writes what can be read of a damaged database to a new file.
pub(super) fn save(from: &Path, to: &Path) -> Result<Salvage, StoreError> {
    refuse_to_overwrite(to)?;
    let carved = carve(from)?;
    if carved.chats.is_empty() {
        return Err(StoreError::NotADatabase { path: from.display().to_string() });
    }
    let partial = Partial::beside(to);
    let salvage = rebuild::rebuild(&carved, &Location::File(partial.path().to_owned()))?;
    partial.keep(to)?;
    Ok(salvage)
}

fn carve(from: &Path) -> Result<Carved, StoreError> {
    let pages = Pages::read(from).map_err(|error| StoreError::Database {
        doing: "reading the damaged file",
        source: error.into(),
    })?;
    Ok(Carved::of(&pages))
}

#[cfg(test)]
mod tests {
    use super::{pages::Pages, record};

    #[test]
    fn bytes_of_any_kind_are_read_without_a_panic() {
        for length in [0, 1, 15, 16, 99, 100, 101, 511, 512, 4096, 9000] {
            for byte in [0_u8, 1, 2, 10, 13, 0x7F, 0x80, 0xFF] {
                let mut file = vec![byte; length];
                for magic in [false, true] {
                    if magic && length >= 16 {
                        file[..16].copy_from_slice(b"SQLite format 3\0");
                    }
                    let pages = Pages::of(file.clone(), &file);
                    let rows = (0..=pages.count() + 1).map(|page| record::rows(&pages, page).len());
                    assert!(rows.sum::<usize>() < 10_000);
                }
            }
        }
    }
}
