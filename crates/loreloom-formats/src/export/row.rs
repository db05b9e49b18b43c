//! One entry as a row of a file, with what the row cannot say.

use loreloom_core::{book::Entry, ids::EntryId};
use serde_json::{Map, Value};

use crate::{
    conversion,
    import::OddValues,
    json::{self, Node},
    note::Notes,
    rows,
    schema::{Reading, Schema},
};

/// A row and the parts of the entry's meaning that it does not carry.
pub(super) struct WrittenRow {
    pub(super) row: Map<String, Value>,
    pub(super) rest: Map<String, Value>,
}

/// Where a row is written.
#[derive(Clone, Copy)]
pub(super) struct RowPlace<'a> {
    /// The row it replaces.
    pub(super) node: Option<&'a Node<'a>>,
    pub(super) at: usize,
    pub(super) odd_values: OddValues,
}

/// Writes an entry as the row at that place and reads the row again to see what it lacks.
pub(super) fn write(schema: &dyn Schema, entry: &Entry, place: RowPlace<'_>) -> WrittenRow {
    write_as(schema, entry, entry, place)
}

/// The same for an entry that the row says otherwise than the entry does.
pub(super) fn write_as(
    schema: &dyn Schema,
    said: &Entry,
    entry: &Entry,
    place: RowPlace<'_>,
) -> WrittenRow {
    let mut map = schema.write_entry(said, place.node);
    let from = conversion::from(&entry.extensions).cloned();
    conversion::remove_ours(&mut map);
    let rest = match read_again(schema, &map, place) {
        Some(found) => conversion::unsaid(entry, &found),
        None => Map::new(),
    };
    if schema.has_extensions() {
        conversion::carry(&mut map, rest, from);
        return WrittenRow { row: map, rest: Map::new() };
    }
    WrittenRow { row: map, rest }
}

fn read_again(
    schema: &dyn Schema,
    row: &Map<String, Value>,
    RowPlace { at, odd_values, .. }: RowPlace<'_>,
) -> Option<Entry> {
    let list = Value::Array(vec![Value::Object(row.clone())]).to_string();
    let parsed = json::parse(&list, usize::MAX).ok()?;
    let mut rows = rows::in_file_order(&parsed.root);
    // Some formats mean the order of their rows.
    rows.first_mut()?.at = at;
    let mut reading = Reading { odd_values, in_list: false, notes: &mut Notes::default() };
    Some(schema.read_entry(EntryId(String::new()), rows.first()?, &mut reading))
}
