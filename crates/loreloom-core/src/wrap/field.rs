//! What a wrapper can say about an entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

macro_rules! fields {
    ($($(#[$doc:meta])+ $name:ident = $text:literal $(| $alias:literal)*, $list:literal;)+) => {
        /// A piece of metadata. The order is the one in which wrappers write them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum WrapField {
            $($(#[$doc])+ $name,)+
        }

        impl WrapField {
            /// All fields, in order.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The name in attributes and templates.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Whether the value is a list.
            pub fn is_list(self) -> bool {
                match self {
                    $(Self::$name => $list,)+
                }
            }

            /// The field of this name. Case and `_` do not count, and the names that
            /// SillyTavern users know are understood.
            pub fn from_name(name: &str) -> Option<Self> {
                let plain = name.trim().to_ascii_lowercase().replace(['_', '-'], "");
                match plain.as_str() {
                    $(known if known == $text.replace('_', "") $(|| known == $alias)* => {
                        Some(Self::$name)
                    })+
                    _ => None,
                }
            }
        }
    };
}

fields! {
    /// The id in the entry's file.
    Uid = "uid" | "id", false;
    /// What people call the entry.
    Name = "name" | "comment" | "title", false;
    /// The book's name.
    World = "world" | "book" | "lorebook", false;
    /// The primary key that was found, as written.
    Key = "key" | "primarykey", false;
    /// That key after macros, where they change it.
    ExpandedKey = "expanded_key" | "substitutedkey", false;
    /// The secondary keys that were found.
    Secondary = "secondary" | "secondarykeys", true;
    /// The phase of the scan: `initial`, `recursion` or `min_activations`.
    Scan = "scan" | "scanstate", false;
    /// How many messages the entry's scan covered.
    ScanDepth = "scan_depth", false;
    /// The pass of the scan loop, from 1.
    Iteration = "iteration" | "pass", false;
    /// The rule that let it in: `key`, `constant`, `sticky`, `decorator` or `forced`.
    Activation = "activation" | "reason" | "activationreason", false;
    /// The texts that held its keys: `message`, `persona`, `entry` and so on.
    Source = "source" | "sources", true;
    /// The messages that held its keys, counted from the oldest, from 0.
    MatchedIn = "matched_in" | "messages" | "messageindex" | "messageindices", true;
    /// The roles of those messages.
    TriggeredBy = "triggered_by" | "roles", true;
    /// The entries whose text activated it.
    Parents = "parents" | "recursionsources", true;
    /// Whether another entry's text activated it.
    ViaRecursion = "via_recursion" | "fromrecursion" | "activatedviarecursion", false;
    /// Whether the entry always fires.
    Constant = "constant", false;
    /// Whether it is here because it fired before.
    Sticky = "sticky", false;
    /// Where it goes.
    Position = "position", false;
    /// How many messages from the end, for a place inside the chat.
    Depth = "depth", false;
    /// The role it is sent in, for a place inside the chat.
    Role = "role", false;
    /// Its order among others at its place.
    Order = "order", false;
    /// The tokens of its text, without the wrapper.
    Tokens = "tokens", false;
    /// How many messages the chat has.
    ChatLength = "chat_length", false;
    /// When, in milliseconds since 1970, if the front end states the time.
    Timestamp = "timestamp" | "time", false;
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// One text.
    Text(String),
    /// Several.
    List(Vec<String>),
}

impl FieldValue {
    /// The value as one text; the items of a list are joined by commas.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| item.replace('\\', "\\\\").replace(',', "\\,"))
                    .collect();
                items.join(",")
            }
        }
    }

    fn read(field: WrapField, text: String) -> Self {
        if !field.is_list() {
            return Self::Text(text);
        }
        let mut items = vec![String::new()];
        let mut chars = text.chars();
        while let Some(next) = chars.next() {
            let (ends, kept) = match next {
                ',' => (true, None),
                '\\' => (false, chars.next()),
                other => (false, Some(other)),
            };
            if ends {
                items.push(String::new());
            } else if let (Some(kept), Some(item)) = (kept, items.last_mut()) {
                item.push(kept);
            }
        }
        Self::List(items)
    }
}

/// The metadata of one entry. Nothing in it is empty: an absent value and an empty one
/// are written alike, so they are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrapFields(BTreeMap<WrapField, FieldValue>);

impl WrapFields {
    /// No metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a field to a text; for a list, to that one item.
    pub fn set(&mut self, field: WrapField, text: impl Into<String>) {
        let text = text.into();
        if field.is_list() {
            self.set_list(field, [text]);
        } else if !text.is_empty() {
            self.0.insert(field, FieldValue::Text(text));
        }
    }

    /// Sets a list. A field that takes one text gets the items joined by commas.
    pub fn set_list(&mut self, field: WrapField, items: impl IntoIterator<Item = String>) {
        let items: Vec<String> = items.into_iter().filter(|item| !item.is_empty()).collect();
        if items.is_empty() {
            return;
        }
        let list = FieldValue::List(items);
        let value = if field.is_list() { list } else { FieldValue::Text(list.written()) };
        self.0.insert(field, value);
    }

    /// Sets a field to what was read.
    pub(super) fn read(&mut self, field: WrapField, text: String) {
        match FieldValue::read(field, text) {
            FieldValue::Text(text) => self.set(field, text),
            FieldValue::List(items) => self.set_list(field, items),
        }
    }

    /// A field's value.
    pub fn get(&self, field: WrapField) -> Option<&FieldValue> {
        self.0.get(&field)
    }

    /// A field's value as one text.
    pub fn text(&self, field: WrapField) -> Option<String> {
        self.get(field).map(FieldValue::written)
    }

    /// What people call the entry.
    pub fn name(&self) -> Option<&str> {
        match self.get(WrapField::Name) {
            Some(FieldValue::Text(name)) => Some(name),
            Some(FieldValue::List(_)) | None => None,
        }
    }

    /// All fields that have a value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (WrapField, &FieldValue)> {
        self.0.iter().map(|(field, value)| (*field, value))
    }

    /// Only these fields.
    #[must_use]
    pub fn only(&self, wanted: &[WrapField]) -> Self {
        let kept = self.0.iter().filter(|(field, _)| wanted.contains(field));
        Self(kept.map(|(field, value)| (*field, value.clone())).collect())
    }
}

impl Serialize for WrapFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(field, value)| (field.as_str(), value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_names_and_the_peers() {
        for &field in WrapField::ALL {
            assert_eq!(WrapField::from_name(field.as_str()), Some(field));
        }
        for (name, field) in [
            ("primaryKey", Some(WrapField::Key)),
            ("SCAN_STATE", Some(WrapField::Scan)),
            ("messageIndex", Some(WrapField::MatchedIn)),
            ("book", Some(WrapField::World)),
            ("content", None),
            ("", None),
        ] {
            assert_eq!(WrapField::from_name(name), field, "{name}");
        }
    }

    #[test]
    fn lists_keep_commas_and_backslashes_of_their_items() {
        let items = ["a,b", "c\\", "\\,", "d"].map(str::to_owned);
        let list = FieldValue::List(items.to_vec());
        assert_eq!(list.written(), "a\\,b,c\\\\,\\\\\\,,d");
        assert_eq!(FieldValue::read(WrapField::Secondary, list.written()), list);
    }

    #[test]
    fn what_is_empty_is_absent() {
        let mut fields = WrapFields::new();
        fields.set(WrapField::Name, "");
        fields.set_list(WrapField::Secondary, [String::new()]);
        assert_eq!(fields, WrapFields::new());
    }
}
