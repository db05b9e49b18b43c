//! Puts a written text where the format has it: into a picture, an archive, a module.

use std::borrow::Cow;

use loreloom_core::book::{Book, Container, TextStyle};
use serde_json::{Value, json};

use super::{ExportOptions, Own, fresh_style};
use crate::{
    archive, card,
    detect::Format,
    document::Part,
    error::FormatError,
    json::{self, layout},
    png, risum, text, yaml,
};

/// The layout of a new text: readable if people may look at it.
pub(super) fn style_of(format: Format) -> TextStyle {
    match format.container() {
        Container::Png | Container::Risum => TextStyle::default(),
        _ if format == Format::CardYaml => TextStyle::default(),
        Container::Text | Container::Zip | Container::Jpeg | Container::Webp | Container::Vault => {
            fresh_style()
        }
    }
}

/// Wraps a new text.
pub(super) fn wrap_fresh(
    mut text: String,
    format: Format,
    options: &ExportOptions<'_>,
) -> Result<Vec<u8>, FormatError> {
    match (format.container(), format) {
        (Container::Png, _) => in_picture(&picture(options)?, &text, format, options),
        (Container::Zip, Format::Byaf) => backyard(text),
        (Container::Zip, _) => {
            archive::with_files(None, &[("card.json".to_owned(), text.into_bytes())])
        }
        (Container::Risum, _) => risum::pack(text.as_bytes(), &[]),
        (_, Format::CardYaml) => {
            let parsed = json::parse(&text, usize::MAX)?;
            Ok(yaml::write(&parsed.root.to_value()).into_bytes())
        }
        (Container::Text | Container::Jpeg | Container::Webp | Container::Vault, _) => {
            text.push('\n');
            Ok(text.into_bytes())
        }
    }
}

/// Where a new archive has its character.
const CHARACTER: &str = "characters/character/character.json";

/// What else the schema of a Backyard character asks for, at the least.
pub(super) fn complete_character(character: &mut Value, book: &Book) {
    let Value::Object(character) = character else { return };
    for (name, value) in [
        ("id", json!("character")),
        ("name", json!(book.name)),
        ("displayName", json!(book.name)),
        ("isNSFW", json!(false)),
        ("persona", json!("")),
        ("images", json!([])),
    ] {
        character.entry(name).or_insert(value);
    }
}

/// A new Backyard archive: the smallest that its schema allows.
fn backyard(character: String) -> Result<Vec<u8>, FormatError> {
    let manifest = json!({ "schemaVersion": 1, "characters": [CHARACTER], "scenarios": [] });
    let manifest = layout::to_text(&manifest, &fresh_style(), 0).into_bytes();
    let files =
        [("manifest.json".to_owned(), manifest), (CHARACTER.to_owned(), character.into_bytes())];
    archive::with_files(None, &files)
}

/// A picture with a card or lorebook in it. A V3 card travels with its V2 copy, which is
/// all that older programs see.
fn in_picture(
    picture: &[u8],
    text: &str,
    format: Format,
    options: &ExportOptions<'_>,
) -> Result<Vec<u8>, FormatError> {
    if format == Format::NovelaiPng {
        return png::with_texts(picture, &[("naidata", text.as_bytes())]);
    }
    if format != Format::CardV3Png {
        return png::with_texts(picture, &[("chara", text.as_bytes())]);
    }
    let body = text::without_bom(text);
    let parsed = json::parse(body, &options.limits)?;
    let copy = card::to_v2(&parsed.root.to_value()).to_string();
    let texts = [("chara", copy.as_bytes()), ("ccv3", text.as_bytes())];
    png::with_texts(picture, &texts)
}

/// Puts the edited text of a document back into its file.
pub(super) fn wrap_patched(
    text: &str,
    card: Option<&str>,
    format: Format,
    own: &Own<'_>,
    options: &ExportOptions<'_>,
) -> Result<Vec<u8>, FormatError> {
    match &own.document.part {
        // An edited card of a picture that cannot be written comes out as its text.
        Part::Whole | Part::Comment(_) => Ok(text.as_bytes().to_vec()),
        Part::Yaml => {
            let parsed = json::parse(text::without_bom(text), &options.limits)?;
            Ok(yaml::write(&parsed.root.to_value()).into_bytes())
        }
        Part::Chunk => in_picture(&picture(options)?, text, format, options),
        Part::File(name) => {
            archive::with_files(own.bytes, &[(name.clone(), text.as_bytes().to_vec())])
        }
        Part::Module(None) => risum::pack(text.as_bytes(), assets(own.bytes)?),
        Part::Module(Some(name)) => {
            let mut notes = crate::note::Notes::default();
            let original = own.bytes.unwrap_or_default();
            let mut open = archive::Archive::open(original, &options.limits, &mut notes)?;
            let module = open.read(name)?;
            let packed = risum::pack(text.as_bytes(), assets(Some(&module))?)?;
            let mut files = vec![(name.clone(), packed)];
            if let Some(card) = card {
                files.push(("card.json".to_owned(), card.as_bytes().to_vec()));
            }
            archive::with_files(Some(original), &files)
        }
    }
}

/// The picture that a card travels in.
fn picture<'a>(options: &ExportOptions<'a>) -> Result<Cow<'a, [u8]>, FormatError> {
    match options.original {
        Some(original) if original.starts_with(&png::SIGNATURE) => Ok(Cow::Borrowed(original)),
        _ => png::blank().map(Cow::Owned),
    }
}

/// The bytes after the text of a module.
fn assets(module: Option<&[u8]>) -> Result<&[u8], FormatError> {
    let Some(module) = module else { return Ok(&[]) };
    let (_, end) = risum::unpack(module)?;
    Ok(&module[end..])
}
