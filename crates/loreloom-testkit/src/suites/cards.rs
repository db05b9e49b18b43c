//! Our own cases for card books: rules and decorators, one small case each.

mod story;
mod trace;

use serde_json::Value;

use super::is_json;
use crate::conformance::{Suite, first_difference};

/// The suite. A file is an array of cases; each names its `rule`, its `input` (a mode,
/// books, turns) and what is `expected` of each turn.
pub(super) struct Cards;

impl Suite for Cards {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        is_json(relative).then(|| serde_json::from_slice(bytes).map_err(|error| error.to_string()))
    }

    fn case_name(&self, case: &Value, relative: &str, index: usize, cases: usize) -> String {
        let place = self.name(relative, index, cases);
        case["name"].as_str().map_or(place, str::to_owned)
    }

    fn run(&self, case: &Value) -> Result<Value, String> {
        story::run(&case["input"])
    }

    /// A case says only what it is about: the parts that it expects are compared exactly.
    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        let Some(turns) = case["expected"].as_array().filter(|turns| !turns.is_empty()) else {
            return Some("a case expects an array of turns".to_owned());
        };
        let found = actual.as_array().map_or(0, Vec::len);
        if turns.len() != found {
            return Some(format!("expected {} turns, found {found}", turns.len()));
        }
        turns.iter().enumerate().find_map(|(at, turn)| {
            let parts = turn.as_object().filter(|parts| !parts.is_empty());
            let Some(parts) = parts else { return Some(format!("turn {at} expects nothing")) };
            parts.iter().find_map(|(name, expected)| {
                let difference = first_difference(expected, &actual[at][name])?;
                Some(format!("turn {at}, {name}{difference}"))
            })
        })
    }
}
