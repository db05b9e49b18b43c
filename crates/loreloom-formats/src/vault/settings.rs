//! DeepLore's settings file, made safe and turned into rules.

use loreloom_core::{
    book::is_js_space,
    chat::Role,
    dialects::vault::{NotePosition, VaultRules, depth_of},
    number::whole,
    units::Tokens,
};
use serde_json::{Map, Value, json};

/// What a setting may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// A number in a range; whole if both ends are.
    Range {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// One of these words.
    Words(Vec<String>),
}

/// Tags that may not be blank, and their defaults.
const TAGS: [(&str, &str); 6] = [
    ("lorebookTag", "lorebook"),
    ("constantTag", "lorebook-always"),
    ("neverInsertTag", "lorebook-never"),
    ("seedTag", "lorebook-seed"),
    ("bootstrapTag", "lorebook-bootstrap"),
    ("guideTag", "lorebook-guide"),
];

/// Brings settings into their ranges and trims tags. An unknown word becomes the default, or
/// the first known word where there is none.
pub fn clamp(
    settings: &mut Map<String, Value>,
    constraints: &[(String, Constraint)],
    defaults: &Map<String, Value>,
) {
    for (name, constraint) in constraints {
        let Some(value) = settings.get_mut(name) else { continue };
        match constraint {
            Constraint::Range { min, max } => {
                if let Some(number) = value.as_f64() {
                    *value = json!(into_range(number, *min, *max));
                }
            }
            Constraint::Words(words) => {
                let known = value.as_str().is_some_and(|word| words.iter().any(|one| one == word));
                let usual = defaults.get(name).cloned();
                if !known && let Some(usual) = usual.or_else(|| Some(words.first()?.clone().into()))
                {
                    *value = usual;
                }
            }
        }
    }
    for (name, default) in TAGS {
        if let Some(Value::String(tag)) = settings.get_mut(name) {
            let trimmed = tag.trim_matches(is_js_space);
            *tag = if trimmed.is_empty() { default } else { trimmed }.to_owned();
        }
    }
}

fn into_range(number: f64, min: f64, max: f64) -> f64 {
    let whole = min.fract() == 0.0 && max.fract() == 0.0;
    // JavaScript rounds halves up, towards the larger number.
    let number = if whole { (number + 0.5).floor() } else { number };
    number.clamp(min, max)
}

/// The ranges of the settings that decide a turn.
const RANGES: [(&str, f64, f64); 19] = [
    ("scanDepth", 0.0, 100.0),
    ("maxRecursionSteps", 1.0, 10.0),
    ("fuzzySearchMinScore", 0.1, 2.0),
    ("newChatThreshold", 1.0, 20.0),
    ("maxEntries", 1.0, 100.0),
    ("maxTokensBudget", 100.0, 100_000.0),
    ("injectionDepth", 0.0, 9999.0),
    ("reinjectionCooldown", 0.0, 50.0),
    ("stripLookbackDepth", 1.0, 10.0),
    ("decayBoostThreshold", 2.0, 20.0),
    ("decayPenaltyThreshold", 2.0, 10.0),
    ("aiSearchScanDepth", 1.0, 100.0),
    ("aiSearchManifestSummaryLength", 100.0, 1000.0),
    ("hierarchicalAggressiveness", 0.0, 0.8),
    ("aiSearchTimeout", 1000.0, 999_999.0),
    ("aiSearchMaxTokens", 64.0, 4096.0),
    ("aiNotepadMaxEntries", 0.0, 1000.0),
    ("aiNotepadMaxTokens", 256.0, 8192.0),
    ("aiNotepadTimeout", 5000.0, 999_999.0),
];

/// Brings the known settings of a DeepLore file into their ranges.
pub fn clamp_known(settings: &mut Map<String, Value>) {
    let mut constraints: Vec<(String, Constraint)> = RANGES
        .iter()
        .map(|&(name, min, max)| (name.to_owned(), Constraint::Range { min, max }))
        .collect();
    let words = ["extension", "prompt_list"].map(str::to_owned).to_vec();
    constraints.push(("injectionMode".to_owned(), Constraint::Words(words)));
    let mut defaults = Map::new();
    defaults.insert("injectionMode".to_owned(), Value::from("extension"));
    clamp(settings, &constraints, &defaults);
}

