//! Rules that an audit of files found broken, each with the file that showed it.

use std::{error::Error, fs};

use loreloom_core::book::{Key, Position, SelectiveLogic};
use loreloom_formats::{
    Card, Decorators, ExportOptions, Format, ImportOptions, Imported, Loss, Severity, export,
    import,
};
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

fn read(file: &Value) -> Result<Imported, Box<dyn Error>> {
    Ok(import(file.to_string().as_bytes(), &ImportOptions::new("b").named("stem"))?)
}

fn warnings(imported: &Imported) -> Vec<String> {
    let warned = imported.notes.iter().filter(|note| note.severity == Severity::Warning);
    warned.map(ToString::to_string).collect()
}

/// The losses of a crossing, as entry, field and value.
fn losses(losses: &[Loss]) -> Vec<(bool, &str, &Value)> {
    losses.iter().map(|loss| (loss.entry.is_some(), loss.field.as_str(), &loss.value)).collect()
}

fn is_pattern(key: &Key) -> bool {
    matches!(key, Key::Regex(_))
}

fn synthetic(file: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(fs::read(super::own("formats/synthetic").join(file))?)
}

#[test]
fn a_riff_file_of_any_length_is_an_error_and_no_panic() {
    for length in 4..13 {
        let bytes = &b"RIFF\0\0\0\0WEBP"[..length];
        assert!(import(bytes, &ImportOptions::new("b")).is_err(), "{length}");
    }
}

#[test]
fn slashes_make_a_pattern_only_where_the_program_knows_patterns() -> Outcome {
    let risu = |fields: Value| {
        let mut row = json!({"key": "/bell/", "content": "x"});
        row.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap_or_default());
        json!({"type": "risu", "ver": 1, "data": [row]})
    };
    for (file, expected) in [
        (json!({"worldinfo": [{"key": "/bell/", "content": "x"}]}), false),
        (json!({"worldinfo_v2": {"entries": {"0": {"key": ["/bell/"], "content": "x"}}}}), false),
        (json!([{"keys": "/bell/", "value": "x"}]), false),
        (json!({"loreItems": [{"key": "/bell/", "value": "x"}]}), false),
        (json!({"kind": "memory", "entries": [{"keywords": ["/bell/"], "entry": "x"}]}), false),
        (risu(json!({})), false),
        (risu(json!({"useRegex": false})), false),
        (risu(json!({"useRegex": true})), true),
        (json!([{"keysRaw": "/bell/", "key": ["/bell/"], "content": "x"}]), true),
        (json!({"lorebookVersion": 6, "entries": [{"keys": ["/bell/"], "text": "x"}]}), true),
        (json!({"entries": {"0": {"uid": 0, "key": ["/bell/"], "content": "x"}}}), true),
    ] {
        let book = read(&file)?.book;
        assert_eq!(is_pattern(&book.entries[0].activation.keys[0]), expected, "{file}");
    }
    let file =
        json!({"entries": {"0": {"uid": 0, "key": ["/b[ae]ll/i"], "content": "x", "position": 0}}});
    let book = read(&file)?.book;
    for format in [Format::KoboldLite, Format::Aidungeon, Format::ByafCharacter] {
        let exported = export(&book, format, &ExportOptions::default())?;
        let told = losses(&exported.losses);
        assert!(told.iter().any(|(_, field, _)| *field == "activation.keys"), "{format}: {told:?}");
    }
    Ok(())
}

#[test]
fn use_regex_is_a_flag_of_the_entry_and_text_is_read_as_meant() -> Outcome {
    let with = |fields: Value| {
        let mut row = json!({"keys": ["bell", "/gong/"], "content": "x"});
        row.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap_or_default());
        json!({"entries": [row]})
    };
    for (fields, flag, patterns) in [
        (json!({}), false, [false, true]),
        (json!({"use_regex": true}), true, [true, true]),
        (json!({"use_regex": "false"}), false, [false, true]),
        (json!({"use_regex": "0"}), false, [false, true]),
        (json!({"use_regex": "true"}), true, [true, true]),
        // SillyTavern sets it on every entry.
        (json!({"use_regex": true, "extensions": {"position": 0}}), false, [false, true]),
    ] {
        let when = read(&with(fields.clone()))?.book.entries.remove(0).activation;
        let found: Vec<bool> = when.keys.iter().map(is_pattern).collect();
        assert_eq!((when.use_regex, found), (flag, patterns.to_vec()), "{fields}");
    }
    Ok(())
}

