//! `JanitorAI` lorebooks: a list of entries, keys both as a list and as one text.

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use serde_json::{Map, Value, json};

use crate::{
    json::{Node, layout::number},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    sillytavern::{logic_number, raw_keys},
    tolerant::{CONSTANT, CONTENT, Fields, KEYS, ORDER, Patterns, known_logic},
};

/// A list of entries.
pub(crate) struct JanitorBook;

const ENTRY: [&str; 24] = [
    "id",
    "name",
    "key",
    "keysRaw",
    "keywordsRaw",
    "keysecondary",
    "keysecondaryRaw",
    "content",
    "comment",
    "category",
    "tags",
    "enabled",
    "constant",
    "priority",
    "insertion_order",
    "probability",
    "case_sensitive",
    "matchWholeWords",
    "selectiveLogic",
    "inclusionGroupRaw",
    "prioritizeInclusion",
    "groupWeight",
    "keyMatchPriority",
    "minMessages",
];

impl Schema for JanitorBook {
    fn path(&self, _root: &Node<'_>) -> Vec<&'static str> {
        Vec::new()
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        entry.name = fields.text(&["name"]);
        entry.comment = fields.text(&["comment"]);
        let content = fields.either("content", &CONTENT);
        entry.content = fields.text(&[content]);
        let when = &mut entry.activation;
        when.enabled = fields.enabled();
        let constant = fields.either("constant", &CONSTANT);
        when.constant = fields.flag(&[constant]).unwrap_or(false);
        let own = filled(row.node, &["key", "keysRaw", "keywordsRaw"]);
        let keys = fields.either(own, &KEYS);
        when.keys = fields.joined_keys(&[keys], Patterns::Slashed);
        let second = filled(row.node, &["keysecondary", "keysecondaryRaw"]);
        when.secondary.keys = fields.joined_keys(&[second], Patterns::Slashed);
        when.secondary.active = !when.secondary.keys.is_empty();
        let logic = fields.number(&["selectiveLogic"]);
        when.secondary.logic = known_logic(logic, "selectiveLogic", fields.notes());
        when.case_sensitive = fields.flag(&["case_sensitive"]);
        when.whole_words = fields.flag(&["matchWholeWords"]);
        when.probability = fields.number(&["probability"]);
        when.gates.min_messages = fields.count(&["minMessages"]).filter(|count| *count > 0);
        entry.group.names = fields.text(&["inclusionGroupRaw"]);
        entry.group.prioritize = fields.flag(&["prioritizeInclusion"]).unwrap_or(false);
        entry.group.weight = fields.number(&["groupWeight"]);
        entry.group.use_scoring = fields.flag(&["keyMatchPriority"]);
        entry.budget.priority = fields.number(&["priority"]);
        let order = fields.either("insertion_order", &ORDER);
        entry.placement.order = Some(fields.number(&[order]).unwrap_or(100.0));
        entry.rest.folder = Some(fields.text(&["category"])).filter(|name| !name.is_empty());
        entry.rest.tags = fields.list(&["tags"]);
        entry.extensions = fields.others(&ENTRY);
        entry
    }

    /// A known fault of imports on the site: 1 per cent where 100 was meant.
    fn review(&self, book: &Book, notes: &mut Notes) {
        let is_one = |entry: &Entry| entry.activation.probability == Some(1.0);
        if !book.entries.is_empty() && book.entries.iter().all(is_one) {
            notes.warn("probability", "is 1 in every entry, perhaps 100 was meant: kept as 1");
        }
    }

    /// Lists and texts of keys are kept in step, because the site reads either.
    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        let when = &entry.activation;
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("name", json!(entry.name));
        put("key", raw_keys(&when.keys).into());
        put("keysRaw", json!(keys::joined(&when.keys)));
        if row.is_some_and(|row| row.get("keywordsRaw").is_some()) {
            put("keywordsRaw", json!(keys::joined(&when.keys)));
        }
        put("keysecondary", raw_keys(&when.secondary.keys).into());
        put("keysecondaryRaw", json!(keys::joined(&when.secondary.keys)));
        put("content", json!(entry.content));
        put("comment", json!(entry.comment));
        put("category", json!(entry.rest.folder.as_deref().unwrap_or_default()));
        put("tags", json!(entry.rest.tags));
        put("enabled", json!(when.enabled));
        put("constant", json!(when.constant));
        let order = entry.placement.order.unwrap_or(100.0);
        put("priority", number(entry.budget.priority.unwrap_or(order)));
        put("insertion_order", number(order));
        put("probability", number(when.probability.unwrap_or(100.0)));
        put("case_sensitive", json!(when.case_sensitive.unwrap_or(false)));
        put("matchWholeWords", json!(when.whole_words.unwrap_or(false)));
        put("selectiveLogic", json!(logic_number(when.secondary.logic)));
        put("inclusionGroupRaw", json!(entry.group.names));
        put("prioritizeInclusion", json!(entry.group.prioritize));
        put("groupWeight", number(entry.group.weight.unwrap_or(100.0)));
        put("keyMatchPriority", json!(entry.group.use_scoring.unwrap_or(false)));
        put("minMessages", json!(when.gates.min_messages.unwrap_or(0)));
        map.extend(entry.extensions.clone());
        for (name, value) in [
            ("activationMode", json!("standard")),
            ("activationScript", json!("")),
            ("extensions", json!({})),
        ] {
            map.entry(name).or_insert(value);
        }
        map
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        Some(("id", json!(keys::uuid("janitor", next))))
    }

    fn has_extensions(&self) -> bool {
        true
    }

    fn skeleton(&self) -> Value {
        json!([])
    }
}

/// The first of these names that says something: the site fills either the list or the text.
fn filled(row: &Node<'_>, names: &[&'static str]) -> &'static str {
    let says = |node: &Node<'_>| match node.as_str() {
        Some(text) => !text.trim().is_empty(),
        None => !(node.is_null() || node.is_array() && node.items().is_empty()),
    };
    let mut known = names.iter().copied();
    known
        .find(|name| row.get(name).is_some_and(says))
        .unwrap_or(names.first().copied().unwrap_or_default())
}
