//! Changes to a JSON document that leave every other byte alone.
//!
//! A change is given as two values, the old one and the new one. Where they agree, the text
//! stays as it is.

use std::ops::Range;

use loreloom_core::book::{Indent, TextStyle};
use serde_json::{Map, Value};

use super::{Json, JsonEdits, Member, Node, layout};

/// Changes to a JSON document, in the style of its text.
#[derive(Debug)]
pub(crate) struct Patch<'text> {
    text: &'text str,
    style: TextStyle,
    edits: JsonEdits,
}

impl<'text> Patch<'text> {
    pub(crate) fn new(text: &'text str, style: TextStyle) -> Self {
        Self { text, style, edits: JsonEdits::default() }
    }

    /// The text with all changes made.
    pub(crate) fn apply(self) -> String {
        self.edits.apply(self.text)
    }

    /// Replaces a value, laid out for its place in the tree.
    pub(crate) fn replace(&mut self, node: &Node<'_>, value: &Value, level: usize) {
        let text = self.laid_out(node, value, level);
        self.edits.replace(node.span.clone(), text);
    }

    /// New text for a node; on one line where the old one was.
    fn laid_out(&self, node: &Node<'_>, value: &Value, level: usize) -> String {
        let old = &self.text[node.span.clone()];
        let was_inline =
            (node.is_object() || node.is_array()) && old.len() > 2 && !old.contains('\n');
        if was_inline { value.to_string() } else { layout::to_text(value, &self.style, level) }
    }

    /// Changes the members of an object from what `old` says to what `new` says.
    pub(crate) fn object(
        &mut self,
        node: &Node<'_>,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
        level: usize,
    ) {
        let members = node.members();
        let mut added = Vec::new();
        for (key, value) in new {
            if old.get(key) == Some(value) {
                continue;
            }
            let found = members.iter().rev().find(|member| member.key == *key);
            match (found, old.get(key), value) {
                (Some(member), Some(Value::Object(old)), Value::Object(new))
                    if member.value.is_object() =>
                {
                    self.object(&member.value, old, new, level + 1);
                }
                (Some(member), _, _) => self.replace(&member.value, value, level + 1),
                (None, _, _) => added.push((key, value)),
            }
        }
        let gone = |member: &Member<'_>| {
            old.contains_key(member.key.as_ref()) && !new.contains_key(member.key.as_ref())
        };
        let spans: Vec<_> = members.iter().map(|m| m.start..m.value.span.end).collect();
        let kept: Vec<bool> = members.iter().map(|member| !gone(member)).collect();
        self.remove(node, &spans, &kept);
        let texts = added.iter().map(|(key, value)| self.member_text(key, value, level + 1));
        let texts: Vec<String> = texts.collect();
        let last = spans.iter().zip(&kept).rev().find(|(_, kept)| **kept).map(|(span, _)| span);
        self.insert_after(node, last, &texts, level);
    }

    /// A member of an object, key and value.
    pub(crate) fn member_text(&self, key: &str, value: &Value, level: usize) -> String {
        let colon = if self.style.indent == Indent::None { ":" } else { ": " };
        let key = Value::from(key);
        format!("{key}{colon}{}", layout::to_text(value, &self.style, level))
    }

    /// A row of a list.
    pub(crate) fn value_text(&self, value: &Value, level: usize) -> String {
        layout::to_text(value, &self.style, level)
    }

    /// Removes the rows of a container that are not kept.
    pub(crate) fn remove(&mut self, container: &Node<'_>, rows: &[Range<usize>], kept: &[bool]) {
        let inside = container.span.start + 1..container.span.end - 1;
        let rows: Vec<_> = rows.iter().cloned().zip(kept.iter().copied()).collect();
        self.edits.remove_rows(self.text, inside, &rows);
    }

    /// Inserts rows behind `after`, or as the first rows of an empty container.
    pub(crate) fn insert_after(
        &mut self,
        container: &Node<'_>,
        after: Option<&Range<usize>>,
        rows: &[String],
        level: usize,
    ) {
        if rows.is_empty() {
            return;
        }
        let was = &self.text[container.span.clone()];
        let inline = self.style.indent == Indent::None || (was.len() > 2 && !was.contains('\n'));
        let break_at = |level: usize| {
            if inline {
                String::new()
            } else {
                layout::newline(&self.style).to_owned() + &self.indent(level)
            }
        };
        let comma = if inline && self.style.indent != Indent::None { ", " } else { "," };
        let joined = rows.join(&format!("{comma}{}", break_at(level + 1)));
        if let Some(range) = after {
            let text = format!("{comma}{}{joined}", break_at(level + 1));
            self.edits.replace(range.end..range.end, text);
        } else {
            let text = format!("{}{joined}{}", break_at(level + 1), break_at(level));
            // Behind a removal of all rows, which ends here.
            let end = container.span.end - 1;
            self.edits.replace(end..end, text);
        }
    }

    /// Puts the rows of a list into another order.
    pub(crate) fn reorder(&mut self, rows: &[Range<usize>], texts: &[String]) {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
        let separator = match rows {
            [first, second, ..] => &self.text[first.end..second.start],
            _ => ",",
        };
        self.edits.replace(first.start..last.end, texts.join(separator));
    }

    fn indent(&self, level: usize) -> String {
        match self.style.indent {
            Indent::None => String::new(),
            Indent::Spaces(count) => " ".repeat(usize::from(count) * level),
            Indent::Tab => "\t".repeat(level),
        }
    }
}

