//! Vault cases recorded from DeepLore Enhanced 2.0.2, and 2.0.2 with the rules of 2.5; cases
//! `own-…` are ours, under our default profile.

mod find;
mod input;
mod notes;
mod own;
mod select;
mod stages;
mod turns;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::conformance::{Suite, first_difference};

/// The suite. Recorded cases run under the `deeplore-2.x` profiles.
pub(super) struct Vault;

impl Suite for Vault {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        relative.strip_suffix(".json")?;
        let case = serde_json::from_slice(bytes).map(|case| vec![case]);
        Some(case.map_err(|error| error.to_string()))
    }

    fn run(&self, case: &Value) -> Result<Value, String> {
        let input = &case["input"];
        Ok(match case["feature"].as_str().unwrap_or_default() {
            "parse" => notes::parse(input),
            "frontmatter" => notes::frontmatter(input),
            "clean" => notes::clean(input),
            "fielddefs" => notes::fields(input),
            "obsidiansafe" => notes::safe(input),
            "notes" => notes::notepad(input),
            "settings" => notes::settings(input),
            "scantext" => find::scan_text(input),
            "count" => find::count(input),
            "match" => find::matching(input),
            "bm25" => find::bm25(input),
            "pinblock" => stages::pins(input),
            "gating" => stages::context(input),
            "operators" => stages::operators(input),
            "folder" => stages::folders(input),
            "reinject" => stages::reinjection(input),
            "requires" => stages::relations(input),
            "stripdedup" => stages::strip(input),
            "format" => stages::format(input),
            "truncate" => stages::truncate(input),
            "trackers" => turns::trackers(input),
            "pipeline" => turns::pipeline(input),
            "manifest" => select::manifest_of(input),
            "airesponse" => select::reply(input),
            "fuzzytitle" => select::title(input),
            "cluster" => select::clusters(input),
            "multivault" => select::vaults(input),
            "sync" => select::sync(input),
            "health" => select::health(input),
            "own" => return own::story(input, &case["expected"]),
            other => return Err(format!("no feature `{other}` here")),
        })
    }

    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        let mut expected = case["expected"].clone();
        drop_names(&mut expected);
        match case["feature"].as_str().unwrap_or_default() {
            "fielddefs" => {
                // The wording of errors is each program's own.
                let count = expected["errors"].as_array().map_or(0, Vec::len);
                expected["errors"] = Value::from(count);
                first_difference(&expected, actual)
            }
            "health" => issues_differ(&expected["issues"], &actual["issues"]),
            _ => first_difference(&expected, actual),
        }
    }
}

/// Drops what the cases say not to compare: names of groups, tokens of a note just read.
fn drop_names(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(drop_names),
        Value::Object(object) => {
            object.shift_remove("tag");
            object.shift_remove("tokenEstimate");
            object.values_mut().for_each(drop_names);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Issues are a set of notes and kinds: their order and further words are the peer's.
fn issues_differ(expected: &Value, actual: &Value) -> Option<String> {
    let set = |issues: &Value| -> BTreeSet<(String, String)> {
        let word = |issue: &Value, key: &str| issue[key].as_str().unwrap_or_default().to_owned();
        let list = issues.as_array().into_iter().flatten();
        list.map(|issue| (word(issue, "entry"), word(issue, "type"))).collect()
    };
    let (wanted, found) = (set(expected), set(actual));
    (wanted != found).then(|| {
        let missing: Vec<_> = wanted.difference(&found).collect();
        let extra: Vec<_> = found.difference(&wanted).collect();
        format!("missing {missing:?}, unexpected {extra:?}")
    })
}
