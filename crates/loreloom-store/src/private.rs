//! Files and folders that only their owner may read: stories are private, and machines are shared.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// What lies beside an SQLite file.
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// A file or folder that others could read until now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// The file or folder.
    pub path: PathBuf,
    /// The permissions it had.
    pub before: u32,
}

/// Creates a folder, and those above it, if they do not exist. Only the owner may enter the new
/// ones.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file to append to it. A new one belongs to its owner only.
pub(crate) fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes a file that belongs to its owner only, in place of one that is there. Readers see the
/// old or the new content.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    // One that was left behind may belong to somebody else.
    let _gone = std::fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// Makes sure that a database file exists before SQLite opens it: SQLite would let everybody read
/// a new one. Its log gets the permissions of the file.
pub(crate) fn create_database(path: &Path) -> io::Result<()> {
    if path.exists() { Ok(()) } else { append_to(path).map(drop) }
}

/// Takes the permissions of others from a database file and what lies beside it. Returns what was
/// changed.
pub fn narrow_database(path: &Path) -> io::Result<Vec<Narrowed>> {
    let mut narrowed = Vec::new();
    for end in BESIDE {
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        narrowed.extend(narrow(Path::new(&file))?);
    }
    Ok(narrowed)
}

/// Takes the permissions of others from a file or folder, if it exists. A folder that everybody
/// may write to, such as the one for temporary files, stays.
#[cfg(unix)]
pub fn narrow(path: &Path) -> io::Result<Option<Narrowed>> {
    use std::os::unix::fs::PermissionsExt as _;
    const OTHERS: u32 = 0o077;
    const STICKY: u32 = 0o1000;
    let metadata = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    let before = metadata.permissions().mode() & 0o7777;
    if before & OTHERS == 0 || before & STICKY != 0 {
        return Ok(None);
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(before & !OTHERS))?;
    Ok(Some(Narrowed { path: path.to_owned(), before }))
}

/// Other systems keep the files of a user private by themselves.
#[cfg(not(unix))]
pub fn narrow(_path: &Path) -> io::Result<Option<Narrowed>> {
    Ok(None)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_owner_may_read_what_is_created_and_what_was_open_is_narrowed() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("data");
        create_folder(&folder).unwrap();
        let file = folder.join("stories.sqlite");
        create_database(&file).unwrap();
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert_eq!(narrow_database(&file).unwrap(), []);
        let log = folder.join("stories.sqlite-wal");
        File::create(&log).unwrap();
        for (path, wide) in [(&folder, 0o755), (&file, 0o644), (&log, 0o660)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(wide)).unwrap();
        }
        assert_eq!(
            narrow_database(&file).unwrap(),
            [Narrowed { path: file.clone(), before: 0o644 }, Narrowed { path: log, before: 0o660 }]
        );
        let narrowed = Narrowed { path: folder.clone(), before: 0o755 };
        assert_eq!(narrow(&folder).unwrap(), Some(narrowed));
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(narrow(&folder).unwrap(), None, "others use it too");
    }
}
