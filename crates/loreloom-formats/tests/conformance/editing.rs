//! Editing a book leaves everything else in its file alone.

use std::{error::Error, fs, path::PathBuf};

use loreloom_core::book::{Book, Container, Entry, Key};
use loreloom_formats::{ExportOptions, Format, ImportOptions, Imported, export, import};

type Outcome = Result<(), Box<dyn Error>>;

/// A file's name, its bytes and what was read from them.
type ReadFile = (String, Vec<u8>, Imported);

/// The files that can be read, with what was read.
pub(crate) fn readable() -> Result<Vec<ReadFile>, Box<dyn Error>> {
    let mut found = Vec::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(super::own("formats/synthetic"))?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        let bytes = fs::read(&path)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let options = ImportOptions { file_name: name.clone(), ..ImportOptions::new("book") };
        if let Ok(imported) = import(&bytes, &options) {
            found.push((name.unwrap_or_default(), bytes, imported));
        }
    }
    Ok(found)
}

fn write(bytes: &[u8], book: &Book, imported: &Imported) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = ExportOptions {
        card: imported.card.as_ref(),
        original: Some(bytes),
        ..ExportOptions::default()
    };
    Ok(export(book, imported.format, &options)?.bytes)
}

fn read(bytes: &[u8]) -> Result<Imported, Box<dyn Error>> {
    Ok(import(bytes, &ImportOptions::new("book"))?)
}

/// Reads what takes the place of a file.
fn read_as(file: &str, bytes: &[u8]) -> Result<Imported, Box<dyn Error>> {
    let options = ImportOptions { file_name: Some(file.into()), ..ImportOptions::new("book") };
    Ok(import(bytes, &options)?)
}

/// Everything but the entry's own text and what only its file has.
pub(crate) fn meaning(entry: &Entry) -> Entry {
    Entry {
        id: "".into(),
        original_id: None,
        raw: None,
        extensions: loreloom_core::book::Extensions::new(),
        ..entry.clone()
    }
}

fn edit(entry: &mut Entry, format: Format) {
    "Edited: \"é\"\n\tand {{char}} \\ done".clone_into(&mut entry.content);
    entry.activation.enabled = true;
    // Keywords of AgnAI have wildcards instead of patterns, these others have neither.
    let has_patterns = !matches!(
        format,
        Format::Agnai
            | Format::KoboldLite
            | Format::KoboldUnited
            | Format::Aidungeon
            | Format::Byaf
            | Format::ByafCharacter
    );
    let second = if has_patterns { "/new{1,2}/i" } else { "other" };
    entry.activation.keys = vec![Key::parse("new key"), Key::parse(second)];
}

/// How many bytes two texts share at their beginning and at their end.
fn shared_ends(a: &[u8], b: &[u8]) -> (usize, usize) {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (start, end)
}

#[test]
fn an_edited_entry_reads_back_and_no_other_byte_changes() -> Outcome {
    for (file, bytes, imported) in readable()? {
        if imported.format == Format::Perchance {
            continue;
        }
        for at in 0..imported.book.entries.len() {
            let was = &imported.book.entries[at];
            let raw = was.raw.as_deref().unwrap_or_default();
            // A hole, an organiser's row, and a rule that excludes: they have no keys.
            let has_keys = raw != "null" && !was.name.starts_with("Folder");
            if !has_keys || !was.activation.exclude_any.is_empty() {
                continue;
            }
            let mut book = imported.book.clone();
            edit(&mut book.entries[at], imported.format);
            let written = write(&bytes, &book, &imported)?;
            let again = read_as(&file, &written)?;
            assert_eq!(again.book.entries.len(), book.entries.len(), "{file}");
            for (place, (found, wanted)) in again.book.entries.iter().zip(&book.entries).enumerate()
            {
                if place == at {
                    assert_eq!(found.content, wanted.content, "{file} {at}");
                    assert_eq!(meaning(found), meaning(wanted), "{file} {at}");
                } else {
                    assert_eq!(found.raw, wanted.raw, "{file} {at}: entry {place}");
                }
            }
            // A YAML file is written anew when it is edited.
            let is_json = imported.format != Format::CardYaml;
            if is_json && imported.format.container() == Container::Text {
                let (start, end) = shared_ends(&bytes, &written);
                let changed = bytes.len().saturating_sub(start + end);
                assert!(changed <= raw.len(), "{file} {at}: {changed} bytes of {}", raw.len());
            }
        }
    }
    Ok(())
}