#[test]
fn a_position_that_a_card_does_not_state_is_behind_the_character() -> Outcome {
    let file = json!({"entries": [
        {"keys": ["a"], "content": "1", "extensions": {}},
        {"keys": ["a"], "content": "2", "position": "before_char", "extensions": {}},
        {"keys": ["a"], "content": "3", "position": "after_char", "extensions": {}},
    ]});
    let book = read(&file)?.book;
    let exported = export(&book, Format::Sillytavern, &ExportOptions::default())?;
    let there: Value = serde_json::from_slice(&exported.bytes)?;
    let positions: Vec<&Value> =
        ["0", "1", "2"].map(|id| &there["entries"][id]["position"]).to_vec();
    assert_eq!(positions, [1, 0, 1]);
    // It comes home unstated.
    let there = import(&exported.bytes, &ImportOptions::new("b"))?.book;
    assert_eq!(there.entries[0].placement.position, Position::Default);
    let home = export(&there, Format::CharacterBook, &ExportOptions::default())?;
    let home: Value = serde_json::from_slice(&home.bytes)?;
    assert_eq!(home["entries"][0].get("position"), None);
    // Lists of other programs keep the place before it.
    let agnai = read(&json!({"kind": "memory", "entries": [{"keywords": ["a"], "entry": "x"}]}))?;
    let exported = export(&agnai.book, Format::Sillytavern, &ExportOptions::default())?;
    let there: Value = serde_json::from_slice(&exported.bytes)?;
    assert_eq!(there["entries"]["0"]["position"], 0);
    Ok(())
}

#[test]
fn numbers_of_no_position_or_logic_are_the_default_and_reported() -> Outcome {
    for (field, number) in [
        ("position", json!(-1)),
        ("position", json!(1.5)),
        ("position", json!(99)),
        ("selectiveLogic", json!(9)),
        ("selectiveLogic", json!(-1)),
    ] {
        let file =
            json!({"entries": [{"keys": ["a"], "content": "x", "extensions": {field: number}}]});
        let imported = read(&file)?;
        let entry = &imported.book.entries[0];
        assert_eq!(entry.placement.position, Position::Default, "{file}");
        assert_eq!(entry.activation.secondary.logic, SelectiveLogic::AndAny, "{file}");
        assert_eq!(warnings(&imported).len(), 1, "{file}: {:?}", warnings(&imported));
    }
    Ok(())
}

#[test]
fn a_janitor_book_is_read_by_whichever_of_its_names_says_something() -> Outcome {
    let file = json!([{"key": [], "keysRaw": "a, b", "keysecondary": [], "keysecondaryRaw": "c",
        "content": "x", "insertion_order": 1, "selectiveLogic": 9, "probability": 1}]);
    let imported = read(&file)?;
    let when = &imported.book.entries[0].activation;
    let raw = |keys: &[Key]| keys.iter().map(|key| key.raw().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        (raw(&when.keys), raw(&when.secondary.keys)),
        (vec!["a".into(), "b".into()], vec!["c".into()])
    );
    assert_eq!(when.secondary.logic, SelectiveLogic::AndAny);
    let told = warnings(&imported);
    assert!(told.iter().any(|text| text.contains("no known logic")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("perhaps 100 was meant")), "{told:?}");
    Ok(())
}

