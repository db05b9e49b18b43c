//! Disks that fail: the n-th write of SQLite is refused.
//!
//! Writing, truncating, syncing and deleting a file count as one write each. Half of a refused
//! write reaches the file, as on a disk that is full or breaks. Only files in one folder fail, and
//! only while [`Faults`] exists.

mod vfs;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store_suite::Failure;

/// How long the fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Once: the next write succeeds.
    Passing,
    /// From then on.
    Lasting,
}

/// Faults in one folder.
#[derive(Debug)]
pub struct Faults {
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Faults {
    /// Lets the `at`-th write in `folder` fail, counted from 1. Waits for other faults of this
    /// process to end.
    pub fn begin(folder: &Path, at: u64, trouble: Trouble) -> Result<Self, Failure> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        vfs::install()?;
        let until = match trouble {
            Trouble::Passing => at,
            Trouble::Lasting => u64::MAX,
        };
        vfs::arm(folder, at, until);
        Ok(Self { _alone: alone })
    }

    /// Writes so far.
    pub fn writes(&self) -> u64 {
        vfs::count()
    }

    /// The disk is sound again.
    pub fn mend(&self) {
        vfs::mend();
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        vfs::disarm();
    }
}
