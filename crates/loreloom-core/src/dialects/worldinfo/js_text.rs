//! Values as JavaScript writes them, which decides what its hashes are of.

use serde_json::{Map, Value};

use crate::{js_value::write_number, sort::array_index};

/// The JSON text of a value as `JSON.stringify` gives it: numbers are doubles, and fields that
/// look like array indexes come first, ascending.
pub(super) fn json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Number(given) => match given.as_f64() {
            Some(given) => out.push_str(&write_number(given)),
            None => out.push_str("null"),
        },
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => write_fields(fields, out),
    }
}

fn write_fields(fields: &Map<String, Value>, out: &mut String) {
    let mut order: Vec<(Option<u32>, &String, &Value)> =
        fields.iter().map(|(name, value)| (array_index(name), name, value)).collect();
    if order.iter().any(|(index, ..)| index.is_some()) {
        order.sort_by_key(|(index, ..)| (index.is_none(), *index));
    }
    out.push('{');
    for (at, (_, name, value)) in order.into_iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        out.push_str(&Value::from(name.as_str()).to_string());
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_javascript_writes_them() {
        for (stored, written) in [
            ("100.0", "100"),
            ("-0.0", "0"),
            ("1.50", "1.5"),
            ("1e2", "100"),
            ("-12.25", "-12.25"),
            ("1e20", "100000000000000000000"),
            ("123456789012345678901234", "1.2345678901234569e+23"),
            ("1e21", "1e+21"),
            ("12345678901234567890", "12345678901234567000"),
            ("0.000001", "0.000001"),
            ("0.00000123", "0.00000123"),
            ("0.0000001", "1e-7"),
            ("-1.5e-9", "-1.5e-9"),
            (
                r#"{ "b": [1.0, null], "10": true, "2": {"01": 1, "1": "\u00e9\u001f\""} }"#,
                r#"{"2":{"1":"é\u001f\"","01":1},"10":true,"b":[1,null]}"#,
            ),
        ] {
            let value: Value = serde_json::from_str(stored).unwrap();
            assert_eq!(json(&value), written, "{stored}");
        }
    }
}
