//! Fields of the model as decorators, for formats that have no other words for them.

use loreloom_core::book::{DepthFrom, Entry, Force, Key, MatchOnce, Position};
use serde_json::{Map, Value};

use crate::keys;

/// The entry with decorators for the fields in `rest`, and what of `rest` has none.
pub(crate) fn lower(entry: &Entry, rest: &Map<String, Value>) -> (Entry, Map<String, Value>) {
    let mut lines: Vec<String> = Vec::new();
    let mut left = rest.clone();
    let mut take = |path: [&str; 3], line: Vec<String>| {
        if !line.is_empty() && remove(&mut left, &path) {
            lines.extend(line);
        }
    };
    for (path, line) in candidates(entry) {
        take(path, line);
    }
    left.retain(|_, value| value.as_object().is_none_or(|inner| !inner.is_empty()));
    if lines.is_empty() {
        return (entry.clone(), left);
    }
    let content = format!("{}\n{}", lines.join("\n"), entry.content);
    (Entry { content, ..entry.clone() }, left)
}

/// Removes a field; whether it was there.
fn remove(map: &mut Map<String, Value>, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    if rest.iter().all(|key| key.is_empty()) {
        return map.shift_remove(*first).is_some();
    }
    map.get_mut(*first).and_then(Value::as_object_mut).is_some_and(|inner| remove(inner, rest))
}

/// Fields and the decorators that say the same.
fn candidates(entry: &Entry) -> Vec<([&'static str; 3], Vec<String>)> {
    let when = &entry.activation;
    let count = |name: &str, value: Option<u32>| -> Vec<String> {
        value.map(|value| format!("@@{name} {value}")).into_iter().collect()
    };
    let number = |name: &str, value: Option<f64>| -> Vec<String> {
        value.map(|value| format!("@@{name} {value}")).into_iter().collect()
    };
    let lists = |name: &str, lists: &[Vec<Key>]| -> Vec<String> {
        lists.iter().map(|list| format!("@@{name} {}", keys::joined(list))).collect()
    };
    let flag = |name: Option<&str>| -> Vec<String> {
        name.map(|name| format!("@@{name}")).into_iter().collect()
    };
    vec![
        (["placement", "position", ""], position(entry)),
        (["placement", "role", ""], role(entry)),
        (["activation", "scan", "messages"], number("scan_depth", when.scan.messages)),
        (["activation", "probability", ""], number("probability", when.probability)),
        (["activation", "gates", "after"], count("activate_only_after", when.gates.after)),
        (["activation", "gates", "every"], count("activate_only_every", when.gates.every)),
        (["activation", "gates", "greeting"], count("is_greeting", when.gates.greeting)),
        (["activation", "require", ""], lists("additional_keys", &when.require)),
        (["activation", "exclude_any", ""], lists("exclude_keys", &when.exclude_any)),
        (["activation", "exclude_all", ""], lists("exclude_keys_all", &when.exclude_all)),
        (
            ["activation", "force", ""],
            flag(when.force.map(|force| match force {
                Force::Activate => "activate",
                Force::Suppress => "dont_activate",
            })),
        ),
        (
            ["activation", "once", ""],
            flag(when.once.map(|once| match once {
                MatchOnce::Keep => "keep_activate_after_match",
                MatchOnce::OnceOnly => "dont_activate_after_match",
            })),
        ),
        (
            ["activation", "whole_words", ""],
            flag(
                when.whole_words.map(
                    |whole| {
                        if whole { "match_full_word" } else { "match_partial_word" }
                    },
                ),
            ),
        ),
        (["budget", "priority", ""], number("priority", entry.budget.priority)),
        (
            ["budget", "drop_first", ""],
            flag(entry.budget.drop_first.then_some("ignore_on_max_context")),
        ),
        (["recursion", "prevent", ""], flag(entry.recursion.prevent.then_some("unrecursive"))),
        (
            ["recursion", "scan_lore", ""],
            flag((entry.recursion.scan_lore == Some(false)).then_some("no_recursive_search")),
        ),
    ]
}

fn position(entry: &Entry) -> Vec<String> {
    let depth = entry.placement.depth.map_or(4, |depth| depth.0);
    let line = match &entry.placement.position {
        Position::AtDepth { from: DepthFrom::Newest } => format!("@@depth {depth}"),
        Position::AtDepth { from: DepthFrom::Oldest } => format!("@@reverse_depth {depth}"),
        Position::BeforeDescription => "@@position before_desc".to_owned(),
        Position::AfterDescription => "@@position after_desc".to_owned(),
        Position::Personality => "@@position personality".to_owned(),
        Position::Scenario => "@@position scenario".to_owned(),
        Position::Slot(name) => format!("@@position pt_{name}"),
        Position::Default
        | Position::BeforeCharacter
        | Position::AfterCharacter
        | Position::NoteTop
        | Position::NoteBottom
        | Position::ExamplesTop
        | Position::ExamplesBottom
        | Position::Outlet(_)
        | Position::Nowhere => return Vec::new(),
    };
    vec![line]
}

fn role(entry: &Entry) -> Vec<String> {
    entry.placement.role.map(|role| format!("@@role {}", role.as_str())).into_iter().collect()
}
