use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::{changes::put, setting::ValueKind, tree::Settings};

/// The pointers of all leaves. What a row sets as a whole is a leaf.
fn leaves(value: &Value, at: &str, known: &BTreeSet<String>, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !known.contains(at) => {
            for (name, value) in fields {
                leaves(value, &format!("{at}/{name}"), known, found);
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => found.push(at.to_owned()),
    }
}

fn pointers() -> BTreeSet<String> {
    SETTINGS.iter().map(Setting::pointer).collect()
}

#[test]
fn every_leaf_of_the_tree_has_one_row_and_every_row_a_leaf() {
    let known = pointers();
    assert_eq!(known.len(), SETTINGS.len(), "two rows have one place");
    let mut found = Vec::new();
    leaves(&Settings::default().tree(), "", &known, &mut found);
    let found: BTreeSet<String> = found.into_iter().collect();
    let without_row: Vec<_> = found.difference(&known).collect();
    let without_leaf: Vec<_> = known.difference(&found).collect();
    assert_eq!((without_row, without_leaf), (Vec::new(), Vec::new()));
}

#[test]
fn names_are_unique_and_help_is_one_plain_sentence() {
    let names: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), SETTINGS.len());
    for setting in SETTINGS.iter() {
        let good = setting.help.ends_with('.') && setting.help.chars().count() <= 170;
        assert!(good, "{}: {}", setting.name, setting.help);
        assert!(setting.name.contains('.'), "{} has no section", setting.name);
        assert_ne!(section_title(setting.section()), "Others", "{}", setting.name);
    }
    let flags: Vec<&str> = SETTINGS.iter().filter_map(|setting| setting.flag).collect();
    assert_eq!(flags.iter().collect::<BTreeSet<_>>().len(), flags.len());
}

/// Another value that the setting takes.
fn another(setting: &Setting) -> Value {
    let now = setting.default_value();
    let choices: Vec<Value> = match setting.kind {
        ValueKind::Switch => vec![json!(true), json!(false)],
        ValueKind::Integer { least, most } => vec![json!(least), json!(most.min(least + 1))],
        ValueKind::Number { least, most } => vec![json!(least), json!(f64::midpoint(least, most))],
        ValueKind::Text => match setting.name {
            "server.listen" => vec![json!("127.0.0.1:1")],
            "lore.wrap" => vec![json!("lb")],
            _ => vec![json!("another text")],
        },
        ValueKind::Choice(words) => words.iter().map(|word| json!(word)).collect(),
        ValueKind::Texts if setting.name == "budget.ranks" => vec![json!(["memory"])],
        ValueKind::Texts if setting.name == "weaving.template" => {
            vec![json!(["main", "history", "lorebook"])]
        }
        ValueKind::Texts => vec![json!(["127.0.0.1"])],
        ValueKind::Data => vec![match setting.name {
            "lore.regex_scripts" => serde_json::from_str(
                r#"[{"scriptName":"","findRegex":"/a/","replaceString":"","trimStrings":[],
                    "placement":[5],"disabled":false,"markdownOnly":false,"promptOnly":true,
                    "minDepth":null,"maxDepth":null}]"#,
            )
            .unwrap(),
            "cards.missing_priority" => json!({"fixed": {"own": 1.0, "imported": 2.0}}),
            "memory.places" => {
                json!({"arcs": {"position": "BEFORE", "depth": 0, "role": "system"}})
            }
            "memory.state_ledger_expiry" => json!({"mood": 3}),
            "memory.policies" => json!({"Mara": "local"}),
            "memory.calendar" => json!([{"name": "Frost", "days": 40}]),
            other => panic!("no example for {other}"),
        }],
    };
    choices.into_iter().find(|value| *value != now).unwrap()
}

#[test]
fn every_row_writes_its_leaf_and_reads_it_back() {
    let before = Settings::default().tree();
    for setting in SETTINGS.iter() {
        let value = another(setting);
        setting.tried(&value).unwrap_or_else(|error| panic!("{error}"));
        let mut tree = before.clone();
        put(&mut tree, &setting.pointer(), setting.checked(&value).unwrap());
        let after = Settings::read(tree).unwrap();
        let after = after.tree();
        assert_eq!(setting.value_in(&after), value, "{}", setting.name);
        for other in SETTINGS.iter().filter(|other| other.name != setting.name) {
            let (was, is) = (other.value_in(&before), other.value_in(&after));
            assert_eq!(was, is, "{} changes {}", setting.name, other.name);
        }
    }
}

#[test]
fn every_default_and_every_profile_is_in_range() {
    for setting in SETTINGS.iter() {
        setting.tried(&setting.default_value()).unwrap_or_else(|error| panic!("{error}"));
        for (profile, value) in setting.profile_values() {
            setting.tried(&value).unwrap_or_else(|error| panic!("{profile}: {error}"));
        }
    }
}

#[test]
fn the_values_of_profiles_come_from_the_typed_rules() {
    for (name, profile, expected) in [
        ("world_info.quirks.double_removal", "sillytavern-1.19", json!(true)),
        ("vault.strip_duplicates", "deeplore-2.x", json!(true)),
        ("vault.reading.yaml", "deeplore-2.x", json!("mini")),
        ("vault.selection.on_failure", "deeplore-2.x", json!("keyword")),
        ("cards.budget_floor", "unorouter", json!(1500)),
        ("memory.rules.merged", "smart-memory-1.8", json!("overwritten")),
    ] {
        let values = find(name).unwrap().profile_values();
        let found = values.iter().find(|(one, _)| *one == profile);
        assert_eq!(found.map(|(_, value)| value), Some(&expected), "{name}");
    }
}

#[test]
fn names_of_other_programs_lead_to_one_setting() {
    let mut seen = BTreeSet::new();
    for setting in SETTINGS.iter() {
        for (program, name) in setting.names_elsewhere() {
            assert!(seen.insert((program.as_str(), name)), "{name} of {}", program.as_str());
        }
    }
    assert_eq!(find_for_program("maxTokensBudget").unwrap().1.name, "vault.max_tokens");
    assert_eq!(nearest("vault.scandepth"), Some("vault.scan_depth"));
    assert_eq!(nearest("maxTokenBudget"), Some("vault.max_tokens"));
    // Several names end like this: the first of the table is meant.
    assert_eq!(nearest("scan_dept"), Some("world_info.scan_depth"));
    assert_eq!(nearest("qqqq"), None);
}

#[test]
fn every_setting_that_people_of_other_programs_are_shown_is_in_the_table() {
    let book = include_str!("../../../../docs/coming-from.md");
    let mut named = std::collections::BTreeMap::<&str, usize>::new();
    let mut section = "";
    for line in book.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title;
        }
        let Some(row) = line.strip_prefix("| ").filter(|row| !row.starts_with("---")) else {
            continue;
        };
        // The second column has the settings; a head has none.
        let settings = row.split(" | ").nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
        for name in settings {
            assert!(crate::find(name).is_some(), "{section}: no setting `{name}`");
            *named.entry(section).or_default() += 1;
        }
    }
    let sections: Vec<&str> = named.keys().copied().collect();
    assert_eq!(
        sections,
        ["DeepLore", "SillyTavern World Info", "Smart Memory", "UnoRouter lorebooks"]
    );
    assert!(named.values().all(|count| *count >= 15), "{named:?}");
}
