//! The picture of a character, wherever its file has it.

use base64::Engine as _;

use crate::{archive::Archive, card::Card, character::backyard, limits::Limits, note::Notes, png};

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portrait {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its media type.
    pub media_type: &'static str,
}

/// The media type of a picture that browsers show; `None` for anything else.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    Some(match bytes {
        _ if bytes.starts_with(&png::SIGNATURE) => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        _ if is_webp => "image/webp",
        _ => return None,
    })
}

/// The picture of the character in a card's file: the file itself, a file of its archive, or a
/// picture written into the card. Nothing is fetched.
pub fn portrait(file: &[u8], card: &Card, limits: &Limits) -> Option<Portrait> {
    let picture = |bytes: Vec<u8>| {
        let media_type = media_type(&bytes)?;
        Some(Portrait { bytes, media_type })
    };
    if file.starts_with(&png::SIGNATURE) {
        // The card's text is often larger than its picture.
        return picture(png::with_texts(file, &[]).ok()?);
    }
    let mut notes = Notes::default();
    let archive = Archive::open(file, limits, &mut notes).ok();
    let found = archive.and_then(|mut archive| {
        let path = icon(card).or_else(|| backyard::image(&mut archive))?;
        archive.read(&path).ok()
    });
    let written = || icon_data(card);
    picture(found.or_else(written).unwrap_or_else(|| file.to_vec()))
}

/// The asset that is the character's picture.
fn icon_uri(card: &Card) -> Option<&str> {
    let icons = || card.assets.iter().filter(|asset| asset.kind == "icon");
    let main = icons().find(|asset| asset.name == "main");
    main.or_else(|| icons().next()).map(|asset| asset.uri.as_str())
}

/// The path of the picture in the card's archive.
fn icon(card: &Card) -> Option<String> {
    let uri = icon_uri(card)?;
    let schemes = ["embeded://", "embedded://", "__asset:"];
    schemes.iter().find_map(|scheme| uri.strip_prefix(scheme)).map(str::to_owned)
}

/// A picture that is written into the card.
fn icon_data(card: &Card) -> Option<Vec<u8>> {
    let (head, data) = icon_uri(card)?.strip_prefix("data:")?.split_once(',')?;
    head.ends_with(";base64").then_some(())?;
    base64::engine::general_purpose::STANDARD.decode(data).ok()
}