/// How deep in the tree a node of the text is.
pub(crate) fn level_of(root: &Node<'_>, at: &Range<usize>) -> usize {
    let children: Vec<&Node<'_>> = match &root.value {
        Json::Object(members) => members.iter().map(|member| &member.value).collect(),
        Json::Array(items) => items.iter().collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return 0,
    };
    children
        .into_iter()
        .find(|child| child.span.start <= at.start && at.end <= child.span.end)
        .map_or(0, |child| 1 + level_of(child, at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{json::parse, text};

    fn patched(source: &str, old: &Value, new: &Value) -> String {
        let parsed = parse(source, 16).unwrap();
        let mut patch = Patch::new(source, text::style(source));
        let (Value::Object(old), Value::Object(new)) = (old, new) else { unreachable!() };
        patch.object(&parsed.root, old, new, 0);
        patch.apply()
    }

    #[test]
    fn only_what_differs_is_written() {
        let source = "{\n  \"a\": 1.50,\n  \"odd\" :  null,\n  \"o\": {\n    \"x\": 1\n  }\n}";
        for (old, new, expected) in [
            (json!({"a": 1.5}), json!({"a": 1.5}), source.to_owned()),
            (json!({"a": 1.5}), json!({"a": 2}), source.replace("1.50", "2")),
            (json!({"a": 1.5}), json!({}), source.replace("\"a\": 1.50,\n  ", "")),
            (
                json!({"o": {"x": 1}}),
                json!({"o": {"x": [1]}}),
                source.replace("\"x\": 1", "\"x\": [\n      1\n    ]"),
            ),
            (
                json!({"o": {"x": 1}}),
                json!({"o": {"y": "é"}}),
                source.replace("\"x\": 1", "\"y\": \"é\""),
            ),
            (
                json!({}),
                json!({"n": {"k": 1}}),
                source.replace("\n  }\n}", "\n  },\n  \"n\": {\n    \"k\": 1\n  }\n}"),
            ),
        ] {
            assert_eq!(patched(source, &old, &new), expected, "{new}");
        }
    }

    #[test]
    fn members_can_go_from_every_place() {
        let source = r#"{"a":1,"b":2,"c":3,"d":4}"#;
        let all = json!({"a": 1, "b": 2, "c": 3, "d": 4});
        for kept in ["", "a", "b", "d", "ab", "bc", "cd", "ad", "ac", "abd", "abcd"] {
            let mut new = all.clone();
            if let Value::Object(map) = &mut new {
                map.retain(|key, _| kept.contains(key.as_str()));
            }
            assert_eq!(patched(source, &all, &new), new.to_string(), "{kept}");
            if let Value::Object(map) = &mut new {
                map.insert("n".into(), json!(9));
            }
            assert_eq!(patched(source, &all, &new), new.to_string(), "{kept} and a new one");
        }
    }
}
