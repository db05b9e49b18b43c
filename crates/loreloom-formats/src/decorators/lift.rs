//! What decorators say, as fields of the model.

use loreloom_core::{
    book::{DepthFrom, Entry, Force, Inject, InjectOp, Key, MatchOnce, Position, RegexKey},
    chat::Role,
    units::Depth,
};

use super::{Decorator, parse};
use crate::{json::js::number_of_text, tolerant::whole};

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
    let block = parse(&entry.content);
    let places = Places::of(&block.chains);
    let mut lifting =
        Lifting { entry: entry.clone(), seen: Vec::new(), ignored: Vec::new(), places };
    block.body.clone_into(&mut lifting.entry.content);
    for chain in &block.chains {
        lifting.chain(chain);
    }
    Lifted { entry: lifting.entry, ignored: lifting.ignored }
}

/// Which of the decorators that name a place are there: `position` beats the depths, and
/// `depth` beats `reverse_depth`.
struct Places {
    position: bool,
    depth: bool,
}

impl Places {
    fn of(chains: &[Vec<Decorator<'_>>]) -> Self {
        let counting: Vec<String> = chains.iter().filter_map(|chain| counting(chain)).collect();
        let has = |names: &[&str]| counting.iter().any(|name| names.contains(&name.as_str()));
        Self { position: has(&["position"]), depth: has(&["depth", "end"]) }
    }
}

/// The decorator of a chain that would count if there were no other chains.
fn counting(chain: &[Decorator<'_>]) -> Option<String> {
    let mut alone = Lifting {
        entry: Entry::new(""),
        seen: Vec::new(),
        ignored: Vec::new(),
        places: Places { position: false, depth: false },
    };
    alone.chain(chain);
    alone.seen.pop()
}

/// Decorators that may stand several times.
const ADDING: [&str; 4] =
    ["additional_keys", "exclude_keys", "exclude_keys_all", "disable_ui_prompt"];

struct Lifting {
    entry: Entry,
    seen: Vec<String>,
    ignored: Vec<String>,
    places: Places,
}

impl Lifting {
    fn chain(&mut self, chain: &[Decorator<'_>]) {
        for decorator in chain {
            let name = canonical(&decorator.name);
            if self.seen.iter().any(|seen| seen == name) && !ADDING.contains(&name) {
                self.ignored.push(format!("`@@{name}` stands twice: the first counts"));
                return;
            }
            match self.apply(name, decorator) {
                Ok(()) => {
                    self.seen.push(name.to_owned());
                    return;
                }
                Err(reason) => self.ignored.push(format!("`@@{}` {reason}", decorator.name)),
            }
        }
    }

    /// Applies one decorator, or says why it is ignored.
    fn apply(&mut self, name: &str, decorator: &Decorator<'_>) -> Result<(), &'static str> {
        let text = decorator.arguments;
        self.place(name, text)
            .or_else(|| self.gate(name, text))
            .or_else(|| self.lists(name, decorator))
            .or_else(|| self.flag(name))
            .or_else(|| self.injection(name, text))
            .unwrap_or(Err("is not known"))
    }

    fn place(&mut self, name: &str, text: &str) -> Option<Result<(), &'static str>> {
        const WHOLE: &str = "needs a whole number";
        const NUMBER: &str = "needs a number";
        let conflict = Err("gives way to another place");
        let place = &mut self.entry.placement;
        Some(match name {
            "depth" | "end" | "reverse_depth" if self.places.position => conflict,
            "reverse_depth" if self.places.depth => conflict,
            "depth" | "reverse_depth" => whole_number(text).map_or(Err(WHOLE), |depth| {
                let from = if name == "depth" { DepthFrom::Newest } else { DepthFrom::Oldest };
                place.position = Position::AtDepth { from };
                place.depth = Some(Depth(whole(depth)));
                Ok(())
            }),
            "end" => {
                place.position = Position::AtDepth { from: DepthFrom::Newest };
                place.depth = Some(Depth(0));
                Ok(())
            }
            "instruct_depth" | "reverse_instruct_depth" | "instruct_scan_depth" => {
                Err("counts tokens, which a chat does not")
            }
            "position" => position(text).map_or(Err("names no known place"), |position| {
                place.position = position;
                Ok(())
            }),
            "role" => role(text).map_or(Err("names no role"), |role| {
                place.role = Some(role);
                Ok(())
            }),
            "order" => number(text).map_or(Err(NUMBER), |order| {
                place.order = Some(order);
                Ok(())
            }),
            "priority" => number(text).map_or(Err(NUMBER), |priority| {
                self.entry.budget.priority = Some(priority);
                Ok(())
            }),
            _ => return None,
        })
    }

    fn gate(&mut self, name: &str, text: &str) -> Option<Result<(), &'static str>> {
        let when = &mut self.entry.activation;
        let count = whole_number(text).filter(|count| *count >= 0.0).map(whole);
        let set = |slot: &mut Option<u32>, value: Option<u32>, wrong| match value {
            Some(value) => {
                *slot = Some(value);
                Ok(())
            }
            None => Err(wrong),
        };
        Some(match name {
            "activate_only_after" => set(&mut when.gates.after, count, "needs a count"),
            "activate_only_every" => {
                let every = count.filter(|every| *every > 0);
                set(&mut when.gates.every, every, "needs a count above 0")
            }
            "is_greeting" => set(&mut when.gates.greeting, count, "needs the number of a greeting"),
            "is_user_icon" if text.is_empty() => Err("needs a name"),
            "is_user_icon" => {
                when.gates.user_icon = Some(text.to_owned());
                Ok(())
            }
            "scan_depth" => count.map_or(Err("needs a count"), |depth| {
                when.scan.messages = Some(f64::from(depth));
                Ok(())
            }),
            "probability" => number(text).map_or(Err("needs a number"), |chance| {
                when.probability = Some(chance);
                Ok(())
            }),
            _ => return None,
        })
    }

    fn lists(&mut self, name: &str, line: &Decorator<'_>) -> Option<Result<(), &'static str>> {
        let items = line.list();
        let when = &mut self.entry.activation;
        let lists = match name {
            "additional_keys" => &mut when.require,
            "exclude_keys" => &mut when.exclude_any,
            "exclude_keys_all" => &mut when.exclude_all,
            "disable_ui_prompt" => {
                let known = ["post_history_instructions", "system_prompt"];
                let prompts = items.into_iter().filter(|item| known.contains(&item.as_str()));
                let before = self.entry.rest.hide_prompts.len();
                self.entry.rest.hide_prompts.extend(prompts);
                let has_more = self.entry.rest.hide_prompts.len() > before;
                return Some(if has_more { Ok(()) } else { Err("names no prompt") });
            }
            _ => return None,
        };
        if items.is_empty() {
            return Some(Err("needs keys"));
        }
        lists.push(items.iter().map(|item| Key::parse(item)).collect());
        Some(Ok(()))
    }

    fn flag(&mut self, name: &str) -> Option<Result<(), &'static str>> {
        let when = &mut self.entry.activation;
        match name {
            "activate" => when.force = Some(Force::Activate),
            "dont_activate" if when.force == Some(Force::Activate) => {}
            "dont_activate" => when.force = Some(Force::Suppress),
            "keep_activate_after_match" if when.once == Some(MatchOnce::OnceOnly) => {}
            "keep_activate_after_match" => when.once = Some(MatchOnce::Keep),
            "dont_activate_after_match" => when.once = Some(MatchOnce::OnceOnly),
            "ignore_on_max_context" => self.entry.budget.drop_first = true,
            "recursive" => self.entry.recursion.prevent = false,
            "unrecursive" => self.entry.recursion.prevent = true,
            "no_recursive_search" => self.entry.recursion.scan_lore = Some(false),
            "match_full_word" => when.whole_words = Some(true),
            "match_partial_word" => when.whole_words = Some(false),
            "constant" => when.constant = true,
            "case_sensitive" => when.case_sensitive = Some(true),
            "use_regex" => when.keys = when.keys.iter().map(as_pattern).collect(),
            _ => return None,
        }
        Some(Ok(()))
    }

    fn injection(&mut self, name: &str, text: &str) -> Option<Result<(), &'static str>> {
        let op = match name {
            "inject_lore" => InjectOp::IntoLore,
            "inject_at" => InjectOp::At,
            "inject_prepend" => InjectOp::Prepend,
            "inject_replace" => InjectOp::Replace(text.to_owned()),
            _ => return None,
        };
        let opens = matches!(op, InjectOp::IntoLore | InjectOp::At);
        Some(match &mut self.entry.inject {
            _ if opens && text.is_empty() => Err("needs a target"),
            slot if opens => {
                *slot = Some(Inject { op, target: text.to_owned() });
                Ok(())
            }
            Some(inject) => {
                inject.op = op;
                Ok(())
            }
            None => Err("has no `@@inject_lore` or `@@inject_at` above it"),
        })
    }
}

/// The name that two spellings share.
fn canonical(name: &str) -> &str {
    match name {
        "keep" => "keep_activate_after_match",
        "insertorder" => "order",
        _ => name,
    }
}

fn number(text: &str) -> Option<f64> {
    Some(number_of_text(text)).filter(|number| number.is_finite() && !text.is_empty())
}

fn whole_number(text: &str) -> Option<f64> {
    number(text).filter(|number| number.fract() == 0.0)
}

fn role(text: &str) -> Option<Role> {
    match text.to_lowercase().as_str() {
        "system" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}

fn position(text: &str) -> Option<Position> {
    Some(match text {
        "before_desc" => Position::BeforeDescription,
        "after_desc" => Position::AfterDescription,
        "personality" => Position::Personality,
        "scenario" => Position::Scenario,
        "before_char" => Position::BeforeCharacter,
        "after_char" => Position::AfterCharacter,
        "an_top" => Position::NoteTop,
        "an_bottom" => Position::NoteBottom,
        "em_top" => Position::ExamplesTop,
        "em_bottom" => Position::ExamplesBottom,
        _ => match (text.strip_prefix("pt_"), text.strip_prefix("outlet:")) {
            (Some(slot), _) if !slot.is_empty() => Position::Slot(slot.to_owned()),
            (_, Some(outlet)) if !outlet.is_empty() => Position::Outlet(outlet.to_owned()),
            _ => return None,
        },
    })
}

fn as_pattern(key: &Key) -> Key {
    match key {
        Key::Regex(_) => key.clone(),
        Key::Literal(raw) => {
            Key::Regex(RegexKey { raw: raw.clone(), pattern: raw.clone(), flags: String::new() })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::crossing;

    /// What a text's decorators change, and what is ignored.
    fn changed(content: &str) -> (Value, Vec<String>) {
        let mut entry = Entry::new("e");
        content.clone_into(&mut entry.content);
        let Lifted { entry: lifted, ignored } = lift(&entry);
        entry.content.clone_from(&lifted.content);
        let rest = crossing::difference(&crossing::meaning(&lifted), &crossing::meaning(&entry));
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
                vec!["`@@nothing` is not known"],
            ),
            (
                "@@depth deep\n@@@also_no\n@@@priority 2",
                json!({"budget": {"priority": 2.0}}),
                vec!["`@@depth` needs a whole number", "`@@also_no` is not known"],
            ),
            (
                "@@depth 3\n@@@priority 2",
                json!({"placement": {"position": {"at_depth": {"from": "newest"}}, "depth": 3}}),
                vec![],
            ),
            (
                "@@depth 3\n@@@priority 2\n@@position scenario",
                json!({"placement": {"position": "scenario"}, "budget": {"priority": 2.0}}),
                vec!["`@@depth` gives way to another place"],
            ),
            (
                "@@priority 1\n@@priority 2",
                json!({"budget": {"priority": 1.0}}),
                vec!["`@@priority` stands twice: the first counts"],
            ),
            (
                "@@instruct_depth 9\n@@@priority 2",
                json!({"budget": {"priority": 2.0}}),
                vec!["`@@instruct_depth` counts tokens, which a chat does not"],
            ),
            (
                "@@activate_only_every 0",
                json!({}),
                vec!["`@@activate_only_every` needs a count above 0"],
            ),
            (
                "@@inject_prepend",
                json!({}),
                vec!["`@@inject_prepend` has no `@@inject_lore` or `@@inject_at` above it"],
            ),
        ] {
            let found = changed(&format!("{content}\nText"));
            assert_eq!(found.0, expected, "{content}");
            assert_eq!(found.1, ignored, "{content}");
        }
    }
}
