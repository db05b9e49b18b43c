//! What the fields of each format mean in the model.

use std::{error::Error, fs};

use loreloom_core::{
    book::{
        Book, DepthFrom, Entry, Key, OriginalId, Position, SelectiveLogic, Trim, TrimSide, TrimUnit,
    },
    chat::Role,
    units::Depth,
};
use loreloom_formats::{
    CardVersion, DepthPrompt, ExportOptions, Format, ImportOptions, Imported, Loss, OddValues,
    export, import,
};
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

fn read(file: &str) -> Result<Imported, Box<dyn Error>> {
    let bytes = fs::read(super::own("formats/synthetic").join(file))?;
    Ok(import(&bytes, &ImportOptions::new("b").named("Named"))?)
}

fn keys(keys: &[Key]) -> Vec<&str> {
    keys.iter().map(Key::raw).collect()
}

/// A card book of one entry with these members.
fn card_entry(members: &Value) -> Result<Entry, Box<dyn Error>> {
    let mut entry = json!({"keys": ["a"], "content": "x"});
    if let (Value::Object(entry), Value::Object(members)) = (&mut entry, members) {
        entry.extend(members.clone());
    }
    let file = json!({ "entries": [entry] }).to_string();
    let mut book: Book = import(file.as_bytes(), &ImportOptions::new("b"))?.book;
    Ok(book.entries.remove(0))
}

#[test]
fn a_card_book_with_the_names_of_sillytavern() -> Outcome {
    let book = read("ccbook_bare.json")?.book;
    assert_eq!(
        (book.name.as_str(), book.extensions["x_unknown_top"].as_i64()),
        ("Bare book", Some(1))
    );
    let entry = &book.entries[0];
    assert_eq!(entry.original_id, Some(OriginalId::Text("str-id".into())));
    assert_eq!(entry.placement.position, Position::AtDepth { from: DepthFrom::Newest });
    assert_eq!((entry.placement.depth, entry.placement.role), (Some(Depth(2)), Some(Role::User)));
    assert_eq!((entry.placement.order, entry.budget.priority), (Some(10.0), Some(7.0)));
    assert_eq!(entry.activation.probability, Some(40.0));
    assert_eq!(entry.activation.secondary.logic, SelectiveLogic::AndAll);
    assert!(entry.activation.secondary.active);
    assert_eq!(keys(&entry.activation.secondary.keys), ["night", "storm"]);
    assert_eq!(entry.activation.case_sensitive, None);
    // SillyTavern sets `use_regex` on every entry: its plain keys stay plain.
    assert!(matches!(entry.activation.keys[0], Key::Literal(_)));
    assert_eq!(entry.extensions["extensions"]["unknown_vendor"]["x"][0], 1);
    Ok(())
}

#[test]
fn the_fields_of_a_card_book_entry_by_value() -> Outcome {
    for (members, position) in [
        (json!({}), Position::Default),
        (json!({"position": ""}), Position::Default),
        (json!({"position": "before_char"}), Position::BeforeCharacter),
        (json!({"position": "after_char_defs"}), Position::AfterCharacter),
        (json!({"position": "before_char", "extensions": {"position": 2}}), Position::NoteTop),
        (json!({"extensions": {"position": 7, "outlet_name": "o"}}), Position::Outlet("o".into())),
        (json!({"extensions": {"position": 99}}), Position::Default),
    ] {
        assert_eq!(card_entry(&members)?.placement.position, position, "{members}");
    }
    for (extensions, probability) in [
        (json!({}), None),
        (json!({"probability": 40}), Some(40.0)),
        (json!({"probability": 40, "useProbability": false}), None),
        (json!({"probability": null, "useProbability": true}), None),
        (json!({"risu_activationPercent": 30}), Some(30.0)),
    ] {
        let entry = card_entry(&json!({ "extensions": extensions }))?;
        assert_eq!(entry.activation.probability, probability, "{extensions}");
    }
    let timed = card_entry(&json!({"extensions": {"sticky": 0, "cooldown": 3, "delay": null}}))?;
    let timed = timed.activation.timed;
    assert_eq!((timed.sticky, timed.cooldown, timed.delay), (None, Some(3), None));
    for (value, level) in [(json!(true), 1), (json!(3), 3), (json!(false), 0), (json!(null), 0)] {
        let entry = card_entry(&json!({"extensions": {"delay_until_recursion": value}}))?;
        assert_eq!(entry.recursion.delay_level, level, "{value}");
    }
    assert!(card_entry(&json!({}))?.activation.enabled);
    assert!(!card_entry(&json!({"enabled": false}))?.activation.enabled);
    assert_eq!(card_entry(&json!({"case_sensitive": true}))?.activation.case_sensitive, Some(true));
    let pattern = card_entry(&json!({"use_regex": true}))?;
    assert!(matches!(pattern.activation.keys[0], Key::Regex(_)));
    let plain = card_entry(&json!({"use_regex": true, "extensions": {"display_index": 0}}))?;
    assert!(matches!(plain.activation.keys[0], Key::Literal(_)));
    Ok(())
}

