//! Reading one note.

use std::sync::LazyLock;

use loreloom_core::{
    book::{Extensions, SelectiveLogic, is_js_space},
    chat::Role,
    dialects::vault::{
        FieldDefinition, FieldKind, NOT_IMPLEMENTED, Note, NoteKind, NotePosition, NoteSeat,
        ROUND_TRIP, Refine, Relations, depth_of, hash_of,
    },
    js_value::{read_number, text_of},
    number::whole,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::{
    Admission, Headings, NoteWarning, WarningCode, YamlReader, body, inline_tags::inline_tags,
    split, unseen,
};

/// A file of a vault.
#[derive(Clone, Copy, Debug)]
pub struct NoteFile<'a> {
    /// The name of the vault; empty if there is only one.
    pub vault: &'a str,
    /// The file, relative to the vault, with `/` between folders.
    pub path: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// How notes are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent abilities of a reader")]
pub struct NoteRules {
    /// How fields are read.
    pub yaml: YamlReader,
    /// Where headings say their text.
    pub headings: Headings,
    /// Which notes are lore.
    pub admits: Admission,
    /// The tags that mean something.
    pub tags: TagNames,
    /// The vault's own fields. They come from the vault, not from settings.
    #[serde(skip)]
    pub fields: Vec<FieldDefinition>,
    /// Whether small mistakes are put right.
    pub lenient: bool,
    /// Whether refine keys may combine in other ways than "any".
    pub selective_logic: bool,
    /// Whether fields of World Info are carried along.
    pub world_info_fields: bool,
    /// Whether a note without a title is left out.
    pub needs_title: bool,
    /// Whether titles may be written as links, tags with `#` and in the text, notes have aliases,
    /// and what Obsidian does not show is not sent.
    pub obsidian_style: bool,
    /// Whether `sticky`, `delay`, `group` and `group_weight` are rules; else they are only kept.
    pub timing_and_groups: bool,
    /// Whether an empty text for `keys` is a key, if one that is never found.
    pub blank_key: bool,
}

impl Default for NoteRules {
    fn default() -> Self {
        Self {
            yaml: YamlReader::Full,
            headings: Headings::OnOneLine,
            admits: Admission::default(),
            tags: TagNames::default(),
            fields: FieldDefinition::built_in(),
            lenient: true,
            selective_logic: true,
            world_info_fields: true,
            needs_title: true,
            obsidian_style: true,
            timing_and_groups: true,
            blank_key: false,
        }
    }
}

impl NoteRules {
    /// The spelling of a field that notes may have, whatever its case.
    pub(super) fn canonical(field: &str) -> Option<&'static str> {
        let lower = field.trim().to_lowercase();
        let mut known = KNOWN.into_iter().chain(["selective_logic"]);
        known.find(|known| known.to_lowercase() == lower)
    }

    /// As DeepLore 2.5 reads notes.
    pub fn deeplore_2() -> Self {
        Self {
            yaml: YamlReader::Mini,
            headings: Headings::AcrossLines,
            obsidian_style: false,
            timing_and_groups: false,
            blank_key: true,
            ..Self::default()
        }
    }

    /// As DeepLore 2.0 reads notes.
    pub fn deeplore_2_0() -> Self {
        let rules = Self::deeplore_2();
        Self { selective_logic: false, world_info_fields: false, needs_title: false, ..rules }
    }
}

/// The tags that mean something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TagNames {
    /// Marks lore.
    pub lore: String,
    /// Always injected.
    pub constant: String,
    /// Never read.
    pub never: String,
    /// Tells the selecting model about the story.
    pub seed: String,
    /// Injected while the chat is short.
    pub bootstrap: String,
    /// For people who write lore.
    pub guide: String,
}

impl Default for TagNames {
    fn default() -> Self {
        Self {
            lore: "lorebook".to_owned(),
            constant: "lorebook-always".to_owned(),
            never: "lorebook-never".to_owned(),
            seed: "lorebook-seed".to_owned(),
            bootstrap: "lorebook-bootstrap".to_owned(),
            guide: "lorebook-guide".to_owned(),
        }
    }
}

