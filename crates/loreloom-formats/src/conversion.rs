//! What a file cannot say about a book, and how it is carried all the same.
//!
//! After an entry was put into the words of a format, those words are read again; what
//! comes back different is what the format has no word for. Formats with an `extensions`
//! object carry the difference there under `loreloom`, and reading applies it, so that a
//! book crosses a format and comes back whole. For the others it is the loss report. No
//! list of who supports what has to be kept.

use loreloom_core::book::{Book, Entry, Extensions};
use serde_json::{Map, Value, json};

use crate::{detect::Format, json};

/// The key under `extensions`.
const OURS: &str = "loreloom";
const EXTENSIONS: &str = "extensions";
/// Where something was before it was where it came from.
const BEFORE: &str = "before";
/// The version of our data there.
const VERSION: u64 = 1;
/// Parts of an entry that are not its meaning.
const NOT_MEANING: [&str; 4] = ["id", "original_id", "raw", "extensions"];
/// Parts of a book that are not its own meaning.
const NOT_BOOK: [&str; 4] = ["id", "entries", "origin", "extensions"];

/// What an entry means, as a tree.
pub(crate) fn meaning(entry: &Entry) -> Map<String, Value> {
    without(serde_json::to_value(entry).unwrap_or_default(), &NOT_MEANING)
}

/// The parts of an entry's meaning that another does not have. Nearly all parts of nearly
/// all entries are the same, so only those that differ are made into trees.
pub(crate) fn unsaid(wanted: &Entry, found: &Entry) -> Map<String, Value> {
    let mut rest = Map::new();
    macro_rules! compare {
        ($($part:ident),+) => {$(
            if wanted.$part != found.$part {
                let tree = |entry: &Entry| json!({ stringify!($part): entry.$part });
                if let (Value::Object(wanted), Value::Object(found)) = (tree(wanted), tree(found)) {
                    rest.extend(difference(&wanted, &found));
                }
            }
        )+};
    }
    compare!(name, comment, content, prefix, suffix, activation, recursion, group, placement);
    compare!(budget, inject, copy_of, rest);
    rest
}

/// What a book says as a whole.
pub(crate) fn book_meaning(book: &Book) -> Map<String, Value> {
    let shell = Book { entries: Vec::new(), origin: None, ..book.clone() };
    without(serde_json::to_value(shell).unwrap_or_default(), &NOT_BOOK)
}

fn without(value: Value, keys: &[&str]) -> Map<String, Value> {
    let Value::Object(mut map) = value else { return Map::new() };
    map.retain(|key, _| !keys.contains(&key.as_str()));
    map
}

/// The parts of `wanted` that differ in `found`, objects compared member by member.
pub(crate) fn difference(
    wanted: &Map<String, Value>,
    found: &Map<String, Value>,
) -> Map<String, Value> {
    let mut rest = Map::new();
    for (key, value) in wanted {
        match (value, found.get(key)) {
            (value, Some(same)) if value == same => {}
            (Value::Object(wanted), Some(Value::Object(found)))
                if !wanted.is_empty() && wanted.keys().eq(found.keys()) =>
            {
                rest.insert(key.clone(), Value::Object(difference(wanted, found)));
            }
            _ => {
                rest.insert(key.clone(), value.clone());
            }
        }
    }
    rest
}

/// Puts the rest of an entry or book into the `extensions` of what was written.
pub(crate) fn carry(row: &mut Map<String, Value>, rest: Map<String, Value>, from: Option<Value>) {
    if rest.is_empty() && from.is_none() {
        return;
    }
    let ours = ours_in(row);
    if !rest.is_empty() {
        ours["model"] = Value::Object(rest);
    }
    if let Some(from) = from {
        ours["from"] = from;
    }
}

/// Notes where an entry came from and what that format said about it.
pub(crate) fn set_from(row: &mut Map<String, Value>, from: Option<Value>) {
    if let Some(from) = from {
        ours_in(row)["from"] = from;
    }
}

/// Our object in a row, made where there is none.
fn ours_in(row: &mut Map<String, Value>) -> &mut Value {
    let extensions = row.entry(EXTENSIONS).or_insert_with(|| json!({}));
    if !extensions.is_object() {
        *extensions = json!({});
    }
    let ours = &mut extensions[OURS];
    if !ours.is_object() {
        *ours = json!({ "version": VERSION });
    }
    ours
}

