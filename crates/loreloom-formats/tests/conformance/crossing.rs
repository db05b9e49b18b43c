//! Books cross to other formats and come home whole, or the loss is reported.

use std::error::Error;

use loreloom_core::book::{Book, Key};
use loreloom_formats::{
    CardVersion, Decorators, ExportOptions, Exported, Format, ImportOptions, Imported, export,
    import,
};

use super::editing::{meaning, readable};

/// Formats whose entries have an `extensions` object.
pub(crate) const KEEPING: [Format; 10] = [
    Format::Sillytavern,
    Format::CardV2,
    Format::CardV3,
    Format::CardV2Png,
    Format::CardV3Png,
    Format::Charx,
    Format::CharacterBook,
    Format::LorebookV3,
    Format::Janitor,
    Format::CardYaml,
];

fn cross(
    book: &Book,
    format: Format,
    imported: &Imported,
) -> Result<(Exported, Imported), Box<dyn Error>> {
    let options = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
    let exported = export(book, format, &options)?;
    let options = ImportOptions {
        file_name: Some(format!("book.{}", format.file_extension())),
        ..ImportOptions::new("book").named(&*book.name)
    };
    let again = import(&exported.bytes, &options)?;
    Ok((exported, again))
}

#[test]
fn a_book_comes_home_whole_through_every_format_that_keeps_extensions() -> Result<(), Box<dyn Error>>
{
    for (file, _, imported) in readable()? {
        let home = imported.format;
        for abroad in KEEPING {
            if abroad == home || imported.book.entries.is_empty() {
                continue;
            }
            let (exported, away) = cross(&imported.book, abroad, &imported)?;
            assert_eq!(away.format, abroad, "{file}");
            let losses: Vec<_> =
                exported.losses.iter().filter(|loss| loss.entry.is_some()).collect();
            assert!(losses.is_empty(), "{file} to {abroad}: {losses:?}");
            let (_, again) = cross(&away.book, home, &imported)?;
            let pairs = again.book.entries.iter().zip(&imported.book.entries);
            for (found, wanted) in pairs {
                assert_eq!(meaning(found), meaning(wanted), "{file} to {abroad} and back");
                // A new archive has its book in the card, not in a module; and a hole in a
                // file becomes an entry that is off.
                let is_hole = wanted.raw.as_deref() == Some("null");
                if file != "card_with_module.charx" && !is_hole {
                    assert_eq!(found.extensions, wanted.extensions, "{file} to {abroad} and back");
                }
            }
            assert_eq!(again.book.entries.len(), imported.book.entries.len(), "{file} {abroad}");
        }
    }
    Ok(())
}

