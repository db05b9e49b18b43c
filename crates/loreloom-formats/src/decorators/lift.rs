//! Decorators as fields of the model.

use loreloom_core::{
    book::{Entry, Inject, InjectOp, Key, RegexKey},
    dialects::cards::{Directives, FrontEndFacts, Grammar, Greeting, InjectTarget, Problem, split},
};

/// An entry whose decorators have become fields.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Lifted {
    /// The entry; its content is the text without decorators.
    pub entry: Entry,
    /// Decorators that were ignored, and why.
    pub ignored: Vec<String>,
}

/// Reads the decorators of an entry into its fields. A decorator beats the field.
///
/// Of a chain the first decorator counts that is known, valid and not in conflict with
/// another. The same name again is ignored, except where lists add up.
pub fn lift(entry: &Entry) -> Lifted {
    let grammar = Grammar::default();
    let block = split(&entry.content, grammar);
    // The reader of the fields may know greeting and icon.
    let said = Directives::of(
        &block,
        grammar,
        FrontEndFacts { greeting: true, user_icon: true, text: false },
    );
    let mut lifted = said.applied_to(entry, block.body);
    if said.use_regex {
        let keys = &mut lifted.activation.keys;
        *keys = keys.iter().map(as_pattern).collect();
    }
    let mut ignored: Vec<String> = said
        .problems
        .iter()
        .map(|(line, problem)| format!("`{line}` {}", words(*problem)))
        .collect();
    if said.greeting == Some(Greeting::Only) {
        ignored.push("`@@is_greeting` needs a number to be a field".into());
    }
    injection(&mut lifted, &said, &mut ignored);
    Lifted { entry: lifted, ignored }
}

fn words(problem: Problem) -> &'static str {
    match problem {
        Problem::Unknown => "is not known",
        Problem::BadArgument => "has no usable argument",
        Problem::Conflict => "gives way to another place",
        Problem::Unsupported => "counts tokens, which a chat does not",
        Problem::NoDecoratorAbove => "is the fallback of nothing",
    }
}

fn injection(entry: &mut Entry, said: &Directives, ignored: &mut Vec<String>) {
    let inject = &said.inject;
    let target = match &inject.target {
        Some(InjectTarget::Lore(target)) => Some((InjectOp::IntoLore, target)),
        Some(InjectTarget::Slot(target)) => Some((InjectOp::At, target)),
        None => None,
    };
    if let Some((op, target)) = target {
        entry.inject = Some(Box::new(Inject { op, target: target.clone() }));
    }
    if !inject.prepend && inject.replace.is_none() {
        return;
    }
    match &mut entry.inject {
        Some(own) => {
            own.op = inject.replace.clone().map_or(InjectOp::Prepend, InjectOp::Replace);
        }
        None => ignored.push("an injection has no `@@inject_lore` or `@@inject_at`".into()),
    }
}

