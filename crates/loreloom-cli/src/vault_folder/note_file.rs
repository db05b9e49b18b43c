//! One note's file: where it is, what it says, and a new text in its place.
//!
//! A new text replaces the file whole or not at all. A link stays a link: the file that it leads
//! to is replaced.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Component, Path, PathBuf},
};

use super::FolderLimits;

/// The real file of a note, if it lies inside its vault.
pub(crate) fn real(root: &Path, inside: &str) -> io::Result<PathBuf> {
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    };
    let is_note = Path::new(inside).extension().is_some_and(|one| one.eq_ignore_ascii_case("md"));
    let root = fs::canonicalize(root)?;
    let file = fs::canonicalize(root.join(inside))?;
    if is_note && Path::new(inside).components().all(plain) && file.starts_with(&root) {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "it does not lie inside its vault"))
}

/// What a note's file says. A longer file is refused: a part of it must not replace it.
pub(crate) fn read(file: &Path) -> io::Result<String> {
    let most = FolderLimits::default().note_bytes;
    let mut bytes = Vec::new();
    File::open(file)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let rule = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, rule));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Whether the file can be replaced, as far as that can be seen without writing.
pub(crate) fn is_writable(file: &Path) -> bool {
    let allows = |path: &Path| fs::metadata(path).is_ok_and(|one| !one.permissions().readonly());
    allows(file)
        && file.parent().is_some_and(allows)
        && OpenOptions::new().append(true).open(file).is_ok()
}

/// Replaces the text of a file. Its permissions stay.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    let written = File::create(&part).and_then(|mut new| {
        new.set_permissions(fs::metadata(file)?.permissions())?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&part, file)
    });
    written.inspect_err(|_| {
        // What is half written is of no use, and may not exist at all.
        let _gone = fs::remove_file(&part);
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_replaced_inside_its_vault_only() {
        let (vault, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(vault.path().join(".trash")).unwrap();
        for path in ["Quay.md", "map.png", ".trash/Old.md"] {
            fs::write(vault.path().join(path), "wet").unwrap();
        }
        fs::write(outside.path().join("Secret.md"), "secret").unwrap();
        let file = real(vault.path(), "Quay.md").unwrap();
        assert!(is_writable(&file));
        replace(&file, "dry").unwrap();
        assert_eq!(read(&file).unwrap(), "dry");
        assert_eq!(fs::read_dir(vault.path()).unwrap().count(), 3, "nothing else is left there");
        let out = format!("../{}/Secret.md", outside.path().file_name().unwrap().display());
        let long = vault.path().join("Long.md");
        let most = usize::try_from(FolderLimits::default().note_bytes).unwrap();
        fs::write(&long, "a".repeat(most)).unwrap();
        assert_eq!(read(&long).unwrap().len(), most);
        fs::write(&long, "a".repeat(most + 1)).unwrap();
        assert_eq!(read(&long).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for path in ["map.png", ".trash/Old.md", "None.md", &out, "/etc/hostname"] {
            assert!(real(vault.path(), path).is_err(), "{path}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt as _, symlink};
            symlink(outside.path().join("Secret.md"), vault.path().join("Out.md")).unwrap();
            assert!(real(vault.path(), "Out.md").is_err());
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            replace(&file, "wet again").unwrap();
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
            assert!(!is_writable(&file));
        }
    }
}
