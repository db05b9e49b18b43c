//! A file beside the store for turns that the store did not take.
//!
//! Each process has a file of its own, which it locks: another process that starts takes over
//! only files whose process is gone. If the first folder is full, the next one is used; a number
//! in each record keeps the order.

mod record;
mod reserve;

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use loreloom_ports::TurnSpill;

use self::reserve::Reserve;
use crate::{StoreAddress, private};

/// How the names of spill files begin and end.
const NAME: (&str, &str) = ("waiting-turns-", ".spill");

/// The spill of one process.
#[derive(Debug)]
pub struct SpillFile {
    /// Where files may be, the best place first.
    folders: Vec<PathBuf>,
    names: SpillNames,
    reserve: Option<Reserve>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The process's own files, locked.
    own: Vec<OpenSpill>,
    /// Files of processes that are gone, locked until their turns are stored.
    adopted: Vec<OpenSpill>,
}

#[derive(Debug)]
struct OpenSpill {
    path: PathBuf,
    file: File,
}

/// What the names of a store's files begin with.
#[derive(Debug)]
struct SpillNames {
    /// The folder of a store that is a file. The file's name is enough there: a full disk may be
    /// the reason to move the folder before the next start.
    beside: Option<(PathBuf, String)>,
    elsewhere: String,
}

impl SpillNames {
    fn of(store: &StoreAddress, folders: &[PathBuf]) -> Self {
        let Some(file) = store.file() else {
            return Self { beside: None, elsewhere: named(&store.to_string()) };
        };
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let beside = folders.first().map(|folder| (folder.clone(), named(&name)));
        Self { beside, elsewhere: named(&whole.display().to_string()) }
    }

    fn in_folder(&self, folder: &Path) -> &str {
        let beside = self.beside.as_ref().filter(|(own, _)| own == folder);
        beside.map_or(&self.elsewhere, |(_, name)| name)
    }
}

fn named(store: &str) -> String {
    let mut hash = flate2::Crc::new();
    hash.update(store.as_bytes());
    format!("{}{:08x}", NAME.0, hash.sum())
}

impl SpillFile {
    /// The spill of a store, in the first of these folders that has room. A store that is a file
    /// also gets a reserve of space in the first folder.
    pub fn new(folders: Vec<PathBuf>, store: &StoreAddress) -> Self {
        let names = SpillNames::of(store, &folders);
        // All servers of a store share it, so that none is left behind by those that were killed.
        let reserve = names.beside.as_ref();
        let reserve =
            reserve.map(|(folder, name)| Reserve::keep(folder.join(format!("{name}.reserve"))));
        Self { folders, names, reserve, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process's own file in a folder.
    fn own<'state>(
        &self,
        state: &'state mut State,
        folder: &Path,
    ) -> io::Result<&'state mut OpenSpill> {
        let name = self.names.in_folder(folder);
        let path = folder.join(format!("{name}-{}{}", std::process::id(), NAME.1));
        if let Some(at) = state.own.iter().position(|one| one.path == path) {
            return Ok(&mut state.own[at]);
        }
        private::create_folder(folder)?;
        if !is_ours(folder)? {
            return Err(io::Error::other("the folder belongs to somebody else"));
        }
        let file = private::append_to(&path)?;
        file.try_lock()?;
        state.own.push(OpenSpill { path, file });
        let last = state.own.len() - 1;
        Ok(&mut state.own[last])
    }

    /// The files of processes that are gone.
    fn abandoned(&self, folder: &Path) -> Vec<OpenSpill> {
        let Ok(entries) = folder.read_dir() else { return Vec::new() };
        if !is_ours(folder).unwrap_or_default() {
            return Vec::new();
        }
        let begins = format!("{}-", self.names.in_folder(folder));
        let is_spill = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(&begins) && name.ends_with(NAME.1)
        };
        let open = |path: PathBuf| {
            let file = File::options().read(true).write(true).open(&path).ok()?;
            file.try_lock().ok()?;
            Some(OpenSpill { path, file })
        };
        entries.flatten().map(|entry| entry.path()).filter(is_spill).filter_map(open).collect()
    }
}

impl TurnSpill for SpillFile {
    fn append(&self, record: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let number = state.next;
        let bytes = record::write(number, record)?;
        let mut failed = io::Error::other("there is no folder for a spill");
        for folder in &self.folders {
            let written = self.own(&mut state, folder).and_then(|own| own.append(&bytes));
            match written {
                Ok(()) => {
                    state.next = number + 1;
                    return Ok(());
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn records(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut state = self.state();
        let mut found = Vec::new();
        for folder in &self.folders {
            for mut spill in self.abandoned(folder) {
                let mut bytes = Vec::new();
                spill.file.read_to_end(&mut bytes)?;
                found.extend(record::read(&bytes));
                state.adopted.push(spill);
            }
        }
        found.sort_by_key(|(number, _)| *number);
        state.next = found.last().map_or(0, |(number, _)| number + 1);
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    fn clear(&self) -> io::Result<()> {
        let mut state = self.state();
        let mut state = std::mem::take(&mut *state);
        let all = state.own.drain(..).chain(state.adopted.drain(..));
        // A file that stays only costs another look at its turns.
        all.map(|spill| std::fs::remove_file(spill.path)).fold(Ok(()), Result::and)
    }

    fn free_bytes(&self) -> Option<u64> {
        reserve::free_bytes(self.folders.first()?)
    }

    fn make_room(&self) -> bool {
        self.reserve.as_ref().is_some_and(Reserve::release)
    }

    fn keep_room(&self) {
        if let Some(reserve) = &self.reserve {
            reserve.refill();
        }
    }
}

impl OpenSpill {
    /// Appends bytes, all of them or none.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = self.file.seek(SeekFrom::End(0))?;
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_all());
        written.inspect_err(|_| {
            // A part of a record would end the list for those that follow.
            let _stays = self.file.set_len(before);
        })
    }
}

/// Whether nobody else can change what is in a folder.
#[cfg(unix)]
fn is_ours(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = folder.metadata()?;
    let others_write = metadata.mode() & 0o022 != 0;
    let is_user = metadata.uid() == rustix::process::geteuid().as_raw();
    Ok(metadata.is_dir() && is_user && !others_write)
}

#[cfg(not(unix))]
fn is_ours(folder: &Path) -> io::Result<bool> {
    Ok(folder.metadata()?.is_dir())
}

#[cfg(test)]
mod tests;