#[test]
fn a_card_and_its_book() -> Outcome {
    let imported = read("ccv3_card.json")?;
    let card = imported.card.ok_or("no card")?;
    assert_eq!((card.version, card.name.as_str()), (CardVersion::V3, "Orla"));
    assert_eq!(card.nickname.as_deref(), Some("Orl"));
    assert_eq!(card.alternate_greetings, ["Storm tonight."]);
    assert_eq!(card.world.as_deref(), Some("Saltmere"));
    let note = DepthPrompt {
        prompt: String::new(),
        depth: 4,
        role: "system".into(),
        others: loreloom_core::book::Extensions::new(),
    };
    assert_eq!(card.depth_prompt, Some(note));
    assert_eq!((card.assets[0].kind.as_str(), card.assets[0].uri.as_str()), ("icon", "ccdefault:"));
    assert_eq!(card.extensions["future_field"]["keep"], true);
    assert_eq!(imported.book.entries[0].content, "@@role assistant\nThe lamp is lit.");
    let old = read("card_pygmalion.json")?.card.ok_or("no card")?;
    assert_eq!((old.version, old.description.as_str()), (CardVersion::Pygmalion, "Keeper"));
    assert_eq!((old.first_mes.as_str(), old.scenario.as_str()), ("Evening.", "lighthouse"));
    Ok(())
}

#[test]
fn a_novelai_lorebook() -> Outcome {
    let book = read("nai_v6.lorebook")?.book;
    assert_eq!((book.folders[0].id.as_str(), book.folders[0].name.as_str()), ("cat-1", "Places"));
    let entry = &book.entries[0];
    assert_eq!((entry.name.as_str(), entry.suffix.as_str()), ("Harbor", "\n"));
    assert_eq!(keys(&entry.activation.keys), ["harbor", "/quay(s)?/i"]);
    assert_eq!(entry.activation.scan.characters, Some(1000));
    assert_eq!(entry.budget.max_tokens, Some(2048.0));
    assert_eq!(entry.budget.priority, Some(400.0));
    let trim = Trim { side: TrimSide::Bottom, unit: TrimUnit::Sentence };
    assert_eq!(entry.budget.trim, Some(trim));
    assert_eq!(entry.rest.folder.as_deref(), Some("cat-1"));
    assert_eq!(entry.recursion.scan_lore, Some(false));
    assert!(book.entries[1].activation.constant);
    assert!(!book.entries[3].activation.enabled);
    assert_eq!(book.origin.and_then(|origin| origin.version).as_deref(), Some("6"));
    Ok(())
}

#[test]
fn risu_kobold_and_agnai_books() -> Outcome {
    let risu = read("risu_lorebook.json")?.book;
    assert_eq!(risu.folders[0].name, "Folder");
    assert!(!risu.entries[0].activation.enabled);
    assert_eq!(keys(&risu.entries[1].activation.keys), ["harbor", "quay"]);
    assert_eq!(risu.entries[1].rest.folder.as_deref(), Some(risu.folders[0].id.as_str()));
    assert_eq!(risu.entries[2].activation.case_sensitive, Some(true));
    assert_eq!(keys(&risu.entries[2].activation.secondary.keys), ["night", "storm"]);
    assert!(risu.entries[3].activation.constant);
    assert_eq!(risu.entries[3].budget.priority, Some(900.0));
    assert!(matches!(risu.entries[4].activation.keys[0], Key::Regex(_)));
    assert_eq!(risu.entries[4].activation.probability, Some(50.0));
    assert_eq!(read("risu_module.risum")?.book.entries.len(), 6);

    let lite = read("kobold_lite_save.json")?.book;
    assert_eq!(keys(&lite.entries[1].activation.secondary.keys), ["night"]);
    assert_eq!(keys(&lite.entries[2].activation.exclude_any[0]), ["noon"]);
    assert_eq!(lite.entries[2].activation.probability, Some(50.0));
    assert!(lite.entries[3].activation.constant);
    assert_eq!(lite.entries[3].rest.folder.as_deref(), Some("tone"));

    let united = read("kobold_united_worldinfo_v2.json")?.book;
    assert_eq!(
        (united.entries[0].name.as_str(), united.entries[1].content.as_str()),
        ("Harbor", "Lamps.")
    );
    assert!(united.entries[1].activation.secondary.active);

    let agnai = read("agnai_memorybook.json")?.book;
    assert_eq!((agnai.name.as_str(), agnai.description.as_str()), ("Harbor", "synthetic"));
    assert_eq!(agnai.entries[0].placement.order, Some(2.0));
    assert_eq!(agnai.entries[0].budget.priority, Some(5.0));
    assert!(!agnai.entries[2].activation.enabled);
    Ok(())
}

