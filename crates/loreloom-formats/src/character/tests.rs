use loreloom_core::book::Entry;
use serde_json::{Value, json};

use super::*;
use crate::{archive, limits::Limits, png};

fn card_json() -> Value {
    json!({
        "spec": "chara_card_v3", "spec_version": "3.0", "odd_root": [1],
        "data": {
            "name": "Orla", "description": "A ferrywoman.", "personality": "", "scenario": "",
            "first_mes": "Hm?", "mes_example": "", "creator_notes": "", "system_prompt": "",
            "post_history_instructions": "", "alternate_greetings": ["Ahoy."],
            "group_only_greetings": [], "tags": ["ferry"], "creator": "", "character_version": "",
            "extensions": {"mystery": {"deep": 1}}, "unheard_of": 7,
            "assets": [{"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main",
                "ext": "png", "note": "kept"}],
            "character_book": {"entries": [{"keys": ["ferry"], "content": "It leaks.",
                "extensions": {}, "enabled": true, "insertion_order": 0, "strange": true}]},
        },
    })
}

fn png_card() -> Vec<u8> {
    let text = card_json().to_string();
    png::with_texts(&png::blank().unwrap(), &[("ccv3", text.as_bytes())]).unwrap()
}

fn charx() -> Vec<u8> {
    let files = [
        ("card.json".to_owned(), card_json().to_string().into_bytes()),
        ("assets/icon/main.png".to_owned(), png::blank().unwrap()),
        ("extra/notes.txt".to_owned(), b"mine".to_vec()),
    ];
    archive::with_files(None, &files).unwrap()
}

fn byaf() -> Vec<u8> {
    let scenario = |narrative: &str, first: &str| {
        json!({"schemaVersion": 1, "narrative": narrative, "topK": 40, "grammar": null,
            "formattingInstructions": "Stay {character}.",
            "firstMessages": [{"characterID": "o1", "text": first}],
            "exampleMessages": [{"characterID": "o1", "text": "Aye."}], "messages": []})
    };
    let files = [
        (
            "manifest.json",
            json!({"schemaVersion": 1, "author": {"name": "Me"}, "characters": ["characters/o1/character.json"],
                "scenarios": ["scenarios/1.json", "scenarios/2.json"]}),
        ),
        (
            "characters/o1/character.json",
            json!({"schemaVersion": 1, "id": "o1", "name": "Bot", "displayName": "Orla", "isNSFW": false,
                "persona": "{character} rows {user}.", "images": [{"path": "images/a.png"}],
                "loreItems": [{"key": "ferry", "value": "It leaks."}], "odd": 3}),
        ),
        ("scenarios/1.json", scenario("At the quay.", "Hm, {user}?")),
        ("scenarios/2.json", scenario("At night.", "Ahoy.")),
    ];
    let mut files: Vec<(String, Vec<u8>)> = files
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string().into_bytes()))
        .collect();
    files.push(("characters/o1/images/a.png".to_owned(), png::blank().unwrap()));
    archive::with_files(None, &files).unwrap()
}

fn read(bytes: &[u8]) -> ImportedCharacter {
    import_character(bytes, &ImportOptions::new("orla")).unwrap()
}

#[test]
fn a_character_goes_back_into_its_file_without_a_change() {
    for (name, file) in [
        ("json", card_json().to_string().into_bytes()),
        ("png", png_card()),
        ("charx", charx()),
        ("byaf", byaf()),
    ] {
        let ImportedCharacter { card, book, format, .. } = read(&file);
        assert_eq!(card.name, "Orla", "{name}");
        assert_eq!(book.entries[0].content, "It leaks.", "{name}");
        let source = CharacterSource {
            card: &card,
            book: Some(&book),
            original: Some(&file),
            picture: None,
        };
        let written = export_character(&source, format).unwrap();
        assert_eq!(written.bytes, file, "{name}: to the byte");
        assert_eq!(written.losses, [], "{name}");
    }
}

