//! A file that only takes space, so that there is some to give when the disk is full.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::private;

/// The size of the reserve: some hundred turns.
const SIZE: u64 = 8 << 20;

/// It takes at most this part of the free space.
const PART: u64 = 8;

/// The reserve. Dropping it gives the space back.
#[derive(Debug)]
pub(super) struct Reserve(PathBuf);

impl Reserve {
    /// Takes the space.
    pub(super) fn keep(path: PathBuf) -> Self {
        let reserve = Self(path);
        reserve.refill();
        reserve
    }

    /// Gives the space back. Returns whether there was some.
    pub(super) fn release(&self) -> bool {
        std::fs::remove_file(&self.0).is_ok()
    }

    /// Takes the space again, if it was given back and the disk has enough.
    pub(super) fn refill(&self) {
        let Some(folder) = self.0.parent() else { return };
        let size = free_bytes(folder).map_or(0, |free| SIZE.min(free / PART));
        if size > 0 && !self.0.exists() && take(&self.0, size).is_err() {
            self.release();
        }
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(target_os = "linux")]
fn take(path: &Path, size: u64) -> io::Result<()> {
    let file = private::append_to(path)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size)?;
    Ok(())
}

/// Zeros take space on file systems that cannot set it aside.
#[cfg(not(target_os = "linux"))]
fn take(path: &Path, size: u64) -> io::Result<()> {
    let mut file = private::append_to(path)?;
    io::copy(&mut io::Read::take(io::repeat(0), size), &mut file)?;
    file.sync_all()
}

/// Free bytes on the disk of a folder.
#[cfg(unix)]
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
pub(super) fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}
