//! A small file system of its own, which can be filled.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::store_suite::Failure;

/// Its size: the database, its log and the reserve of the server fit, and little more.
const SIZE: &str = "size=48m";

/// How long the log may take to be moved into the database.
const SETTLING: Duration = Duration::from_secs(2);

/// A mounted file system. It is gone with this value.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
    is_full: Arc<AtomicBool>,
    pouring: Mutex<Option<JoinHandle<()>>>,
}

impl SmallDisk {
    /// Mounts one. `None`, and a line that says so, if this user may not mount.
    pub fn mount() -> Result<Option<Self>, Failure> {
        let folder = tempfile::Builder::new().prefix("loreloom-disk-").tempdir()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder.path());
        if !mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            writeln!(io::stdout(), "skipped: a file system cannot be mounted by this user")?;
            return Ok(None);
        }
        Ok(Some(Self { folder, is_full: Arc::default(), pouring: Mutex::default() }))
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it, and keeps it full if the server gives back its reserve.
    pub(super) fn fill(&self) -> Result<(), Failure> {
        let mut ballast = File::create(self.ballast())?;
        pour(&mut ballast);
        self.is_full.store(true, Ordering::Relaxed);
        let is_full = Arc::clone(&self.is_full);
        let pouring = thread::spawn(move || {
            while is_full.load(Ordering::Relaxed) {
                pour(&mut ballast);
                thread::sleep(Duration::from_millis(1));
            }
        });
        *self.pouring.lock().unwrap_or_else(PoisonError::into_inner) = Some(pouring);
        Ok(())
    }

    pub(super) fn clear(&self) -> Result<(), Failure> {
        self.is_full.store(false, Ordering::Relaxed);
        let pouring = self.pouring.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The space is free once the file is closed.
        pouring.map_or(Ok(()), JoinHandle::join).map_err(|_| "the thread panicked")?;
        Ok(std::fs::remove_file(self.ballast())?)
    }

    /// Waits until the log is moved into the database: no outage of this disk would leave it time.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        let began = Instant::now();
        let written =
            || self.path().join("stories.sqlite").metadata().and_then(|one| one.modified());
        let before = written()?;
        while written()? == before && began.elapsed() < SETTLING {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn ballast(&self) -> PathBuf {
        self.folder.path().join("ballast")
    }
}

/// Writes until there is no room.
fn pour(ballast: &mut File) {
    for size in [1 << 20, 4096] {
        let bytes = vec![7; size];
        while ballast.write_all(&bytes).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.is_full.store(false, Ordering::Relaxed);
        // Lazily: a server that was killed may still have files open.
        let _unmounted = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}
