//! `AI Dungeon`: story cards, the older world info, and both inside a scenario.

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use serde_json::{Map, Value, json};

use crate::{
    decorators,
    json::Node,
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONTENT, Fields, KEYS, Patterns},
};

/// Where the cards are.
pub(crate) enum StoryCards {
    /// The file is a list of them.
    List,
    /// A scenario or an adventure has them.
    InScenario,
}

/// Where scenarios, adventures and the exports around them have their cards.
const IN_SCENARIO: [&[&str]; 7] = [
    &["storyCards"],
    &["worldInfo"],
    &["scenario", "storyCards"],
    &["adventure", "storyCards"],
    &["adventureMeta", "storyCards"],
    &["data", "scenario", "storyCards"],
    &["data", "adventure", "storyCards"],
];

/// Texts of a scenario that the program reads beside its cards.
const BESIDE_CARDS: [&str; 5] = ["prompt", "memory", "authorsNote", "instructions", "summary"];

/// The way to the cards of a scenario; `None` if the file has none. Other programs have lists of
/// these names too, so a row must look like a card.
pub(crate) fn cards_in(root: &Node<'_>) -> Option<&'static [&'static str]> {
    let find = |path: &[&str]| path.iter().try_fold(root, |node, key| node.get(key));
    let is_text = |node: &Node<'_>, key| node.get(key).is_some_and(|text| text.as_str().is_some());
    let is_card = |row: &Node<'_>| {
        is_text(row, "keys") && ["value", "entry"].iter().any(|key| is_text(row, key))
    };
    let has_cards = |path: &&&[&str]| {
        find(path).is_some_and(|rows| rows.is_array() && rows.items().iter().any(is_card))
    };
    // A scenario need not have cards.
    let is_empty = |path: &&&[&str]| {
        let holder = path.split_last().and_then(|(_, parents)| find(parents));
        let rows = find(path).is_some_and(|rows| rows.is_array() && rows.items().is_empty());
        rows && holder.is_some_and(|one| is_text(one, "prompt") && one.get("memory").is_some())
    };
    IN_SCENARIO.iter().find(has_cards).or_else(|| IN_SCENARIO.iter().find(is_empty)).copied()
}

/// The type of a card that is of no particular one.
const UNTYPED: &str = "Custom";
const ENTRY: [&str; 8] = ["keys", "value", "entry", "title", "type", "description", "isNot", "id"];