#[test]
fn janitor_ai_dungeon_and_plain_text() -> Outcome {
    let janitor = read("janitor_lorebook.json")?.book;
    assert_eq!(keys(&janitor.entries[0].activation.keys), ["harbor", "quay"]);
    assert_eq!(janitor.entries[0].activation.whole_words, Some(true));
    assert_eq!(janitor.entries[0].budget.priority, Some(10.0));
    assert_eq!(janitor.entries[1].group.names, "guilds");
    assert_eq!(janitor.entries[1].activation.gates.min_messages, Some(4));
    assert_eq!(janitor.entries[1].rest.folder.as_deref(), Some("places"));
    let suspect = json!([
        {"keysRaw": "a, /b,c/i", "content": "x", "probability": 1},
        {"keysRaw": "b", "content": "y", "probability": 1},
    ]);
    let suspect = import(suspect.to_string().as_bytes(), &ImportOptions::new("b"))?;
    assert_eq!(keys(&suspect.book.entries[0].activation.keys), ["a", "/b,c/i"]);
    assert_eq!(
        suspect.notes.last().map(ToString::to_string).as_deref(),
        Some("`probability`: is 1 in every entry, perhaps 100 was meant: kept as 1")
    );

    let cards = read("aid_story_cards.json")?.book;
    assert_eq!(
        (cards.entries[0].name.as_str(), cards.entries[0].comment.as_str()),
        ("Harbor", "notes")
    );
    assert_eq!(cards.entries[0].rest.tags, ["location"]);
    assert_eq!(keys(&cards.entries[1].activation.keys), ["lamp"]);
    let legacy = read("aid_legacy_worldinfo.json")?.book;
    assert!(legacy.entries[1].activation.constant);
    assert_eq!(keys(&legacy.entries[1].activation.exclude_any[0]), ["sun"]);

    let plain = read("perchance_lore.txt")?.book;
    assert_eq!((plain.name.as_str(), plain.entries.len()), ("Named", 3));
    assert!(plain.entries[1].activation.vectorized);
    Ok(())
}

#[test]
fn novelai_stories_and_risu_modules_as_json_are_read() -> Outcome {
    let book = json!({"lorebookVersion": 5, "entries": [{"text": "x", "keys": ["a"]}]});
    for file in [
        json!({"storyContainerVersion": 1, "content": {"lorebook": book}}),
        json!({"scenarioVersion": 1, "lorebook": book}),
    ] {
        let found = import(file.to_string().as_bytes(), &ImportOptions::new("b"))?.book;
        assert_eq!(found.entries[0].content, "x", "{file}");
    }
    for file in [
        json!({"type": "risuModule", "module": {"name": "M", "lorebook": [{"key": "a"}]}}),
        json!({"type": "risuModule", "name": "M", "lorebook": [{"key": "a"}]}),
    ] {
        let found = import(file.to_string().as_bytes(), &ImportOptions::new("b"))?.book;
        assert_eq!((found.name.as_str(), found.entries.len()), ("M", 1), "{file}");
    }
    Ok(())
}

