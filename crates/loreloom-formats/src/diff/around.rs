//! What a file says besides its book: the character of a card, the story of a save, keys of
//! programs that nobody here knows.
//!
//! It is compared and merged as the tree it is. The tree leaves out the rows and what the
//! model says about the book, which are compared and merged as lore.

use serde_json::{Map, Value, json};

use super::{
    FieldChange, compare,
    merge::{Conflict, merge_trees},
};
use crate::{
    archive, card,
    detect::{self, Format},
    document::{self, Document},
    error::FormatError,
    export,
    import::{self, ImportOptions},
    json::{self, Node, patch::Patch},
    note::Notes,
    perchance, png, text, tree,
};

/// Our file with what only they changed around the book, and what could not be merged.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Around {
    /// The file; `None` where ours stays as it is.
    pub bytes: Option<Vec<u8>>,
    /// What both sides changed differently, or cannot be taken over.
    pub conflicts: Vec<Conflict>,
}

/// Merges what changed around the book from `base` to `theirs` into `ours`. An empty base is
/// a file that both sides added.
pub fn merge_around(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    options: &ImportOptions,
) -> Result<Around, FormatError> {
    let base_file = if base.is_empty() { None } else { Some(Outside::of(base, options)?) };
    let (our_file, their_file) = (Outside::of(ours, options)?, Outside::of(theirs, options)?);
    let nothing = Outside::default();
    let base_file = base_file.as_ref().unwrap_or(&nothing);
    let mut conflicts = file_conflicts([base, ours, theirs]);
    if our_file.format != their_file.format {
        // We cannot read their fields, but we can see whether they changed any.
        let unchanged = base_file.texts == their_file.texts;
        conflicts.extend((!unchanged).then(|| Conflict {
            entry: None,
            field: "file".to_owned(),
            base: json!(base_file.format),
            ours: json!(our_file.format),
            theirs: json!(their_file.format),
        }));
        return Ok(Around { bytes: None, conflicts });
    }
    let empty = Map::new();
    let mut merged = Vec::new();
    for (at, our_text) in our_file.texts.iter().enumerate() {
        let base_text = base_file.texts.get(at).unwrap_or(&empty);
        let their_text = their_file.texts.get(at).unwrap_or(&empty);
        let (text, found) = merge_trees(base_text, our_text, their_text);
        merged.push(text);
        conflicts.extend(found);
    }
    if merged == our_file.texts {
        return Ok(Around { bytes: None, conflicts });
    }
    let bytes = written(ours, &our_file, &merged, options)?;
    Ok(Around { bytes: Some(bytes), conflicts })
}

/// What differs around the books of two files; where the formats do, only their characters
/// are compared.
pub fn diff_around(
    (old, old_options): (&[u8], &ImportOptions),
    (new, new_options): (&[u8], &ImportOptions),
) -> Result<Vec<FieldChange>, FormatError> {
    let (old, new) = (Outside::of(old, old_options)?, Outside::of(new, new_options)?);
    if old.format == new.format {
        let texts = old.texts.iter().zip(&new.texts);
        return Ok(texts.flat_map(|(old, new)| compare(old, new)).collect());
    }
    let cards = old.card.as_ref().zip(new.card.as_ref());
    Ok(cards.map_or_else(Vec::new, |(old, new)| compare(old, new)))
}

/// What a file says around its book.
#[derive(Default)]
struct Outside {
    format: Option<Format>,
    /// One tree for each text: the book, and a card beside it.
    texts: Vec<Map<String, Value>>,
    /// What it says about a character, in the words of the model.
    card: Option<Map<String, Value>>,
}