/// Takes our object out of a row.
pub(crate) fn remove_ours(row: &mut Map<String, Value>) {
    if let Some(Value::Object(extensions)) = row.get_mut(EXTENSIONS) {
        extensions.shift_remove(OURS);
    }
}

/// Where an entry or book came from: format, id, keys and spellings, nested for each format
/// that it came from before.
pub(crate) fn from(extensions: &Extensions) -> Option<&Value> {
    ours(extensions)?.get("from")
}

/// An entry of a book of one format as it is in a book of another: what it means stays, and
/// what its own file said besides is carried along and put back on the way home.
pub fn crossed(entry: &Entry, origin: &str, target: &str) -> Entry {
    let way = Way::of_entry(entry, origin, target);
    let original_id = way.id().and_then(|id| serde_json::from_value(id).ok());
    let mut extensions = way.keys;
    set_from(&mut extensions, way.carried);
    Entry { extensions, original_id, raw: None, ..entry.clone() }
}

/// What becomes of what only one format has, when an entry or book crosses to another.
pub(crate) struct Way {
    /// The keys of the target that go back to their place.
    pub(crate) keys: Extensions,
    /// What the target said when this was there before.
    pub(crate) home: Option<Value>,
    /// What is carried for the way to other formats.
    pub(crate) carried: Option<Value>,
}

impl Way {
    /// The way of an entry.
    pub(crate) fn of_entry(entry: &Entry, origin: &str, target: &str) -> Self {
        let own = |mut link: Value| {
            leave_out_what_is_written_anyway(&mut link, entry, origin);
            if let Some(id) = &entry.original_id {
                link["id"] = json!(id);
            }
            let spelled = spelled(entry, origin);
            if !spelled.is_empty() {
                link["spelled"] = Value::Object(spelled);
            }
            link
        };
        if origin != target && has_same_rows(origin, target) {
            // In another container, but at home: its words and its id stay.
            let home = Some(own(link(origin, &entry.extensions)));
            return Self { keys: entry.extensions.clone(), home, carried: None };
        }
        Self::of(&entry.extensions, own, origin, target)
    }

    /// The way of a book as a whole.
    pub(crate) fn of_book(book: &Book, origin: &str, target: &str) -> Self {
        if has_same_rows(origin, target) && !(is_risu_list(origin) ^ is_risu_list(target)) {
            return Self { keys: book.extensions.clone(), home: None, carried: None };
        }
        Self::of(&book.extensions, |link| link, origin, target)
    }

    fn of(
        extensions: &Extensions,
        own: impl FnOnce(Value) -> Value,
        origin: &str,
        target: &str,
    ) -> Self {
        let links = links(extensions);
        // A book that was never in a file has nothing to go back to.
        if origin == target || origin.is_empty() && links.is_empty() {
            return Self { keys: extensions.clone(), home: None, carried: None };
        }
        let mut carried = Vec::new();
        if !origin.is_empty() {
            let link = own(link(origin, extensions));
            let says_something = link.get("keys").is_some() || link.get("spelled").is_some();
            // What we wrote ourselves says nothing that we would not write again.
            if links.is_empty() || says_something {
                carried.push(link);
            }
        }
        let is = |link: &Value, format: &str| link["format"].as_str() == Some(format);
        let home = links.iter().find(|link| is(link, target)).cloned();
        carried.extend(links.into_iter().filter(|link| !is(link, target) && !is(link, origin)));
        let keys = home.as_ref().and_then(|home| home.get("keys")).and_then(Value::as_object);
        Self { keys: keys.cloned().unwrap_or_default(), home, carried: nested(carried) }
    }

    /// The id that this had in the target.
    pub(crate) fn id(&self) -> Option<Value> {
        let id = self.home.as_ref()?.get("id").filter(|id| !id.is_null())?;
        Some(id.clone())
    }
}