#[test]
fn a_book_in_an_unusual_place_of_its_card_is_read_and_reported() -> Outcome {
    let row = json!({"keys": ["bell"], "content": "A bell.", "extensions": {}});
    let rows = json!({"entries": [row]});
    let data = json!({"name": "Orla", "description": "d"});
    let with = |name: &str, book: &Value| {
        let mut data = data.clone();
        data[name] = book.clone();
        json!({"spec": "chara_card_v2", "data": data})
    };
    for (file, entries, warned) in [
        (with("character_book", &rows), 1, 0),
        (json!({"data": data, "character_book": rows}), 1, 2),
        (json!({"spec": "chara_card_v2", "data": data, "character_book": rows}), 1, 1),
        (with("character_book", &json!([row])), 1, 1),
        (with("embedded_lorebook", &rows), 1, 1),
        (with("character_book", &json!("x")), 0, 1),
        (json!({"spec": "lorebook_v3", "entries": [row]}), 1, 1),
    ] {
        let imported = read(&file)?;
        let told = warnings(&imported);
        assert_eq!(
            (imported.book.entries.len(), told.len()),
            (entries, warned),
            "{file}: {told:?}"
        );
        if let Some(card) = &imported.card {
            assert_eq!((card.name.as_str(), card.description.as_str()), ("Orla", "d"), "{file}");
        }
        // An edit goes where the book is.
        let mut book = imported.book.clone();
        let Some(entry) = book.entries.first_mut() else { continue };
        "Changed.".clone_into(&mut entry.content);
        let written = export(&book, imported.format, &ExportOptions::default())?.bytes;
        let expected = file.to_string().replace("A bell.", "Changed.");
        assert_eq!(String::from_utf8(written)?, expected, "{file}");
    }
    Ok(())
}

/// An archive of these files.
fn archive(files: &[(&str, &[u8])]) -> Result<Vec<u8>, Box<dyn Error>> {
    use std::io::Write as _;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default())?;
        zip.write_all(content)?;
    }
    Ok(zip.finish()?.into_inner())
}

#[test]
fn an_archive_is_what_its_files_are_not_what_they_are_called() -> Outcome {
    let card = json!({"spec": "chara_card_v3", "data": {"name": "Orla", "character_book":
        {"entries": [{"keys": ["bell"], "content": "A bell."}]}}});
    let card = card.to_string();
    for not_a_card in ["[1, 2]", r#"{"entries": {"0": {"uid": 0, "key": ["a"]}}}"#] {
        let bytes = archive(&[("card.json", not_a_card.as_bytes())])?;
        assert!(import(&bytes, &ImportOptions::new("b")).is_err(), "{not_a_card}");
    }
    for module in [&b"o\0\x05"[..], b"o\0\x05\0\0\0abc", b"nothing", b"o\0\x02\0\0\0\x01\x02\0"] {
        let bytes = archive(&[("card.json", card.as_bytes()), ("module.risum", module)])?;
        let imported = import(&bytes, &ImportOptions::new("b"))?;
        let told = warnings(&imported);
        assert_eq!(imported.book.entries.len(), 1, "{module:?}: {told:?}");
        let last = told.last().map_or("", String::as_str);
        assert!(last.ends_with("the card's book is used"), "{told:?}");
    }
    let module = synthetic("risu_module.risum")?;
    let bytes = archive(&[("card.json", card.as_bytes()), ("module.risum", &module)])?;
    assert_ne!(import(&bytes, &ImportOptions::new("b"))?.book.entries.len(), 1);
    Ok(())
}

#[test]
fn a_card_in_the_data_of_a_picture_is_written_as_text() -> Outcome {
    let card = json!({"spec": "chara_card_v2", "data": {"name": "Orla"}}).to_string();
    let comment = [b"ASCII\0\0\0", card.as_bytes()].concat();
    let length = u32::try_from(comment.len())?.to_le_bytes();
    let tiff = [
        &b"II\x2a\0\x08\0\0\0\x01\0\x69\x87\x04\0\x01\0\0\0\x1a\0\0\0\0\0\0\0\x01\0\x86\x92\x07\0"
            [..],
        &length,
        b"\x2c\0\0\0\0\0\0\0",
        &comment,
    ]
    .concat();
    let length = u32::try_from(tiff.len())?.to_le_bytes();
    let picture = [&b"RIFF\0\0\0\0WEBPEXIF"[..], &length, &tiff].concat();
    let imported = import(&picture, &ImportOptions::new("b"))?;
    assert_eq!(imported.format, Format::CardV2);
    let options = ExportOptions {
        original: Some(&picture),
        card: imported.card.as_ref(),
        ..ExportOptions::default()
    };
    let same = export(&imported.book, Format::CardV2, &options)?;
    assert_eq!(losses(&same.losses), [(false, "picture", &json!(picture.len()))]);
    assert_eq!(String::from_utf8(same.bytes)?, card);
    let other = export(&imported.book, Format::CardV3, &options)?;
    assert_eq!(losses(&other.losses), [(false, "picture", &json!(picture.len()))]);
    assert!(other.bytes.starts_with(b"{"));
    Ok(())
}

