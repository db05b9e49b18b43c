//! Reads fields as their authors meant them, whatever their type.
//!
//! Books are written by dozens of programs; numbers come as text, flags as numbers, lists
//! as one text with commas. Each repair is reported.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use loreloom_core::{
    book::{Book, Extensions, Key, SelectiveLogic},
    number::whole,
};

use crate::{
    json::{Json, Node, js},
    keys,
    note::Notes,
};

/// Names that programs give to an entry's keys. A reader asks for the name of its own format
/// first: files in the wild mix them.
pub(crate) const KEYS: [&str; 5] = ["keys", "key", "keywords", "keysRaw", "triggers"];
/// Names of an entry's text.
pub(crate) const CONTENT: [&str; 5] = ["content", "entry", "text", "value", "manual_text"];
/// Names of an entry's name.
pub(crate) const NAME: [&str; 5] = ["name", "comment", "displayName", "title", "memo"];
/// Names of an entry's place among others.
pub(crate) const ORDER: [&str; 4] = ["order", "insertion_order", "insertorder", "weight"];
/// Names of the flag that an entry needs no keys.
pub(crate) const CONSTANT: [&str; 3] = ["constant", "alwaysActive", "forceActivation"];
/// Names of the flag that an entry is switched off.
pub(crate) const DISABLED: [&str; 3] = ["disable", "disabled", "widisabled"];

/// Whether a program knows keys that are patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patterns {
    /// Keys between slashes are.
    Slashed,
    /// It looks for every key as it is written: a pattern would hit what its author never
    /// saw hit.
    Unknown,
}

impl Patterns {
    pub(crate) fn key(self, raw: String) -> Key {
        match self {
            Self::Slashed => Key::parse(&raw),
            Self::Unknown => Key::Literal(raw),
        }
    }
}

/// An object whose fields are read.
pub(crate) struct Fields<'tree, 'text, 'notes> {
    node: &'tree Node<'text>,
    notes: &'notes mut Notes,
}

impl<'tree, 'text, 'notes> Fields<'tree, 'text, 'notes> {
    pub(crate) fn of(node: &'tree Node<'text>, notes: &'notes mut Notes) -> Self {
        Self { node, notes }
    }