/// Whether two formats have the same rows, in other containers. Those of cards are left to
/// what is carried: their standards are read by different programs.
fn has_same_rows(origin: &str, target: &str) -> bool {
    const KINDS: [&[Format]; 3] = [
        &[Format::Novelai, Format::NovelaiPng],
        &[Format::Risu, Format::RisuModule, Format::RisuModuleJson],
        &[Format::Byaf, Format::ByafCharacter],
    ];
    let has = |kind: &&&[Format], name: &str| kind.iter().any(|format| format.as_str() == name);
    origin != target && KINDS.iter().any(|kind| has(&kind, origin) && has(&kind, target))
}

/// Whether a file is Risu's list, which says less about itself than a module.
fn is_risu_list(format: &str) -> bool {
    format == Format::Risu.as_str()
}

/// The keys that only a format has, under its name.
fn link(format: &str, extensions: &Extensions) -> Value {
    let mut keys = extensions.clone();
    let had_ours = ours(extensions).is_some();
    remove_ours(&mut keys);
    if had_ours && keys.get(EXTENSIONS).is_some_and(|inner| inner == &json!({})) {
        keys.shift_remove(EXTENSIONS);
    }
    let mut link = json!({ "format": format });
    if !keys.is_empty() {
        link["keys"] = Value::Object(keys);
    }
    link
}

/// Some formats have keys that we do not model and write all the same.
fn leave_out_what_is_written_anyway(link: &mut Value, entry: &Entry, format: &str) {
    let Some(Value::Object(keys)) = link.get_mut("keys") else { return };
    let Some(schema) = Format::from_name(format).and_then(Format::schema) else { return };
    let bare = Entry { extensions: Extensions::new(), raw: None, ..entry.clone() };
    let new = schema.write_entry(&bare, None);
    keys.retain(|name, value| new.get(name) != Some(value));
    if keys.is_empty()
        && let Value::Object(link) = link
    {
        link.shift_remove("keys");
    }
}

/// All formats that something came from, the last first.
fn links(extensions: &Extensions) -> Vec<Value> {
    let mut links = Vec::new();
    let mut next = from(extensions);
    while let Some(link) = next {
        let mut alone = link.clone();
        if let Value::Object(alone) = &mut alone {
            alone.shift_remove(BEFORE);
        }
        links.push(alone);
        next = link.get(BEFORE);
    }
    links
}

fn nested(links: Vec<Value>) -> Option<Value> {
    links.into_iter().rev().fold(None, |before, mut link| {
        if let Some(before) = before {
            link[BEFORE] = before;
        }
        Some(link)
    })
}

/// Values that the entry's own file spells differently than a new file of the same format would:
/// `"120"` for 120, a field without meaning there, or a field that a new file has and this one has
/// not. Each comes with the new spelling, so that on the way back an edit is not mistaken for a
/// spelling. A field that only has another name than in a new file comes with that name.
fn spelled(entry: &Entry, format: &str) -> Map<String, Value> {
    let mut spelled = Map::new();
    let schema = Format::from_name(format).and_then(Format::schema);
    let parsed = entry.raw.as_deref().and_then(|raw| json::parse(raw, usize::MAX).ok());
    let (Some(schema), Some(parsed)) = (schema, parsed) else { return spelled };
    // The rows of a module inside an archive are not in the words of the archive's card.
    if format == Format::Charx.as_str() && parsed.root.get("keys").is_none() {
        return spelled;
    }
    let new = schema.write_entry(entry, None);
    let id = schema.fresh_id(0).map(|(name, _)| name);
    let mut absent: Vec<(&String, &Value)> = new
        .iter()
        .filter(|(name, _)| parsed.root.is_object() && parsed.root.get(name).is_none())
        .collect();
    for member in parsed.root.members() {
        let name = member.key.as_ref();
        let was = member.value.to_value();
        let is = new.get(name);
        if Some(name) == id || is.is_some_and(|is| holds(is, &was)) {
            continue;
        }
        let same = |(_, value): &(&String, &Value)| !is_short(value) && **value == was;
        let renamed = if is.is_none() { absent.iter().position(same) } else { None };
        let spelling = match renamed {
            Some(at) => json!({ "as": absent.remove(at).0 }),
            None => json!({ "was": was, "is": is }),
        };
        spelled.insert(name.to_owned(), spelling);
    }
    for (name, value) in absent {
        if is_short(value) && Some(name.as_str()) != id {
            spelled.insert(name.clone(), json!({ "is": value }));
        }
    }
    spelled
}

