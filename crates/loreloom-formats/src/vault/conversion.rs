//! Converts entries of books to notes of a vault, and back.
//!
//! A note has its own fields for what a vault supports. Everything else of an entry is under
//! `loreloom`, so that nothing is lost on the way back. A vault ignores that part; the loss report
//! lists it.

use loreloom_core::{
    book::{Book, DepthFrom, Entry, Key, Position, SelectiveLogic},
    dialects::vault::{Note, NotePosition},
    ids::EntryId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use super::{NoteFile, NoteRules, Skip, TagNames, YamlReader, file_name, plain_markdown};
use crate::{conversion, export::Loss, keys::raw};

/// The field for what a vault has no words for.
const OURS: &str = "loreloom";
/// What a priority of a vault and an order of a book add up to: both are 100 where nobody
/// chose, but the more important lore has the lower priority and the higher order.
const PRIORITY_AND_ORDER: f64 = 200.0;

/// A note for an entry.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct WrittenNote {
    /// Its file's name, safe on every file system.
    pub file_name: String,
    /// The file.
    pub text: String,
    /// What a vault does not act on. It is kept in the note all the same.
    pub losses: Vec<Loss>,
}

/// The entries of a book as notes. Two of one title get files of different names.
pub fn notes_of(book: &Book) -> Vec<WrittenNote> {
    let home = book.origin.as_ref().map_or("", |origin| origin.format.as_str());
    let mut names = FileNames::default();
    let mut notes = Vec::with_capacity(book.entries.len());
    for entry in &book.entries {
        let title = title_of(entry);
        let name = names.next(file_name(&shortened(&title)));
        // A title is how notes name each other: the second of one name is called otherwise.
        notes.push(note_of(entry, &title, format!("{name}.md"), home));
    }
    notes
}

/// Gives every note a file name of its own.
#[derive(Default)]
struct FileNames {
    /// In lower case: some file systems ignore case.
    taken: FxHashSet<String>,
    /// The number that the next of a name is tried with, so that many of one name cost no
    /// more than many of different ones.
    next: FxHashMap<String, u64>,
}

impl FileNames {
    fn next(&mut self, stem: String) -> String {
        let folded = stem.to_lowercase();
        if self.taken.insert(folded.clone()) {
            return stem;
        }
        let number = self.next.entry(folded).or_insert(2);
        loop {
            let name = format!("{stem} {number}");
            *number += 1;
            if self.taken.insert(name.to_lowercase()) {
                return name;
            }
        }
    }
}

/// What an entry is called where everything must have a name.
fn title_of(entry: &Entry) -> String {
    let title = [&entry.name, &entry.comment].into_iter().find(|name| !name.trim().is_empty());
    let keys = || {
        let keys: Vec<&str> = entry.activation.keys.iter().map(raw).collect();
        keys.join(", ")
    };
    let title = title.cloned().unwrap_or_else(keys);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() { format!("Entry {}", entry.id.as_str()) } else { title }
}

/// File names have an end; titles need not.
fn shortened(title: &str) -> String {
    title.chars().take(80).collect()
}

fn note_of(entry: &Entry, title: &str, file_name: String, home: &str) -> WrittenNote {
    let fields = fields_of(entry);
    let macros = macros_in(&entry.content);
    let keep: Vec<&str> = macros.iter().map(String::as_str).collect();
    let body = plain_markdown(&entry.content, &keep);
    let plain = written(title, &fields, &body);
    let rest = match read(&plain, &file_name) {
        Some(found) => conversion::unsaid(entry, &found),
        None => conversion::meaning(entry),
    };
    let mut losses = Vec::new();
    crate::export::report(&entry.id, &rest, &mut losses);
    let mut carried = Map::new();
    carried.insert("version".into(), json!(1));
    if !rest.is_empty() {
        carried.insert("model".into(), Value::Object(rest));
    }
    if let Some(from) = conversion::Way::of_entry(entry, home, "vault").carried {
        carried.insert("from".into(), from);
    }
    let mut fields = fields;
    if carried.len() > 1 {
        fields.insert(OURS.into(), Value::Object(carried));
    }
    WrittenNote { text: written(title, &fields, &body), file_name, losses }
}

/// The insides of the macros of a text.
fn macros_in(text: &str) -> Vec<String> {
    let inside = |part: &str| part.split_once("}}").map(|(inside, _)| inside.trim().to_owned());
    text.split("{{").skip(1).filter_map(inside).collect()
}

fn written(title: &str, fields: &Map<String, Value>, body: &str) -> String {
    // JSON is YAML, and says what it means without a rule for every word.
    let lines: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("---\n{}\n---\n# {title}\n\n{}\n", lines.join("\n"), body.trim_end())
}

