//! Every file: outcome, format, number of entries, and the way back.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use loreloom_formats::{Examination, Format, RoundTrip, examine};
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize)]
struct Expected {
    outcome: String,
    format: Option<String>,
    entries: Option<usize>,
}

fn is_format(found: Option<Format>, expected: &str) -> bool {
    found.is_some_and(|found| found.as_str() == expected)
}

/// What is wrong with one file.
fn faults(found: &Examination, expected: &Expected) -> Vec<String> {
    let mut faults = Vec::new();
    if json!(found.outcome) != json!(expected.outcome) {
        let warnings = &found.warnings;
        faults.push(format!("{:?}, expected {}: {warnings:?}", found.outcome, expected.outcome));
    }
    if expected.format.as_deref().is_some_and(|name| !is_format(found.format, name)) {
        faults.push(format!("{:?}, expected {:?}", found.format, expected.format));
    }
    if expected.entries.is_some() && found.entries != expected.entries {
        faults.push(format!("{:?} entries, expected {:?}", found.entries, expected.entries));
    }
    if found.round_trip == RoundTrip::Differs {
        faults.push("the round trip differs".to_owned());
    }
    faults
}

fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    let expected = fs::read(directory.join("expected.json"))?;
    let expected: BTreeMap<String, Expected> = serde_json::from_slice(&expected)?;
    assert!(expected.len() > 30, "only {} cases", expected.len());
    let mut wrong = Vec::new();
    for (file, expected) in &expected {
        let found = examine(&fs::read(directory.join(file))?, Some(file));
        let faults = faults(&found, expected);
        if !faults.is_empty() {
            wrong.push(format!("{file}: {}", faults.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn own_files_give_what_is_expected() {
    run(&super::own("formats")).unwrap();
}

#[test]
fn shared_files_give_what_is_expected() {
    match super::shared("formats") {
        Ok(directory) => run(&directory).unwrap(),
        Err(path) => println!("skipped: no shared cases at {}", path.display()),
    }
}

#[test]
fn what_is_repaired_is_named_with_field_and_repair() {
    let warnings = |file: &str| {
        let path = super::own("formats/synthetic").join(file);
        examine(&fs::read(path).unwrap(), Some(file)).warnings
    };
    assert_eq!(
        warnings("hostile_duplicate_json_keys.json"),
        ["`entries.0`: the same key stands here twice: the last one was used"]
    );
    assert_eq!(
        warnings("hostile_invalid_utf8.json"),
        ["not valid UTF-8 at byte 36: the faulty bytes were read as U+FFFD"]
    );
    assert_eq!(
        warnings("hostile_lone_surrogate.json"),
        [
            "`entries.0.key.0`: half of a surrogate pair was read as U+FFFD",
            "`entries.0.content`: half of a surrogate pair was read as U+FFFD",
        ]
    );
    assert_eq!(
        warnings("hostile_nul_and_control.json"),
        [
            "`entries.0.content`: the character U+0000 was read as U+FFFD",
            "`entries.0.content`: a control character was kept as it is",
        ]
    );
    assert_eq!(
        warnings("hostile_zip_path_traversal.charx"),
        [
            "`../../evil.txt`: the name leads out of the archive's folder: refused",
            "`/abs.txt`: the name leads out of the archive's folder: refused",
        ]
    );
}

#[test]
fn the_newer_card_of_a_picture_and_the_book_of_a_module_win() {
    let read = |file: &str| {
        let bytes = fs::read(super::own("formats/synthetic").join(file)).unwrap();
        loreloom_formats::import(&bytes, &loreloom_formats::ImportOptions::new("b")).unwrap()
    };
    let card = read("card_both_chunks_disagree.png").card.unwrap();
    assert_eq!(card.name, "Orla");
    let first = read("card_two_chara_chunks.png").card.unwrap();
    assert_eq!(first.name, "stale");
    let module = read("card_with_module.charx").book;
    assert!(module.entries.iter().any(|entry| entry.content == "Maritime tone."));
}
