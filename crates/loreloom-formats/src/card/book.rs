//! The book inside a character card (`character_book`, V2 and V3), also as its own file.
//!
//! The standard is small. `SillyTavern` adds its own fields in the `extensions` of each entry;
//! those are read and written here as well.

use loreloom_core::{
    book::{
        Activation, Book, BudgetRules, DepthFrom, Entry, EntryRest, Filters, Group, Key,
        MatchSources, OriginalId, Placement, Position, Recursion, RegexKey, ScanRange, Secondary,
        Timed,
    },
    chat::Role,
    ids::EntryId,
    number::whole,
    units::Depth,
};
use serde_json::{Map, Value, json};

use super::book_write;
use crate::{
    json::{Json, Node, js},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONSTANT, CONTENT, Fields, KEYS, ORDER, known_logic},
    tree,
};

/// Where the book is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CardBook {
    /// In `data` of a V2 or V3 card, or at the root of a card without `data`.
    InCard,
    /// It is the file.
    Bare,
    /// `{"spec": "lorebook_v3", "data": {}}`.
    Standalone,
}

const BOOK_FIELDS: [&str; 6] =
    ["name", "description", "scan_depth", "token_budget", "recursive_scanning", "entries"];

/// Fields of an entry that are modelled.
pub(super) const ENTRY_FIELDS: [&str; 15] = [
    "id",
    "keys",
    "secondary_keys",
    "name",
    "comment",
    "content",
    "constant",
    "selective",
    "insertion_order",
    "enabled",
    "position",
    "priority",
    "case_sensitive",
    "use_regex",
    "extensions",
];

/// Members of `extensions` that are modelled.
pub(super) const EXTENSION_FIELDS: [&str; 31] = [
    "position",
    "exclude_recursion",
    "prevent_recursion",
    "delay_until_recursion",
    "display_index",
    "probability",
    "useProbability",
    "depth",
    "selectiveLogic",
    "outlet_name",
    "group",
    "group_override",
    "group_weight",
    "scan_depth",
    "case_sensitive",
    "match_whole_words",
    "use_group_scoring",
    "automation_id",
    "role",
    "vectorized",
    "sticky",
    "cooldown",
    "delay",
    "match_persona_description",
    "match_character_description",
    "match_character_personality",
    "match_character_depth_prompt",
    "match_scenario",
    "match_creator_notes",
    "triggers",
    "ignore_budget",
];

impl CardBook {
    /// Where the rows may be: the usual place first, then other places in real files.
    fn places(self, root: &Node<'_>) -> &'static [&'static [&'static str]] {
        let has_data = root.get("data").is_some_and(Node::is_object);
        match self {
            Self::InCard if has_data => &[
                &["data", "character_book", "entries"],
                &["data", "character_book"],
                &["character_book", "entries"],
                &["character_book"],
                &["data", "embedded_lorebook", "entries"],
                &["embedded_lorebook", "entries"],
            ],
            Self::InCard => &[
                &["character_book", "entries"],
                &["character_book"],
                &["embedded_lorebook", "entries"],
            ],
            Self::Bare => &[&["entries"]],
            Self::Standalone => &[&["data", "entries"], &["data"], &["entries"]],
        }
    }
}

impl Schema for CardBook {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        let places = self.places(root);
        let usual = places.first().map_or(&[][..], |place| *place);
        let found = places.iter().find(|place| {
            let is_list = |node: &Node<'_>| {
                // Without a key of its own, only a list can be the rows.
                node.is_array() || node.is_object() && place.ends_with(&["entries"])
            };
            tree::at_path(root, place).is_some_and(is_list)
        });
        found.copied().unwrap_or(usual).to_vec()
    }

    fn holder<'path>(&self, path: &'path [&'static str]) -> Option<&'path [&'static str]> {
        path.split_last().filter(|(last, _)| **last == "entries").map(|(_, parents)| parents)
    }

    fn look_around(&self, root: &Node<'_>, path: &[&str], notes: &mut Notes) {
        let places = self.places(root);
        let Some(usual) = places.first() else { return };
        if *path != **usual {
            let usual = usual.join(".");
            notes.warn(&path.join("."), format!("the book stands here, not in `{usual}`: used"));
        }
        let book = usual.split_last().and_then(|(_, parents)| tree::at_path(root, parents));
        let odd = book.filter(|book| !book.is_object() && !book.is_array() && !book.is_null());
        if let (Self::InCard, Some(book)) = (self, odd) {
            let found = book.shown();
            notes.warn("character_book", format!("must be a book, found {found}: read as empty"));
        }
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        let mut fields = Fields::of(node, notes);
        fields.name_and_description(book);
        book.scan_depth = fields.count(&["scan_depth"]);
        book.token_budget = fields.count(&["token_budget"]);
        book.recursive = fields.flag(&["recursive_scanning"]);
        book.extensions = fields.others(&BOOK_FIELDS);
    }

    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = Map::new();
        if !book.name.is_empty() {
            map.insert("name".into(), json!(book.name));
        }
        if !book.description.is_empty() {
            map.insert("description".into(), json!(book.description));
        }
        for (name, value) in [("scan_depth", book.scan_depth), ("token_budget", book.token_budget)]
        {
            if let Some(value) = value {
                map.insert(name.into(), json!(value));
            }
        }
        if let Some(recursive) = book.recursive {
            map.insert("recursive_scanning".into(), json!(recursive));
        }
        map.extend(book.extensions.clone());
        map.entry("extensions").or_insert_with(|| json!({}));
        map
    }

    fn original_id(&self, row: &Row<'_, '_>, _notes: &mut Notes) -> Option<OriginalId> {
        keys::original_id(["id", "uid"].iter().find_map(|name| row.node.get(name)))
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let fields = Fields::of(row.node, reading.notes);
        EntryReader { row, fields, use_regex: false }.read(id)
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        book_write::entry(entry, row)
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        Some(("id", json!(next)))
    }

    fn has_extensions(&self) -> bool {
        true
    }

    fn skeleton(&self) -> Value {
        match self {
            Self::InCard => json!({ "data": { "character_book": { "entries": [] } } }),
            Self::Bare => json!({ "entries": [] }),
            Self::Standalone => json!({ "spec": "lorebook_v3", "data": { "entries": [] } }),
        }
    }
}