fn as_pattern(key: &Key) -> Key {
    match key {
        Key::Regex(_) => key.clone(),
        Key::Literal(raw) => Key::Regex(Box::new(RegexKey {
            raw: raw.clone(),
            pattern: raw.clone(),
            flags: String::new(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::conversion;

    /// What a text's decorators change, and what is ignored.
    fn changed(content: &str) -> (Value, Vec<String>) {
        let mut entry = Entry::new("e");
        content.clone_into(&mut entry.content);
        let Lifted { entry: lifted, ignored } = lift(&entry);
        entry.content.clone_from(&lifted.content);
        let rest =
            conversion::difference(&conversion::meaning(&lifted), &conversion::meaning(&entry));
        (Value::Object(rest), ignored)
    }

    #[test]
    fn every_decorator_has_its_field() {
        for (content, expected) in [
            ("@@activate_only_after 3", json!({"activation": {"gates": {"after": 3}}})),
            ("@@activate_only_every 2", json!({"activation": {"gates": {"every": 2}}})),
            ("@@is_greeting 1", json!({"activation": {"gates": {"greeting": 1}}})),
            ("@@is_user_icon Mira", json!({"activation": {"gates": {"user_icon": "Mira"}}})),
            ("@@keep", json!({"activation": {"once": "keep"}})),
            ("@@keep_activate_after_match", json!({"activation": {"once": "keep"}})),
            ("@@dont_activate_after_match\n@@keep", json!({"activation": {"once": "once_only"}})),
            (
                "@@depth 4\n@@role user",
                json!({"placement": {"position": {"at_depth": {"from": "newest"}}, "depth": 4, "role": "user"}}),
            ),
            (
                "@@reverse_depth 2",
                json!({"placement": {"position": {"at_depth": {"from": "oldest"}}, "depth": 2}}),
            ),
            (
                "@@depth -3",
                json!({"placement": {"position": {"at_depth": {"from": "newest"}}, "depth": 0}}),
            ),
            ("@@scan_depth 0", json!({"activation": {"scan": {"messages": 0.0}}})),
            ("@@position after_desc", json!({"placement": {"position": "after_description"}})),
            ("@@position pt_x", json!({"placement": {"position": {"slot": "x"}}})),
            ("@@ignore_on_max_context", json!({"budget": {"drop_first": true}})),
            (
                "@@additional_keys a, b\n@@additional_keys c",
                json!({"activation": {"require": [[{"literal": "a"}, {"literal": "b"}], [{"literal": "c"}]]}}),
            ),
            ("@@exclude_keys a", json!({"activation": {"exclude_any": [[{"literal": "a"}]]}})),
            ("@@exclude_keys_all a", json!({"activation": {"exclude_all": [[{"literal": "a"}]]}})),
            ("@@dont_activate\n@@activate", json!({"activation": {"force": "activate"}})),
            ("@@dont_activate", json!({"activation": {"force": "suppress"}})),
            (
                "@@disable_ui_prompt system_prompt",
                json!({"rest": {"hide_prompts": ["system_prompt"]}}),
            ),
            ("@@probability 30", json!({"activation": {"probability": 30.0}})),
            (
                "@@priority 7\n@@insertorder 5",
                json!({"placement": {"order": 5.0}, "budget": {"priority": 7.0}}),
            ),
            ("@@unrecursive", json!({"recursion": {"prevent": true}})),
            ("@@no_recursive_search", json!({"recursion": {"scan_lore": false}})),
            ("@@match_full_word", json!({"activation": {"whole_words": true}})),
            (
                "@@inject_lore Harbor\n@@inject_replace grey",
                json!({"inject": {"op": {"replace": "grey"}, "target": "Harbor"}}),
            ),
        ] {
            assert_eq!(changed(&format!("{content}\nText")), (expected, vec![]), "{content}");
        }
    }

    #[test]
    fn the_first_of_a_chain_that_is_known_valid_and_free_counts() {
        for (content, expected, ignored) in [
            (
                "@@nothing 1\n@@@priority 2",
                json!({"budget": {"priority": 2.0}}),
                vec!["`@@nothing 1` is not known"],
            ),
            (
                "@@depth deep\n@@@also_no\n@@@priority 2",
                json!({"budget": {"priority": 2.0}}),
                vec!["`@@depth deep` has no usable argument", "`@@@also_no` is not known"],
            ),
            (
                "@@depth 3\n@@@priority 2",
                json!({"placement": {"position": {"at_depth": {"from": "newest"}}, "depth": 3}}),
                vec![],
            ),
            (
                "@@depth 3\n@@@priority 2\n@@position scenario",
                json!({"placement": {"position": "scenario"}, "budget": {"priority": 2.0}}),
                vec!["`@@depth 3` gives way to another place"],
            ),
            ("@@priority 1\n@@priority 2", json!({"budget": {"priority": 1.0}}), vec![]),
            (
                "@@instruct_depth 9\n@@@priority 2",
                json!({"budget": {"priority": 2.0}}),
                vec!["`@@instruct_depth 9` counts tokens, which a chat does not"],
            ),
            (
                "@@activate_only_every 0",
                json!({}),
                vec!["`@@activate_only_every 0` has no usable argument"],
            ),
            (
                "@@inject_prepend",
                json!({}),
                vec!["an injection has no `@@inject_lore` or `@@inject_at`"],
            ),
        ] {
            let found = changed(&format!("{content}\nText"));
            assert_eq!(found.0, expected, "{content}");
            assert_eq!(found.1, ignored, "{content}");
        }
    }
}
