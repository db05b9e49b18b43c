//! JSON with the position of each value.
//!
//! A file with one edited entry needs the exact bytes of all others, and real files contain what a
//! strict parser rejects (lone surrogates) or drops (duplicate keys). So the tree keeps spans into
//! the text, the spelling of numbers, and every member of an object. Strings without escapes are
//! borrowed.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

mod edits;
pub(crate) mod js;
pub(crate) mod layout;
mod parser;
pub(crate) mod patch;
mod relaxed;

use std::{borrow::Cow, ops::Range};

pub use self::edits::JsonEdits;
pub(crate) use self::{
    parser::{Oddity, OddityKind, parse},
    relaxed::{comments, strict},
};

/// A value and its span in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node<'text> {
    pub(crate) span: Range<usize>,
    pub(crate) value: Json<'text>,
}

/// A JSON value; numbers are kept as spelled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'text> {
    Null,
    Bool(bool),
    Number(&'text str),
    String(Cow<'text, str>),
    Array(Vec<Node<'text>>),
    Object(Vec<Member<'text>>),
}

/// A key of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member<'text> {
    pub(crate) key: Cow<'text, str>,
    /// The position of the key's opening quote.
    pub(crate) start: usize,
    pub(crate) value: Node<'text>,
}

impl<'text> Node<'text> {
    /// The member of that name; of several the last, as in JavaScript.
    pub(crate) fn get(&self, key: &str) -> Option<&Node<'text>> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members; none if this is not an object.
    pub(crate) fn members(&self) -> &[Member<'text>] {
        match &self.value {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    /// The items; none if this is not an array.
    pub(crate) fn items(&self) -> &[Node<'text>] {
        match &self.value {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.value == Json::Null
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.value, Json::Object(_))
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.value, Json::Array(_))
    }

    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "text",
            Json::Array(_) => "a list",
            Json::Object(_) => "an object",
        }
    }

    /// The value for messages: short ones in full, others by kind.
    pub(crate) fn shown(&self) -> String {
        const SHOWN: usize = 40;
        match &self.value {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Number(text) if text.len() <= SHOWN => (*text).to_owned(),
            Json::String(text) if text.len() <= SHOWN => format!("{text:?}"),
            _ => self.kind().to_owned(),
        }
    }

    /// The value without its spans. Numbers beyond 64 bits become text.
    pub(crate) fn to_value(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.value {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(text) => number_value(text),
            Json::String(text) => Value::String(text.as_ref().to_owned()),
            Json::Array(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Json::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|member| (member.key.as_ref().to_owned(), member.value.to_value()))
                    .collect(),
            ),
        }
    }
}

fn number_value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.to_owned()))
}

/// Whether a value says no more than its absence.
pub(crate) fn says_nothing(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::String(text) => text.is_empty(),
        serde_json::Value::Array(items) => items.is_empty(),
        serde_json::Value::Object(members) => members.is_empty(),
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}