impl TagNames {
    /// Whether a text has a word that marks lore, anywhere in it: its author may have meant it
    /// so.
    pub fn is_named_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let marks = [&self.lore, &self.guide];
        marks.iter().any(|tag| !tag.is_empty() && text.contains(&tag.to_lowercase()))
    }
}

/// Why a file is not part of the lore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skip {
    /// It has no fields.
    NoFrontmatter,
    /// It has no tag that marks lore, and the rules admit it by nothing else.
    NoLoreTag,
    /// It says `enabled: false`.
    Disabled,
    /// It has the tag for never.
    NeverTag,
    /// It has no title.
    EmptyTitle,
}

impl Skip {
    /// The code that DeepLore's lint shows.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoFrontmatter => "SKIP_NO_FRONTMATTER",
            Self::NoLoreTag => "SKIP_NO_LOREBOOK_TAG",
            Self::Disabled => "SKIP_ENABLED_FALSE",
            Self::NeverTag => "SKIP_NEVER_INSERT_TAG",
            Self::EmptyTitle => "SKIP_EMPTY_TITLE",
        }
    }
}

/// A file, read.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteRead {
    /// The note, or why there is none. Its tokens are not counted yet.
    pub note: Result<Box<Note>, Skip>,
    /// What was put right.
    pub warnings: Vec<NoteWarning>,
}

/// Reads a note.
pub fn read_note(file: NoteFile<'_>, rules: &NoteRules) -> NoteRead {
    let front = split(file.text, rules.yaml);
    let mut reader = NoteReader { fields: front.fields, rules, warnings: Vec::new() };
    if front.not_yaml {
        reader.warn(WarningCode::NotYaml, "");
    }
    if rules.lenient {
        reader.rename_variants();
    }
    let note = reader.read(file, front.body).map(Box::new);
    NoteRead { note, warnings: reader.warnings }
}

/// The tags of a file, in lower case, lore or not.
pub fn tags_of(text: &str, rules: &NoteRules) -> Vec<String> {
    let front = split(text, rules.yaml);
    NoteReader { fields: front.fields, rules, warnings: Vec::new() }.tags(front.body)
}

/// Fields whose spelling is put right.
const KNOWN: [&str; 27] = [
    "keys",
    "tags",
    "priority",
    "summary",
    "depth",
    "position",
    "role",
    "scanDepth",
    "cooldown",
    "warmup",
    "probability",
    "requires",
    "excludes",
    "refine_keys",
    "cascade_links",
    "enabled",
    "constant",
    "seed",
    "bootstrap",
    "guide",
    "outlet",
    "era",
    "location",
    "scene_type",
    "character_present",
    "graph",
    "excludeRecursion",
];
static NONE: LazyLock<Value> = LazyLock::new(|| Value::Null);

struct NoteReader<'a> {
    fields: Map<String, Value>,
    rules: &'a NoteRules,
    warnings: Vec<NoteWarning>,
}

