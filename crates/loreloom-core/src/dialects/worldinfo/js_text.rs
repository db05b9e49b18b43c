//! Values as JavaScript writes them, which decides what its hashes are of.

use serde_json::{Map, Value};

use crate::sort::array_index;

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
            Some(given) => out.push_str(&number(given)),
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

/// A number as `String(number)` gives it: the fewest digits that tell it apart, with an exponent
/// where it is very large or very small.
fn number(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let spelled = format!("{:e}", number.abs());
    let (digits, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let digits = digits.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if number < 0.0 { "-" } else { "" };
    // Where the point stands, counted in digits.
    let (point, count) = (exponent + 1, i32::try_from(digits.len()).unwrap_or(i32::MAX));
    let zeros = |many: i32| "0".repeat(usize::try_from(many).unwrap_or(0));
    let at = |place: i32| digits.split_at(usize::try_from(place).unwrap_or(0));
    match point {
        -5..=0 => format!("{sign}0.{}{digits}", zeros(-point)),
        1..=21 if point >= count => format!("{sign}{digits}{}", zeros(point - count)),
        1..=21 => format!("{sign}{}.{}", at(point).0, at(point).1),
        _ => {
            let (first, others) = at(1);
            let dot = if others.is_empty() { "" } else { "." };
            format!("{sign}{first}{dot}{others}e{exponent:+}")
        }
    }
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