/// The entry in a vault's words.
fn fields_of(entry: &Entry) -> Map<String, Value> {
    let when = &entry.activation;
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    let tags = TagNames::default();
    let constant = when.constant.then_some(tags.constant);
    put("tags", json!([Some(tags.lore), constant].into_iter().flatten().collect::<Vec<_>>()));
    put("keys", json!(when.keys.iter().map(raw).collect::<Vec<_>>()));
    put("priority", json!(priority_of(entry)));
    if !when.enabled {
        put("enabled", json!(false));
    }
    if when.secondary.active && !when.secondary.keys.is_empty() {
        put("refine_keys", json!(when.secondary.keys.iter().map(raw).collect::<Vec<_>>()));
        put("selective_logic", json!(logic_name(when.secondary.logic)));
    }
    if let Some(messages) = when.scan.messages {
        put("scanDepth", json!(messages));
    }
    if let Some(percent) = when.probability.filter(|percent| *percent < 100.0) {
        put("probability", json!(percent.max(0.0) / 100.0));
    }
    if entry.recursion.exclude {
        put("excludeRecursion", json!(true));
    }
    for (name, messages) in [("sticky", when.timed.sticky), ("delay", when.timed.delay)] {
        if let Some(messages) = messages.filter(|messages| *messages > 0) {
            put(name, json!(messages));
        }
    }
    if !entry.group.names.trim().is_empty() {
        put("group", json!(entry.group.names));
        if let Some(weight) = entry.group.weight.filter(|weight| *weight > 0.0) {
            put("group_weight", json!(weight));
        }
    }
    put_place(entry, &mut put);
    map
}

fn put_place(entry: &Entry, put: &mut dyn FnMut(&str, Value) -> Option<Value>) {
    let place = &entry.placement;
    match &place.position {
        Position::BeforeCharacter => {
            put("position", json!("before"));
        }
        Position::AfterCharacter => {
            put("position", json!("after"));
        }
        Position::AtDepth { from: DepthFrom::Newest } => {
            put("position", json!("in_chat"));
            put("depth", json!(place.depth.map_or(4, |depth| depth.0)));
        }
        Position::Outlet(name) => {
            put("outlet", json!(name));
        }
        // Left to the vault's own setting; where it was is kept.
        Position::Default
        | Position::NoteTop
        | Position::NoteBottom
        | Position::ExamplesTop
        | Position::ExamplesBottom
        | Position::AtDepth { from: DepthFrom::Oldest }
        | Position::BeforeDescription
        | Position::AfterDescription
        | Position::Personality
        | Position::Scenario
        | Position::Slot(_)
        | Position::Nowhere => {}
    }
    if let Some(role) = place.role {
        put("role", json!(role.as_str()));
    }
}

/// Lower is more important, as vaults count.
fn priority_of(entry: &Entry) -> f64 {
    let rank = entry.budget.priority.or(entry.placement.order).unwrap_or(100.0);
    (PRIORITY_AND_ORDER - rank).clamp(1.0, 999.0)
}

fn logic_name(logic: SelectiveLogic) -> &'static str {
    match logic {
        // A number that nobody knows is kept beside; the field needs a word.
        SelectiveLogic::AndAny | SelectiveLogic::Unknown => "and_any",
        SelectiveLogic::NotAll => "not_all",
        SelectiveLogic::NotAny => "not_any",
        SelectiveLogic::AndAll => "and_all",
    }
}

/// A note as an entry: what its fields say, and what it carries from the book it came from.
/// `Err` is a note that is not lore.
pub fn entry_of(id: EntryId, file: NoteFile<'_>) -> Result<Entry, Skip> {
    let front = super::split(file.text, YamlReader::Full);
    let disabled = front.fields.get("enabled") == Some(&Value::Bool(false));
    let note = match super::read_note(file, &NoteRules::default()).note {
        Err(Skip::Disabled) => {
            // An entry that is switched off is still an entry.
            let on = file.text.replacen("enabled: false", "enabled: true", 1);
            super::read_note(NoteFile { text: &on, ..file }, &NoteRules::default()).note?
        }
        other => other?,
    };
    let mut entry = plain_entry(id, &note);
    entry.activation.enabled = !disabled;
    let Some(carried) = front.fields.get(OURS).filter(|ours| ours["version"] == json!(1)) else {
        return Ok(entry);
    };
    if let Some(model) = carried["model"].as_object() {
        conversion::apply(&mut entry, model);
    }
    if let Some(from) = carried.get("from").filter(|from| from.is_object()) {
        conversion::set_from(&mut entry.extensions, Some(from.clone()));
    }
    Ok(entry)
}

fn read(text: &str, path: &str) -> Option<Entry> {
    entry_of(EntryId(String::new()), NoteFile { vault: "", path, text }).ok()
}