impl NoteReader<'_> {
    fn warn(&mut self, code: WarningCode, field: &str) {
        self.warnings.push(NoteWarning { code, field: field.to_owned() });
    }

    fn get(&self, field: &str) -> &Value {
        self.fields.get(field).unwrap_or(&NONE)
    }

    fn rename_variants(&mut self) {
        let names: Vec<String> = self.fields.keys().cloned().collect();
        for name in names {
            let lower = name.to_lowercase();
            let logic = self.rules.selective_logic.then_some("selective_logic");
            let mut known = KNOWN.into_iter().chain(logic);
            let Some(canonical) = known.find(|known| known.to_lowercase() == lower) else {
                continue;
            };
            if name == canonical {
                continue;
            }
            let Some(value) = self.fields.shift_remove(&name) else { continue };
            if !self.fields.contains_key(canonical) {
                self.fields.insert(canonical.to_owned(), value);
                self.warn(WarningCode::AliasUsed, &name);
            }
        }
    }

    fn read(&mut self, file: NoteFile<'_>, text: &str) -> Result<Note, Skip> {
        let tags = self.tags(text);
        let names = &self.rules.tags;
        let tagged = |name: &str| !name.is_empty() && tags.contains(&name.to_lowercase());
        let guide = tagged(&names.guide);
        let admitted = self.rules.admits.admits(file.path, &tags, tagged(&names.lore));
        if !admitted && !guide {
            return Err(if self.fields.is_empty() { Skip::NoFrontmatter } else { Skip::NoLoreTag });
        }
        if self.get("enabled") == &Value::Bool(false) {
            return Err(Skip::Disabled);
        }
        if tagged(&names.never) {
            return Err(Skip::NeverTag);
        }
        let kind = NoteKind {
            constant: self.get("constant") == &Value::Bool(true) || tagged(&names.constant),
            seed: tagged(&names.seed),
            bootstrap: tagged(&names.bootstrap),
            guide,
        };
        let markers = [names.lore.to_lowercase(), names.guide.to_lowercase()];
        let keys = self.keys();
        let title = body::title(text, file.path, self.rules.headings);
        if self.rules.needs_title && title.trim_matches(is_js_space).is_empty() {
            return Err(Skip::EmptyTitle);
        }
        let mut note = Note::new(file.vault, file.path, &title);
        note.hash = hash_of(file.text);
        note.content = if self.rules.obsidian_style {
            body::clean(&unseen::shown(text), self.rules.headings)
        } else {
            body::clean(text, self.rules.headings)
        };
        note.kind = kind;
        note.keys = keys;
        note.aliases = self.aliases();
        note.tags = tags.into_iter().filter(|tag| !markers.contains(tag)).collect();
        note.relations = self.relations(text);
        self.read_rules(&mut note);
        note.fields = self.custom_fields();
        Ok(note)
    }

    fn read_rules(&mut self, note: &mut Note) {
        let above_zero = |number: &f64| *number > 0.0;
        note.priority = self.coerced("priority").unwrap_or(100.0);
        note.scan_depth = self.get("scanDepth").as_f64();
        note.exclude_recursion = self.get("excludeRecursion") == &Value::Bool(true);
        note.seat = self.seat();
        note.cooldown = self.coerced("cooldown").filter(above_zero);
        note.warmup = self.coerced("warmup").filter(above_zero);
        note.probability = self.coerced("probability").map(|number| number.clamp(0.0, 1.0));
        note.summary = match self.get("summary") {
            text @ (Value::String(_) | Value::Number(_)) => {
                text_of(text).trim_matches(is_js_space).to_owned()
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
        };
        note.refine = Refine { keys: self.list("refine_keys"), logic: self.logic() };
        note.graph = self.get("graph") != &Value::Bool(false);
        if self.rules.timing_and_groups {
            note.sticky = self.messages("sticky");
            note.delay = self.messages("delay");
            note.groups = self.groups();
            note.group_weight = self.coerced("group_weight").filter(above_zero);
        }
    }

    /// What else Obsidian calls the note.
    fn aliases(&self) -> Vec<String> {
        if !self.rules.obsidian_style {
            return Vec::new();
        }
        let mut aliases: Vec<String> = Vec::new();
        for field in ["aliases", "alias"] {
            let listed = self.list(field).into_iter();
            // Obsidian takes text with commas for several names, and an empty item for none.
            let is_text = self.get(field).is_string();
            let split = |one: String| -> Vec<String> {
                if is_text {
                    one.split(',').map(|part| part.trim().to_owned()).collect()
                } else {
                    vec![one]
                }
            };
            let parts = listed.flat_map(split);
            aliases.extend(parts.filter(|alias| !alias.is_empty() && alias != "null"));
        }
        aliases
    }

    /// A number of messages above 0.
    fn messages(&mut self, field: &str) -> Option<u32> {
        let messages = whole(self.coerced(field)?.ceil());
        Some(messages).filter(|messages| *messages > 0)
    }

    /// The groups of a note: a list, or a text with commas, as World Info writes it.
    fn groups(&self) -> Vec<String> {
        let listed = self.list("group").into_iter();
        let names = listed.flat_map(|one| {
            one.split(',').map(|part| part.trim().to_owned()).collect::<Vec<String>>()
        });
        names.filter(|name| !name.is_empty()).collect()
    }

    fn tags(&self, text: &str) -> Vec<String> {
        let tags: Vec<String> = match self.get("tags") {
            Value::Array(list) => list.iter().map(text_of).collect(),
            // Obsidian takes text with commas or blanks for several tags.
            Value::String(text) if self.rules.obsidian_style => {
                let tags = text.split([',', ' ', '\n']).map(str::trim);
                tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
            }
            Value::String(text) => vec![text.clone()],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        let plain = |tag: String| match tag.strip_prefix('#') {
            Some(rest) if self.rules.obsidian_style => rest.to_lowercase(),
            Some(_) | None => tag.to_lowercase(),
        };
        let mut tags: Vec<String> = tags.into_iter().map(plain).collect();
        if self.rules.obsidian_style {
            let inline = inline_tags(text).into_iter();
            tags.extend(inline.filter(|tag| !tags.contains(tag)).collect::<Vec<_>>());
        }
        tags
    }

    fn keys(&mut self) -> Vec<String> {
        match self.get("keys") {
            Value::Array(list) => list.iter().map(text_of).collect(),
            Value::String(text) if self.rules.lenient && text.contains(',') => {
                let keys = text.split(',').map(|key| key.trim_matches(is_js_space).to_owned());
                let keys = keys.filter(|key| !key.is_empty()).collect();
                self.warn(WarningCode::CommaSplit, "keys");
                keys
            }
            Value::String(text) if self.rules.blank_key => vec![text.clone()],
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => one(self.get("keys")).into_iter().collect(),
        }
    }

    /// A list of trimmed texts; a single value is a list of one.
    fn list(&self, field: &str) -> Vec<String> {
        let texts: Vec<String> = match self.get(field) {
            Value::Array(list) => list.iter().map(text_of).collect(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => one(self.get(field)).into_iter().collect(),
        };
        let texts = texts.iter().map(|text| text.trim_matches(is_js_space).to_owned());
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// A list of titles. Obsidian's properties hold them as links.
    fn titles(&self, field: &str) -> Vec<String> {
        let target = |text: String| {
            let inner = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
            match inner {
                Some(inner) => inner.split('|').next().unwrap_or(inner).trim().to_owned(),
                None => text,
            }
        };
        let list = self.list(field).into_iter();
        if self.rules.obsidian_style { list.map(target).collect() } else { list.collect() }
    }

    fn relations(&self, text: &str) -> Relations {
        Relations {
            requires: self.titles("requires"),
            excludes: self.titles("excludes"),
            cascade: self.titles("cascade_links"),
            links: body::links(text, self.rules.headings),
            resolved_links: Vec::new(),
        }
    }

    /// A number; text that is one counts if the reader is lenient. Files cannot hold infinite
    /// ones, so the largest number is used for larger ones.
    fn coerced(&mut self, field: &str) -> Option<f64> {
        match self.get(field) {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if self.rules.lenient => {
                let number = read_number(text)?;
                self.warn(WarningCode::CoercedNumber, field);
                Some(number.clamp(f64::MIN, f64::MAX))
            }
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }

    fn seat(&self) -> NoteSeat {
        let word = |field: &str| self.get(field).as_str().map(str::to_lowercase);
        let outlet = self.get("outlet").as_str().map(|name| name.trim_matches(is_js_space));
        NoteSeat {
            position: word("position").and_then(|word| match word.as_str() {
                "before" => Some(NotePosition::Before),
                "after" => Some(NotePosition::After),
                "in_chat" => Some(NotePosition::InChat),
                _ => None,
            }),
            depth: self.get("depth").as_f64().map(depth_of),
            role: word("role").and_then(|word| match word.as_str() {
                "system" => Some(Role::System),
                "user" => Some(Role::User),
                "assistant" => Some(Role::Assistant),
                _ => None,
            }),
            outlet: outlet.filter(|name| !name.is_empty()).map(str::to_owned),
        }
    }

    fn logic(&mut self) -> SelectiveLogic {
        let value = self.get("selective_logic");
        if !self.rules.selective_logic || value.is_null() {
            return SelectiveLogic::AndAny;
        }
        match text_of(value).trim().to_lowercase().as_str() {
            "and_any" => SelectiveLogic::AndAny,
            "and_all" => SelectiveLogic::AndAll,
            "not_all" => SelectiveLogic::NotAll,
            "not_any" => SelectiveLogic::NotAny,
            _ => {
                self.warn(WarningCode::Invalid, "selective_logic");
                SelectiveLogic::AndAny
            }
        }
    }

    fn custom_fields(&mut self) -> Extensions {
        let mut values = Extensions::new();
        for field in &self.rules.fields {
            if let Some(value) = self.fields.get(&field.name) {
                values.insert(field.name.clone(), field_value(field, value));
            }
        }
        let round_trip: &[&str] = if self.rules.world_info_fields { &ROUND_TRIP } else { &[] };
        let kept: &[&str] = if self.rules.timing_and_groups { &[] } else { &NOT_IMPLEMENTED };
        let carried = kept.iter().map(|name| (name, WarningCode::NotImplemented));
        let carried = carried.chain(round_trip.iter().map(|name| (name, WarningCode::RoundTrip)));
        for (name, code) in carried {
            let Some(value) = self.fields.get(*name) else { continue };
            values.insert((*name).to_owned(), value.clone());
            // A field that the vault defines itself is nothing to warn about, once fields of
            // World Info are known as such.
            let is_own = self.rules.fields.iter().any(|field| field.name == *name);
            if !is_own || !self.rules.world_info_fields {
                self.warn(code, name);
            }
        }
        values
    }
}

fn field_value(field: &FieldDefinition, value: &Value) -> Value {
    match (field.kind, value) {
        (FieldKind::String, Value::Array(list)) if field.multi => {
            let texts = list.iter().map(|item| trimmed(&text_of(item)));
            texts.filter(|text| !text.is_empty()).collect()
        }
        (FieldKind::String, Value::Null) if field.multi => Value::Array(Vec::new()),
        (FieldKind::String, _) if field.multi => {
            let text = trimmed(&text_of(value));
            if text.is_empty() { Value::Array(Vec::new()) } else { Value::from(vec![text]) }
        }
        (FieldKind::String, Value::String(text)) => Value::from(trimmed(text)),
        (FieldKind::String, other) => Value::from(text_of(other)),
        (FieldKind::Number, Value::Number(_)) => value.clone(),
        (FieldKind::Number, other) => {
            let number = match other {
                Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
                Value::Null => Some(0.0),
                Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                    let text = text_of(other);
                    if trimmed(&text).is_empty() { Some(0.0) } else { read_number(&text) }
                }
            };
            number.and_then(Number::from_f64).map_or(Value::Null, Value::Number)
        }
        (FieldKind::Boolean, value) => {
            Value::Bool(value == &Value::Bool(true) || value.as_str() == Some("true"))
        }
    }
}

/// A single value that says something, as text.
fn one(value: &Value) -> Option<String> {
    let says = match value {
        Value::Null | Value::Bool(false) | Value::Array(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(true) | Value::Object(_) => true,
    };
    says.then(|| text_of(value))
}

fn trimmed(text: &str) -> String {
    text.trim_matches(is_js_space).to_owned()
}

#[cfg(test)]
mod tests;
