//! The rows of a book: in a list the order of the file, in an object that of JavaScript.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use rustc_hash::FxHashMap;

use crate::json::{Json, Node};

/// An entry's value with its name in the file and its rank in JavaScript's order.
pub(crate) struct Row<'tree, 'text> {
    pub(crate) label: String,
    pub(crate) rank: (u8, u64),
    pub(crate) node: &'tree Node<'text>,
    /// Place among the rows of the file, from 0.
    pub(crate) at: usize,
}

/// The entries in file order, each ranked as JavaScript iterates: keys that are array indexes come
/// first, in ascending order, then the others in file order. Of a duplicate key the last value
/// counts, at the place of the first.
pub(crate) fn in_file_order<'tree, 'text>(entries: &'tree Node<'text>) -> Vec<Row<'tree, 'text>> {
    match &entries.value {
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, node)| Row { label: at.to_string(), rank: (0, at as u64), node, at })
            .collect(),
        Json::Object(members) => {
            let mut rows: Vec<Row<'tree, 'text>> = Vec::with_capacity(members.len());
            let mut place: FxHashMap<&str, usize> = FxHashMap::default();
            for (at, member) in members.iter().enumerate() {
                let key = member.key.as_ref();
                if let Some(earlier) = place.get(key) {
                    rows[*earlier].node = &member.value;
                    continue;
                }
                place.insert(key, rows.len());
                let rank = array_index(key).map_or((1, at as u64), |index| (0, u64::from(index)));
                rows.push(Row { label: key.to_owned(), rank, node: &member.value, at });
            }
            rows
        }
        _ => Vec::new(),
    }
}

/// The number of a key that JavaScript takes for an array index: canonical digits below
/// 2^32 - 1.
fn array_index(key: &str) -> Option<u32> {
    let canonical = key == "0" || !key.starts_with('0') && key.bytes().all(|b| b.is_ascii_digit());
    if !canonical {
        return None;
    }
    key.parse().ok().filter(|index| *index != u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn order(json: &str) -> Vec<(String, String)> {
        let parsed = parse(json, 8).unwrap();
        let mut rows = in_file_order(&parsed.root);
        rows.sort_by_key(|row| row.rank);
        rows.iter().map(|row| (row.label.clone(), row.node.shown())).collect()
    }

    #[test]
    fn integer_keys_come_first_and_ascending() {
        let keys: Vec<String> =
            order(r#"{"b":0,"10":0,"2":0,"a":0,"01":0,"4294967295":0,"4294967294":0,"":0,"-1":0}"#)
                .into_iter()
                .map(|(key, _)| key)
                .collect();
        assert_eq!(keys, ["2", "10", "4294967294", "b", "a", "01", "4294967295", "", "-1"]);
    }

    #[test]
    fn a_repeated_key_keeps_the_first_place_and_the_last_value() {
        let found = order(r#"{"x":1,"y":2,"x":3}"#);
        assert_eq!(found, [("x".into(), "3".into()), ("y".into(), "2".into())]);
    }
}