#[test]
fn an_edit_changes_what_it_names_and_keeps_the_rest() {
    for (name, file) in [
        ("json", card_json().to_string().into_bytes()),
        ("png", png_card()),
        ("charx", charx()),
        ("byaf", byaf()),
    ] {
        let ImportedCharacter { mut card, mut book, format, .. } = read(&file);
        card.description = "A smuggler, {{user}}.".to_owned();
        card.first_mes = "Psst.".to_owned();
        let mut entry = Entry::new("orla/new");
        entry.content = "A second boat.".to_owned();
        entry.placement.order = Some(1.0);
        book.entries.push(entry);
        let original = Some(file.as_slice());
        let source = CharacterSource { card: &card, book: Some(&book), original, picture: None };
        let written = export_character(&source, format).unwrap();
        assert_eq!(written.losses, [], "{name}");
        let again = read(&written.bytes);
        assert_eq!(again.card, card, "{name}");
        assert_eq!(again.book.entries.len(), 2, "{name}");
        assert_eq!(again.format, format, "{name}");
        let limits = Limits::default();
        assert_eq!(
            portrait(&written.bytes, &again.card, &limits),
            portrait(&file, &card, &limits),
            "{name}"
        );
    }
}

#[test]
fn every_kind_of_card_has_its_picture() {
    let blank = png::blank().unwrap();
    for (name, file, has_one) in [
        ("json", card_json().to_string().into_bytes(), false),
        ("png", png_card(), true),
        ("charx", charx(), true),
        ("byaf", byaf(), true),
    ] {
        let found = portrait(&file, &read(&file).card, &Limits::default());
        let expected = Portrait { bytes: blank.clone(), media_type: "image/png" };
        assert_eq!(found, has_one.then_some(expected), "{name}");
    }
    let mut written = card_json();
    let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &blank);
    written["data"]["assets"][0]["uri"] = json!(format!("data:image/png;base64,{data}"));
    let file = written.to_string().into_bytes();
    let found = portrait(&file, &read(&file).card, &Limits::default());
    assert_eq!(found.map(|found| found.bytes), Some(blank));
}

#[test]
fn a_card_moves_to_another_format_and_another_picture() {
    let file = card_json().to_string().into_bytes();
    let ImportedCharacter { card, book, .. } = read(&file);
    let mut picture = png::blank().unwrap();
    picture.extend_from_slice(b"after the end");
    let source = CharacterSource {
        card: &card,
        book: Some(&book),
        original: Some(&file),
        picture: Some(&picture),
    };
    let written = export_character(&source, Format::CardV3Png).unwrap();
    let again = read(&written.bytes);
    assert_eq!((again.card, again.format), (card.clone(), Format::CardV3Png));
    assert!(written.bytes.ends_with(b"after the end"), "the new picture");
    let written = export_character(&source, Format::Byaf).unwrap();
    let again = read(&written.bytes);
    assert_eq!(again.card.first_mes, "Hm?");
    assert_eq!(again.card.description, "A ferrywoman.");
    let lost: Vec<&str> = written.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert!(lost.contains(&"card.alternate_greetings"), "{lost:?}");
    assert!(lost.contains(&"card.extensions.unheard_of"), "{lost:?}");
}

#[test]
fn the_parts_of_a_backyard_character_become_fields_of_the_card() {
    let card = read(&byaf()).card;
    assert_eq!(card.description, "{{char}} rows {{user}}.");
    assert_eq!(card.scenario, "At the quay.");
    assert_eq!(card.first_mes, "Hm, {{user}}?");
    assert_eq!(card.alternate_greetings, ["Ahoy."]);
    assert_eq!(card.system_prompt, "Stay {{char}}.");
    assert_eq!(card.mes_example, "<START>\n{{char}}: Aye.");
    assert_eq!(card.creator, "Me");
}