/// Row by row what the recorded decorators mean; `-` where nothing is ignored.
#[test]
fn the_decorators_of_a_book() -> Outcome {
    let book = read("lorebook_v3_decorators.json")?.book;
    let lifted: Vec<_> = book.entries.iter().map(loreloom_formats::decorators::lift).collect();
    let at_depth = Position::AtDepth { from: DepthFrom::Newest };
    let depth = |at: usize| {
        let place = &lifted[at].entry.placement;
        (place.position == at_depth).then(|| place.depth.map(|depth| depth.0)).flatten()
    };
    let depths: Vec<Option<u32>> = (0..lifted.len()).map(depth).collect();
    for (at, expected) in [
        (0, 4),
        (19, 3),
        (20, 2),
        (22, 1),
        (23, 1),
        (24, 2),
        (25, 2),
        (26, 2),
        (27, 2),
        (29, 0),
        (30, 0),
        (37, 5),
    ] {
        assert_eq!(depths[at], Some(expected), "{}", book.entries[at].content);
    }
    assert_eq!(lifted[0].entry.placement.role, Some(Role::User));
    for at in [19, 20, 21] {
        assert_eq!(lifted[at].entry.placement.role, None, "{}", book.entries[at].content);
    }
    assert_eq!(
        (depths[28], lifted[28].entry.content.as_str()),
        (None, book.entries[28].content.as_str())
    );
    assert_eq!(lifted[26].entry.content, "Blank lines around.");
    assert_eq!(lifted[7].entry.activation.require.len(), 2);
    assert_eq!((lifted[36].entry.content.as_str(), lifted[36].ignored.len()), ("", 1));
    assert_eq!(lifted[34].ignored.len(), 2);
    Ok(())
}

