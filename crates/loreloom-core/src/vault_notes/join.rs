//! Notes of several vaults with the same title, and links between notes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{NameIndex, Note};
use crate::{book::is_js_space, digest::Hasher, js_value::is_truthy, tokens::TokenCounter};

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
    /// The title as the first vault spells it, the last time if it does so several times.
    pub title: String,
    /// The vaults; `(unknown)` is the one without a name.
    pub vaults: Vec<String>,
}

/// What a vault without a name is listed as.
const NAMELESS: &str = "(unknown)";

/// Titles that more than one vault has, ignoring case.
pub fn duplicates(notes: &[Note]) -> Vec<Duplicate> {
    let mut found: Vec<Duplicate> = Vec::new();
    let mut by_title: FxHashMap<String, usize> = FxHashMap::default();
    for note in notes {
        let at = *by_title.entry(note.title.to_lowercase()).or_insert_with(|| {
            found.push(Duplicate { title: note.title.clone(), vaults: Vec::new() });
            found.len() - 1
        });
        let vault = if note.vault.is_empty() { NAMELESS } else { &note.vault };
        let Duplicate { title, vaults } = &mut found[at];
        if !vaults.iter().any(|known| known == vault) {
            vaults.push(vault.to_owned());
        }
        if vaults[0] == vault {
            note.title.clone_into(title);
        }
    }
    found.retain(|one| one.vaults.len() > 1);
    found
}

/// Joins the notes of all vaults into one list. A note whose text grows gets a new token count.
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
                Conflict::Merge => merge(&mut joined[at], note, counter),
            },
        }
    }
    joined
}

/// Puts a second note of the same title into the first.
fn merge(first: &mut Note, second: Note, counter: &dyn TokenCounter) {
    unite(&mut first.keys, second.keys);
    unite(&mut first.aliases, second.aliases);
    unite(&mut first.tags, second.tags);
    let (mine, theirs) = (&mut first.relations, second.relations);
    unite(&mut mine.links, theirs.links);
    unite(&mut mine.resolved_links, theirs.resolved_links);
    unite(&mut mine.requires, theirs.requires);
    unite(&mut mine.excludes, theirs.excludes);
    // Both files decide its text now.
    first.hash = Hasher::new("merged note").field(&first.hash.0).field(&second.hash.0).finish();
    if !second.content.trim_matches(is_js_space).is_empty() {
        first.content = format!("{}\n\n---\n\n{}", first.content, second.content);
        first.tokens = counter.count(&first.content);
    }
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
            (Some(mine), value) if !is_truthy(mine) && !value.is_null() => *mine = value,
            (Some(_), _) | (None, Value::Null) => {}
            (None, value) => {
                first.fields.insert(name, value);
            }
        }
    }
}

/// Gives notes of one vault that share a heading their file names as titles, and those that share
/// these, too, so much of their paths as makes them differ. In Obsidian a file's name is the
/// note's name, and many notes may begin with the same heading. The heading stays an alias.
pub fn tell_apart(notes: &mut [Arc<Note>]) {
    rename_shared(notes, Note::file_name);
    rename_shared(notes, Note::folder_name);
    rename_shared(notes, Note::path_name);
}

/// Gives notes of one vault that share a title another name.
fn rename_shared(notes: &mut [Arc<Note>], name_of: fn(&Note) -> &str) {
    let mut counts: FxHashMap<(String, String), u32> = FxHashMap::default();
    let key = |note: &Note| (note.vault.clone(), note.title.to_lowercase());
    for note in notes.iter() {
        *counts.entry(key(note)).or_default() += 1;
    }
    for note in notes {
        let name = name_of(note);
        if counts[&key(note)] > 1 && !name.is_empty() && *name != note.title {
            let name = name.to_owned();
            let note = Arc::make_mut(note);
            let heading = std::mem::replace(&mut note.title, name);
            note.aliases.push(heading);
        }
    }
}

/// Resolves links to the titles of notes, as those notes spell them. Notes whose links do not
/// change are not copied.
pub(crate) fn resolve_links(notes: &mut [Arc<Note>], names: &NameIndex) {
    let titles: Vec<String> = notes.iter().map(|note| note.title.clone()).collect();
    for note in notes {
        let mut resolved: Vec<&String> = Vec::new();
        for link in &note.relations.links {
            let target = names.find(link).last().map(|ix| &titles[ix.0 as usize]);
            // Links by file name and by alias may lead to one note.
            resolved.extend(target.filter(|title| !resolved.contains(title)));
        }
        if note.relations.resolved_links.iter().ne(resolved.iter().copied()) {
            let resolved = resolved.into_iter().cloned().collect();
            Arc::make_mut(note).relations.resolved_links = resolved;
        }
    }
}