fn plain_entry(id: EntryId, note: &Note) -> Entry {
    let mut entry = Entry::new(id);
    entry.name.clone_from(&note.title);
    entry.content.clone_from(&note.content);
    let when = &mut entry.activation;
    when.constant = note.kind.constant;
    when.keys = note.keys.iter().map(|key| Key::parse(key)).collect();
    when.secondary.keys = note.refine.keys.iter().map(|key| Key::parse(key)).collect();
    when.secondary.logic = note.refine.logic;
    when.scan.messages = note.scan_depth;
    when.probability = note.probability.map(|chance| chance * 100.0).or(when.probability);
    entry.activation.timed.sticky = note.sticky;
    entry.activation.timed.delay = note.delay;
    if !note.groups.is_empty() {
        entry.group.names = note.groups.join(",");
        entry.group.weight = note.group_weight.or(entry.group.weight);
    }
    entry.recursion.exclude = note.exclude_recursion;
    entry.placement.order = Some(PRIORITY_AND_ORDER - note.priority);
    entry.placement.role = note.seat.role;
    entry.placement.position = match (&note.seat.outlet, note.seat.position) {
        (Some(outlet), _) => Position::Outlet(outlet.clone()),
        (None, Some(NotePosition::Before)) => Position::BeforeCharacter,
        (None, Some(NotePosition::After)) => Position::AfterCharacter,
        (None, Some(NotePosition::InChat)) => Position::AtDepth { from: DepthFrom::Newest },
        (None, None) => Position::Default,
    };
    entry.placement.depth = note.seat.depth;
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportOptions, import};

    const BOOK: &str = r##"{"entries":{
        "0":{"uid":7,"key":["quay","/fog\\w*/i"],"keysecondary":["night"],"selective":true,"selectiveLogic":3,
             "comment":"The harbor","content":"Grey, {{user}} says.","position":4,"depth":2,
             "role":1,"order":150,"probability":40,"useProbability":true,"sticky":3,"mine":[1]},
        "1":{"uid":8,"key":[],"constant":true,"comment":"the harbor","content":"# Not a title\n[[x]]",
             "position":0,"disable":true}}}"##;

    #[test]
    fn a_book_becomes_notes_and_comes_home_whole() {
        let book = import(BOOK.as_bytes(), &ImportOptions::new("b")).unwrap().book;
        let notes = notes_of(&book);
        let names: Vec<&str> = notes.iter().map(|note| note.file_name.as_str()).collect();
        assert_eq!(names, ["The harbor.md", "the harbor 2.md"]);
        let mut gathered = Book::new("b", "b");
        for (note, entry) in notes.iter().zip(&book.entries) {
            let file = NoteFile { vault: "", path: &note.file_name, text: &note.text };
            gathered.entries.push(entry_of(entry.id.clone(), file).unwrap());
        }
        let options = crate::ExportOptions::default();
        let home = crate::export(&gathered, crate::Format::Sillytavern, &options).unwrap();
        let home = import(&home.bytes, &ImportOptions::new("b")).unwrap().book;
        for (found, wanted) in home.entries.iter().zip(&book.entries) {
            assert_eq!(conversion::meaning(found), conversion::meaning(wanted));
            assert_eq!(found.extensions, wanted.extensions);
            assert_eq!(found.original_id, wanted.original_id);
        }
    }

    #[test]
    fn a_vault_reads_the_note_and_the_report_says_what_it_does_not_act_on() {
        let book = import(BOOK.as_bytes(), &ImportOptions::new("b")).unwrap().book;
        let written = &notes_of(&book)[0];
        let file = NoteFile { vault: "v", path: "The harbor.md", text: &written.text };
        let note = super::super::read_note(file, &NoteRules::default()).note.unwrap();
        assert_eq!(note.title, "The harbor");
        assert_eq!(note.content, "Grey, {{user}} says.");
        assert_eq!(note.keys, ["quay", "/fog\\w*/i"]);
        assert_eq!((note.priority, note.probability), (50.0, Some(0.4)));
        assert_eq!(note.refine.keys, ["night"]);
        assert_eq!(note.seat.position, Some(NotePosition::InChat));
        let lost: Vec<&str> = written.losses.iter().map(|loss| loss.field.as_str()).collect();
        assert_eq!((lost, note.sticky), (Vec::new(), Some(3)));
    }

    #[test]
    fn nothing_that_runs_in_a_vault_is_written_into_it() {
        let mut book = Book::new("b", "b");
        let mut entry = Entry::new("b/0");
        "a <% tp.x() %> {{random::a::b}} b".clone_into(&mut entry.content);
        book.entries.push(entry);
        let note = &notes_of(&book)[0];
        let body = note.text.split("---\n").nth(2).unwrap();
        assert_eq!(body, "# Entry b/0\n\na  {{random::a::b}} b\n");
        assert_eq!(note.losses[0].field, "content");
    }
}