impl Outside {
    fn of(bytes: &[u8], options: &ImportOptions) -> Result<Self, FormatError> {
        let mut silent = Notes::default();
        let document = document::open(bytes, options, &mut silent)?;
        let body = text::without_bom(&document.text);
        if perchance::is_plain(body, options.file_name.as_deref()) {
            return Ok(Self { format: Some(Format::Perchance), ..Self::default() });
        }
        let parsed = json::parse(body, &options.limits)?;
        let format = format_of(&document, &parsed.root)?;
        let read = import::read(&document, options, &mut silent)?;
        let mut texts = vec![without_book(&document, format, &parsed.root, options)?];
        if let Some(card) = &document.card {
            texts.push(object(&json::parse(text::without_bom(card), &options.limits)?.root));
        }
        let card = read.card.as_ref().map(card::fields);
        Ok(Self { format: Some(format), texts, card })
    }
}

fn format_of(document: &Document<'_>, root: &Node<'_>) -> Result<Format, FormatError> {
    document.format.map_or_else(|| detect::of_json(root), Ok)
}

fn object(root: &Node<'_>) -> Map<String, Value> {
    if let Value::Object(members) = root.to_value() { members } else { Map::new() }
}

/// The tree without its rows and without what the model says about the book.
fn without_book(
    document: &Document<'_>,
    format: Format,
    root: &Node<'_>,
    options: &ImportOptions,
) -> Result<Map<String, Value>, FormatError> {
    let mut whole = object(root);
    let Some(schema) = import::schema_of(format, &document.part) else { return Ok(whole) };
    let body = text::without_bom(&document.text);
    let nameless = ImportOptions { name: None, ..options.clone() };
    let book = tree::read(schema, root, body, &nameless, &mut Notes::default())?;
    let path = schema.path(root);
    let Some((rows, parents)) = path.split_last() else { return Ok(whole) };
    let said = schema.write_book(&book);
    let is_holder = schema.holder(&path).is_some();
    strip(&mut whole, parents, &|holder| {
        holder.shift_remove(*rows);
        if is_holder {
            holder.retain(|name, _| !said.contains_key(name));
        }
    });
    Ok(whole)
}

/// Changes the object that a path leads to; one that has nothing left goes.
fn strip(object: &mut Map<String, Value>, path: &[&str], change: &dyn Fn(&mut Map<String, Value>)) {
    let Some((first, rest)) = path.split_first() else { return change(object) };
    if let Some(Value::Object(inner)) = object.get_mut(*first) {
        strip(inner, rest, change);
        if inner.is_empty() {
            object.shift_remove(*first);
        }
    }
}

/// Our file with other trees around its book.
fn written(
    bytes: &[u8],
    outside: &Outside,
    merged: &[Map<String, Value>],
    options: &ImportOptions,
) -> Result<Vec<u8>, FormatError> {
    let document = document::open(bytes, options, &mut Notes::default())?;
    let mut texts = Vec::new();
    let sources = std::iter::once(document.text.as_ref()).chain(document.card.as_deref());
    for (source, (old, new)) in sources.zip(outside.texts.iter().zip(merged)) {
        let body = text::without_bom(source);
        let parsed = json::parse(body, &options.limits)?;
        let mut patch = Patch::new(body, text::style(source));
        patch.object(&parsed.root, old, new, 0);
        texts.push(format!("{}{}", &source[..source.len() - body.len()], patch.apply()));
    }
    let format = outside.format.unwrap_or(Format::Sillytavern);
    let mut texts = texts.into_iter();
    let (book, card) = (texts.next().unwrap_or_default(), texts.next());
    export::put_back(document, bytes, format, (&book, card.as_deref()), options.limits)
}

/// Pictures and other files that they changed: what is in them is not merged.
fn file_conflicts([base, ours, theirs]: [&[u8]; 3]) -> Vec<Conflict> {
    let [base, ours, theirs] = [base, ours, theirs].map(files);
    let mut names: Vec<&String> = theirs.keys().collect();
    names.extend(base.keys().filter(|name| !theirs.contains_key(*name)));
    let changed = names.into_iter().filter_map(|name| {
        let [base, ours, theirs] =
            [&base, &ours, &theirs].map(|files| files.get(name).cloned().unwrap_or_default());
        let conflict = Conflict { entry: None, field: format!("files.{name}"), base, ours, theirs };
        let is_theirs = conflict.base != conflict.theirs && conflict.ours != conflict.theirs;
        is_theirs.then_some(conflict)
    });
    changed.collect()
}

