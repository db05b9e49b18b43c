//! Two edited versions of a book made into one.
//!
//! Fields are merged one by one against the version both started from; keys as sets,
//! texts by line. Where both sides changed the same thing differently, ours stays, and the
//! conflict is listed and marked with all three values under a key of the entry that no
//! program acts on: marks inside a text would be read by the model. What one side removed
//! and the other changed stays, switched off.

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{SETS, TEXTS, lines, pairing::pairs};
use crate::conversion;

/// A merged book and what could not be merged.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Merged {
    /// The book; ours where there is a conflict.
    pub book: Book,
    /// What both sides changed differently.
    pub conflicts: Vec<Conflict>,
}

/// Something that both sides changed differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conflict {
    /// The entry in our version; `None` for the book as a whole.
    pub entry: Option<EntryId>,
    /// The field of the model, with dots; `entry` where one side removed what the other
    /// changed.
    pub field: String,
    /// What both started from.
    pub base: Value,
    /// What we have.
    pub ours: Value,
    /// What they have.
    pub theirs: Value,
}

/// Merges what changed from `base` to `theirs` into `ours`.
pub fn merge(base: &Book, ours: &Book, theirs: &Book) -> Merged {
    let mut merging = Merging { conflicts: Vec::new(), entry: None };
    let mut book = ours.clone();
    let meanings = [base, ours, theirs].map(conversion::book_meaning);
    let fields = merging.fields("", &meanings[0], &meanings[1], &meanings[2]);
    apply_book(&mut book, fields);
    book.extensions =
        merging.fields("extensions", &base.extensions, &ours.extensions, &theirs.extensions);
    book.entries = merging.entries(base, ours, theirs);
    merging.order(&mut book.entries, [base, ours, theirs]);
    mark_conflicts(&mut book, &merging.conflicts);
    Merged { book, conflicts: merging.conflicts }
}

/// Marks what could not be merged, where it belongs to.
pub fn mark_conflicts(book: &mut Book, conflicts: &[Conflict]) {
    for conflict in conflicts {
        mark(book, conflict);
    }
}

/// Merges three trees that are not lore, member by member.
pub(super) fn merge_trees(
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> (Map<String, Value>, Vec<Conflict>) {
    let mut merging = Merging { conflicts: Vec::new(), entry: None };
    let merged = merging.tree("", base, ours, theirs);
    (merged, merging.conflicts)
}

/// The key under which a file keeps what could not be merged.
const MARK: &str = "loreloom_conflicts";

fn mark(book: &mut Book, conflict: &Conflict) {
    let entry = book.entries.iter_mut().find(|entry| Some(&entry.id) == conflict.entry.as_ref());
    let place = entry.map_or(&mut book.extensions, |entry| &mut entry.extensions);
    let Conflict { field, base, ours, theirs, .. } = conflict;
    let mark = json!({ "field": field, "base": base, "ours": ours, "theirs": theirs });
    let marks = place.entry(MARK).or_insert_with(|| json!([]));
    match marks {
        Value::Array(marks) => marks.push(mark),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            *marks = json!([mark]);
        }
    }
}

/// How many conflicts of an earlier merge a book still has marked.
pub fn marked_conflicts(book: &Book) -> usize {
    let all = book.entries.iter().map(|entry| &entry.extensions).chain([&book.extensions]);
    all.filter_map(|extensions| extensions.get(MARK)?.as_array()).map(Vec::len).sum()
}

fn apply_book(book: &mut Book, fields: Map<String, Value>) {
    let Ok(Value::Object(mut whole)) = serde_json::to_value(&*book) else { return };
    whole.extend(fields);
    if let Ok(merged) = serde_json::from_value(Value::Object(whole)) {
        *book = merged;
    }
}

struct Merging {
    conflicts: Vec<Conflict>,
    entry: Option<EntryId>,
}

