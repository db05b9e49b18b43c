//! `SillyTavern`'s conversions against what the program itself made.

use std::{error::Error, fs, path::Path};

use loreloom_formats::sillytavern::convert;
use serde_json::{Value, json};

/// Stands in for a regular expression engine: good enough for balanced brackets.
fn is_pattern(key: &str) -> bool {
    key.matches('(').count() == key.matches(')').count()
}

fn run_one(case: &Value) -> Option<Value> {
    let arg = |at: usize| &case["input"]["args"][at];
    Some(match case["input"]["fn"].as_str()? {
        "convertCharacterBook" => convert::from_character_book(arg(0)),
        "exportCharacterBook" => convert::to_character_book(arg(0).as_str()?, arg(1)),
        "importWorldInfo" => convert::from_other_program(arg(0))?,
        "splitKeywordsAndRegexes" => json!(convert::split_typed_keys(arg(0).as_str()?, is_pattern)),
        _ => return None,
    })
}

/// The order of keys in objects counts where a program iterates: entries by id.
fn keys(value: &Value) -> Vec<String> {
    value["entries"].as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
}

fn run(directory: &Path) -> Result<usize, Box<dyn Error>> {
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name.filter(|name| name.starts_with("unit--")) else { continue };
        let case: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let Some(found) = run_one(&case) else { continue };
        count += 1;
        let expected = &case["expected"];
        if found != *expected || keys(&found) != keys(expected) {
            wrong.push(format!("{name}:\n  found    {found}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    Ok(count)
}

#[test]
fn conversions_give_what_the_program_gives() {
    assert_eq!(run(&super::own("worldinfo")).unwrap(), 21);
}

#[test]
fn conversions_give_what_the_program_gives_in_all_shared_cases() {
    match super::shared("worldinfo") {
        Ok(directory) => assert!(run(&directory).unwrap() >= 21),
        Err(path) => println!("skipped: no shared cases at {}", path.display()),
    }
}
