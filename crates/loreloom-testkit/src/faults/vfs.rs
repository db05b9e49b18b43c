//! A file system for SQLite that wraps the system's and fails on demand.
//!
//! SQLite takes file systems as C structures of functions, so this is the only unsafe code of the
//! project. Each function finds the wrapped file, which follows ours in the same allocation, and
//! calls its method of the same name.

#![expect(unsafe_code, reason = "SQLite's file systems are C structures of functions")]

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::size_of,
    path::{Path, PathBuf},
    ptr,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use rusqlite::ffi::{
    SQLITE_ERROR, SQLITE_IOERR_DELETE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_TRUNCATE,
    SQLITE_IOERR_WRITE, SQLITE_OK, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs,
    sqlite3_vfs_find, sqlite3_vfs_register,
};

static COUNT: AtomicU64 = AtomicU64::new(0);
static FIRST: AtomicU64 = AtomicU64::new(u64::MAX);
static LAST: AtomicU64 = AtomicU64::new(0);
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);
static SYSTEM: OnceLock<System> = OnceLock::new();

/// The file system that is wrapped.
struct System(*mut sqlite3_vfs);

// SAFETY: SQLite keeps its file systems for the whole life of the process and calls them
// from any thread itself.
unsafe impl Send for System {}
// SAFETY: as above; the structure is only read.
unsafe impl Sync for System {}

/// A file of ours; the wrapped one follows it.
#[repr(C)]
struct Wrapped {
    base: sqlite3_file,
}

/// Counts from zero; writes `first..=last` of the files in `folder` fail.
pub(super) fn arm(folder: &Path, first: u64, last: u64) {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    COUNT.store(0, SeqCst);
    LAST.store(last, SeqCst);
    FIRST.store(first, SeqCst);
}

/// No write fails.
pub(super) fn mend() {
    FIRST.store(u64::MAX, SeqCst);
}

/// Faults end, and files are no longer counted.
pub(super) fn disarm() {
    mend();
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Writes since [`arm`].
pub(super) fn count() -> u64 {
    COUNT.load(SeqCst)
}

/// Counts a write. Returns whether it fails.
fn fails() -> bool {
    let number = COUNT.fetch_add(1, SeqCst) + 1;
    FIRST.load(SeqCst) <= number && number <= LAST.load(SeqCst)
}

fn is_concerned(name: *const c_char) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: SQLite gives the name of a file as a string that ends with zero.
    let name = unsafe { CStr::from_ptr(name) };
    let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let named = folder.as_deref().and_then(Path::to_str).zip(name.to_str().ok());
    named.is_some_and(|(folder, name)| Path::new(name).starts_with(folder))
}

/// Makes this the file system that files are opened with, once for the process.
pub(super) fn install() -> Result<(), &'static str> {
    let mut done = Ok(());
    SYSTEM.get_or_init(|| {
        // SAFETY: a null name asks for the default; the result lives as long as the process.
        let system = unsafe { sqlite3_vfs_find(ptr::null()) };
        done = if system.is_null() { Err("SQLite has no file system") } else { register(system) };
        System(system)
    });
    done
}

fn register(system: *mut sqlite3_vfs) -> Result<(), &'static str> {
    // SAFETY: `system` is a live file system; a copy of it with other functions is one too.
    // Its functions other than opening look only at fields that the copy has as well.
    let mut ours = Box::new(unsafe { *system });
    let wrapped = c_int::try_from(size_of::<Wrapped>()).unwrap_or(c_int::MAX);
    ours.szOsFile = ours.szOsFile.saturating_add(wrapped);
    ours.zName = c"loreloom-faults".as_ptr();
    ours.pNext = ptr::null_mut();
    ours.xOpen = Some(open);
    ours.xDelete = Some(delete);
    // SAFETY: SQLite keeps the structure, so it is given away and never freed.
    let code = unsafe { sqlite3_vfs_register(Box::into_raw(ours), 1) };
    if code == SQLITE_OK { Ok(()) } else { Err("SQLite refuses another file system") }
}

fn system() -> Option<*mut sqlite3_vfs> {
    SYSTEM.get().map(|system| system.0)
}

/// The file that `file` wraps.
fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: `file` is one that `open` made: the allocation holds `Wrapped` and behind it the
    // system's file, both of which are aligned to eight bytes.
    unsafe { file.cast::<Wrapped>().add(1).cast() }
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let Some(system) = system() else { return SQLITE_ERROR };
    // SAFETY: called by SQLite with an allocation of `szOsFile` bytes, which has room for the
    // system's file alone or behind ours.
    unsafe {
        let Some(open) = (*system).xOpen else { return SQLITE_ERROR };
        if !is_concerned(name) {
            return open(system, name, file, flags, out);
        }
        (*file).pMethods = ptr::null();
        let code = open(system, name, inner(file), flags, out);
        if code == SQLITE_OK {
            (*file).pMethods = &raw const METHODS;
        }
        code
    }
}

unsafe extern "C" fn delete(_vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    let Some(system) = system() else { return SQLITE_ERROR };
    if is_concerned(name) && fails() {
        return SQLITE_IOERR_DELETE;
    }
    // SAFETY: forwarded as SQLite called it.
    unsafe { (*system).xDelete.map_or(SQLITE_ERROR, |delete| delete(system, name, sync)) }
}

/// Functions that only forward.
macro_rules! forward {
    ($($name:ident = $method:ident ($($given:ident: $kind:ty),*);)+) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $given: $kind)*) -> c_int {
            let inner = inner(file);
            // SAFETY: forwarded as SQLite called it, to the file that was opened with it.
            unsafe { (*(*inner).pMethods).$method.map_or(SQLITE_ERROR, |call| call(inner $(, $given)*)) }
        }
    )+};
}

forward! {
    close = xClose();
    read = xRead(into: *mut c_void, bytes: c_int, at: sqlite3_int64);
    write_through = xWrite(from: *const c_void, bytes: c_int, at: sqlite3_int64);
    truncate_through = xTruncate(size: sqlite3_int64);
    file_size = xFileSize(size: *mut sqlite3_int64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_reserved_lock = xCheckReservedLock(out: *mut c_int);
    file_control = xFileControl(what: c_int, argument: *mut c_void);
    sector_size = xSectorSize();
    device_characteristics = xDeviceCharacteristics();
    shm_map = xShmMap(page: c_int, bytes: c_int, extend: c_int, out: *mut *mut c_void);
    shm_lock = xShmLock(from: c_int, count: c_int, flags: c_int);
    shm_unmap = xShmUnmap(delete: c_int);
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    at: sqlite3_int64,
) -> c_int {
    if fails() {
        // SAFETY: half of the bytes that SQLite gave.
        unsafe { write_through(file, from, bytes / 2, at) };
        return SQLITE_IOERR_WRITE;
    }
    // SAFETY: forwarded as SQLite called it.
    unsafe { write_through(file, from, bytes, at) }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    if fails() {
        return SQLITE_IOERR_TRUNCATE;
    }
    // SAFETY: forwarded as SQLite called it.
    unsafe { truncate_through(file, size) }
}

/// No process is killed here, so nothing must reach the disk: the tests are fast.
unsafe extern "C" fn sync(_file: *mut sqlite3_file, _flags: c_int) -> c_int {
    if fails() { SQLITE_IOERR_FSYNC } else { SQLITE_OK }
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    let inner = inner(file);
    // SAFETY: forwarded as SQLite called it.
    unsafe {
        if let Some(barrier) = (*(*inner).pMethods).xShmBarrier {
            barrier(inner);
        }
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