impl Merging {
    fn entries(&mut self, base: &Book, ours: &Book, theirs: &Book) -> Vec<Entry> {
        let base_of_ours = by_new(&pairs(base, ours));
        let pairs_of_theirs = pairs(base, theirs);
        let base_of_theirs = by_new(&pairs_of_theirs);
        let theirs_of: FxHashMap<usize, usize> = pairs_of_theirs.into_iter().collect();
        let mut merged = Vec::new();
        let mut used = vec![false; theirs.entries.len()];
        for (at, entry) in ours.entries.iter().enumerate() {
            self.entry = Some(entry.id.clone());
            let base_at = base_of_ours.get(&at).copied();
            match base_at.map(|base_at| (base_at, theirs_of.get(&base_at).copied())) {
                Some((base_at, Some(their_at))) => {
                    used[their_at] = true;
                    let triple = [&base.entries[base_at], entry, &theirs.entries[their_at]];
                    merged.push(self.one(triple));
                }
                Some((base_at, None)) if same(&base.entries[base_at], entry) => {}
                Some((base_at, None)) => {
                    self.removed(&base.entries[base_at], Some(entry), None);
                    merged.push(entry.clone());
                }
                None => merged.push(entry.clone()),
            }
        }
        for (at, entry) in theirs.entries.iter().enumerate().filter(|(at, _)| !used[*at]) {
            let base_at = base_of_theirs.get(&at).copied();
            self.entry = Some(entry.id.clone());
            match base_at {
                // We removed it: it stays away unless they changed it.
                Some(base_at) if same(&base.entries[base_at], entry) => {}
                Some(base_at) => {
                    let mut kept = added(entry, &merged, ours);
                    kept.activation.enabled = false;
                    self.entry = Some(kept.id.clone());
                    self.removed(&base.entries[base_at], None, Some(entry));
                    merged.push(kept);
                }
                None if merged.iter().any(|found: &Entry| same(found, entry)) => {}
                None => merged.push(added(entry, &merged, ours)),
            }
        }
        self.entry = None;
        merged
    }

    /// Puts the entries into the order that one side gave them, ours if both did.
    fn order(&mut self, merged: &mut Vec<Entry>, [base, ours, theirs]: [&Book; 3]) {
        let by_theirs = pairs(base, theirs);
        let is_moved = |pairs: &[(usize, usize)]| {
            let mut sorted = pairs.to_vec();
            sorted.sort_unstable_by_key(|(_, new)| *new);
            !sorted.is_sorted_by_key(|(old, _)| *old)
        };
        // Only rows that both have can show a different order.
        if !is_moved(&by_theirs) || !is_moved(&pairs(ours, theirs)) {
            return;
        }
        if is_moved(&pairs(base, ours)) {
            let titles = |book: &Book| book.entries.iter().map(Entry::title).collect::<Value>();
            self.conflicts.push(Conflict {
                entry: None,
                field: "order".to_owned(),
                base: titles(base),
                ours: titles(ours),
                theirs: titles(theirs),
            });
            return;
        }
        let place_of: FxHashMap<&EntryId, usize> =
            pairs(ours, theirs).iter().map(|(o, t)| (&ours.entries[*o].id, *t)).collect();
        // Rows that they do not have stay behind the row they followed.
        let mut last = 0;
        let mut placed: Vec<(usize, Entry)> = Vec::with_capacity(merged.len());
        for entry in merged.drain(..) {
            last = place_of.get(&entry.id).copied().unwrap_or(last);
            placed.push((last, entry));
        }
        placed.sort_by_key(|(place, _)| *place);
        merged.extend(placed.into_iter().map(|(_, entry)| entry));
    }

    /// One side removed what the other changed.
    fn removed(&mut self, base: &Entry, ours: Option<&Entry>, theirs: Option<&Entry>) {
        let value = |entry: Option<&Entry>| {
            entry.map_or(Value::Null, |entry| Value::Object(conversion::meaning(entry)))
        };
        self.conflicts.push(Conflict {
            entry: self.entry.clone(),
            field: "entry".to_owned(),
            base: value(Some(base)),
            ours: value(ours),
            theirs: value(theirs),
        });
    }

    fn one(&mut self, [base, ours, theirs]: [&Entry; 3]) -> Entry {
        if same(ours, theirs) || same(base, theirs) {
            return ours.clone();
        }
        let meanings = [base, ours, theirs].map(conversion::meaning);
        let fields = self.fields("", &meanings[0], &meanings[1], &meanings[2]);
        let mut merged = ours.clone();
        merged.extensions =
            self.fields("extensions", &base.extensions, &ours.extensions, &theirs.extensions);
        let Ok(Value::Object(mut whole)) = serde_json::to_value(&merged) else { return merged };
        whole.extend(fields);
        serde_json::from_value(Value::Object(whole)).unwrap_or(merged)
    }

    fn fields(
        &mut self,
        prefix: &str,
        base: &Map<String, Value>,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut merged = ours.clone();
        let mut keys: Vec<&String> = ours.keys().collect();
        keys.extend(theirs.keys().filter(|key| !ours.contains_key(*key)));
        keys.extend(
            base.keys().filter(|key| !ours.contains_key(*key) && !theirs.contains_key(*key)),
        );
        for key in keys {
            let field = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            let values = [base.get(key), ours.get(key), theirs.get(key)];
            match self.value(&field, values) {
                Some(value) => merged.insert(key.clone(), value),
                None => merged.shift_remove(key),
            };
        }
        merged
    }

