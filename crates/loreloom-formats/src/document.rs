//! Opens a file of any kind and finds the JSON or text inside.

use std::borrow::Cow;

use loreloom_core::book::Container;

use crate::{
    archive::Archive,
    card::CardVersion,
    detect::{self, Format},
    error::FormatError,
    exif,
    import::ImportOptions,
    json::{self, Node},
    limits::Limit,
    note::Notes,
    png, risum, text, yaml,
};

/// The text of a book, and its place in the file.
pub(crate) struct Document<'bytes> {
    /// `None` if only the text can show it.
    pub(crate) format: Option<Format>,
    pub(crate) text: Cow<'bytes, str>,
    pub(crate) part: Part,
    /// The card, if it is in another part of the file than the book.
    pub(crate) card: Option<String>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// All of it, as YAML; the text is the same as JSON.
    Yaml,
    /// Text chunks of a picture.
    Chunk,
    /// A comment in the EXIF data of a picture.
    Comment(Container),
    /// A file of an archive.
    File(String),
    /// A packed Risu module, alone or as a file of an archive.
    Module(Option<String>),
}

impl Part {
    pub(crate) fn container(&self) -> Container {
        match self {
            Self::Whole | Self::Yaml => Container::Text,
            Self::Chunk => Container::Png,
            Self::Comment(container) => *container,
            Self::File(_) | Self::Module(Some(_)) => Container::Zip,
            Self::Module(None) => Container::Risum,
        }
    }
}

/// What a JPEG begins with.
const JPEG: [u8; 3] = [0xFF, 0xD8, 0xFF];

/// Opens a file.
pub(crate) fn open<'bytes>(
    bytes: &'bytes [u8],
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Document<'bytes>, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let limit = options.limits.container_bytes;
    if bytes.len() > limit {
        return Err(FormatError::TooLarge { which: Limit::Container, limit, found: bytes.len() });
    }
    if bytes.starts_with(&png::SIGNATURE) {
        return picture(bytes, options, notes);
    }
    if bytes.starts_with(&risum::MARK) {
        return module(bytes, None, options, notes);
    }
    if bytes.starts_with(b"PK\x03\x04") || ends_in_archive(bytes) {
        return archive(bytes, options, notes);
    }
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    if bytes.starts_with(&JPEG) || is_webp {
        return comment(bytes, options, notes);
    }
    let limit = options.limits.text_bytes;
    if bytes.len() > limit {
        return Err(FormatError::TooLarge { which: Limit::Text, limit, found: bytes.len() });
    }
    let text = text::decode(bytes, notes);
    let body = text::without_bom(&text);
    // JSON is YAML too, but only as JSON it can be written back with its own blanks.
    if yaml::is_called_yaml(options.file_name.as_deref())
        && json::parse(body, &options.limits).is_err()
    {
        return yaml_card(body, options, notes);
    }
    let text = if options.relaxed { relaxed(text, notes) } else { text };
    Ok(Document { format: None, text, part: Part::Whole, card: None })
}

/// The text without what JSON does not know; plain text has nothing of it.
fn relaxed<'bytes>(text: Cow<'bytes, str>, notes: &mut Notes) -> Cow<'bytes, str> {
    let is_json = text::without_bom(&text).trim_start().starts_with(['{', '[', '/']);
    let strict = if is_json { json::strict(&text) } else { None };
    let Some(strict) = strict else { return text };
    notes.warn("", "comments and commas too many were overlooked");
    Cow::Owned(strict)
}

fn yaml_card<'bytes>(
    text: &str,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Document<'bytes>, FormatError> {
    let text = yaml::to_json(text, notes)?.to_string();
    let parsed = json::parse(&text, &options.limits)?;
    let root = &parsed.root;
    let has = |name: &str| root.get(name).is_some_and(|value| !value.is_null());
    let is_webui = has("name") && (has("context") || has("greeting"));
    let is_card = detect::of_json(root).is_ok_and(|format| format.card().is_some());
    if !is_webui && !is_card {
        return Err(FormatError::Unknown {
            looked_for: "a character's card in YAML",
            found: detect::shown_keys(root),
        });
    }
    let format = Some(Format::CardYaml);
    Ok(Document { format, text: text.into(), part: Part::Yaml, card: None })
}