struct EntryReader<'row, 'tree, 'text, 'notes> {
    row: &'row Row<'tree, 'text>,
    fields: Fields<'tree, 'text, 'notes>,
    /// Whether the entry's keys are patterns, also those without slashes.
    use_regex: bool,
}

impl<'tree, 'text> EntryReader<'_, 'tree, 'text, '_> {
    fn read(&mut self, id: EntryId) -> Entry {
        self.use_regex = self.use_regex();
        let mut extensions = self.fields.others(&ENTRY_FIELDS);
        if let Some(inner) = self.extensions() {
            let others = inner.others(&EXTENSION_FIELDS);
            if !others.is_empty() {
                extensions.insert("extensions".to_owned(), Value::Object(others));
            }
        }
        Entry {
            id,
            original_id: None,
            name: self.fields.text(&["name", "displayName", "title"]),
            comment: self.fields.text(&["comment", "memo"]),
            content: self.fields.text(&CONTENT),
            prefix: String::new(),
            suffix: String::new(),
            activation: self.activation(),
            recursion: self.recursion(),
            group: self.group(),
            placement: self.placement(),
            budget: BudgetRules {
                priority: self.fields.number(&["priority"]),
                ignore: self.extra_flag("ignore_budget").unwrap_or(false),
                ..BudgetRules::default()
            }
            .into(),
            inject: None,
            copy_of: None,
            rest: EntryRest {
                automation_id: self.extra_text("automation_id"),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a place in the editor; the cast saturates"
                )]
                display_index: self.extra_number("display_index").map(|number| number as i64),
                ..EntryRest::default()
            }
            .into(),
            extensions,
            raw: None,
        }
    }

    fn extensions(&mut self) -> Option<Fields<'tree, 'text, '_>> {
        self.fields.inside("extensions")
    }

    fn extra_flag(&mut self, name: &str) -> Option<bool> {
        self.extensions()?.flag(&[name])
    }

    fn extra_number(&mut self, name: &str) -> Option<f64> {
        self.extensions()?.number(&[name])
    }

    fn extra_text(&mut self, name: &str) -> String {
        self.extensions().map(|mut fields| fields.text(&[name])).unwrap_or_default()
    }

    /// A number of messages; 0 and less count as not given.
    fn extra_count(&mut self, name: &str) -> Option<u32> {
        self.extensions()?.count(&[name]).filter(|count| *count > 0)
    }

    fn activation(&mut self) -> Activation {
        let logic = self.extra_number("selectiveLogic");
        Activation {
            enabled: self.fields.enabled(),
            constant: self.fields.flag(&CONSTANT).unwrap_or(false),
            keys: self.keys(&KEYS),
            secondary: Secondary {
                active: self.fields.flag(&["selective"]).unwrap_or(false),
                logic: known_logic(logic, "extensions.selectiveLogic", self.fields.notes()),
                keys: self.keys(&["secondary_keys", "keysecondary"]),
            },
            use_regex: self.use_regex,
            case_sensitive: self
                .extra_flag("case_sensitive")
                .or_else(|| self.fields.flag(&["case_sensitive"]))
                .or_else(|| self.extra_flag("risu_case_sensitive")),
            whole_words: self.extra_flag("match_whole_words"),
            scan: ScanRange { messages: self.extra_number("scan_depth"), ..ScanRange::default() },
            sources: self.sources(),
            probability: self.probability(),
            filters: Filters {
                triggers: self
                    .extensions()
                    .map(|mut fields| fields.list(&["triggers"]))
                    .unwrap_or_default(),
                ..Filters::default()
            }
            .into(),
            timed: Timed {
                sticky: self.extra_count("sticky"),
                cooldown: self.extra_count("cooldown"),
                delay: self.extra_count("delay"),
            },
            vectorized: self.extra_flag("vectorized").unwrap_or(false),
            ..Activation::default()
        }
    }

    /// With `use_regex` a key without slashes is a pattern too, unless SillyTavern wrote
    /// the entry: it sets the flag on all of them.
    fn use_regex(&mut self) -> bool {
        let is_set = self.fields.flag(&["use_regex"]).unwrap_or(false);
        is_set && !book_write::by_sillytavern(self.row.node)
    }

    fn keys(&mut self, names: &[&str]) -> Vec<Key> {
        let texts = self.fields.list(names);
        let read = |text: String| match Key::parse(&text) {
            Key::Literal(raw) if self.use_regex => {
                Key::Regex(Box::new(RegexKey { pattern: raw.clone(), raw, flags: String::new() }))
            }
            key @ (Key::Literal(_) | Key::Regex(_)) => key,
        };
        texts.into_iter().map(read).collect()
    }

    fn sources(&mut self) -> MatchSources {
        let mut flag = |name| self.extra_flag(name).unwrap_or(false);
        MatchSources {
            persona: flag("match_persona_description"),
            description: flag("match_character_description"),
            personality: flag("match_character_personality"),
            depth_prompt: flag("match_character_depth_prompt"),
            scenario: flag("match_scenario"),
            creator_notes: flag("match_creator_notes"),
        }
    }

    fn probability(&mut self) -> Option<f64> {
        let used = self.extra_flag("useProbability").unwrap_or(true);
        let value = self
            .extra_number("probability")
            .or_else(|| self.extra_number("risu_activationPercent"));
        if let Some(value) = value.filter(|value| !(0.0..=100.0).contains(value)) {
            self.fields.notes().warn("extensions.probability", format!("{value} is not 0 to 100"));
        }
        value.filter(|_| used)
    }

    fn recursion(&mut self) -> Recursion {
        let delayed = self.extensions().and_then(|fields| fields.get("delay_until_recursion"));
        let delay_level = match delayed.map(|node| &node.value) {
            Some(Json::Bool(delayed)) => u32::from(*delayed),
            _ => self.extra_count("delay_until_recursion").unwrap_or(0),
        };
        Recursion {
            exclude: self.extra_flag("exclude_recursion").unwrap_or(false),
            prevent: self.extra_flag("prevent_recursion").unwrap_or(false),
            delay_level,
            scan_lore: None,
        }
    }

    fn group(&mut self) -> Group {
        Group {
            names: self.extra_text("group"),
            prioritize: self.extra_flag("group_override").unwrap_or(false),
            weight: self.extra_number("group_weight"),
            use_scoring: self.extra_flag("use_group_scoring"),
        }
    }

    fn placement(&mut self) -> Placement {
        #[expect(clippy::cast_precision_loss, reason = "a place in a file of limited size")]
        let index = self.row.at as f64;
        Placement {
            position: self.position(),
            depth: self.extensions().and_then(|mut fields| fields.count(&["depth"])).map(Depth),
            role: self.role(),
            order: Some(self.order().unwrap_or(index)),
        }
    }

    fn order(&mut self) -> Option<f64> {
        let own = self.fields.number(&["insertion_order"]);
        own.or_else(|| self.fields.number(&ORDER))
    }

    fn position(&mut self) -> Position {
        if let Some(number) = self.extra_number("position") {
            // The cast would make the first position of what is below it.
            let known = number >= 0.0 && number.fract() == 0.0;
            return match whole(number) {
                _ if !known => self.no_position(number),
                0 => Position::BeforeCharacter,
                1 => Position::AfterCharacter,
                2 => Position::NoteTop,
                3 => Position::NoteBottom,
                4 => Position::AtDepth { from: DepthFrom::Newest },
                5 => Position::ExamplesTop,
                6 => Position::ExamplesBottom,
                7 => Position::Outlet(self.extra_text("outlet_name")),
                _ => self.no_position(number),
            };
        }
        match self.fields.text(&["position"]).as_str() {
            name if name.starts_with("before_char") => Position::BeforeCharacter,
            name if name.starts_with("after_char") => Position::AfterCharacter,
            "" => Position::Default,
            name => {
                let text = format!("`{name}` is no known position: read as the default one");
                self.fields.notes().warn("position", text);
                Position::Default
            }
        }
    }

    fn no_position(&mut self, number: f64) -> Position {
        let text = format!("{number} is no known position: read as the default one");
        self.fields.notes().warn("extensions.position", text);
        Position::Default
    }

    fn role(&mut self) -> Option<Role> {
        let of_extensions = self.extensions().and_then(|inner| inner.get("role"));
        let node = of_extensions.filter(|node| !node.is_null()).or(self.fields.get("role"))?;
        match js::text(node).as_str() {
            "0" | "system" => Some(Role::System),
            "1" | "user" => Some(Role::User),
            "2" | "assistant" => Some(Role::Assistant),
            found => {
                let text = format!("`{found}` is no known role: read as missing");
                self.fields.notes().warn("extensions.role", text);
                None
            }
        }
    }
}