/// Whether a value takes no room: a flag, a number, a word, or nothing.
fn is_short(value: &Value) -> bool {
    const WORD: usize = 16;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= WORD && !text.contains(char::is_whitespace),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => false,
    }
}

/// Whether a value says all that another says.
fn holds(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(value), Value::Object(other)) => other
            .iter()
            .all(|(name, other)| value.get(name).is_some_and(|value| holds(value, other))),
        (value, other) => value == other,
    }
}

/// Says what was not edited since as the entry's first file said it.
pub(crate) fn respell(row: &mut Map<String, Value>, home: &Value) {
    let spelled = home.get("spelled").and_then(Value::as_object);
    for (name, spelled) in spelled.into_iter().flatten() {
        if let Some(new_name) = spelled.get("as").and_then(Value::as_str) {
            if let Some(value) = row.shift_remove(new_name) {
                row.insert(name.clone(), value);
            }
            continue;
        }
        let is = row.get(name).unwrap_or(&Value::Null);
        if spelled.get("is") != Some(is) {
            continue;
        }
        match spelled.get("was") {
            Some(was) => row.insert(name.clone(), was.clone()),
            None => row.shift_remove(name),
        };
    }
}

fn ours(extensions: &Extensions) -> Option<&Value> {
    let ours = extensions.get(EXTENSIONS)?.get(OURS)?;
    (ours.get("version")?.as_u64()? == VERSION).then_some(ours)
}

/// Applies what a file carries for an entry.
pub(crate) fn restore_entry(entry: &mut Entry) {
    let carried = ours(&entry.extensions).and_then(|ours| ours.get("model"));
    if let Some(Value::Object(rest)) = carried.cloned() {
        apply(entry, &rest);
    }
}

/// Applies to an entry what could not be said about it.
pub(crate) fn apply(entry: &mut Entry, rest: &Map<String, Value>) {
    let Ok(mut value) = serde_json::to_value(&*entry) else { return };
    merge(&mut value, &without(Value::Object(rest.clone()), &NOT_MEANING));
    if let Ok(restored) = serde_json::from_value(value) {
        *entry = restored;
    }
}

/// Applies what a file carries for a book.
pub(crate) fn restore_book(book: &mut Book) {
    let Some(Value::Object(rest)) = ours(&book.extensions).and_then(|ours| ours.get("model"))
    else {
        return;
    };
    let Ok(mut value) = serde_json::to_value(&*book) else { return };
    merge(&mut value, &without(Value::Object(rest.clone()), &NOT_BOOK));
    if let Ok(restored) = serde_json::from_value(value) {
        *book = restored;
    }
}

fn merge(target: &mut Value, rest: &Map<String, Value>) {
    for (key, value) in rest {
        match (target.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(rest)) if same_shape(inner, rest) => {
                merge(inner, rest);
            }
            _ => target[key.as_str()] = value.clone(),
        }
    }
}

/// Whether an object only lacks members of the other, rather than being another variant.
fn same_shape(target: &Value, rest: &Map<String, Value>) -> bool {
    rest.keys().all(|key| target.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparing_part_by_part_finds_what_comparing_trees_finds() {
        let plain = Entry::new("a");
        let mut other = Entry::new("b");
        other.name.push('n');
        other.content.push('c');
        other.activation.keys.push(loreloom_core::book::Key::parse("k"));
        other.activation.probability = Some(f64::NAN);
        other.placement.order = Some(5.0);
        other.budget.ignore = true;
        other.rest.display_index = Some(3);
        for (wanted, found) in [(&plain, &other), (&other, &plain), (&other, &other)] {
            let whole = difference(&meaning(wanted), &meaning(found));
            assert_eq!(unsaid(wanted, found), whole);
        }
        let of = Some(loreloom_core::book::OriginalId::Number(1));
        let copy = Entry { copy_of: of, ..Entry::new("c") };
        assert_eq!(unsaid(&copy, &plain), difference(&meaning(&copy), &meaning(&plain)));
        // A new part of an entry must be compared too.
        let parts = meaning(&plain).len();
        assert_eq!(parts, 12);
    }
}