/// Whether an archive follows something else: its directory is found from the end.
fn ends_in_archive(bytes: &[u8]) -> bool {
    const END: &[u8] = b"PK\x05\x06";
    /// The directory's end with its longest comment.
    const TAIL: usize = 22 + 65_535;
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    let text_like = |byte: &u8| matches!(byte, b'{' | b'[') || *byte == 0xEF;
    !bytes.first().is_some_and(text_like) && tail.windows(END.len()).any(|window| window == END)
}

/// The card or lorebook in a picture: the best chunk that can be read.
fn picture<'bytes>(
    bytes: &'bytes [u8],
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Document<'bytes>, FormatError> {
    let mut first_fault = None;
    for payload in png::payloads(bytes, &options.limits)? {
        let found = payload.bytes.and_then(|bytes| {
            if bytes.starts_with(b"rcc||") {
                return Err(FormatError::Encrypted);
            }
            let text = text::decode(&bytes, notes).into_owned();
            let parsed = json::parse(text::without_bom(&text), &options.limits)?;
            Ok((in_picture(&parsed.root)?, text))
        });
        match found {
            Ok((format, text)) => {
                let format = Some(format);
                return Ok(Document { format, text: text.into(), part: Part::Chunk, card: None });
            }
            // An author who locked the card did not mean its older copy to be read instead.
            Err(fault @ FormatError::Encrypted) => return Err(fault),
            Err(fault) => {
                notes.warn(payload.keyword, format!("{fault}: the next chunk was tried"));
                first_fault.get_or_insert(fault);
            }
        }
    }
    match first_fault {
        Some(fault) => Err(fault),
        // Backyard puts its cards there.
        None if exif::user_comment(bytes).is_some() => comment(bytes, options, notes),
        None => Err(FormatError::NoLore {
            problem: "the picture has no `ccv3`, `chara` or `naidata` text".to_owned(),
        }),
    }
}

/// The card in the EXIF data of a picture, which is only read.
fn comment<'bytes>(
    bytes: &'bytes [u8],
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Document<'bytes>, FormatError> {
    let found = exif::user_comment(bytes).ok_or_else(|| FormatError::NoLore {
        problem: "the picture has neither an archive nor a comment in its EXIF data".to_owned(),
    })?;
    let text = text::decode(&png::out_of_base64(&found), notes).into_owned();
    let parsed = json::parse(text::without_bom(&text), &options.limits)?;
    let format = Some(detect::of_json(&parsed.root)?);
    let part = Part::Comment(match bytes {
        _ if bytes.starts_with(&JPEG) => Container::Jpeg,
        _ if bytes.starts_with(&png::SIGNATURE) => Container::Png,
        _ => Container::Webp,
    });
    Ok(Document { format, text: text.into(), part, card: None })
}

fn in_picture(root: &Node<'_>) -> Result<Format, FormatError> {
    let format = detect::of_json(root)?;
    match (format.card(), format) {
        (Some(CardVersion::V1 | CardVersion::Pygmalion | CardVersion::Webui), _) => {
            Ok(Format::CardV1Png)
        }
        (Some(CardVersion::V2), _) => Ok(Format::CardV2Png),
        (Some(CardVersion::V3), _) => Ok(Format::CardV3Png),
        (None, Format::Novelai) => Ok(Format::NovelaiPng),
        (None, _) => Err(FormatError::Unknown {
            looked_for: "a card or a `NovelAI` lorebook in the picture",
            found: format.to_string(),
        }),
    }
}

