//! World Info cases recorded from SillyTavern 1.19.0.

mod records;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case() -> Value {
        json!({
            "settings": { "world_info_depth": 2, "world_info_budget": 100 },
            "books": [{ "name": "B", "scope": "global", "entries": { "0": {
                "uid": 0, "key": ["lantern"], "content": "L", "position": 0, "order": 100,
            } } }],
            "character": { "name": "Torvald", "avatar": "Torvald.png", "tags": [] },
            "user_name": "Mira",
            "maxContext": 1000,
            "turns": [{ "chat": [{ "name": "Mira", "is_user": true, "mes": "hi" }] }],
        })
    }

    fn activated(input: &Value) -> usize {
        let turns = scan::run(input).unwrap();
        turns["turns"][0]["activated"].as_array().unwrap().len()
    }

    #[test]
    fn a_note_is_scanned_only_when_it_is_due() {
        for (interval, character, found) in
            [(1, true, 1), (2, true, 0), (0, true, 0), (1, false, 0)]
        {
            let mut input = case();
            input["authorsNote"] =
                json!({ "prompt": "a lantern", "interval": interval, "allowWIScan": true });
            if !character {
                input["character"] = Value::Null;
            }
            assert_eq!(activated(&input), found, "{interval} {character}");
        }
    }

    #[test]
    fn prompts_are_properties_of_one_object() {
        let mut input = case();
        input["books"][0]["entries"]["0"]["key"] = json!([r"/hi\n\x01one\n\x01two\n\x01three$/"]);
        let inject = |key: &str, value: &str| json!({ "key": key, "value": value, "scan": true });
        input["injects"] = json!([
            inject("b", "old"),
            inject("a", "three"),
            inject("1", "one"),
            inject("b", "two"),
        ]);
        assert_eq!(activated(&input), 1);
    }

    #[test]
    fn records_may_have_numbers_in_text_and_stay_as_they_are() {
        let mut input = case();
        let record = json!({ "hash": "1", "start": "0", "end": "5", "protected": 1 });
        input["timedWorldInfo"] = json!({ "sticky": { "B.0": record }, "cooldown": {} });
        let turns = scan::run(&input).unwrap();
        assert_eq!(turns["turns"][0]["timedWorldInfo"], input["timedWorldInfo"]);
    }
}