/// Adds new items, and drops duplicates.
fn unite<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) {
    if more.is_empty() {
        return;
    }
    for item in std::mem::take(list).into_iter().chain(more) {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::units::Tokens;

    struct Letters;

    impl TokenCounter for Letters {
        fn name(&self) -> &'static str {
            "letters"
        }

        fn count(&self, text: &str) -> Tokens {
            Tokens(u32::try_from(text.len()).unwrap_or(u32::MAX))
        }
    }

    fn note(vault: &str, title: &str) -> Note {
        Note::new(vault, title, title)
    }

    fn merged(first: Note, second: Note) -> Note {
        join(vec![first, second], Conflict::Merge, &Letters).remove(0)
    }

    #[test]
    fn a_blank_second_note_adds_no_text_and_is_not_counted() {
        for (blank, content, tokens) in
            [("", "North.", 40), (" \n\u{feff}", "North.", 40), ("x", "North.\n\n---\n\nx", 14)]
        {
            let (mut first, mut second) = (note("n", "Keep"), note("s", "keep"));
            (first.content, first.tokens) = ("North.".to_owned(), Tokens(40));
            blank.clone_into(&mut second.content);
            let merged = merged(first, second);
            assert_eq!((merged.content.as_str(), merged.tokens), (content, Tokens(tokens)));
        }
    }

    #[test]
    fn a_field_that_says_nothing_gives_way() {
        for (mine, theirs, field) in [
            (json!(null), json!("calm"), json!("calm")),
            (json!(""), json!("calm"), json!("calm")),
            (json!(0), json!(3), json!(3)),
            (json!(false), json!(["a"]), json!(["a"])),
            (json!(""), json!(null), json!("")),
            (json!("wild"), json!("calm"), json!("wild")),
            (json!(["a", "a"]), json!(["b", "a"]), json!(["a", "b"])),
            (json!(["a", "a"]), json!([]), json!(["a", "a"])),
        ] {
            let (mut first, mut second) = (note("n", "Keep"), note("s", "keep"));
            first.fields.insert("mood".to_owned(), mine.clone());
            second.fields.insert("mood".to_owned(), theirs.clone());
            assert_eq!(merged(first, second).fields["mood"], field, "{mine} {theirs}");
        }
        let mut second = note("s", "keep");
        second.fields.insert("mood".to_owned(), Value::Null);
        assert_eq!(merged(note("n", "Keep"), second).fields.get("mood"), None);
    }

    #[test]
    fn notes_that_share_a_heading_are_called_by_their_files() {
        let of = |path: &str, title: &str| Arc::new(Note::new("v", path, title));
        let mut notes =
            [of("Npc/Ilka.md", "Overview"), of("Bo.md", "overview"), of("C.md", "Harbour")];
        let ids = notes.clone().map(|note| note.id());
        tell_apart(&mut notes);
        assert_eq!(notes.clone().map(|note| note.id()), ids, "counters go by ids");
        let names: Vec<(&str, &[String])> =
            notes.iter().map(|note| (note.title.as_str(), note.aliases.as_slice())).collect();
        let (first, second) = (["Overview".to_owned()], ["overview".to_owned()]);
        assert_eq!(names, [("Ilka", &first[..]), ("Bo", &second[..]), ("Harbour", &[][..])]);
    }

    #[test]
    fn notes_that_share_heading_and_file_name_are_called_by_their_paths() {
        let of = |path: &str, title: &str| Arc::new(Note::new("v", path, title));
        let mut notes = [
            of("World/Fiends/guard.md", "Guard"),
            of("Old/Fiends/guard.md", "Guard"),
            of("World/People/Guard.md", "Guard"),
            of("Rules/watch.md", "Guard"),
        ];
        tell_apart(&mut notes);
        let names: Vec<(&str, Vec<&str>)> = notes
            .iter()
            .map(|note| (note.title.as_str(), note.aliases.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(
            names,
            [
                ("World/Fiends/guard", vec!["Guard", "guard", "Fiends/guard"]),
                ("Old/Fiends/guard", vec!["Guard", "guard", "Fiends/guard"]),
                ("People/Guard", vec!["Guard"]),
                ("watch", vec!["Guard"]),
            ]
        );
    }

    #[test]
    fn lists_are_united_without_repeats() {
        let (mut first, mut second) = (note("n", "Keep"), note("s", "keep"));
        first.tags = ["a", "a"].map(str::to_owned).to_vec();
        second.tags = ["b", "a"].map(str::to_owned).to_vec();
        assert_eq!(merged(first, second).tags, ["a", "b"]);
    }

    #[test]
    fn a_title_of_several_vaults_is_spelt_as_the_first_last_did() {
        let notes = [note("", "Keep"), note("s", "keep"), note("", "KEEP"), note("s", "Hall")];
        let vaults = vec!["(unknown)".to_owned(), "s".to_owned()];
        assert_eq!(duplicates(&notes), [Duplicate { title: "KEEP".to_owned(), vaults }]);
    }
}
