//! Cases to the engine's types, and back.

use loreloom_core::report::Reason;
use loreloom_core::{
    book::SelectiveLogic,
    chat::Role,
    dialects::vault::{
        FieldDefinition, Gating, Lines, Note, NoteMark, NotePosition, Pick, Vault, VaultRules,
        depth_of, hash_of,
    },
    dice::{Dice, Roll},
    library::EntryIx,
    tokens::TokenCounter,
    units::Tokens,
    utf16,
};
use loreloom_formats::vault::{
    NoteFile, NoteRead, NoteRules, TagNames, position_of, read_note, role_of, rules_of,
};
use serde_json::{Map, Value};

/// A token for every four UTF-16 units, as the cases count.
pub(super) struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "estimate-4"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(u32::try_from(utf16::length(text).div_ceil(4)).unwrap_or(u32::MAX))
    }
}

/// The same, except for texts that have no tokens according to the case: for the engine a note with
/// 0 tokens is not counted yet.
pub(super) struct Estimates {
    empty: Vec<String>,
}

impl Estimates {
    pub(super) fn of(entries: &Value) -> Self {
        let entries = entries.as_array().into_iter().flatten();
        let empty = entries.filter(|entry| entry["tokenEstimate"] == 0);
        Self { empty: empty.map(|entry| text(&entry["content"])).collect() }
    }
}

impl TokenCounter for Estimates {
    fn name(&self) -> &'static str {
        Quarters.name()
    }

    fn count(&self, text: &str) -> Tokens {
        let is_empty = self.empty.iter().any(|known| known == text);
        if is_empty { Tokens::ZERO } else { Quarters.count(text) }
    }
}

/// The recorded rolls, over and over.
pub(super) struct Rolls {
    rolls: Vec<f64>,
    next: usize,
}

impl Rolls {
    pub(super) fn of(input: &Value) -> Self {
        let rolls = input["rng"].as_array().into_iter().flatten();
        Self { rolls: rolls.filter_map(Value::as_f64).collect(), next: 0 }
    }
}

impl Dice for Rolls {
    fn roll(&mut self, _: Roll<'_>) -> f64 {
        let roll = self.rolls.get(self.next % self.rolls.len().max(1)).copied();
        self.next += 1;
        roll.unwrap_or(0.5)
    }
}

pub(super) fn is_2_5(input: &Value) -> bool {
    input["version"] == "2.5"
}

/// The profile of the case, with its settings.
pub(super) fn rules(input: &Value) -> VaultRules {
    let profile = if is_2_5(input) { VaultRules::deeplore_2() } else { VaultRules::deeplore_2_0() };
    let none = Map::new();
    rules_of(input["settings"].as_object().unwrap_or(&none), profile)
}

pub(super) fn note_rules(input: &Value) -> NoteRules {
    let mut rules = if is_2_5(input) { NoteRules::deeplore_2() } else { NoteRules::deeplore_2_0() };
    rules.lenient = input["lenient"] != Value::Bool(false);
    if let Some(fields) = input.get("fieldDefs") {
        rules.fields = field_definitions(fields);
    }
    if let Some(tags) = input.get("tags").filter(|tags| tags.is_object()) {
        let name = |key: &str| text(&tags[key]);
        rules.tags = TagNames {
            lore: name("lorebookTag"),
            constant: name("constantTag"),
            never: name("neverInsertTag"),
            seed: name("seedTag"),
            bootstrap: name("bootstrapTag"),
            guide: name("guideTag"),
        };
    }
    rules
}

/// The notes of a case in Markdown, each with its file name.
pub(super) fn read_notes(input: &Value) -> Vec<(String, NoteRead)> {
    let rules = note_rules(input);
    let files = input["notes"].as_array().into_iter().flatten();
    files
        .map(|file| {
            let (path, content, vault) =
                (text(&file["filename"]), text(&file["content"]), text(&file["vaultSource"]));
            let file = NoteFile { vault: &vault, path: &path, text: &content };
            let mut read = read_note(file, &rules);
            if let Ok(note) = &mut read.note {
                note.tokens = Quarters.count(&note.content);
            }
            (path, read)
        })
        .collect()
}

/// The notes of a case, in JSON or Markdown.
pub(super) fn all_notes(input: &Value) -> Vec<Note> {
    if input.get("notes").is_some() {
        let read = read_notes(input).into_iter();
        return read.filter_map(|(_, read)| read.note.ok()).map(|note| *note).collect();
    }
    notes(&input["entries"])
}

pub(super) fn notes(list: &Value) -> Vec<Note> {
    list.as_array().into_iter().flatten().map(note).collect()
}