#[test]
fn other_formats_keep_text_and_keys_and_report_the_rest() -> Result<(), Box<dyn Error>> {
    for (file, _, imported) in readable()? {
        for abroad in Format::ALL.iter().copied() {
            if KEEPING.contains(&abroad)
                || abroad == Format::Perchance
                || abroad == imported.format
                || imported.book.entries.is_empty()
            {
                continue;
            }
            let (exported, away) = cross(&imported.book, abroad, &imported)
                .map_err(|error| format!("{file} to {abroad}: {error}"))?;
            let has_no_book = [CardVersion::V1, CardVersion::Pygmalion];
            if abroad.card().is_some_and(|version| has_no_book.contains(&version)) {
                let lost = exported.losses.iter().filter(|loss| loss.entry.is_some()).count();
                assert_eq!(lost, imported.book.entries.len(), "{file} {abroad}");
                continue;
            }
            assert_eq!(away.book.entries.len(), imported.book.entries.len(), "{file} {abroad}");
            for (found, wanted) in away.book.entries.iter().zip(&imported.book.entries) {
                let lost = |field: &str| {
                    exported.losses.iter().any(|loss| {
                        loss.entry.as_ref() == Some(&wanted.id) && loss.field.starts_with(field)
                    })
                };
                let raw = |keys: &[Key]| -> Vec<String> {
                    keys.iter().map(|key| key.raw().trim().to_owned()).collect()
                };
                let same_content = found.content == wanted.content;
                assert!(same_content || lost("content"), "{file} {abroad} {}", wanted.id);
                let same_keys = raw(&found.activation.keys) == raw(&wanted.activation.keys);
                assert!(same_keys || lost("activation.keys"), "{file} {abroad} {}", wanted.id);
                let same_chance = found.activation.probability.unwrap_or(100.0).to_bits()
                    == wanted.activation.probability.unwrap_or(100.0).to_bits();
                assert!(same_chance || lost("activation.probability"), "{file} {abroad}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_loss_report_names_what_a_format_cannot_say() -> Result<(), Box<dyn Error>> {
    let file = br#"{"entries":{"0":{"uid":0,"key":["a"],"content":"x","comment":"A","order":5,
        "position":4,"depth":2,"role":1,"probability":40,"useProbability":true,"sticky":3,
        "group":"g","groupWeight":100,"disable":true,"vendor":1}}}"#;
    let imported = import(file, &ImportOptions::new("b"))?;
    let lost = |format| -> Result<Vec<String>, Box<dyn Error>> {
        let exported = export(&imported.book, format, &ExportOptions::default())?;
        Ok(exported.losses.iter().map(|loss| format!("{} = {}", loss.field, loss.value)).collect())
    };
    assert_eq!(
        lost(Format::Agnai)?,
        [
            "extensions.vendor = 1",
            "activation.probability = 40.0",
            "activation.timed.sticky = 3",
            "group.names = \"g\"",
            "placement.position = {\"at_depth\":{\"from\":\"newest\"}}",
            "placement.role = \"user\"",
        ]
    );
    assert_eq!(
        lost(Format::Byaf)?,
        [
            "extensions.vendor = 1",
            "name = \"A\"",
            "activation.enabled = false",
            "activation.probability = 40.0",
            "activation.timed.sticky = 3",
            "group.names = \"g\"",
            "placement.position = {\"at_depth\":{\"from\":\"newest\"}}",
            "placement.role = \"user\"",
            "placement.order = 5.0",
        ]
    );
    assert_eq!(lost(Format::CardV3)?, [""; 0]);
    let decorated = br#"{"entries":{"0":{"key":["a"],"content":"@@depth 2\nText"}}}"#;
    let book = import(decorated, &ImportOptions::new("b"))?.book;
    let exported = export(&book, Format::Aidungeon, &ExportOptions::default())?;
    assert_eq!(import(&exported.bytes, &ImportOptions::new("b"))?.book.entries[0].content, "Text");
    assert!(exported.losses.iter().any(|loss| loss.field == "content"));
    Ok(())
}

#[test]
fn decorators_are_lifted_and_lowered_only_when_asked() -> Result<(), Box<dyn Error>> {
    let file = br#"{"entries":{"0":{"uid":0,"key":["a"],"content":"Text","position":4,"depth":2,
        "role":1,"probability":40,"useProbability":true,"sticky":3,"order":5}}}"#;
    let book = import(file, &ImportOptions::new("b"))?.book;
    let options = ExportOptions { decorators: Decorators::Lower, ..ExportOptions::default() };
    let exported = export(&book, Format::Risu, &options)?;
    let risu = import(&exported.bytes, &ImportOptions::new("b"))?.book;
    // The chance has a field of its own in Risu's files.
    assert_eq!(risu.entries[0].content, "@@depth 2\n@@role user\nText");
    let lost: Vec<&str> = exported.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(lost, ["activation.timed.sticky"]);

    let kept = export(&risu, Format::Sillytavern, &ExportOptions::default())?;
    let kept = import(&kept.bytes, &ImportOptions::new("b"))?.book;
    assert_eq!(kept.entries[0].content, "@@depth 2\n@@role user\nText");
    let options = ExportOptions { decorators: Decorators::Lift, ..ExportOptions::default() };
    let lifted = export(&risu, Format::Sillytavern, &options)?;
    let lifted = import(&lifted.bytes, &ImportOptions::new("b"))?.book;
    assert_eq!(lifted.entries[0].content, "Text");
    assert_eq!(lifted.entries[0].placement.position, book.entries[0].placement.position);
    assert_eq!(lifted.entries[0].placement.role, book.entries[0].placement.role);
    Ok(())
}

#[test]
fn a_card_crosses_with_everything_its_standard_can_hold() -> Result<(), Box<dyn Error>> {
    let file = br#"{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"Orla",
        "nickname":"Cap","description":"Keeper.","first_mes":"You.","alternate_greetings":["Ahoy."],
        "group_only_greetings":["All hands."],"creator_notes":"Be kind.","tags":["sea"],
        "assets":[{"type":"icon","uri":"ccdefault:","name":"main","ext":"png"}],
        "creation_date":5,"extensions":{"depth_prompt":{"prompt":"Wind.","depth":2,"role":"user"}}}}"#;
    let imported = import(file, &ImportOptions::new("b"))?;
    let lost = |format| -> Result<Vec<String>, Box<dyn Error>> {
        let options = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
        let exported = export(&imported.book, format, &options)?;
        Ok(exported.losses.iter().map(|loss| loss.field.clone()).collect())
    };
    assert_eq!(lost(Format::CardV2)?, [""; 0]);
    assert_eq!(
        lost(Format::CardV1)?,
        [
            "card.nickname",
            "card.creator_notes",
            "card.alternate_greetings",
            "card.group_only_greetings",
            "card.tags",
            "card.assets",
        ]
    );
    assert_eq!(
        lost(Format::Sillytavern)?,
        [
            "card.name",
            "card.nickname",
            "card.description",
            "card.first_mes",
            "card.creator_notes",
            "card.alternate_greetings",
            "card.group_only_greetings",
            "card.tags",
            "card.depth_prompt",
            "card.assets",
            "card.extensions.creation_date",
            "card.extensions.extensions",
        ]
    );
    for abroad in [Format::CardV2, Format::CardV2Png, Format::CardV3Png, Format::Charx] {
        let (_, away) = cross(&imported.book, abroad, &imported)?;
        let (_, home) = cross(&away.book, Format::CardV3, &away)?;
        assert_eq!(home.card, imported.card, "{abroad}");
    }
    Ok(())
}
