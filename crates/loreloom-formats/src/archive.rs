//! Zip archives: cards with their assets, Backyard characters, Risu modules.
//!
//! Only files that are asked for are unpacked, into memory and within limits. Names that
//! would lead out of a folder are refused, although nothing is ever written to disk here:
//! somebody who unpacks the assets later must not find them.

use std::io::{Cursor, Read as _, Write as _};

use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::{
    error::FormatError,
    limits::{Limit, Limits},
    note::Notes,
};

/// An open archive.
pub(crate) struct Archive<'bytes> {
    zip: ZipArchive<Cursor<&'bytes [u8]>>,
    limits: Limits,
    unpacked: usize,
}

fn broken(fault: impl std::fmt::Display) -> FormatError {
    FormatError::Container { kind: "zip archive", problem: fault.to_string() }
}

/// Whether a name is not one inside the archive's folder, on any system.
fn leads_out(name: &str) -> bool {
    name.starts_with(['/', '\\'])
        || name.split(['/', '\\']).any(|part| part == ".." || part.ends_with(':'))
}

impl<'bytes> Archive<'bytes> {
    pub(crate) fn open(
        bytes: &'bytes [u8],
        limits: &Limits,
        notes: &mut Notes,
    ) -> Result<Self, FormatError> {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
        let (limit, found) = (limits.files, zip.len());
        if found > limit {
            return Err(FormatError::TooMany { which: Limit::Files, limit, found });
        }
        for at in 0..zip.len() {
            let file = zip.by_index_raw(at).map_err(broken)?;
            let name = file.name().map_err(broken)?.into_owned();
            if file.enclosed_name().is_none() || leads_out(&name) {
                notes.warn(&name, "the name leads out of the archive's folder: refused");
            }
        }
        Ok(Self { zip, limits: *limits, unpacked: 0 })
    }

    /// Whether there is a file of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Unpacks a file.
    pub(crate) fn read(&mut self, name: &str) -> Result<Vec<u8>, FormatError> {
        let file = self.zip.by_name(name).map_err(broken)?;
        if leads_out(name) || file.enclosed_name().is_none() {
            return Err(broken(format!("the name `{name}` leads out of the archive's folder")));
        }
        let packed = usize::try_from(file.compressed_size()).unwrap_or(usize::MAX);
        let by_ratio = packed.saturating_mul(self.limits.unpack_ratio).max(1 << 16);
        let left = self.limits.unpacked_bytes.saturating_sub(self.unpacked);
        let limit = self.limits.text_bytes.min(by_ratio).min(left);
        let mut bytes = Vec::new();
        file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(broken)?;
        if bytes.len() > limit {
            let ratio = self.limits.unpack_ratio;
            return Err(if limit == by_ratio {
                FormatError::Exploding { ratio, limit }
            } else {
                let which = if limit == left { Limit::Unpacked } else { Limit::Text };
                FormatError::TooLarge { which, limit, found: bytes.len() }
            });
        }
        self.unpacked += bytes.len();
        Ok(bytes)
    }
}

/// A file as an archive lists it.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) checksum: u32,
}

/// All files in an archive. Nothing is unpacked. Bytes that are not an archive have no files.
pub(crate) fn files(bytes: &[u8]) -> Vec<Listed> {
    let Ok(mut zip) = ZipArchive::new(Cursor::new(bytes)) else { return Vec::new() };
    let mut found = Vec::new();
    for at in 0..zip.len() {
        let Ok(file) = zip.by_index_raw(at) else { continue };
        if let (false, Ok(name)) = (file.is_dir(), file.name()) {
            let (size, checksum) = (file.size(), file.crc32());
            found.push(Listed { name: name.into_owned(), size, checksum });
        }
    }
    found
}