pub(super) fn note(entry: &Value) -> Note {
    let (title, content) = (text(&entry["title"]), text(&entry["content"]));
    let path = entry["filename"].as_str().map_or_else(
        || match entry["folderPath"].as_str() {
            Some(folder) => format!("{folder}/{title}.md"),
            None => format!("{title}.md"),
        },
        str::to_owned,
    );
    let number = |key: &str| entry[key].as_f64();
    let flag = |key: &str| entry[key] == Value::Bool(true);
    let mut note = Note::new(&text(&entry["vaultSource"]), &path, &title);
    note.hash = hash_of(entry["contentHash"].as_str().unwrap_or(&content));
    note.tokens = match entry["tokenEstimate"].as_u64() {
        Some(tokens) => Tokens(u32::try_from(tokens).unwrap_or(u32::MAX)),
        None => Quarters.count(&content),
    };
    note.content = content;
    note.summary = text(&entry["summary"]);
    note.priority = number("priority").unwrap_or(100.0);
    note.kind.constant = flag("constant");
    note.kind.seed = flag("seed");
    note.kind.bootstrap = flag("bootstrap");
    note.kind.guide = flag("guide");
    note.keys = texts(&entry["keys"]);
    note.refine.keys = texts(&entry["refineKeys"]);
    note.refine.logic = logic(&entry["selectiveLogic"]);
    note.scan_depth = number("scanDepth");
    note.exclude_recursion = flag("excludeRecursion");
    note.cooldown = number("cooldown");
    note.warmup = number("warmup");
    note.probability = number("probability");
    note.seat.position = number("injectionPosition").and_then(position_of);
    note.seat.depth = number("injectionDepth").map(depth_of);
    note.seat.role = number("injectionRole").and_then(role_of);
    note.seat.outlet = entry["outlet"].as_str().map(str::to_owned);
    note.relations.requires = texts(&entry["requires"]);
    note.relations.excludes = texts(&entry["excludes"]);
    note.relations.cascade = texts(&entry["cascadeLinks"]);
    note.relations.links = texts(&entry["links"]);
    note.relations.resolved_links = texts(&entry["resolvedLinks"]);
    note.tags = texts(&entry["tags"]);
    note.fields = entry["customFields"].as_object().cloned().unwrap_or_default();
    note.graph = entry["graph"] != Value::Bool(false);
    note
}

fn logic(value: &Value) -> SelectiveLogic {
    match value.as_str() {
        Some("and_all") => SelectiveLogic::AndAll,
        Some("not_all") => SelectiveLogic::NotAll,
        Some("not_any") => SelectiveLogic::NotAny,
        Some(_) | None => SelectiveLogic::AndAny,
    }
}

pub(super) fn field_definitions(list: &Value) -> Vec<FieldDefinition> {
    let field = |one: &Value| FieldDefinition {
        name: text(&one["name"]),
        label: text(&one["label"]),
        kind: named(&one["type"]),
        multi: one["multi"] == Value::Bool(true),
        gating: Gating {
            enabled: one["gating"]["enabled"] == Value::Bool(true),
            operator: named(&one["gating"]["operator"]),
            tolerance: named(&one["gating"]["tolerance"]),
        },
        values: texts(&one["values"]),
        context_key: text(&one["contextKey"]),
    };
    list.as_array().into_iter().flatten().map(field).collect()
}

/// The setting of that name, else the default.
fn named<T: Default + serde::de::DeserializeOwned>(name: &Value) -> T {
    serde_json::from_value(name.clone()).unwrap_or_default()
}

/// The fields of a case, or the built-in ones.
pub(super) fn fields(input: &Value) -> Vec<FieldDefinition> {
    input.get("fieldDefs").map_or_else(FieldDefinition::built_in, field_definitions)
}

pub(super) fn lines(chat: &Value) -> Lines {
    let mut lines = Lines::default();
    for message in chat.as_array().into_iter().flatten() {
        let extra = &message["extra"];
        let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        let hidden = is_set(&message["is_system"])
            || is_set(&message["is_thoughts"])
            || is_set(&extra["tool_invocations"])
            || is_set(&extra["isSmallSys"])
            || extra["type"] == "narrator";
        let user = message["is_user"] == Value::Bool(true);
        lines.push(&text(&message["name"]), &text(&message["mes"]), user, !hidden);
    }
    lines
}

pub(super) fn marks(list: &Value) -> Vec<NoteMark> {
    let mark = |one: &Value| match one.as_str() {
        Some(title) => NoteMark { title: title.to_owned(), vault: None },
        None => NoteMark {
            title: text(&one["title"]),
            vault: one["vaultSource"].as_str().map(str::to_owned),
        },
    };
    list.as_array().into_iter().flatten().map(mark).collect()
}

/// The entries of a case as notes that are in, in their order.
pub(super) fn picks(vault: &Vault, entries: &Value) -> Vec<Pick> {
    let mut taken = vec![false; vault.len()];
    let mut pick = |entry: &Value| {
        let id = note(entry).id();
        // Two notes may share an id; each entry is a note of its own.
        let ix = vault.entries().find(|ix| vault.id(*ix) == &id && !taken[ix.0 as usize])?;
        taken[ix.0 as usize] = true;
        Some(Pick::new(vault, ix, Reason::Key))
    };
    entries.as_array().into_iter().flatten().filter_map(&mut pick).collect()
}

pub(super) fn titles(vault: &Vault, notes: impl IntoIterator<Item = EntryIx>) -> Vec<String> {
    notes.into_iter().map(|ix| vault.note(ix).title.clone()).collect()
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

pub(super) fn position_number(position: NotePosition) -> i32 {
    match position {
        NotePosition::After => 0,
        NotePosition::InChat => 1,
        NotePosition::Before => 2,
    }
}

pub(super) fn role_number(role: Role) -> i32 {
    match role {
        Role::System | Role::Tool => 0,
        Role::User => 1,
        Role::Assistant => 2,
    }
}