impl Schema for StoryCards {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        match self {
            Self::List => Vec::new(),
            Self::InScenario => cards_in(root).unwrap_or(&["storyCards"]).to_vec(),
        }
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        if matches!(self, Self::List) {
            return;
        }
        let mut fields = Fields::of(node, notes);
        let name = fields.text(&["title"]);
        if !name.is_empty() {
            book.name = name;
        }
        book.extensions = fields.others(&["storyCards", "worldInfo"]);
        for name in BESIDE_CARDS {
            let text = book.extensions.get(name).and_then(Value::as_str).unwrap_or_default();
            if !text.trim().is_empty() {
                notes.info(name, "belongs to the scenario, not to its cards: kept, not used");
            }
        }
    }

    /// The title belongs to the scenario, so it is not changed; neither is anything else that the
    /// file says about it.
    fn write_book(&self, book: &Book) -> Map<String, Value> {
        match self {
            Self::List => Map::new(),
            Self::InScenario => book.extensions.clone(),
        }
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        entry.name = fields.text(&["title"]);
        entry.comment = fields.text(&["description"]);
        let content = if fields.get("entry").is_some() { "entry" } else { "value" };
        let content = if fields.get("value").is_some() { "value" } else { content };
        let content = fields.either(content, &CONTENT);
        entry.content = fields.text(&[content]);
        entry.activation.enabled = fields.enabled();
        let kind = fields.text(&["type"]);
        let is_named = !kind.is_empty() && !kind.eq_ignore_ascii_case(UNTYPED);
        entry.rest.tags = if is_named { vec![kind] } else { Vec::new() };
        let keys = fields.either("keys", &KEYS);
        let keys = fields.joined_keys(&[keys], Patterns::Unknown);
        if fields.flag(&["isNot"]).unwrap_or(false) {
            entry.activation.constant = true;
            entry.activation.exclude_any = vec![keys];
        } else {
            entry.activation.keys = keys;
        }
        entry.extensions = fields.others(&ENTRY);
        entry
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        let when = &entry.activation;
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        // The program would send decorators of other programs to the model.
        let content = if row.is_some() { &entry.content } else { decorators::body(&entry.content) };
        let says = |row: &Node<'_>, name| row.get(name).is_some_and(|value| !value.is_null());
        let is_legacy = row.is_some_and(|row| says(row, "entry") && !says(row, "value"));
        let (is_not, keys) = match when.exclude_any.as_slice() {
            [excluded] if when.constant && when.keys.is_empty() => (true, excluded),
            _ => (false, &when.keys),
        };
        put("keys", json!(keys::joined(keys)));
        if is_legacy {
            put("entry", json!(content));
        } else {
            put("value", json!(content));
            put("type", json!(entry.rest.tags.first().map_or(UNTYPED, String::as_str)));
            put("title", json!(entry.name));
            put("description", json!(entry.comment));
        }
        if is_legacy || is_not {
            put("isNot", json!(is_not));
        }
        map.extend(entry.extensions.clone());
        map
    }

    fn skeleton(&self) -> Value {
        match self {
            Self::List => json!([]),
            Self::InScenario => json!({ "storyCards": [] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::library::Dialect;

    use crate::{ExportOptions, Format, ImportOptions, dialect_of, export, import, prove};

    fn scenario(cards: &str) -> String {
        format!(
            r#"{{"title":"The Kingdom","prompt":"You wake.","memory":"Taxes are high.",
            "authorsNote":"Close third.","tags":["fantasy"],"nsfw":false,"storyCards":{cards}}}"#
        )
    }

    const CARDS: &str = r#"[{"id":"1","keys":"gate, wall","value":"The gate is bone.",
        "type":"location","title":"Gate","description":"","useForCharacterCreation":true}]"#;

    #[test]
    fn the_cards_of_a_scenario_are_a_book_and_the_rest_is_kept() {
        let file = scenario(CARDS);
        let old = file.replace("storyCards", "worldInfo");
        let around = format!(r#"{{"messages":[],"adventureMeta":{file}}}"#);
        for file in [file, old, around] {
            let imported = import(file.as_bytes(), &ImportOptions::new("b")).unwrap();
            assert_eq!(imported.format, Format::AidungeonScenario, "{file}");
            assert_eq!(imported.book.name, "The Kingdom");
            assert_eq!(dialect_of(&imported.book), Dialect::AiDungeon);
            let entry = &imported.book.entries[0];
            assert_eq!(
                (entry.name.as_str(), entry.content.as_str()),
                ("Gate", "The gate is bone.")
            );
            assert_eq!(entry.activation.keys.len(), 2);
            let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
            assert_eq!(notes.len(), 3, "{notes:?}");
            let expected = "`memory`: belongs to the scenario, not to its cards: kept, not used";
            assert!(notes.contains(&expected.to_owned()), "{notes:?}");
            // An edit changes nothing else.
            let mut book = imported.book.clone();
            "The gate is iron.".clone_into(&mut book.entries[0].content);
            let options =
                ExportOptions { original: Some(file.as_bytes()), ..ExportOptions::default() };
            let written = export(&book, Format::AidungeonScenario, &options).unwrap();
            let expected = file.replace("is bone", "is iron");
            assert_eq!(String::from_utf8(written.bytes).unwrap(), expected);
        }
    }

    #[test]
    fn a_scenario_says_what_its_cards_alone_do_not_keep() {
        let file = scenario(CARDS);
        let home = import(file.as_bytes(), &ImportOptions::new("b")).unwrap();
        let prove_with = |format: Format| {
            let options =
                ExportOptions { original: Some(file.as_bytes()), ..ExportOptions::default() };
            let written = export(&home.book, format, &options).unwrap();
            (prove(&home, &written.bytes, format, crate::Limits::default()), written)
        };
        let (proof, _) = prove_with(Format::Sillytavern);
        assert!(proof.is_clean(), "{proof:?}");
        let (proof, written) = prove_with(Format::Aidungeon);
        let lost: Vec<&str> = proof.lost.iter().map(|loss| loss.field.as_str()).collect();
        for field in ["title", "prompt", "memory", "authorsNote"] {
            let is_named = written.losses.iter().any(|loss| loss.field.contains(field));
            assert!(is_named || lost.contains(&field), "{field}: {proof:?} {:?}", written.losses);
        }
    }

    #[test]
    fn a_scenario_may_have_no_cards_and_other_lists_are_none() {
        let file = scenario("[]");
        let imported = import(file.as_bytes(), &ImportOptions::new("b")).unwrap();
        assert_eq!((imported.format, imported.book.entries.len()), (Format::AidungeonScenario, 0));
        for file in [
            r#"{"storyCards":[{"category":"x","headline":"y"}]}"#,
            r#"{"storyCards":[]}"#,
            r#"{"title":"x","prompt":"y"}"#,
        ] {
            assert!(import(file.as_bytes(), &ImportOptions::new("b")).is_err(), "{file}");
        }
    }
}
