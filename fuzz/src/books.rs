//! Books and cards: what is read is written back as it was, edits stay where they were
//! made, and a crossing loses nothing where the other format can carry it.

use loreloom_formats::{
    ExportOptions, Format, ImportOptions, Imported,
    diff::{diff, merge},
    export, import,
};

/// An error, or a book for which everything holds. Worth keeping is what cannot be read
/// and what is of the target's own formats.
fn check(bytes: &[u8], own: &[Format], file_name: Option<&str>) -> bool {
    let options =
        ImportOptions { file_name: file_name.map(str::to_owned), ..ImportOptions::new("book") };
    let Ok(imported) = import(bytes, &options) else { return true };
    if !own.contains(&imported.format) {
        return false;
    }
    comes_back(bytes, &imported);
    edits_stay_local(bytes, &imported, &options);
    crosses(bytes, &imported, &options);
    true
}

fn comes_back(bytes: &[u8], imported: &Imported) {
    let writing = ExportOptions {
        card: imported.card.as_ref(),
        original: Some(bytes),
        ..ExportOptions::default()
    };
    let written = export(&imported.book, imported.format, &writing).map(|written| written.bytes);
    assert_eq!(written.as_deref(), Ok(bytes), "an unedited file is written back as it was");
}

fn edits_stay_local(bytes: &[u8], imported: &Imported, options: &ImportOptions) {
    let mut book = imported.book.clone();
    let Some(entry) = book.entries.first_mut() else { return };
    "Edited.".clone_into(&mut entry.content);
    let writing = ExportOptions {
        card: imported.card.as_ref(),
        original: Some(bytes),
        ..ExportOptions::default()
    };
    let written = export(&book, imported.format, &writing);
    let again = written.and_then(|written| import(&written.bytes, options));
    assert!(again.is_ok(), "an edited file reads again: {again:?}");
    let Ok(again) = again else { return };
    assert_eq!(again.book.entries.len(), book.entries.len());
    assert_eq!(again.book.entries[0].content, "Edited.");
    for (found, wanted) in again.book.entries.iter().zip(&book.entries).skip(1) {
        assert_eq!(found.raw, wanted.raw, "other entries keep their bytes");
    }
}

/// To one other format, chosen by the bytes themselves so that every run is the same.
fn crosses(bytes: &[u8], imported: &Imported, options: &ImportOptions) {
    let sum = bytes.iter().fold(bytes.len(), |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
    let format = Format::ALL[sum % Format::ALL.len()];
    let writing = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
    let written = export(&imported.book, format, &writing);
    assert!(written.is_ok(), "every format can be written: {format}: {written:?}");
    let Ok(written) = written else { return };
    if !matches!(format, Format::CardV3 | Format::LorebookV3 | Format::Sillytavern)
        || imported.format == format
    {
        return;
    }
    let again = import(&written.bytes, options);
    assert!(again.is_ok(), "what was written as {format} reads again: {again:?}");
    let Ok(again) = again else { return };
    assert_eq!(again.book.entries.len(), imported.book.entries.len());
    for (found, wanted) in again.book.entries.iter().zip(&imported.book.entries) {
        assert_eq!(found.content, wanted.content);
        assert_eq!(found.activation, wanted.activation);
        assert_eq!(found.placement, wanted.placement);
    }
}

pub fn agnai(bytes: &[u8]) -> bool {
    check(bytes, &[Format::Agnai], Some("book.json"))
}

pub fn aidungeon(bytes: &[u8]) -> bool {
    check(bytes, &[Format::Aidungeon], Some("book.json"))
}

pub fn archives(bytes: &[u8]) -> bool {
    let own = [Format::Charx, Format::Byaf, Format::ByafCharacter, Format::RisuModule];
    check(bytes, &own, Some("book.charx"))
}

pub fn cards(bytes: &[u8]) -> bool {
    let own = [
        Format::CardV1,
        Format::CardV2,
        Format::CardV3,
        Format::Pygmalion,
        Format::CharacterBook,
        Format::LorebookV3,
    ];
    check(bytes, &own, Some("book.json"))
}

pub fn janitor(bytes: &[u8]) -> bool {
    check(bytes, &[Format::Janitor], Some("book.json"))
}

/// Any bytes as a value inside an entry: what a strict parser reads we read too, to the same
/// value, and its bytes survive an edit beside it.
pub fn json(bytes: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(bytes) else { return false };
    let file = format!(r#"{{"entries":{{"0":{{"uid":0,"content":"x","vendor":{value}}}}}}}"#);
    let strict = serde_json::from_str::<serde_json::Value>(value);
    let options = ImportOptions::new("book");
    let imported = match import(file.as_bytes(), &options) {
        Ok(imported) => imported,
        Err(error) => {
            // Our own limits are narrower than a strict parser's in depth alone.
            let deep = value.matches(['[', '{']).count() > 120;
            assert!(strict.is_err() || deep, "valid JSON is read: {error}");
            return true;
        }
    };
    // NUL is read as the replacement character, with a warning.
    let has_nul = value.contains("\\u0000");
    if let (Ok(strict), [entry], false) = (&strict, &*imported.book.entries, has_nul) {
        assert_eq!(entry.extensions.get("vendor"), Some(strict), "values are what they say");
    }
    check(file.as_bytes(), &[Format::Sillytavern], Some("book.json"))
}

pub fn kobold(bytes: &[u8]) -> bool {
    check(bytes, &[Format::KoboldLite, Format::KoboldUnited], Some("book.json"))
}

pub fn novelai(bytes: &[u8]) -> bool {
    check(bytes, &[Format::Novelai], Some("book.lorebook"))
}

pub fn pictures(bytes: &[u8]) -> bool {
    // A picture that can be read may hold any format: what its text is, is not its fault.
    check(bytes, Format::ALL, Some("book.png"))
}

pub fn plain_text(bytes: &[u8]) -> bool {
    check(bytes, &[Format::Perchance], Some("book.txt"))
}

pub fn risu(bytes: &[u8]) -> bool {
    let own = [Format::Risu, Format::RisuModule, Format::RisuModuleJson];
    check(bytes, &own, Some("book.json"))
}

pub fn world_info(bytes: &[u8]) -> bool {
    check(bytes, &[Format::Sillytavern], Some("book.json"))
}

/// Two versions of a book, separated by a NUL: merging what did not change changes nothing,
/// and what both changed is never lost without a conflict.
pub fn merge_versions(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (Some(old), Some(new)) = (parts.next(), parts.next()) else { return true };
    let options = ImportOptions::new("book");
    let (Ok(old), Ok(new)) = (import(old, &options), import(new, &options)) else { return true };
    let (old, new) = (old.book, new.book);
    assert!(diff(&old, &old).is_empty());
    assert!(merge(&old, &old, &new).conflicts.is_empty());
    let merged = merge(&old, &new, &old);
    assert!(merged.conflicts.is_empty());
    assert_eq!(merged.book.entries, new.entries);
    true
}