#[test]
fn what_travels_with_a_card_is_reported_where_it_stays_behind() -> Outcome {
    let card = json!({"spec": "chara_card_v3", "data": {"name": "Orla", "assets": [
        {"type": "icon", "uri": "embeded://assets/icon/a.png", "name": "main", "ext": "png", "size": 3},
        {"type": "icon", "uri": "ccdefault:", "name": "other", "ext": "png"},
    ]}});
    let card = card.to_string();
    let bytes = archive(&[("card.json", card.as_bytes()), ("assets/icon/a.png", b"abc")])?;
    let imported = import(&bytes, &ImportOptions::new("b"))?;
    let own: Option<&Card> = imported.card.as_ref();
    let with = ExportOptions { original: Some(&bytes), card: own, ..ExportOptions::default() };
    let without = ExportOptions { card: own, ..ExportOptions::default() };
    for format in [Format::CardV2, Format::CardV3, Format::CardV3Png] {
        let exported = export(&imported.book, format, &with)?;
        assert_eq!(losses(&exported.losses), [(false, "files.assets/icon/a.png", &json!(3))]);
        let exported = export(&imported.book, format, &without)?;
        let uri = json!("embeded://assets/icon/a.png");
        assert_eq!(losses(&exported.losses), [(false, "files.main", &uri)]);
    }
    // What is said about an asset comes along, whoever says it.
    let there = export(&imported.book, Format::CardV2, &with)?.bytes;
    let there = import(&there, &ImportOptions::new("b"))?;
    assert_eq!(there.card.as_ref().map(|card| &card.assets), own.map(|card| &card.assets));
    assert_eq!(own.map(|card| card.assets[0].others["size"].clone()), Some(json!(3)));
    for assets in [json!("x"), json!([null, 5, {"type": "icon"}])] {
        let file = json!({"spec": "chara_card_v3", "data": {"name": "Orla", "assets": assets}});
        let imported = read(&file)?;
        assert_eq!(warnings(&imported).len(), 1, "{file}");
        let options = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
        let there = export(&imported.book, Format::CardV2, &options)?.bytes;
        let there: Value = serde_json::from_slice(&there)?;
        assert_eq!(there["data"]["assets"], assets);
    }
    Ok(())
}

#[test]
fn another_container_of_the_same_format_is_no_other_format() -> Outcome {
    for (file, there) in [
        ("nai_v6.lorebook", Format::NovelaiPng),
        ("nai_lorebook_embedded.png", Format::Novelai),
        ("risu_lorebook.json", Format::RisuModule),
        ("risu_lorebook.json", Format::RisuModuleJson),
        ("risu_module.risum", Format::RisuModuleJson),
        ("backyard.byaf", Format::ByafCharacter),
        ("byaf_character.json", Format::Byaf),
    ] {
        let imported = import(&synthetic(file)?, &ImportOptions::new("b"))?;
        let exported = export(&imported.book, there, &ExportOptions::default())?;
        let of_entries: Vec<_> = exported.losses.iter().filter(|one| one.entry.is_some()).collect();
        assert!(of_entries.is_empty(), "{file} to {there}: {of_entries:?}");
        let again = import(&exported.bytes, &ImportOptions::new("b"))?;
        let rows = |imported: &Imported| -> Result<Vec<Value>, Box<dyn Error>> {
            let raw = imported.book.entries.iter().filter_map(|entry| entry.raw.as_deref());
            raw.map(|raw| Ok(serde_json::from_str(raw)?)).collect()
        };
        for (was, is) in rows(&imported)?.iter().zip(rows(&again)?) {
            for (name, value) in was.as_object().into_iter().flatten() {
                assert_eq!(is.get(name), Some(value), "{file} to {there}: {name}");
            }
        }
        assert_eq!(again.book.entries.len(), imported.book.entries.len(), "{file}");
    }
    let persona = json!({"id": "c", "displayName": "Orla", "persona": "A keeper.", "loreItems":
        [{"key": "bell", "value": "#{user}: a bell"}]});
    let imported = read(&persona)?;
    let there = export(&imported.book, Format::CardV2, &ExportOptions::default())?;
    assert_eq!(there.losses, []);
    let there = import(&there.bytes, &ImportOptions::new("b"))?;
    let home = export(&there.book, Format::ByafCharacter, &ExportOptions::default())?;
    let home: Value = serde_json::from_slice(&home.bytes)?;
    assert_eq!(
        (&home["persona"], &home["loreItems"]),
        (&persona["persona"], &persona["loreItems"])
    );
    Ok(())
}

