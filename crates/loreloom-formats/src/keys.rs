//! Keys written as one text, and ids.

/// Splits a list of keys at its commas, as arguments of decorators are split.
pub(crate) use loreloom_core::dialects::cards::list as split;
use loreloom_core::{
    book::{Entry, Key, OriginalId},
    digest::Hasher,
};

use crate::json::{Json, Node, js};

/// The keys as one text.
pub(crate) fn joined(keys: &[Key]) -> String {
    let raw = |key: &Key| match key {
        Key::Literal(text) => text.replace(',', "\\,"),
        Key::Regex(regex) => regex.raw.clone(),
    };
    keys.iter().map(raw).collect::<Vec<_>>().join(", ")
}

/// The keys with those split that are lists: at commas, bars and semicolons of any width.
pub(crate) fn split_further(keys: &[Key]) -> Vec<Key> {
    const SEPARATORS: [char; 5] = [',', '|', ';', '，', '；'];
    let mut split = Vec::with_capacity(keys.len());
    for key in keys {
        match key {
            Key::Literal(text) if text.contains(SEPARATORS) => {
                let parts = text.split(SEPARATORS).map(str::trim).filter(|part| !part.is_empty());
                split.extend(parts.map(|part| Key::Literal(part.to_owned())));
            }
            Key::Literal(_) | Key::Regex(_) => split.push(key.clone()),
        }
    }
    split
}

/// A key as written.
pub(crate) fn raw(key: &Key) -> &str {
    match key {
        Key::Literal(text) => text,
        Key::Regex(regex) => &regex.raw,
    }
}

/// The name in a format that has only one of name and comment.
pub(crate) fn only_name(entry: &Entry) -> &str {
    if entry.name.is_empty() { &entry.comment } else { &entry.name }
}

/// An id as the file has it: a whole number or text.
pub(crate) fn original_id(node: Option<&Node<'_>>) -> Option<OriginalId> {
    let node = node?;
    match (&node.value, js::text(node)) {
        (Json::Number(_), text) => {
            Some(text.parse().map_or(OriginalId::Text(text), OriginalId::Number))
        }
        (Json::String(_), text) if !text.is_empty() => Some(OriginalId::Text(text)),
        _ => None,
    }
}

/// A UUID for the n-th new entry. Made from a hash, not from chance: writing the same
/// book twice gives the same file.
pub(crate) fn uuid(kind: &str, at: u64) -> String {
    let hex = Hasher::new("uuid").field(kind.as_bytes()).number(at).finish().to_string();
    let part = |from: usize, to: usize| &hex[from..to];
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_keys_split_into_the_same_keys() {
        let keys: Vec<Key> = ["a", "b, c", "/x{1,2}/i"].iter().map(|key| Key::parse(key)).collect();
        assert_eq!(joined(&keys), r"a, b\, c, /x{1,2}/i");
        assert_eq!(split(&joined(&keys)), ["a", "b, c", "/x{1,2}/i"]);
        assert_eq!(uuid("test", 1).len(), 36);
        assert_ne!(uuid("test", 1), uuid("test", 2));
    }

    #[test]
    fn commas_split_except_in_patterns_and_after_a_backslash() {
        for (list, expected) in [
            ("harbor, quay ,pier", vec!["harbor", "quay", "pier"]),
            ("/a{1,2}/i, b", vec!["/a{1,2}/i", "b"]),
            (r"/a\/,b/, c", vec![r"/a\/,b/", "c"]),
            ("and/or, c", vec!["and/or", "c"]),
            (r"a\, b, c", vec!["a, b", "c"]),
            (" , ,", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(split(list), expected, "{list}");
        }
    }
}
