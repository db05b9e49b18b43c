//! Several vaults that have notes of the same title.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Note;
use crate::{digest::Hasher, tokens::TokenCounter};

/// What happens to notes of the same title.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// All stay.
    #[default]
    All,
    /// The first stays.
    First,
    /// The last stays, at the place of the first.
    Last,
    /// They become one.
    Merge,
}

/// A title that several vaults have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The title as the first vault spells it.
    pub title: String,
    /// The vaults.
    pub vaults: Vec<String>,
}

/// Titles that more than one vault has, ignoring case.
pub fn duplicates(notes: &[Note]) -> Vec<Duplicate> {
    let mut found: Vec<Duplicate> = Vec::new();
    let mut by_title: FxHashMap<String, usize> = FxHashMap::default();
    for note in notes {
        let at = *by_title.entry(note.title.to_lowercase()).or_insert_with(|| {
            found.push(Duplicate { title: note.title.clone(), vaults: Vec::new() });
            found.len() - 1
        });
        if !found[at].vaults.contains(&note.vault) {
            found[at].vaults.push(note.vault.clone());
        }
    }
    found.retain(|one| one.vaults.len() > 1);
    found
}

/// Joins the notes of all vaults into one list. Notes that become one are counted anew.
pub fn join(notes: Vec<Note>, conflict: Conflict, counter: &dyn TokenCounter) -> Vec<Note> {
    if conflict == Conflict::All {
        return notes;
    }
    let mut joined: Vec<Note> = Vec::with_capacity(notes.len());
    let mut by_title: FxHashMap<String, usize> = FxHashMap::default();
    for note in notes {
        match by_title.get(&note.title.to_lowercase()) {
            None => {
                by_title.insert(note.title.to_lowercase(), joined.len());
                joined.push(note);
            }
            Some(&at) => match conflict {
                Conflict::All | Conflict::First => {}
                Conflict::Last => joined[at] = note,
                Conflict::Merge => {
                    merge(&mut joined[at], note);
                    joined[at].tokens = counter.count(&joined[at].content);
                }
            },
        }
    }
    joined
}

/// Puts a second note of the same title into the first.
fn merge(first: &mut Note, second: Note) {
    unite(&mut first.keys, second.keys);
    unite(&mut first.tags, second.tags);
    let (mine, theirs) = (&mut first.relations, second.relations);
    unite(&mut mine.links, theirs.links);
    unite(&mut mine.resolved_links, theirs.resolved_links);
    unite(&mut mine.requires, theirs.requires);
    unite(&mut mine.excludes, theirs.excludes);
    // Both files decide what it says now.
    first.hash = Hasher::new("merged note").field(&first.hash.0).field(&second.hash.0).finish();
    first.content = format!("{}\n\n---\n\n{}", first.content, second.content);
    first.kind.constant |= second.kind.constant;
    first.kind.seed |= second.kind.seed;
    first.kind.bootstrap |= second.kind.bootstrap;
    first.kind.guide |= second.kind.guide;
    if first.summary.is_empty() {
        first.summary = second.summary;
    }
    for (name, value) in second.fields {
        match (first.fields.get_mut(&name), value) {
            (Some(Value::Array(mine)), Value::Array(theirs)) => unite(mine, theirs),
            (Some(_), _) => {}
            (None, value) => {
                first.fields.insert(name, value);
            }
        }
    }
}

/// Finds the notes that links lead to: those of each note that some note's title answers,
/// as that note spells it.
///
/// Notes whose links lead where they led stay as they are.
pub fn resolve_links(notes: &mut [Arc<Note>]) {
    let titles: FxHashMap<String, String> =
        notes.iter().map(|note| (note.title.to_lowercase(), note.title.clone())).collect();
    for note in notes {
        let links = note.relations.links.iter();
        let resolved: Vec<&String> =
            links.filter_map(|link| titles.get(&link.to_lowercase())).collect();
        if note.relations.resolved_links.iter().ne(resolved.iter().copied()) {
            let resolved = resolved.into_iter().cloned().collect();
            Arc::make_mut(note).relations.resolved_links = resolved;
        }
    }
}

fn unite<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}