/// The other files in a file, each by its checksum.
fn files(bytes: &[u8]) -> Map<String, Value> {
    const TEXTS: [&str; 3] = ["card.json", "module.risum", "manifest.json"];
    if bytes.starts_with(&png::SIGNATURE) {
        // Only what is seen counts: all texts that may be lore are made the same.
        let bare = png::with_texts(bytes, &[("naidata", b"")]).unwrap_or_default();
        let seen = json!(crc32fast::hash(&bare));
        return Map::from_iter([("picture".to_owned(), seen)]);
    }
    let others = archive::files(bytes).into_iter().filter(|file| {
        !TEXTS.contains(&file.name.as_str()) && !file.name.ends_with("character.json")
    });
    others.map(|file| (file.name, json!(file.checksum))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(description: &str, greeting: &str, vendor: u8) -> String {
        json!({
            "spec": "chara_card_v2", "spec_version": "2.0", "fav": vendor,
            "data": {
                "name": "Orla", "description": description, "first_mes": greeting,
                "extensions": { "vendor": vendor },
                "character_book": {
                    "entries": [{ "keys": ["bell"], "content": "A bell.", "extensions": {} }],
                },
            },
        })
        .to_string()
    }

    fn merged(base: &str, ours: &str, theirs: &str) -> Around {
        let options = ImportOptions::new("b");
        merge_around(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &options).unwrap()
    }

    #[test]
    fn what_only_they_changed_around_the_book_is_taken_over() {
        let base = card("one\ntwo\nthree", "hi", 1);
        let ours = card("ONE\ntwo\nthree", "hi", 1);
        let theirs = card("one\ntwo\nTHREE", "hello", 2);
        let Around { bytes, conflicts } = merged(&base, &ours, &theirs);
        assert_eq!(conflicts, []);
        assert_eq!(String::from_utf8(bytes.unwrap()).unwrap(), card("ONE\ntwo\nTHREE", "hello", 2));
        assert_eq!(merged(&base, &theirs, &base), Around { bytes: None, conflicts: Vec::new() });
    }

    #[test]
    fn what_both_changed_around_the_book_is_a_conflict() {
        let version = |greeting: &str| card("d", greeting, 1);
        let Around { bytes, conflicts } = merged(&version("a"), &version("b"), &version("c"));
        assert_eq!(bytes, None);
        let shown =
            |one: &Conflict| format!("{}: {} {} {}", one.field, one.base, one.ours, one.theirs);
        let lines: Vec<String> = conflicts.iter().map(shown).collect();
        assert_eq!(lines, [r#"data.first_mes: "a" "b" "c""#]);
    }

    #[test]
    fn a_story_around_a_book_is_kept_and_compared() {
        let save = |memory: &str, content: &str| {
            json!({ "memory": memory, "worldinfo": [{ "key": "a", "content": content }] })
                .to_string()
        };
        let options = ImportOptions::new("b");
        let changes = |old: &str, new: &str| {
            let (old, new) = ((old.as_bytes(), &options), (new.as_bytes(), &options));
            let found = diff_around(old, new).unwrap();
            found.into_iter().map(|change| change.field).collect::<Vec<_>>()
        };
        assert_eq!(changes(&save("m", "x"), &save("n", "x")), ["memory"]);
        assert_eq!(changes(&save("m", "x"), &save("m", "y")), [""; 0]);
        let Around { bytes, .. } = merged(&save("m", "x"), &save("m", "y"), &save("n", "x"));
        assert_eq!(String::from_utf8(bytes.unwrap()).unwrap(), save("n", "y"));
        assert_eq!(changes(&card("a", "hi", 1), &card("b", "hi", 1)), ["data.description"]);
    }
}
