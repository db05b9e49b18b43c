//! Reads a file of any known format.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Origin},
    hygiene::HazardCount,
    ids::BookId,
};

use crate::{
    card::{self, Card, CardVersion},
    detect::{self, Format},
    document::{self, Document, Part},
    error::FormatError,
    json::{self, Json, Node, Oddity, OddityKind, js},
    limits::{Limit, Limits},
    note::{ImportNote, Notes},
    perchance, program,
    risu::Risu,
    schema::Schema,
    text, tree,
};

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The id of the new book.
    pub book_id: BookId,
    /// The book's name where the file has none.
    pub name: Option<String>,
    /// The file's own name; only needed to take plain text for lore.
    pub file_name: Option<String>,
    /// How values of the wrong type are read.
    pub odd_values: OddValues,
    /// Whether a key that is a list in one text (`harbor; quay`) is several keys. A comma is a
    /// legal character of a key, so this must be asked for.
    pub split_keys: bool,
    /// Whether comments and commas too many are overlooked, which JSON does not know.
    pub relaxed: bool,
    /// Whether a text is plain lore whatever it looks like: somebody knows that it is.
    pub plain_text: bool,
    /// How much is read.
    pub limits: Limits,
}

impl ImportOptions {
    /// The defaults, for a book of this id.
    pub fn new(book_id: impl Into<BookId>) -> Self {
        Self {
            book_id: book_id.into(),
            name: None,
            file_name: None,
            odd_values: OddValues::default(),
            split_keys: false,
            relaxed: false,
            plain_text: false,
            limits: Limits::default(),
        }
    }

    /// The same with a name for books whose file has none.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

/// How `SillyTavern` files with values of the wrong type are read.
///
/// Both report the value as a warning. Other formats are always repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OddValues {
    /// As `SillyTavern` itself treats them at scan time: `"false"` is true, a `key` that
    /// is no list never matches. Lore behaves here as it does there.
    #[default]
    AsSillyTavern,
    /// As their author must have meant them: `"false"` is false, `"a, b"` is two keys.
    Repair,
    /// As `SillyTavern` itself treats them, and what has another program's name (`keys`,
    /// `enabled`, a position called `before_char`) is not looked at, as there. For comparing
    /// with it: an author who writes such a name means it.
    ToTheLetter,
}

/// A book, its card if it came in one, and what the reader has to say.
#[derive(Clone, Debug)]
#[must_use]
pub struct Imported {
    /// The book; without entries for a card that has none.
    pub book: Book,
    /// The character, where the file is a card.
    pub card: Option<Card>,
    /// What the file was.
    pub format: Format,
    /// What was odd, repaired or left out.
    pub notes: Vec<ImportNote>,
}

/// Reads a file of any known format.
pub fn import(bytes: &[u8], options: &ImportOptions) -> Result<Imported, FormatError> {
    let mut notes = Notes::default();
    let document = document::open(bytes, options, &mut notes)?;
    let ReadBook { mut book, card, format, version, is_named, program } =
        read(&document, options, &mut notes)?;
    let assumed_name = (!is_named && !book.name.is_empty()).then(|| book.name.clone());
    book.origin = Some(Origin {
        format: format.as_str().to_owned(),
        version,
        container: document.part.container(),
        style: text::style(&document.text),
        source: Some(Arc::from(document.text.as_ref())),
        program: program.map(str::to_owned),
        assumed_name,
    });
    book.share_source();
    note_unsafe(&book, card.as_ref(), &mut notes);
    Ok(Imported { book, card, format, notes: notes.finish() })
}

/// Notes texts that would break out of their place in a prompt.
fn note_unsafe(book: &Book, card: Option<&Card>, notes: &mut Notes) {
    let card_texts = card.into_iter().flat_map(Card::texts);
    let texts = card_texts.map(|(field, text)| (None, field, text));
    let entries = book.entries.iter();
    let entries = entries.map(|one| (Some(one.title()), "content", one.content.as_str()));
    for (entry, field, text) in texts.chain(entries) {
        let found = HazardCount::in_text(text);
        if !found.is_empty() {
            notes.at_entry(entry);
            notes.warn(field, HazardCount::sentence(&found));
        }
    }
    notes.at_entry(None);
}

/// What a document says.
pub(crate) struct ReadBook {
    pub(crate) book: Book,
    pub(crate) card: Option<Card>,
    pub(crate) format: Format,
    /// The version that the file states.
    pub(crate) version: Option<String>,
    /// Whether the book's name is the file's.
    pub(crate) is_named: bool,
    /// The program that wrote it, if the format does not say it.
    pub(crate) program: Option<&'static str>,
}

