//! The first place where two JSON values differ.

use serde_json::Value;

/// Describes the first difference, or `None` if the values are equal. Numbers are equal by
/// value: `1` and `1.0` are the same.
pub fn first_difference(expected: &Value, actual: &Value) -> Option<String> {
    differ(expected, actual, &mut String::new())
}

fn differ(expected: &Value, actual: &Value, at: &mut String) -> Option<String> {
    match (expected, actual) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (key, value) in wanted {
                let Some(other) = found.get(key) else {
                    return Some(format!("{at}/{key}: expected {}, found nothing", short(value)));
                };
                if let Some(difference) = inside(at, key, |at| differ(value, other, at)) {
                    return Some(difference);
                }
            }
            let extra = found.iter().find(|(key, _)| !wanted.contains_key(*key));
            extra
                .map(|(key, value)| format!("{at}/{key}: expected nothing, found {}", short(value)))
        }
        (Value::Array(wanted), Value::Array(found)) => {
            for (index, (value, other)) in wanted.iter().zip(found).enumerate() {
                let difference = inside(at, &index.to_string(), |at| differ(value, other, at));
                if difference.is_some() {
                    return difference;
                }
            }
            (wanted.len() != found.len()).then(|| {
                format!(
                    "{at}: expected {} items, found {}: {}",
                    wanted.len(),
                    found.len(),
                    short(actual)
                )
            })
        }
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => None,
        _ if expected == actual => None,
        _ => Some(format!("{at}: expected {}, found {}", short(expected), short(actual))),
    }
}

fn inside<R>(at: &mut String, key: &str, look: impl FnOnce(&mut String) -> R) -> R {
    let length = at.len();
    at.push('/');
    at.push_str(key);
    let result = look(at);
    at.truncate(length);
    result
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        for (expected, actual, difference) in [
            (json!({"a": [1, 2]}), json!({"a": [1.0, 2]}), None),
            (json!({"a": [1, 2]}), json!({"a": [1, 3]}), Some("/a/1: expected 2, found 3")),
            (json!({"a": 1}), json!({}), Some("/a: expected 1, found nothing")),
            (json!({}), json!({"b": 1}), Some("/b: expected nothing, found 1")),
            (json!([1]), json!([1, 2]), Some(": expected 1 items, found 2: [1,2]")),
        ] {
            assert_eq!(first_difference(&expected, &actual).as_deref(), difference);
        }
    }
}
