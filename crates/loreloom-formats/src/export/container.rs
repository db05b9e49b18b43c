//! Puts a written text where the format has it: into a picture, an archive, a module.

use std::borrow::Cow;

use loreloom_core::book::{Book, Container};
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

/// Wraps a text that was written anew.
pub(super) fn wrap_fresh(
    root: &Value,
    format: Format,
    book: &Book,
    options: &ExportOptions<'_>,
) -> Result<Vec<u8>, FormatError> {
    let text = || layout::to_text(root, &fresh_style(), 0);
    match (format.container(), format) {
        (Container::Png, _) => in_picture(&picture(options)?, &root.to_string(), format, options),
        (Container::Zip, Format::Byaf) => backyard(root, book),
        (Container::Zip, _) => {
            archive::with_files(None, &[("card.json".to_owned(), text().into_bytes())])
        }
        (Container::Risum, _) => risum::pack(root.to_string().as_bytes(), &[]),
        (_, Format::CardYaml) => Ok(yaml::write(root).into_bytes()),
        (Container::Text | Container::Jpeg | Container::Webp | Container::Vault, _) => {
            Ok((text() + "\n").into_bytes())
        }
    }
}

/// A new Backyard archive: the smallest that its schema allows.
fn backyard(root: &Value, book: &Book) -> Result<Vec<u8>, FormatError> {
    const CHARACTER: &str = "characters/character/character.json";
    let mut character = root.clone();
    character["id"] = json!("character");
    character["name"] = json!(book.name);
    character["displayName"] = json!(book.name);
    character["isNSFW"] = json!(false);
    character["persona"] = json!("");
    character["images"] = json!([]);
    let manifest = json!({ "schemaVersion": 1, "characters": [CHARACTER], "scenarios": [] });
    let file = |name: &str, value: &Value| {
        (name.to_owned(), layout::to_text(value, &fresh_style(), 0).into_bytes())
    };
    archive::with_files(None, &[file("manifest.json", &manifest), file(CHARACTER, &character)])
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
    let parsed = json::parse(body, options.limits.nesting)?;
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
            let parsed = json::parse(text::without_bom(text), options.limits.nesting)?;
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

/// What stands behind the text of a module.
fn assets(module: Option<&[u8]>) -> Result<&[u8], FormatError> {
    let Some(module) = module else { return Ok(&[]) };
    let (_, end) = risum::unpack(module)?;
    Ok(&module[end..])
}