/// Reads an opened document.
pub(crate) fn read(
    document: &Document<'_>,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<ReadBook, FormatError> {
    let limit = options.limits.text_bytes;
    if document.text.len() > limit {
        return Err(FormatError::TooLarge {
            which: Limit::Text,
            limit,
            found: document.text.len(),
        });
    }
    let body = text::without_bom(&document.text);
    let is_plain = || options.plain_text || perchance::is_plain(body, options.file_name.as_deref());
    if document.part == Part::Whole && is_plain() {
        let book = perchance::read(body, options)?;
        let format = Format::Perchance;
        return Ok(ReadBook {
            book,
            card: None,
            format,
            version: None,
            is_named: false,
            program: None,
        });
    }
    let parsed = json::parse(body, &options.limits)?;
    let root = &parsed.root;
    let format = match document.format {
        Some(format) => format,
        None => detect::of_json(root)?,
    };
    note_oddities(root, &parsed.oddities, notes);
    let Some(schema) = schema_of(format, &document.part) else {
        return Err(FormatError::Unknown { looked_for: "JSON", found: format.to_string() });
    };
    let nameless = ImportOptions { name: None, ..options.clone() };
    let mut book = tree::read(schema, root, body, &nameless, notes)?;
    let is_named = !book.name.is_empty();
    if !is_named {
        book.name = options.name.clone().unwrap_or_default();
    }
    let card = match (card_version(format, root), &document.card) {
        (Some(version), Some(text)) => {
            let parsed = json::parse(text::without_bom(text), &options.limits)?;
            Some(card::read(&parsed.root, version, notes))
        }
        (Some(version), None) => Some(card::read(root, version, notes)),
        (None, _) => None,
    };
    if let Some(card) = card.as_ref().filter(|_| book.name.is_empty()) {
        card.name.clone_into(&mut book.name);
    }
    if format == Format::CardV2 && root.get("spec").is_none() {
        notes.warn("spec", "is missing: read as a V2 card because it has a `character_book`");
    }
    let program = match document.part {
        Part::Module(_) => Some(program::RISU),
        Part::Whole | Part::Yaml | Part::Chunk | Part::Comment(_) | Part::File(_) => {
            let has_mark = card.is_some() || format == Format::Sillytavern;
            has_mark.then(|| program::of(root)).flatten()
        }
    };
    Ok(ReadBook { book, card, format, version: version(root), is_named, program })
}

/// The version of its format that a file states.
fn version(root: &Node<'_>) -> Option<String> {
    const NAMES: [&str; 6] = [
        "spec_version",
        "lorebookVersion",
        "storyContainerVersion",
        "scenarioVersion",
        "schemaVersion",
        "ver",
    ];
    NAMES.iter().find_map(|name| root.get(name)).filter(|node| !node.is_null()).map(js::text)
}

/// How the entries of a document are written.
pub(crate) fn schema_of(format: Format, part: &Part) -> Option<&'static dyn Schema> {
    match part {
        Part::Module(_) => Some(&Risu::Module),
        Part::Whole | Part::Yaml | Part::Chunk | Part::Comment(_) | Part::File(_) => {
            format.schema()
        }
    }
}

/// The standard of a card; `None` for files that are not cards.
pub(crate) fn card_version(format: Format, root: &Node<'_>) -> Option<CardVersion> {
    let version = format.card()?;
    let spec = root.get("spec").and_then(Node::as_str);
    let is_v2 = spec == Some("chara_card_v2");
    let has = |name: &str| root.get(name).is_some();
    Some(match version {
        CardVersion::Webui if spec == Some("chara_card_v3") => CardVersion::V3,
        CardVersion::Webui if spec.is_some() || has("data") => CardVersion::V2,
        CardVersion::V1 | CardVersion::Webui if has("char_name") => CardVersion::Pygmalion,
        CardVersion::Webui if !has("context") && !has("greeting") => CardVersion::V1,
        CardVersion::V3 if is_v2 => CardVersion::V2,
        CardVersion::V1
        | CardVersion::V2
        | CardVersion::V3
        | CardVersion::Pygmalion
        | CardVersion::Webui => version,
    })
}

/// Reports what the parser repaired, each with the path to it.
fn note_oddities(root: &Node<'_>, oddities: &[Oddity], notes: &mut Notes) {
    for odd in oddities {
        let path = path_to(root, odd.at);
        match odd.kind {
            OddityKind::DuplicateKey => {
                notes.warn(&path, "the same key stands here twice: the last one was used");
            }
            OddityKind::LoneSurrogate => {
                notes.warn(&path, "half of a surrogate pair was read as U+FFFD");
            }
            OddityKind::Nul => notes.warn(&path, "the character U+0000 was read as U+FFFD"),
            OddityKind::Control => notes.warn(&path, "a control character was kept as it is"),
        }
    }
}

/// The keys that lead to a byte of the text, separated by dots.
fn path_to(root: &Node<'_>, at: usize) -> String {
    let mut path = String::new();
    let mut node = root;
    loop {
        let step = match &node.value {
            // Both are in the order of the text, and a file may have many of them.
            Json::Object(members) => members
                .get(members.partition_point(|member| member.value.span.end <= at))
                .filter(|member| member.start <= at)
                .map(|member| (member.key.as_ref().to_owned(), &member.value)),
            Json::Array(items) => {
                let index = items.partition_point(|item| item.span.end <= at);
                let item = items.get(index).filter(|item| item.span.contains(&at));
                item.map(|item| (index.to_string(), item))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        };
        let Some((name, next)) = step else { return path };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&name);
        node = next;
    }
}