#[test]
fn an_entry_can_be_removed_and_another_added() -> Outcome {
    for (file, bytes, imported) in readable()? {
        if imported.book.entries.is_empty() || imported.format == Format::Perchance {
            continue;
        }
        let mut book = imported.book.clone();
        let removed = book.entries.remove(0);
        let kept: Vec<_> = book.entries.iter().map(|entry| entry.raw.clone()).collect();
        let mut added = Entry::new("new");
        edit(&mut added, imported.format);
        book.entries.push(added);
        let again = read_as(&file, &write(&bytes, &book, &imported)?)?.book;
        assert_eq!(again.entries.len(), book.entries.len(), "{file} without {}", removed.id);
        let raw: Vec<_> =
            again.entries.iter().filter(|entry| !entry.content.starts_with("Edited")).collect();
        let raw: Vec<_> = raw.into_iter().map(|entry| entry.raw.clone()).collect();
        assert_eq!(raw, kept, "{file}");
        let new = again.entries.iter().find(|entry| entry.content.starts_with("Edited"));
        assert!(new.is_some_and(|entry| entry.activation.keys.len() == 2), "{file}");
    }
    Ok(())
}

#[test]
fn all_entries_can_go_and_a_list_can_be_put_in_another_order() -> Outcome {
    for (file, bytes, imported) in readable()? {
        if imported.format == Format::Perchance {
            continue;
        }
        let mut book = imported.book.clone();
        book.entries.clear();
        // An empty list tells no format, and behind a module's book there is the card's.
        let lists = [Format::Aidungeon, Format::Janitor, Format::Miku];
        let tells_nothing = lists.contains(&imported.format) || file == "card_with_module.charx";
        if !tells_nothing {
            assert_eq!(
                read_as(&file, &write(&bytes, &book, &imported)?)?.book.entries,
                [],
                "{file}"
            );
        }
        let is_map = matches!(imported.format, Format::Sillytavern | Format::KoboldUnited);
        if is_map && file != "st_entries_as_array.json" {
            continue;
        }
        book.entries = imported.book.entries.iter().rev().cloned().collect();
        let again = read_as(&file, &write(&bytes, &book, &imported)?)?.book;
        let raw = |book: &Book| -> Vec<_> {
            book.entries.iter().map(|entry| entry.raw.clone()).collect()
        };
        assert_eq!(raw(&again), raw(&book), "{file}");
    }
    Ok(())
}

#[test]
fn a_renamed_card_changes_its_name_everywhere() -> Outcome {
    for (file, bytes, imported) in readable()? {
        let Some(mut card) = imported.card.clone() else { continue };
        card.name = "Renamed".to_owned();
        card.description.push_str(" More.");
        let options =
            ExportOptions { card: Some(&card), original: Some(&bytes), ..ExportOptions::default() };
        let written = export(&imported.book, imported.format, &options)?.bytes;
        let again = read_as(&file, &written)?;
        assert_eq!(again.card.as_ref(), Some(&card), "{file}");
        let entries: Vec<_> = again.book.entries.iter().map(|entry| entry.raw.clone()).collect();
        let before: Vec<_> = imported.book.entries.iter().map(|entry| entry.raw.clone()).collect();
        assert_eq!(entries, before, "{file}");
    }
    Ok(())
}

#[test]
fn a_card_can_move_into_another_picture_without_its_old_file() -> Outcome {
    let read_own = |file: &str| fs::read(super::own("formats/synthetic").join(file));
    let imported = read(&read_own("card_itxt_chara.png")?)?;
    let other = read_own("nai_lorebook_embedded.png")?;
    for picture in [None, Some(other.as_slice())] {
        let options = ExportOptions { original: picture, ..ExportOptions::default() };
        let exported = export(&imported.book, Format::CardV2Png, &options)?;
        let again = read(&exported.bytes)?;
        assert_eq!(again.card, imported.card);
        assert_eq!(again.book.entries, imported.book.entries);
        assert_eq!(
            again.book.origin.and_then(|origin| origin.source),
            imported.book.origin.as_ref().and_then(|origin| origin.source.clone())
        );
    }
    Ok(())
}

#[test]
fn a_key_that_stands_twice_goes_as_a_whole() -> Outcome {
    let bytes =
        br#"{"entries":{"a":{"uid":1},"0":{"uid":0},"b":{"uid":2},"0":{"uid":9},"c":{"uid":3}}}"#;
    let imported = read(bytes)?;
    let mut book = imported.book.clone();
    book.entries.retain(|entry| entry.id.as_str() != "book/9");
    let written = write(bytes, &book, &imported)?;
    assert_eq!(
        String::from_utf8(written)?,
        r#"{"entries":{"a":{"uid":1},"b":{"uid":2},"c":{"uid":3}}}"#
    );
    Ok(())
}
