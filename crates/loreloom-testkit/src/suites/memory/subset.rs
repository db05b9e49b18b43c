//! Comparing an actual value with an expected one.
//!
//! The expected value is a subset: fields it does not have are ignored at every level. Lists
//! must agree in length and order, numbers to six decimals. Nothing, null and an empty list
//! are the same.

use serde_json::Value;

const PRECISION: f64 = 1e-6;

/// Where `actual` differs from `expected`, one line each; none if it fits.
pub(super) fn differences(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(expected, actual, "$", &mut found);
    found
}

fn walk(expected: &Value, actual: &Value, path: &str, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (name, value) in expected {
                let other = actual.get(name).unwrap_or(&Value::Null);
                walk(value, other, &format!("{path}.{name}"), found);
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (at, (value, other)) in expected.iter().zip(actual).enumerate() {
                walk(value, other, &format!("{path}[{at}]"), found);
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let close = a
                .as_f64()
                .zip(b.as_f64())
                .is_some_and(|(a, b)| (a - b).abs() <= PRECISION || a.to_bits() == b.to_bits());
            if !close {
                report(expected, actual, path, found);
            }
        }
        _ if is_nothing(expected) && is_nothing(actual) => {}
        _ if expected == actual => {}
        _ => report(expected, actual, path, found),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

fn report(expected: &Value, actual: &Value, path: &str, found: &mut Vec<String>) {
    found.push(format!("{path}: expected {expected}, found {actual}"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_expected_value_is_a_subset_of_the_actual_one() {
        for (expected, actual, count) in [
            (json!({"a": 1}), json!({"a": 1.000_000_4, "b": 2}), 0),
            (json!({"a": 1}), json!({"a": 1.1}), 1),
            (json!({"a": null, "b": []}), json!({"b": null}), 0),
            (json!([{"a": 1}]), json!([{"a": 1, "b": 2}]), 0),
            (json!([1]), json!([1, 2]), 1),
            (json!({"a": {"b": "x"}}), json!({"a": {"b": "y"}}), 1),
            (json!({}), json!([]), 1),
            (json!({}), json!(null), 1),
        ] {
            let found = differences(&expected, &actual);
            assert_eq!(found.len(), count, "{expected} / {actual}: {found:?}");
        }
    }
}