/// Changes `rules` by DeepLore's settings. A rule without a setting stays.
pub fn rules_of(settings: &Map<String, Value>, mut rules: VaultRules) -> VaultRules {
    let number = |name: &str| settings.get(name).and_then(Value::as_f64);
    let count = |name: &str, target: &mut u32| {
        if let Some(number) = number(name) {
            *target = whole(number);
        }
    };
    let flag = |name: &str, target: &mut bool| {
        if let Some(value) = settings.get(name).and_then(Value::as_bool) {
            *target = value;
        }
    };
    count("scanDepth", &mut rules.keys.depth);
    flag("caseSensitive", &mut rules.keys.case_sensitive);
    flag("matchWholeWords", &mut rules.keys.whole_words);
    flag("recursiveScan", &mut rules.recursion.enabled);
    count("maxRecursionSteps", &mut rules.recursion.steps);
    flag("characterContextScan", &mut rules.active_character);
    flag("fuzzySearchEnabled", &mut rules.fuzzy.enabled);
    // A score of 0 would let in every note that shares a word. DeepLore ignores it.
    let score = number("fuzzySearchMinScore").filter(|score| *score != 0.0);
    rules.fuzzy.min_score = score.unwrap_or(rules.fuzzy.min_score);
    flag("keywordOccurrenceWeighting", &mut rules.order.by_occurrences);
    flag("priorityReversed", &mut rules.order.reversed);
    count("newChatThreshold", &mut rules.new_chat_threshold);
    count("reinjectionCooldown", &mut rules.repetition.cooldown);
    flag("stripDuplicateInjections", &mut rules.repetition.strip);
    count("stripLookbackDepth", &mut rules.repetition.strip_lookback);
    flag("decayEnabled", &mut rules.repetition.decay);
    count("decayBoostThreshold", &mut rules.repetition.stale_after);
    count("decayPenaltyThreshold", &mut rules.repetition.frequent_after);
    budget(settings, &mut rules);
    placement(settings, &mut rules);
    rules
}

fn budget(settings: &Map<String, Value>, rules: &mut VaultRules) {
    let number = |name: &str| settings.get(name).and_then(Value::as_f64).map(whole);
    let is_on = |name: &str| settings.get(name) == Some(&Value::Bool(true));
    rules.budget.entries = number("maxEntries").or(rules.budget.entries);
    rules.budget.tokens = number("maxTokensBudget").map(Tokens).or(rules.budget.tokens);
    if is_on("unlimitedEntries") {
        rules.budget.entries = None;
    }
    if is_on("unlimitedBudget") {
        rules.budget.tokens = None;
    }
}

fn placement(settings: &Map<String, Value>, rules: &mut VaultRules) {
    let number = |name: &str| settings.get(name).and_then(Value::as_f64);
    let placement = &mut rules.placement;
    if let Some(position) = number("injectionPosition").and_then(position_of) {
        placement.position = position;
    }
    if let Some(depth) = number("injectionDepth") {
        placement.depth = depth_of(depth);
    }
    if let Some(role) = number("injectionRole").and_then(role_of) {
        placement.role = role;
    }
    if let Some(mode) = settings.get("injectionMode").and_then(Value::as_str) {
        placement.slots = mode == "prompt_list";
    }
    if let Some(template) = settings.get("injectionTemplate").and_then(Value::as_str) {
        template.clone_into(&mut placement.template);
    }
}

/// SillyTavern's number of a place.
pub fn position_of(number: f64) -> Option<NotePosition> {
    match whole(number) {
        0 => Some(NotePosition::After),
        1 => Some(NotePosition::InChat),
        2 => Some(NotePosition::Before),
        _ => None,
    }
}

/// SillyTavern's number of a role.
pub fn role_of(number: f64) -> Option<Role> {
    match whole(number) {
        0 => Some(Role::System),
        1 => Some(Role::User),
        2 => Some(Role::Assistant),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_nobody_knows_becomes_the_first_known_one_and_tags_are_trimmed() {
        let Value::Object(mut settings) = json!({
            "mode": "weird", "seedTag": "  seed ", "guideTag": "\u{feff}", "lorebookTag": 5
        }) else {
            panic!("an object")
        };
        let words = ["extension", "prompt_list"].map(str::to_owned).to_vec();
        clamp(&mut settings, &[("mode".to_owned(), Constraint::Words(words))], &Map::new());
        let expected = json!({
            "mode": "extension", "seedTag": "seed", "guideTag": "lorebook-guide", "lorebookTag": 5
        });
        assert_eq!(Value::Object(settings), expected);
    }

    #[test]
    fn a_score_of_nothing_is_the_usual_one() {
        for (score, expected) in [(json!(0), 0.5), (json!(0.2), 0.2), (Value::Null, 0.5)] {
            let settings = Map::from_iter([("fuzzySearchMinScore".to_owned(), score)]);
            let rules = rules_of(&settings, VaultRules::default());
            assert_eq!(rules.fuzzy.min_score.to_bits(), f64::to_bits(expected));
        }
    }

    #[test]
    fn settings_out_of_range_are_brought_back() {
        let Value::Object(mut settings) = json!({
            "scanDepth": 500, "maxEntries": 2.5, "fuzzySearchMinScore": 0.05,
            "injectionMode": "odd", "seedTag": " ", "other": 1
        }) else {
            panic!("an object")
        };
        clamp_known(&mut settings);
        let expected = json!({
            "scanDepth": 100.0, "maxEntries": 3.0, "fuzzySearchMinScore": 0.1,
            "injectionMode": "extension", "seedTag": "lorebook-seed", "other": 1
        });
        assert_eq!(Value::Object(settings.clone()), expected);
        let rules = rules_of(&settings, VaultRules::default());
        assert_eq!((rules.keys.depth, rules.budget.entries), (100, Some(3)));
    }
}