/// What no part of a card says is named: other characters with their lore, further greetings.
#[test]
fn what_a_card_does_not_take_of_a_party_is_named() {
    let files = [
        (
            "manifest.json",
            json!({"schemaVersion": 1, "characters": ["characters/a/character.json",
                "characters/b/character.json"], "scenarios": ["scenarios/1.json"]}),
        ),
        (
            "characters/a/character.json",
            json!({"schemaVersion": 1, "id": "a", "displayName": "Orla", "persona": "",
                "loreItems": [{"key": "ferry", "value": "It leaks."}]}),
        ),
        (
            "characters/b/character.json",
            json!({"schemaVersion": 1, "id": "b", "displayName": "Tib", "persona": "",
                "loreItems": [{"key": "tin", "value": "Tib's."}]}),
        ),
        (
            "scenarios/1.json",
            json!({"schemaVersion": 1, "firstMessages": [{"characterID": "a", "text": "Hm."},
                {"characterID": "b", "text": "Aye."}]}),
        ),
    ];
    let files: Vec<(String, Vec<u8>)> = files
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string().into_bytes()))
        .collect();
    let archive = archive::with_files(None, &files).unwrap();
    let imported = read(&archive);
    let options = ExportOptions {
        original: Some(&archive),
        card: Some(&imported.card),
        ..ExportOptions::default()
    };
    let book = crate::import(&archive, &ImportOptions::new("b")).unwrap().book;
    let written = crate::export(&book, Format::CardV3, &options).unwrap();
    let lost: Vec<&str> = written.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(lost, ["scenarios/1.json.firstMessages", "files.characters/b/character.json"]);
}

#[test]
fn a_book_without_a_character_is_no_character() {
    let file = br#"{"entries":{"0":{"uid":0,"key":["a"],"content":"b","position":0}}}"#;
    let error = import_character(file, &ImportOptions::new("x")).unwrap_err().to_string();
    assert_eq!(
        error,
        "not a lorebook, card or chat of a known kind: looked for a character card, found a book \
         (`sillytavern`)"
    );
}

#[test]
fn what_backyard_writes_into_pictures_is_a_character_with_its_book() {
    let exported = |character: serde_json::Value| {
        serde_json::json!({ "version": 4, "character": character }).to_string()
    };
    let options = ImportOptions::new("b");
    let file = exported(serde_json::json!({
        "aiName": "orla", "aiDisplayName": "Orla", "aiPersona": "{character} keeps a light.",
        "scenario": "A {user} comes.", "basePrompt": "Write on.", "firstMessage": "Ahoy, {user}.",
        "customDialogue": "#{user}: Hm?\n#{character}: No.", "temperature": 1.2, "Chat": [],
        "loreItems": [{ "id": "c1", "order": "R", "key": "bell, tower", "value": "{user} heard it." }],
    }));
    let ImportedCharacter { card, book, format, notes } =
        import_character(file.as_bytes(), &options).unwrap();
    assert_eq!((format, notes), (Format::ByafCharacter, Vec::new()));
    assert_eq!((card.name.as_str(), book.name.as_str()), ("Orla", "Orla"));
    assert_eq!(card.description, "{{char}} keeps a light.");
    assert_eq!(card.scenario, "A {{user}} comes.");
    assert_eq!(card.system_prompt, "Write on.");
    assert_eq!(card.first_mes, "Ahoy, {{user}}.");
    assert_eq!(card.mes_example, "<START>\n{{user}}: Hm?\n{{char}}: No.");
    assert_eq!(book.entries[0].content, "{{user}} heard it.");
    assert_eq!(book.entries[0].activation.keys.len(), 2);
    // Somebody else's `character` is no character of ours.
    for other in [serde_json::json!({"loreItems": []}), serde_json::json!({"aiPersona": "x"})] {
        assert!(import(exported(other).as_bytes(), &options).is_err());
    }
}

#[test]
fn the_book_of_a_card_follows_its_name_and_its_nickname() {
    for (nickname, expected) in [
        (None, &["card:Orla"][..]),
        (Some("Cap"), &["card:Cap", "card:Orla"]),
        (Some(" "), &["card:Orla"]),
    ] {
        let card = Card { nickname: nickname.map(str::to_owned), ..named_card("Orla") };
        let bindings: Vec<String> = card.own_bindings().iter().map(ToString::to_string).collect();
        assert_eq!(bindings, expected);
    }
}
