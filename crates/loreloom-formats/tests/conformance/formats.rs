//! Every file: outcome, format, number of entries, and the way back.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use loreloom_formats::{
    ExportOptions, Format, FormatError, ImportOptions, Imported, Severity, export, import,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Expected {
    outcome: String,
    format: Option<String>,
    entries: Option<usize>,
}

fn read(bytes: &[u8], file: &str) -> Result<Imported, FormatError> {
    let options = ImportOptions {
        file_name: Some(file.to_owned()),
        ..ImportOptions::new("book").named("A name")
    };
    import(bytes, &options)
}

fn outcome(imported: &Imported) -> &'static str {
    let warned = imported.notes.iter().any(|note| note.severity == Severity::Warning);
    if warned { "warning" } else { "ok" }
}

fn is_format(found: Format, expected: &str) -> bool {
    found.as_str() == expected || expected == "card-png" && found == Format::CardV1Png
}

/// What is wrong with one file.
fn faults(bytes: &[u8], file: &str, expected: &Expected) -> Vec<String> {
    let mut faults = Vec::new();
    match read(bytes, file) {
        Err(error) if expected.outcome == "error" => {
            if error.to_string().is_empty() {
                faults.push("an error without words".to_owned());
            }
        }
        Err(error) => faults.push(format!("error: {error}")),
        Ok(imported) => {
            if outcome(&imported) != expected.outcome {
                let notes: Vec<_> = imported.notes.iter().map(ToString::to_string).collect();
                faults.push(format!(
                    "{}, expected {}: {notes:?}",
                    outcome(&imported),
                    expected.outcome
                ));
            }
            if expected.format.as_deref().is_some_and(|name| !is_format(imported.format, name)) {
                faults.push(format!("{}, expected {:?}", imported.format, expected.format));
            }
            if expected.entries.is_some_and(|count| count != imported.book.entries.len()) {
                let found = imported.book.entries.len();
                faults.push(format!("{found} entries, expected {:?}", expected.entries));
            }
            let options = ExportOptions {
                card: imported.card.as_ref(),
                original: Some(bytes),
                ..ExportOptions::default()
            };
            match export(&imported.book, imported.format, &options) {
                Ok(exported) if exported.bytes == bytes && exported.losses.is_empty() => {}
                Ok(exported) => faults.push(format!("round trip differs: {:?}", exported.losses)),
                Err(error) => faults.push(format!("round trip: {error}")),
            }
        }
    }
    faults
}

fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    let expected = fs::read(directory.join("expected.json"))?;
    let expected: BTreeMap<String, Expected> = serde_json::from_slice(&expected)?;
    assert!(expected.len() > 30, "only {} cases", expected.len());
    let mut wrong = Vec::new();
    for (file, expected) in &expected {
        let bytes = fs::read(directory.join(file))?;
        let faults = faults(&bytes, file, expected);
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
