//! Files that are cut, damaged or built to hurt: an error or a book, never a panic.

use std::{fs, io::Write as _};

use loreloom_core::book::Book;
use loreloom_formats::{
    ExportOptions, Format, ImportOptions, Limits, Outcome, RoundTrip, chat::import_chat, examine,
    export, import,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(super::own("formats/synthetic"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            fs::read(file.path()).ok().map(|bytes| (name, bytes))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_can_be_cut_anywhere() {
    for (name, bytes) in files() {
        let step = (bytes.len() / 97).max(1);
        for end in (0..bytes.len()).step_by(step) {
            let report = examine(&bytes[..end], Some(&name));
            assert_ne!(report.round_trip, RoundTrip::Differs, "{name} cut at {end}");
        }
    }
}

#[test]
fn a_deep_or_long_file_is_an_error_at_once() {
    for text in [
        "[".repeat(10_000_000),
        "{\"a\":".repeat(2_000_000),
        format!("{{\"entries\":{}{}}}", "[".repeat(500), "]".repeat(500)),
    ] {
        let error = import(text.as_bytes(), &ImportOptions::new("b")).unwrap_err();
        assert!(error.to_string().starts_with("JSON may nest 128 levels deep"), "{error}");
    }
    let limits = Limits { text_bytes: 100, entries: 2, ..Limits::default() };
    let options = ImportOptions { limits, ..ImportOptions::new("b") };
    let error = import(&[b' '; 101], &options).unwrap_err();
    assert_eq!(error.to_string(), "a file may have 100 bytes, found 101");
    let many = json!({"entries": {"0": {}, "1": {}, "2": {}}}).to_string();
    let error = import(many.as_bytes(), &options).unwrap_err();
    assert_eq!(error.to_string(), "a file may have 2 entries, found 3");
}

#[test]
fn an_archive_that_unpacks_to_gigabytes_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("card.json", zip::write::SimpleFileOptions::default())?;
    zip.write_all(&vec![b' '; 80 << 20])?;
    let bytes = zip.finish()?.into_inner();
    assert!(bytes.len() < 1 << 20);
    let report = examine(&bytes, Some("bomb.charx"));
    assert_eq!(report.outcome, Outcome::Error);
    assert!(report.warnings[0].starts_with("a file may have "), "{:?}", report.warnings);
    Ok(())
}

#[test]
fn every_encoding_and_layout_comes_back() {
    let compact = r#"{"entries":{"0":{"uid":0,"key":["a"],"content":"é","position":0}}}"#;
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain(compact.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for bytes in [
        compact.as_bytes().to_vec(),
        format!("\u{feff}{compact}\n").into_bytes(),
        compact.replace(',', ",\r\n\t").into_bytes(),
        utf16,
    ] {
        let report = examine(&bytes, None);
        assert_eq!((report.outcome, report.round_trip), (Outcome::Ok, RoundTrip::Identical));
    }
}

/// A value of any kind for a field that expects one kind.
fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..300).prop_map(Value::from),
        (-2.0..120.0_f64).prop_map(Value::from),
        "[a-z0-9, /\\\\]{0,8}".prop_map(Value::from),
        Just(json!(["a", 5, null, "/b/i"])),
        Just(json!({"names": ["x"], "tags": 3, "isExclude": "yes"})),
        Just(json!("100")),
    ]
}

fn odd_entry() -> impl Strategy<Value = Value> {
    let fields = prop::sample::subsequence(
        vec![
            "uid",
            "key",
            "keys",
            "keysecondary",
            "comment",
            "content",
            "constant",
            "selective",
            "selectiveLogic",
            "order",
            "insertion_order",
            "position",
            "disable",
            "enabled",
            "probability",
            "useProbability",
            "depth",
            "role",
            "group",
            "groupWeight",
            "scanDepth",
            "caseSensitive",
            "sticky",
            "delayUntilRecursion",
            "triggers",
            "characterFilter",
            "extensions",
            "outletName",
            "vendor",
        ],
        0..20,
    );
    fields.prop_flat_map(|names| {
        let values = prop::collection::vec(odd_value(), names.len());
        values.prop_map(move |values| {
            let members = names.iter().map(|name| (*name).to_owned()).zip(values);
            Value::Object(members.collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn damage_never_panics(file in 0_usize..38, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let files = files();
        let (name, mut bytes) = files[file % files.len()].clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.remove(at);
        }
        let report = examine(&bytes, Some(&name));
        prop_assert_ne!(report.round_trip, RoundTrip::Differs);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _report = examine(&bytes, None);
        let _chat = import_chat(&bytes, &Limits::default());
    }

    #[test]
    fn an_edit_of_an_odd_entry_reads_back_and_spares_the_others(
        entries in prop::collection::vec(odd_entry(), 1..4),
        in_list in any::<bool>(),
    ) {
        let rows = if in_list {
            json!(entries)
        } else {
            entries.iter().enumerate().map(|(at, row)| (at.to_string(), row.clone())).collect()
        };
        let bytes = json!({"entries": rows}).to_string().into_bytes();
        let options = ImportOptions::new("b");
        let Ok(imported) = import(&bytes, &options) else { return Ok(()) };
        let mut book = imported.book.clone();
        let Some(entry) = book.entries.first_mut() else { return Ok(()) };
        "New text".clone_into(&mut entry.content);
        entry.activation.constant = !entry.activation.constant;
        let written = export(&book, imported.format, &ExportOptions::default()).unwrap();
        let again = import(&written.bytes, &options).unwrap().book;
        prop_assert_eq!(again.entries.len(), book.entries.len());
        for (found, wanted) in again.entries.iter().zip(&book.entries).skip(1) {
            prop_assert_eq!(&found.raw, &wanted.raw);
        }
        prop_assert_eq!(
            super::editing::meaning(&again.entries[0]),
            super::editing::meaning(&book.entries[0])
        );
    }

    #[test]
    fn an_odd_entry_crosses_to_a_card_and_back(entry in odd_entry()) {
        let bytes = json!({"entries": {"0": entry}}).to_string().into_bytes();
        let options = ImportOptions::new("b");
        let home = import(&bytes, &options).unwrap().book;
        let away = export(&home, Format::CardV3, &ExportOptions::default()).unwrap();
        prop_assert!(away.losses.is_empty(), "{:?}", away.losses);
        let away = import(&away.bytes, &options).unwrap().book;
        let back = export(&away, Format::Sillytavern, &ExportOptions::default()).unwrap();
        let back = import(&back.bytes, &options).unwrap().book;
        prop_assert_eq!(
            super::editing::meaning(&back.entries[0]),
            super::editing::meaning(&home.entries[0])
        );
        let vendor = |book: &Book| book.entries[0].extensions.get("vendor").cloned();
        prop_assert_eq!(vendor(&back), vendor(&home));
    }
}
