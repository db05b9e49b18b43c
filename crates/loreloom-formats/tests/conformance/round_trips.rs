//! Files of real people go to another format and back. They are shared cases, because they are not
//! ours to publish.

use std::{fs, path::PathBuf};

use loreloom_formats::{
    CharacterSource, ExportOptions, Format, ImportOptions, Imported, Limits, RoundTripProof,
    export, export_character, import, import_character, prove,
};

/// The folder of real files; none if there are no shared cases.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn real() -> Option<PathBuf> {
    match super::shared("formats/real") {
        Ok(path) => Some(path),
        Err(path) => {
            println!("skipped: no shared cases at {}", path.display());
            None
        }
    }
}

/// What a file loses and gains on its way to another format and back.
#[expect(clippy::unwrap_used, reason = "part of the tests below")]
fn proof(bytes: &[u8], abroad: Format) -> RoundTripProof {
    let home: Imported = import(bytes, &ImportOptions::new("b")).unwrap();
    let options = ExportOptions { card: home.card.as_ref(), ..ExportOptions::default() };
    let away = export(&home.book, abroad, &options).unwrap();
    prove(&home, &away.bytes, abroad, Limits::default())
}

#[test]
fn a_real_v3_card_loses_nothing_on_its_way_through_v2() {
    let Some(real) = real() else { return };
    for file in ["tk_full_v3_card", "tk_ccv3_st_export_like", "tk_minimal_v3", "tk_ccv3_min"] {
        let bytes = fs::read(real.join(file).with_extension("json")).unwrap();
        let proof = proof(&bytes, Format::CardV2);
        assert_eq!((proof.lost, proof.untried), (Vec::new(), None), "{file}");
    }
}

#[test]
fn a_real_novelai_book_comes_back_from_world_info_as_it_was() {
    let Some(real) = real() else { return };
    for file in ["nai_v4_empty", "nai_v4_generated", "nai_v4_starter"] {
        let bytes = fs::read(real.join(file).with_extension("lorebook")).unwrap();
        assert_eq!(proof(&bytes, Format::Sillytavern), RoundTripProof::default(), "{file}");
    }
}

#[test]
fn a_real_backyard_character_keeps_persona_and_greeting_and_its_chat_is_reported() {
    let Some(real) = real() else { return };
    let bytes = fs::read(real.join("byaf_2.byaf")).unwrap();
    let home = import_character(&bytes, &ImportOptions::new("b")).unwrap();
    let options = ExportOptions {
        card: Some(&home.card),
        original: Some(&bytes),
        ..ExportOptions::default()
    };
    let card = export(&home.book, Format::CardV3, &options).unwrap();
    let lost: Vec<(&str, String)> =
        card.losses.iter().map(|one| (one.field.as_str(), one.value.to_string())).collect();
    let chat = ("scenarios/scenario1.json.messages", "\"a chat of 2 messages\"".to_owned());
    assert!(lost.contains(&chat), "{lost:?}");
    assert!(lost.iter().any(|(field, _)| *field == "scenarios/scenario1.json.temperature"));
    assert!(!lost.iter().any(|(field, _)| field.contains("narrative")), "{lost:?}");

    let away = import(&card.bytes, &ImportOptions::new("b")).unwrap();
    let said = away.card.as_ref().unwrap();
    assert_eq!(said.description, "A test character");
    assert_eq!(said.first_mes, "Hello, I am a test bot!");
    assert_eq!(said.scenario, "A test scenario");
    let source =
        CharacterSource { card: said, book: Some(&away.book), original: None, picture: None };
    let back = export_character(&source, Format::Byaf).unwrap();
    let back = import_character(&back.bytes, &ImportOptions::new("b")).unwrap();
    assert_eq!(back.card.description, "A test character");
    assert_eq!(back.card.first_mes, "Hello, I am a test bot!");
    assert_eq!(back.card.scenario, "A test scenario");
    assert_eq!(back.book.entries.len(), 1);
}