fn archive<'bytes>(
    bytes: &'bytes [u8],
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Document<'bytes>, FormatError> {
    const CARD: &str = "card.json";
    const MANIFEST: &str = "manifest.json";
    const MODULE: &str = "module.risum";
    let mut archive = Archive::open(bytes, &options.limits, notes)?;
    if archive.has(CARD) {
        let card = text::decode(&archive.read(CARD)?, notes).into_owned();
        check_card(&card, options)?;
        if archive.has(MODULE) {
            let unpacked = archive.read(MODULE);
            let found = unpacked.and_then(|bytes| module(&bytes, Some(MODULE), options, notes));
            match found {
                Ok(found) if has_lorebook(&found.text, options) => {
                    notes.info(MODULE, "the module's book is used instead of the card's");
                    let format = Some(Format::Charx);
                    return Ok(Document { format, card: Some(card), ..found });
                }
                Ok(_) => {}
                Err(fault) => notes.warn(MODULE, format!("{fault}: the card's book is used")),
            }
        }
        let part = Part::File(CARD.to_owned());
        return Ok(Document { format: Some(Format::Charx), text: card.into(), part, card: None });
    }
    if archive.has(MANIFEST) {
        let manifest = text::decode(&archive.read(MANIFEST)?, notes).into_owned();
        let name = first_character(&manifest, options, notes)?;
        let text = text::decode(&archive.read(&name)?, notes).into_owned();
        let format = Some(Format::Byaf);
        return Ok(Document { format, text: text.into(), part: Part::File(name), card: None });
    }
    if archive.has(MODULE) {
        return module(&archive.read(MODULE)?, Some(MODULE), options, notes);
    }
    Err(FormatError::NoLore {
        problem: "the archive has no `card.json`, `manifest.json` or `module.risum`".to_owned(),
    })
}

fn has_lorebook(text: &str, options: &ImportOptions) -> bool {
    json::parse(text, &options.limits).is_ok_and(|parsed| {
        let module = parsed.root.get("module").unwrap_or(&parsed.root);
        module.get("lorebook").is_some_and(|rows| !rows.items().is_empty())
    })
}

/// The first character that a Backyard manifest names.
fn first_character(
    manifest: &str,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<String, FormatError> {
    let parsed = json::parse(text::without_bom(manifest), &options.limits)?;
    let characters = parsed.root.get("characters").map_or(&[][..], Node::items);
    if characters.len() > 1 {
        let text = format!("only the first of {} was read", characters.len());
        notes.warn("characters", text);
    }
    let scenarios = parsed.root.get("scenarios").map_or(&[][..], Node::items);
    for scenario in scenarios.iter().filter_map(Node::as_str) {
        notes.info(scenario, "greeting and chat are not part of a book: not read");
    }
    let first = characters.iter().find_map(Node::as_str);
    first.map(str::to_owned).ok_or_else(|| FormatError::Unknown {
        looked_for: "`characters` in `manifest.json`",
        found: detect::shown_keys(&parsed.root),
    })
}

/// What a packed module says.
fn module<'bytes>(
    bytes: &[u8],
    file: Option<&str>,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Document<'bytes>, FormatError> {
    let (json, _) = risum::unpack(bytes)?;
    let text = text::decode(&json, notes).into_owned();
    let parsed = json::parse(text::without_bom(&text), &options.limits)?;
    let root = &parsed.root;
    let is_module = ["module", "lorebook"].iter().any(|name| root.get(name).is_some())
        || root.get("type").and_then(Node::as_str) == Some("risuModule");
    if !is_module {
        return Err(FormatError::Unknown {
            looked_for: "`module` or `lorebook` in the module",
            found: detect::shown_keys(root),
        });
    }
    let part = Part::Module(file.map(str::to_owned));
    Ok(Document { format: Some(Format::RisuModule), text: text.into(), part, card: None })
}

/// An archive's name for its card does not make one of any file.
fn check_card(text: &str, options: &ImportOptions) -> Result<(), FormatError> {
    let parsed = json::parse(text::without_bom(text), &options.limits)?;
    let root = &parsed.root;
    let is_named = root.get("data").is_some_and(|data| data.get("name").is_some());
    let is_card = detect::of_json(root).is_ok_and(|format| format.card().is_some());
    if is_card || is_named {
        return Ok(());
    }
    Err(FormatError::Unknown {
        looked_for: "a character in `card.json`",
        found: detect::shown_keys(root),
    })
}