    /// The fields of an object inside this one.
    pub(crate) fn inside(&mut self, name: &str) -> Option<Fields<'tree, 'text, '_>> {
        let node = self.get(name).filter(|node| node.is_object())?;
        Some(Fields { node, notes: self.notes })
    }

    pub(crate) fn notes(&mut self) -> &mut Notes {
        self.notes
    }

    /// The value, unless missing or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'tree Node<'text>> {
        self.node.get(name).filter(|node| !node.is_null())
    }

    /// The first of these names that has a value.
    fn first<'name>(&self, names: &[&'name str]) -> Option<(&'name str, &'tree Node<'text>)> {
        names.iter().find_map(|name| self.get(name).map(|node| (*name, node)))
    }

    /// The name of a field: that of the format, or else another one of its family.
    pub(crate) fn either(&mut self, own: &'static str, family: &[&'static str]) -> &'static str {
        if self.get(own).is_some() {
            return own;
        }
        let Some((found, _)) = self.first(family) else { return own };
        self.notes.warn(found, format!("stands where `{own}` is expected: used instead"));
        found
    }

    /// Whether an entry takes part.
    pub(crate) fn enabled(&mut self) -> bool {
        let on = self.flag(&["enabled"]);
        on.or_else(|| self.flag(&DISABLED).map(|off| !off)).unwrap_or(true)
    }

    /// Reads the name, which replaces the book's own if there is one, and the description.
    pub(crate) fn name_and_description(&mut self, book: &mut Book) {
        let name = self.text(&["name"]);
        if !name.is_empty() {
            book.name = name;
        }
        book.description = self.text(&["description"]);
    }

    /// Text under the first name that has a value; empty if there is none.
    pub(crate) fn text(&mut self, names: &[&str]) -> String {
        let Some((name, node)) = self.first(names) else { return String::new() };
        if let Json::String(text) = &node.value {
            return text.as_ref().to_owned();
        }
        self.notes.warn(name, format!("must be text, found {}: read as text", node.kind()));
        js::text(node)
    }

    /// A flag; `None` where there is none.
    pub(crate) fn flag(&mut self, names: &[&str]) -> Option<bool> {
        let (name, node) = self.first(names)?;
        if let Json::Bool(value) = node.value {
            return Some(value);
        }
        let value = meant_as_true(node);
        self.notes.warn(name, format!("{} was read as {value}", node.shown()));
        Some(value)
    }

    /// A number; `None` where there is none.
    pub(crate) fn number(&mut self, names: &[&str]) -> Option<f64> {
        let (name, node) = self.first(names)?;
        let number = js::number(node).clamp(f64::MIN, f64::MAX);
        if let Json::Number(_) = node.value {
            return Some(number);
        }
        let blank = node.as_str().is_some_and(|text| text.trim().is_empty());
        if number.is_nan() || blank {
            let found = node.shown();
            self.notes.warn(name, format!("must be a number, found {found}: read as missing"));
            return None;
        }
        self.notes.warn(name, format!("{} was read as {number}", node.shown()));
        Some(number)
    }

    /// A count; numbers below 0 are 0, fractions are rounded up.
    pub(crate) fn count(&mut self, names: &[&str]) -> Option<u32> {
        let number = self.number(names)?;
        if number < 0.0 || number.fract() != 0.0 {
            let name = self.first(names).map_or("", |(name, _)| name);
            self.notes.warn(name, format!("{number} was read as {}", whole(number.ceil())));
        }
        Some(whole(number.ceil()))
    }

    /// A list of texts; one text is split at its commas.
    pub(crate) fn list(&mut self, names: &[&str]) -> Vec<String> {
        let Some((name, node)) = self.first(names) else { return Vec::new() };
        match &node.value {
            Json::Array(items) => self.items(name, items),
            Json::String(text) => {
                let keys = keys::split(text);
                self.notes.warn(name, format!("must be a list, found text: split into {keys:?}"));
                keys
            }
            _ => {
                let kind = node.kind();
                self.notes.warn(name, format!("must be a list, found {kind}: read as empty"));
                Vec::new()
            }
        }
    }

    /// The texts of a list; numbers become text, null is dropped.
    fn items(&mut self, name: &str, items: &[Node<'_>]) -> Vec<String> {
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Json::String(text) => texts.push(text.as_ref().to_owned()),
                Json::Null => self.notes.warn(name, "null in the list was dropped"),
                _ => {
                    let shown = item.shown();
                    self.notes.warn(name, format!("{shown} in the list was read as text"));
                    texts.push(js::text(item));
                }
            }
        }
        texts
    }

    /// A list of keys, or one text with commas where the format has it so.
    pub(crate) fn keys(&mut self, names: &[&str], patterns: Patterns) -> Vec<Key> {
        self.list(names).into_iter().map(|key| patterns.key(key)).collect()
    }

    /// Keys that the format keeps as one text with commas.
    pub(crate) fn joined_keys(&mut self, names: &[&str], patterns: Patterns) -> Vec<Key> {
        match self.first(names) {
            Some((_, node)) if node.is_array() => self.keys(names, patterns),
            _ => {
                let split = keys::split(&self.text(names));
                split.into_iter().map(|key| patterns.key(key)).collect()
            }
        }
    }

    /// The members that are not in `known`, in file order.
    pub(crate) fn others(&self, known: &[&str]) -> Extensions {
        self.node
            .members()
            .iter()
            .filter(|member| !known.contains(&member.key.as_ref()))
            .map(|member| (member.key.as_ref().to_owned(), member.value.to_value()))
            .collect()
    }
}

/// What an author means by `"true"`, `1`, `"0"` and the like.
pub(crate) fn meant_as_true(node: &Node<'_>) -> bool {
    match node.as_str() {
        Some(text) => {
            !matches!(text.trim().to_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
        }
        None => js::truthy(node),
    }
}

/// How secondary keys combine, by SillyTavern's numbers.
pub(crate) fn known_logic(number: Option<f64>, name: &str, notes: &mut Notes) -> SelectiveLogic {
    let Some(number) = number else { return SelectiveLogic::AndAny };
    match whole(number) {
        _ if number < 0.0 || number.fract() != 0.0 => {}
        0 => return SelectiveLogic::AndAny,
        1 => return SelectiveLogic::NotAll,
        2 => return SelectiveLogic::NotAny,
        3 => return SelectiveLogic::AndAll,
        _ => {}
    }
    notes.warn(name, format!("{number} is no known logic: read as the default one"));
    SelectiveLogic::AndAny
}