    fn tree(
        &mut self,
        prefix: &str,
        base: &Map<String, Value>,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
    ) -> Map<String, Value> {
        let (mut merged, nothing) = (ours.clone(), Map::new());
        let mut keys: Vec<&String> = ours.keys().collect();
        keys.extend(theirs.keys().filter(|key| !ours.contains_key(*key)));
        for key in keys {
            let field = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            let values = [base.get(key), ours.get(key), theirs.get(key)];
            let value = match values {
                [base, Some(Value::Object(ours)), Some(Value::Object(theirs))] => {
                    let base = base.and_then(Value::as_object).unwrap_or(&nothing);
                    Some(Value::Object(self.tree(&field, base, ours, theirs)))
                }
                values => self.value(&field, values),
            };
            match value {
                Some(value) => merged.insert(key.clone(), value),
                None => merged.shift_remove(key),
            };
        }
        merged
    }

    fn value(&mut self, field: &str, [base, ours, theirs]: [Option<&Value>; 3]) -> Option<Value> {
        if ours == theirs || base == theirs {
            return ours.cloned();
        }
        if base == ours {
            return theirs.cloned();
        }
        match (base, ours, theirs) {
            (Some(Value::Object(b)), Some(Value::Object(o)), Some(Value::Object(t)))
                if o.keys().eq(t.keys()) || field.starts_with("extensions") =>
            {
                return Some(Value::Object(self.fields(field, b, o, t)));
            }
            (Some(Value::Array(b)), Some(Value::Array(o)), Some(Value::Array(t)))
                if SETS.contains(&field) =>
            {
                return Some(Value::Array(set(b, o, t)));
            }
            (Some(Value::String(b)), Some(Value::String(o)), Some(Value::String(t)))
                if is_text(field) =>
            {
                if let Some(text) = lines::merged(b, o, t) {
                    return Some(Value::String(text));
                }
            }
            _ => {}
        }
        let shown = |value: Option<&Value>| value.cloned().unwrap_or_default();
        self.conflicts.push(Conflict {
            entry: self.entry.clone(),
            field: field.to_owned(),
            base: shown(base),
            ours: shown(ours),
            theirs: shown(theirs),
        });
        ours.cloned()
    }
}

/// An entry of theirs that we do not have. Its id may be one that we gave to another.
fn added(entry: &Entry, merged: &[Entry], ours: &Book) -> Entry {
    let mut id = entry.id.clone();
    let taken = |id: &EntryId| merged.iter().chain(&ours.entries).any(|found| found.id == *id);
    let mut count = 1;
    while taken(&id) {
        count += 1;
        id = EntryId(format!("{}#{count}", entry.id));
    }
    Entry { id, ..entry.clone() }
}

/// From a place in the newer version to the place in the older one.
fn by_new(pairs: &[(usize, usize)]) -> FxHashMap<usize, usize> {
    pairs.iter().map(|(old, new)| (*new, *old)).collect()
}

fn same(a: &Entry, b: &Entry) -> bool {
    conversion::meaning(a) == conversion::meaning(b) && a.extensions == b.extensions
}

/// Whether a field is merged by line: the texts of entries and of characters.
fn is_text(field: &str) -> bool {
    const OF_CARDS: [&str; 8] = [
        "description",
        "personality",
        "scenario",
        "first_mes",
        "mes_example",
        "creator_notes",
        "system_prompt",
        "post_history_instructions",
    ];
    let of_card = field.strip_prefix("data.").is_some_and(|name| OF_CARDS.contains(&name));
    TEXTS.contains(&field) || of_card
}