/// The archive with some files replaced or added. All others, and what comes before the archive (a
/// picture, a program), are copied byte for byte.
pub(crate) fn with_files(
    bytes: Option<&[u8]>,
    files: &[(String, Vec<u8>)],
) -> Result<Vec<u8>, FormatError> {
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    // The oldest time that zip knows: the same book gives the same bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    let put = |out: &mut ZipWriter<_>, name: &str, content: &[u8]| {
        out.start_file(name, options).map_err(broken)?;
        out.write_all(content).map_err(broken)
    };
    let mut written: Vec<&str> = Vec::new();
    let mut prefix: &[u8] = &[];
    if let Some(bytes) = bytes {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
        let start = usize::try_from(zip.offset()).unwrap_or(usize::MAX);
        prefix = bytes.get(..start).unwrap_or_default();
        for at in 0..zip.len() {
            let file = zip.by_index_raw(at).map_err(broken)?;
            let found = file.name().map_err(broken)?.into_owned();
            match files.iter().find(|(name, _)| *name == found) {
                Some((name, content)) => {
                    put(&mut out, name, content)?;
                    written.push(name);
                }
                None => out.raw_copy_file(file).map_err(broken)?,
            }
        }
    }
    for (name, content) in files.iter().filter(|(name, _)| !written.contains(&name.as_str())) {
        put(&mut out, name, content)?;
    }
    let archive = out.finish().map_err(broken)?.into_inner();
    Ok([prefix, &archive].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let files: Vec<_> =
            files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
        with_files(None, &files).unwrap()
    }

    #[test]
    fn files_are_replaced_in_place_and_others_copied() {
        let before = archive(&[("a", b"1"), ("b", b"2"), ("c", b"3")]);
        let files = [("b".to_owned(), b"two".to_vec()), ("d".to_owned(), b"4".to_vec())];
        let after = with_files(Some(&before), &files).unwrap();
        let mut notes = Notes::default();
        let mut open = Archive::open(&after, &Limits::default(), &mut notes).unwrap();
        let read: Vec<Vec<u8>> =
            ["a", "b", "c", "d"].iter().map(|name| open.read(name).unwrap()).collect();
        assert_eq!(read, [&b"1"[..], b"two", b"3", b"4"]);
        assert!(!open.has("e"));
    }

    #[test]
    fn what_stands_before_the_archive_stays() {
        let before = [b"picture".to_vec(), archive(&[("a", b"1"), ("b", b"2")])].concat();
        let after = with_files(Some(&before), &[("a".to_owned(), b"one".to_vec())]).unwrap();
        assert!(after.starts_with(b"picturePK"));
        let mut open = Archive::open(&after, &Limits::default(), &mut Notes::default()).unwrap();
        assert_eq!(
            (open.read("a").unwrap(), open.read("b").unwrap()),
            (b"one".to_vec(), b"2".to_vec())
        );
    }

    #[test]
    fn a_file_that_unpacks_to_too_much_is_refused() {
        let bytes = archive(&[("card.json", &vec![b' '; 20 << 20])]);
        let mut open = Archive::open(&bytes, &Limits::default(), &mut Notes::default()).unwrap();
        let error = open.read("card.json").unwrap_err();
        assert!(matches!(error, FormatError::Exploding { ratio: 100, .. }), "{error}");
    }

    #[test]
    fn a_file_whose_name_leads_out_is_not_unpacked() {
        for name in ["../a", "a/../../b", "/etc/a", "\\a", "a\\..\\b", "C:/a"] {
            let bytes = archive(&[(name, b"1")]);
            let mut notes = Notes::default();
            let mut open = Archive::open(&bytes, &Limits::default(), &mut notes).unwrap();
            let error = open.read(name).unwrap_err().to_string();
            let rule = format!("the name `{name}` leads out of the archive's folder");
            assert_eq!(error, format!("not a usable zip archive: {rule}"));
            assert_eq!(notes.finish().len(), 1, "{name}");
        }
    }

    #[test]
    fn what_is_no_archive_says_so() {
        let error = Archive::open(b"PK\x03\x04 nothing", &Limits::default(), &mut Notes::default());
        let text = error.err().unwrap().to_string();
        assert!(text.starts_with("not a usable zip archive: "), "{text}");
    }
}