#[test]
fn decorators_that_become_no_field_are_reported() -> Outcome {
    let content = "@@is_greeting\n@@sparkle 3\n@@instruct_depth 10\n@@inject_prepend\nText";
    let file =
        json!({"spec": "lorebook_v3", "data": {"entries": [{"keys": ["a"], "content": content}]}});
    let options = ExportOptions { decorators: Decorators::Lift, ..ExportOptions::default() };
    let exported = export(&read(&file)?.book, Format::Sillytavern, &options)?;
    let told: Vec<&str> = exported.losses.iter().filter_map(|loss| loss.value.as_str()).collect();
    assert_eq!(
        told,
        [
            "`@@sparkle 3` is not known",
            "`@@instruct_depth 10` counts tokens, which a chat does not",
            "`@@is_greeting` needs a number to be a field",
            "an injection has no `@@inject_lore` or `@@inject_at`",
        ]
    );
    Ok(())
}

#[test]
fn a_name_that_no_file_gave_is_written_into_none() -> Outcome {
    let file = json!({"spec": "chara_card_v2", "data": {"name": "Orla", "character_book":
        {"entries": [{"keys": ["a"], "content": "x", "extensions": {}}], "extensions": {}}}});
    let imported = read(&file)?;
    assert_eq!(imported.book.name, "stem");
    for abroad in [Format::CardV3, Format::Sillytavern, Format::Agnai, Format::Janitor] {
        let options = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
        let there = export(&imported.book, abroad, &options)?.bytes;
        let there = import(&there, &ImportOptions::new("b").named("other"))?;
        let home = export(&there.book, Format::CardV2, &options)?.bytes;
        let home: Value = serde_json::from_slice(&home)?;
        assert_eq!(home["data"]["character_book"].get("name"), None, "{abroad}");
    }
    // One that somebody gave it is.
    let mut book = imported.book.clone();
    "Bells".clone_into(&mut book.name);
    let home: Value =
        serde_json::from_slice(&export(&book, Format::CardV2, &ExportOptions::default())?.bytes)?;
    assert_eq!(home["data"]["character_book"]["name"], "Bells");
    let there = export(&book, Format::CardV3, &ExportOptions::default())?.bytes;
    let there: Value = serde_json::from_slice(&there)?;
    assert_eq!(there["data"]["character_book"]["name"], "Bells");
    Ok(())
}

#[test]
fn what_a_plain_text_cannot_keep_of_a_text_is_reported() -> Outcome {
    let file = json!({"entries": {
        "0": {"uid": 0, "key": [], "comment": "", "content": "one\n\ntwo", "position": 0, "vectorized": true},
        "1": {"uid": 1, "key": [], "comment": "E", "content": "", "position": 0, "vectorized": true},
        "2": {"uid": 2, "key": [], "comment": "", "content": "three\nfour\n", "position": 0, "vectorized": true},
    }});
    let exported = export(&read(&file)?.book, Format::Perchance, &ExportOptions::default())?;
    let told = losses(&exported.losses);
    let texts: Vec<_> =
        told.iter().filter(|(_, field, _)| ["content", "entry"].contains(field)).collect();
    assert_eq!(texts, [&(true, "content", &json!("one\n\ntwo")), &(true, "entry", &json!("E"))]);
    Ok(())
}

#[test]
fn yaml_in_braces_is_yaml_and_json_stays_json() -> Outcome {
    let named =
        |name: &str| ImportOptions { file_name: Some(name.to_owned()), ..ImportOptions::new("b") };
    let imported = import(b"{name: a, description: b}", &named("card.yaml"))?;
    assert_eq!(imported.format, Format::CardYaml);
    let imported = import(br#"{"name": "a", "description": "b"}"#, &named("card.yaml"))?;
    assert_eq!(imported.format, Format::CardV1);
    let imported = import(b"name: a\nname: b\ndescription: c\n", &named("card.yaml"))?;
    assert_eq!(imported.card.as_ref().map(|card| card.name.as_str()), Some("b"));
    assert_eq!(warnings(&imported).len(), 1);
    Ok(())
}
