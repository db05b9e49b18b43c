//! JSON as models write it: after a sentence, in a code fence, with commas too many and comments,
//! with line breaks inside texts, or cut off.

use serde_json::{Map, Value};

/// The first JSON object in a reply that has at least one of these keys. A reply that was cut off
/// counts up to its last whole text in a list.
pub(crate) fn object_with(reply: &str, keys: &[&str]) -> Option<Map<String, Value>> {
    let has_key = |object: &Map<String, Value>| keys.iter().any(|key| object.contains_key(*key));
    let mut starts = reply.match_indices('{').map(|(at, _)| &reply[at..]);
    starts.find_map(|text| {
        let text = relaxed(text);
        let whole = first_object(&text).or_else(|| first_object(&closed(&text)?));
        whole.filter(has_key)
    })
}

/// The lines of a list. Models also write one text, nothing, or objects with a text.
pub(crate) fn lines_of(list: &Value) -> Option<Vec<String>> {
    match list {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(text.lines().map(str::to_owned).collect()),
        Value::Array(items) => items.iter().map(line_of).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// One item of a list as a line: a text, or the texts of an object with its tag first.
fn line_of(item: &Value) -> Option<String> {
    match item {
        // A line break would begin another line.
        Value::String(text) => Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let mut texts: Vec<&str> = fields.values().filter_map(Value::as_str).collect();
            texts.sort_by_key(|text| !text.starts_with('['));
            (!texts.is_empty()).then(|| texts.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    values.next()?.ok()
}

/// The same JSON without comments and commas before a bracket, and with escaped line breaks.
fn relaxed(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let (mut in_text, mut escaped) = (false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '\n' if in_text => {
                plain.push_str("\\n");
                continue;
            }
            '/' if !in_text && letters.peek() == Some(&'/') => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
                continue;
            }
            ']' | '}' if !in_text => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
            }
            _ => {}
        }
        plain.push(letter);
    }
    plain
}

/// JSON that was cut off, up to its last whole text in a list, with what is open closed. `None` if
/// there is no such text.
fn closed(text: &str) -> Option<String> {
    let mut open: Vec<char> = Vec::new();
    let (mut in_text, mut escaped) = (false, false);
    let mut good: Option<(usize, Vec<char>)> = None;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => {
                in_text = !in_text;
                if !in_text && open.last() == Some(&']') {
                    good = Some((at + 1, open.clone()));
                }
            }
            _ if in_text => {}
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' => {
                open.pop();
                if !open.is_empty() && letter == ']' {
                    good = Some((at + 1, open.clone()));
                }
            }
            _ => {}
        }
    }
    let (end, open) = good?;
    Some(text[..end].chars().chain(open.into_iter().rev()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_read_as_models_write_it() {
        let expected = json!({ "session": ["a", "b"] });
        for reply in [
            r#"{"session": ["a", "b"]}"#,
            r#"Here {as asked}: {"session": ["a", "b",],} Done."#,
            "```json\n{\n  // new\n  \"session\": [\n    \"a\", // first\n    \"b\",\n  ],\n}\n```",
            r#"{"note": 1} {"session": ["a", "b"]}"#,
            r#"{"session": ["a", "b", "c"#,
        ] {
            let read = object_with(reply, &["session"]).map(Value::Object);
            assert_eq!(read.as_ref(), Some(&expected), "{reply}");
        }
        let broken = object_with("{\"session\": [\"a\nb\", \"http://c, ]\"]}", &["session"]);
        let expected = json!({ "session": ["a\nb", "http://c, ]"] });
        assert_eq!(broken.map(Value::Object), Some(expected));
        assert_eq!(object_with("{\"other\": []}", &["session"]), None);
    }

    #[test]
    fn a_list_may_be_one_text_or_nothing_or_have_objects() {
        for (list, expected) in [
            (json!(["a", " b\n c "]), Some(vec!["a", "b c"])),
            (json!("a\nb"), Some(vec!["a", "b"])),
            (json!(null), Some(vec![])),
            (
                json!([{ "statement": "Odo left.", "tag": "[fact:2]" }]),
                Some(vec!["[fact:2] Odo left."]),
            ),
            (json!([1]), None),
            (json!(true), None),
        ] {
            let lines = lines_of(&list);
            let lines = lines.as_ref().map(|all| all.iter().map(String::as_str).collect());
            assert_eq!(lines, expected, "{list}");
        }
    }
}
