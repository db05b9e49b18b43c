//! World Info cases recorded from SillyTavern 1.19.0.

mod scan;
mod unit;

use serde_json::Value;

use super::is_json;
use crate::conformance::{Suite, first_difference};

/// The suite, run under the `sillytavern-1.19` profile.
pub(super) struct WorldInfo;

impl Suite for WorldInfo {
    fn cases(&self, relative: &str, bytes: &[u8]) -> Option<Result<Vec<Value>, String>> {
        is_json(relative).then(|| {
            serde_json::from_slice(bytes).map(|case| vec![case]).map_err(|error| error.to_string())
        })
    }

    fn run(&self, case: &Value) -> Result<Value, String> {
        match case["kind"].as_str() {
            Some("unit") => unit::run(&case["input"]),
            _ => scan::run(&case["input"]),
        }
    }

    fn difference(&self, case: &Value, actual: &Value) -> Option<String> {
        let mut expected = case["expected"].clone();
        let recorded_crash = expected.pointer("/turns/0/error").is_some();
        if recorded_crash {
            return None;
        }
        levels_as_numbers(&mut expected);
        first_difference(&expected, actual)
    }
}

/// The recording keeps a level as the entry spelled it; only its value counts.
fn levels_as_numbers(expected: &mut Value) {
    let turns = expected.get_mut("turns").and_then(Value::as_array_mut).into_iter().flatten();
    let loops = turns.filter_map(|turn| turn.get_mut("loops")?.as_array_mut()).flatten();
    for level in loops.filter_map(|pass| pass.get_mut("delayLevel")) {
        if let Some(number) = level.as_str().and_then(|text| text.parse::<u32>().ok()) {
            *level = Value::from(number);
        }
    }
}