/// Ours, without what they removed, with what they added.
fn set(base: &[Value], ours: &[Value], theirs: &[Value]) -> Vec<Value> {
    let stays = |item: &&Value| !base.contains(item) || theirs.contains(item);
    let is_new = |item: &&Value| !base.contains(item) && !ours.contains(item);
    ours.iter().filter(stays).chain(theirs.iter().filter(is_new)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::Key;
    use serde_json::json;

    use super::{super::tests::book, *};

    #[test]
    fn changes_apart_meet_in_one_book() {
        let base = book(&json!({
            "0": {"uid": 0, "key": ["a", "b"], "content": "1\n2\n3\n4", "order": 1},
            "1": {"uid": 1, "content": "they remove this"},
            "2": {"uid": 2, "content": "we remove this"},
        }));
        let ours = book(&json!({
            "0": {"uid": 0, "key": ["a", "b", "ours"], "content": "one\n2\n3\n4", "order": 1},
            "1": {"uid": 1, "content": "they remove this"},
            "3": {"uid": 3, "content": "our new one"},
        }));
        let theirs = book(&json!({
            "0": {"uid": 0, "key": ["b", "theirs"], "content": "1\n2\n3\nfour", "order": 9, "v": 1},
            "2": {"uid": 2, "content": "we remove this"},
            "3": {"uid": 3, "content": "their new one"},
        }));
        let merged = merge(&base, &ours, &theirs);
        assert_eq!(merged.conflicts, []);
        let first = &merged.book.entries[0];
        let keys: Vec<&str> = first.activation.keys.iter().map(Key::raw).collect();
        assert_eq!(keys, ["b", "ours", "theirs"]);
        assert_eq!(first.content, "one\n2\n3\nfour");
        assert_eq!(first.placement.order, Some(9.0));
        assert_eq!(first.extensions["v"], 1);
        let rest: Vec<(&str, &str)> = merged.book.entries[1..]
            .iter()
            .map(|entry| (entry.id.as_str(), entry.content.as_str()))
            .collect();
        assert_eq!(rest, [("b/3", "our new one"), ("b/3#2", "their new one")]);
    }

    #[test]
    fn the_same_field_changed_twice_is_a_conflict_and_ours_stays() {
        let version = |order: u8, content: &str| {
            book(&json!({"0": {"uid": 0, "order": order, "content": content}}))
        };
        let merged = merge(&version(1, "x"), &version(2, "ours"), &version(3, "theirs"));
        assert_eq!(merged.book.entries[0].content, "ours");
        let found: Vec<String> = merged
            .conflicts
            .iter()
            .map(|conflict| {
                format!(
                    "{}: {} {} {}",
                    conflict.field, conflict.base, conflict.ours, conflict.theirs
                )
            })
            .collect();
        assert_eq!(found, [r#"content: "x" "ours" "theirs""#, "placement.order: 1.0 2.0 3.0"]);
        assert_eq!(merged.conflicts[0].entry.as_ref().map(EntryId::as_str), Some("b/0"));
    }

    #[test]
    fn the_order_that_one_side_changed_counts() {
        let version = |names: &[&str]| {
            let mut book = Book::new("b", "B");
            for name in names {
                let mut entry = Entry::new(format!("b/{name}"));
                (*name).clone_into(&mut entry.name);
                book.entries.push(entry);
            }
            book
        };
        let base = version(&["a", "b", "c"]);
        for (ours, theirs, expected, conflicts) in [
            (&["a", "b", "c"][..], &["c", "b", "a"][..], &["c", "b", "a"][..], 0),
            (&["c", "b", "a"], &["a", "b", "c"], &["c", "b", "a"], 0),
            (&["c", "b", "a"], &["c", "b", "a"], &["c", "b", "a"], 0),
            (&["a", "new", "b", "c"], &["c", "b", "a"], &["c", "b", "a", "new"], 0),
            (&["b", "a", "c"], &["c", "b", "a"], &["b", "a", "c"], 1),
        ] {
            let merged = merge(&base, &version(ours), &version(theirs));
            let order: Vec<&str> = merged.book.entries.iter().map(Entry::title).collect();
            assert_eq!(order, expected, "{ours:?} {theirs:?}");
            let fields: Vec<&str> = merged.conflicts.iter().map(|one| one.field.as_str()).collect();
            assert_eq!(fields, vec!["order"; conflicts], "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn removing_what_the_other_changed_is_a_conflict() {
        let base = book(&json!({"0": {"uid": 0, "content": "x"}}));
        let edited = book(&json!({"0": {"uid": 0, "content": "y"}}));
        let without = book(&json!({}));
        let kept = merge(&base, &edited, &without);
        assert_eq!((kept.book.entries.len(), kept.conflicts.len()), (1, 1));
        let gone = merge(&base, &without, &edited);
        assert_eq!((gone.book.entries.len(), gone.conflicts.len()), (1, 1));
        assert_eq!(gone.conflicts[0].theirs["content"], "y");
        let kept = &gone.book.entries[0];
        assert_eq!((kept.content.as_str(), kept.activation.enabled), ("y", false));
        assert_eq!(kept.extensions["loreloom_conflicts"][0]["field"], "entry");
        assert_eq!(marked_conflicts(&gone.book), 1);
    }
}