#[test]
fn names_of_other_programs_stand_in_for_missing_ones() -> Outcome {
    let rows = [
        // What the format itself calls nothing, under the names of another.
        json!({"key": "quay, pier", "value": "Grey.", "title": "Q", "insertorder": 7,
               "disabled": true, "alwaysActive": true}),
        json!({"keywords": ["quay", "pier"], "text": "Grey.", "displayName": "Q", "weight": 7,
               "widisabled": 1, "forceActivation": true}),
        json!({"keysRaw": "quay, pier", "entry": "Grey.", "memo": "Q", "insertion_order": 7,
               "enabled": false, "constant": true}),
    ];
    for (name, file) in [
        ("sillytavern", json!({"entries": {"0": null}})),
        ("character-book", json!({"entries": [null, {"keys": [], "content": ""}]})),
        ("agnai", json!({"kind": "memory", "entries": [null]})),
        ("novelai", json!({"lorebookVersion": 6, "entries": [null]})),
        ("risu", json!({"type": "risu", "data": [null]})),
        ("kobold-lite", json!({"worldinfo": [null]})),
        ("aidungeon", json!([null, {"keys": "", "value": ""}])),
        ("janitor", json!([null, {"keysRaw": ""}])),
    ] {
        for row in &rows {
            let file = file.to_string().replacen("null", &row.to_string(), 1);
            let options =
                ImportOptions { odd_values: OddValues::Repair, ..ImportOptions::new("b") };
            let imported = import(file.as_bytes(), &options)?;
            assert_eq!(imported.format.as_str(), name);
            let entry = &imported.book.entries[0];
            let place = format!("{name}: {row}");
            assert_eq!(keys(&entry.activation.keys), ["quay", "pier"], "{place}");
            assert_eq!(entry.content, "Grey.", "{place}");
            let has = |field: &[&str]| field.contains(&name);
            assert_eq!(entry.activation.enabled, has(&["risu"]), "{place}");
            assert_eq!(entry.activation.constant, !has(&["aidungeon", "agnai"]), "{place}");
            if has(&["sillytavern", "agnai", "risu", "janitor", "character-book"]) {
                assert_eq!(entry.placement.order, Some(7.0), "{place}");
            }
            if has(&["sillytavern", "agnai", "risu", "novelai", "kobold-lite"]) {
                assert_eq!(entry.name, "Q", "{place}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_novelai_entry_without_configuration_has_that_of_the_program() -> Outcome {
    let file = json!({"lorebookVersion": 6, "entries": [
        {"text": "x", "keys": ["a"]},
        {"text": "x", "contextConfig": {"suffix": "", "trimDirection": "up", "budgetPriority": 9},
         "advancedConditions": [{"type": "not"}]},
    ]});
    let imported = import(file.to_string().as_bytes(), &ImportOptions::new("b"))?;
    let [bare, other] = &imported.book.entries[..] else { return Err("two entries".into()) };
    assert_eq!((bare.prefix.as_str(), bare.suffix.as_str()), ("", "\n"));
    assert_eq!(bare.activation.scan.characters, Some(1000));
    assert_eq!((bare.budget.priority, bare.placement.order), (Some(400.0), Some(400.0)));
    let trim = Trim { side: TrimSide::Bottom, unit: TrimUnit::Sentence };
    assert_eq!((bare.budget.trim, other.budget.trim), (Some(trim), Some(trim)));
    assert_eq!(bare.placement.position, Position::AtDepth { from: DepthFrom::Newest });
    assert_eq!(bare.placement.depth, Some(Depth(0)));
    assert_eq!((other.suffix.as_str(), other.budget.priority), ("", Some(9.0)));
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "entry 1: `advancedConditions`: conditions are kept but not run",
            "entry 1: `trimDirection`: `up` is not known: read as `trimBottom`",
        ]
    );
    Ok(())
}

#[test]
fn keys_that_are_lists_are_split_only_when_asked() -> Outcome {
    let file = json!({"entries": {"0": {"uid": 0, "content": "x", "position": 0,
        "key": ["harbor, quay", "a|b；c", "/x{1,2}/i", "海，港", " "],
        "keysecondary": ["d;e"]}}});
    let bytes = file.to_string().into_bytes();
    let whole = import(&bytes, &ImportOptions::new("b"))?.book;
    assert_eq!(keys(&whole.entries[0].activation.keys).len(), 5);
    let options = ImportOptions { split_keys: true, ..ImportOptions::new("b") };
    let split = import(&bytes, &options)?.book;
    let when = &split.entries[0].activation;
    assert_eq!(keys(&when.keys), ["harbor", "quay", "a", "b", "c", "/x{1,2}/i", "海", "港", " "]);
    assert_eq!(keys(&when.secondary.keys), ["d", "e"]);
    Ok(())
}

#[test]
fn comments_and_commas_too_many_are_overlooked_only_when_asked() -> Outcome {
    let text = "{ // a book\n \"entries\": {\"0\": {\"uid\": 0, \"key\": [\"a\",],
        \"content\": \"x // y\", /* here */ \"position\": 0,},},\n}\n";
    let refused = import(text.as_bytes(), &ImportOptions::new("b")).map(drop).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "not valid JSON: expected a key in quotes, found `/` at line 1, column 3"
    );
    let options = ImportOptions { relaxed: true, ..ImportOptions::new("b") };
    let imported = import(text.as_bytes(), &options)?;
    assert_eq!(imported.book.entries[0].content, "x // y");
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["comments and commas too many were overlooked"]);
    // What is written is JSON, where every other byte stands where it stood.
    let options = ExportOptions { original: Some(text.as_bytes()), ..ExportOptions::default() };
    let written = export(&imported.book, imported.format, &options)?;
    let comments = json!(["// a book", "/* here */"]);
    let lost = Loss { entry: None, field: "comments".to_owned(), value: comments };
    assert_eq!(written.losses, [lost]);
    let expected = text.replace("// a book", "         ").replace("/* here */", "          ");
    let expected = expected.replace(",]", " ]").replace(",}", " }").replace("},\n}", "} \n}");
    assert_eq!(String::from_utf8(written.bytes.clone())?, expected);
    let again = import(&written.bytes, &ImportOptions::new("b"))?;
    assert_eq!(again.book.entries, imported.book.entries);
    // Commas are no loss, and a file that is JSON stays as it is.
    for (text, same) in [("[1,]", false), ("[1]", true)] {
        let text = format!("{{\"entries\": {{}}, \"x\": {text}}}");
        let options = ImportOptions { relaxed: true, ..ImportOptions::new("b") };
        let imported = import(text.as_bytes(), &options)?;
        let options = ExportOptions { original: Some(text.as_bytes()), ..ExportOptions::default() };
        let written = export(&imported.book, imported.format, &options)?;
        assert_eq!((written.bytes == text.as_bytes(), written.losses), (same, vec![]));
    }
    Ok(())
}

#[test]
fn a_new_backyard_character_has_no_key_twice() -> Outcome {
    let file = json!({"entries": {
        "0": {"uid": 0, "key": ["quay", "pier"], "content": "a"},
        "1": {"uid": 1, "key": ["quay", "pier"], "content": "b"},
        "2": {"uid": 2, "key": [], "content": "c"},
        "3": {"uid": 3, "key": [], "content": "d"},
    }});
    let book = import(file.to_string().as_bytes(), &ImportOptions::new("b"))?.book;
    let written = export(&book, Format::ByafCharacter, &ExportOptions::default())?.bytes;
    let tree: Value = serde_json::from_slice(&written)?;
    let said: Vec<&Value> = (0..4).map(|at| &tree["loreItems"][at]["key"]).collect();
    assert_eq!(said, ["quay, pier", "quay, pier,", "", ","]);
    let again = import(&written, &ImportOptions::new("b"))?.book;
    assert_eq!(keys(&again.entries[1].activation.keys), ["quay", "pier"]);
    assert!(again.entries[3].activation.keys.is_empty());
    Ok(())
}
