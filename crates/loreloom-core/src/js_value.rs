//! Values as JavaScript reads and writes them.
//!
//! Vaults are written for a JavaScript program: a note may say `"0x10"`, and a number in a
//! field must read the same here as there.

use serde_json::Value;

use crate::book::is_js_space;

/// Whether a value counts as true: anything but null, `false`, 0 and an empty text.
pub(crate) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// A value as text.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => write_number(float),
            Some(_) | None => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text_in_list).collect::<Vec<_>>().join(","),
        Value::Object(_) => value.to_string(),
    }
}

/// An item of a list that is written as one text: null leaves its place empty.
pub(crate) fn text_in_list(item: &Value) -> String {
    if item.is_null() { String::new() } else { text_of(item) }
}

/// The number in a text, perhaps an infinite one; `None` if it is no number. Blank text is no
/// number here, although JavaScript takes it for 0.
pub fn read_number(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_js_space);
    for (marks, radix) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        if let Some(digits) = marks.iter().find_map(|mark| text.strip_prefix(mark)) {
            return read_digits(digits, radix);
        }
    }
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "Infinity" if text.starts_with('-') => Some(f64::NEG_INFINITY),
        "Infinity" => Some(f64::INFINITY),
        // Rust also reads words such as `nan`.
        rest if rest.contains(|c: char| c.is_alphabetic() && c != 'e' && c != 'E') => None,
        _ => text.parse().ok(),
    }
}

/// Digits of another base than ten, without a sign.
fn read_digits(digits: &str, radix: u32) -> Option<f64> {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "rounds to the nearest, as JavaScript does")]
    let number = u128::from_str_radix(digits, radix).map(|number| number as f64);
    // More digits than fit are rounded either way.
    let values = digits.chars().filter_map(|digit| digit.to_digit(radix));
    Some(number.unwrap_or_else(|_| {
        values.fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit))
    }))
}

/// A number as text: `5`, `0.1`, `1e+21`.
pub fn write_number(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        let words = if number.is_nan() { "NaN" } else { "Infinity" };
        return format!("{}{words}", if number == f64::NEG_INFINITY { "-" } else { "" });
    }
    // Within these, both languages write all digits; beyond, JavaScript uses an exponent.
    if (1e-6..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_javascript_reads_them() {
        for (text, number) in [
            ("5", Some(5.0)),
            (" -.5e1\u{feff}", Some(-5.0)),
            ("5.", Some(5.0)),
            ("0b11", Some(3.0)),
            ("0O17", Some(15.0)),
            ("0x1FFFFFFFF", Some(8_589_934_591.0)),
            ("0x100000000000000000000000000000000", Some(2_f64.powi(128))),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("+Infinity", Some(f64::INFINITY)),
            ("infinity", None),
            ("NaN", None),
            ("-0x1", None),
            ("0b2", None),
            ("0x", None),
            ("1_000", None),
            ("\u{85}5", None),
            ("", None),
        ] {
            assert_eq!(read_number(text), number, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        for (number, text) in [
            (5.0, "5"),
            (-0.0, "0"),
            (-2.5, "-2.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000_001, "0.000001"),
            (0.000_000_15, "1.5e-7"),
            (-1e-7, "-1e-7"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(write_number(number), text);
        }
    }
}
