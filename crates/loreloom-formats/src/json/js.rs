//! JavaScript's conversions, which decide what an odd value means to `SillyTavern`.

use super::{Json, Node};

/// Whether JavaScript takes the value for true in a condition.
pub(crate) fn truthy(node: &Node<'_>) -> bool {
    match &node.value {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(_) => number(node) != 0.0,
        Json::String(text) => !text.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}

/// `value == true`: a number or numeric text of 1 counts, other text does not.
pub(crate) fn loosely_true(node: &Node<'_>) -> bool {
    #[expect(clippy::float_cmp, reason = "exactly 1 is what JavaScript compares with")]
    let is_one = !node.is_object() && !node.is_null() && number(node) == 1.0;
    is_one
}

/// The value as a number; not a number for lists, objects and other text.
pub(crate) fn number(node: &Node<'_>) -> f64 {
    match &node.value {
        Json::Null => 0.0,
        Json::Bool(value) => f64::from(u8::from(*value)),
        Json::Number(text) => text.parse().unwrap_or(f64::NAN),
        Json::String(text) => number_of_text(text),
        Json::Array(_) | Json::Object(_) => f64::NAN,
    }
}

/// The text without the blanks around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// The text as a number: blanks around it do not count, nothing is 0.
pub(crate) fn number_of_text(text: &str) -> f64 {
    let text = trim(text);
    let radix = |prefix: [&str; 2], radix| {
        let digits = text.strip_prefix(prefix[0]).or_else(|| text.strip_prefix(prefix[1]))?;
        #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are doubles")]
        u64::from_str_radix(digits, radix).ok().map(|number| number as f64)
    };
    let prefixed = radix(["0x", "0X"], 16)
        .or_else(|| radix(["0o", "0O"], 8))
        .or_else(|| radix(["0b", "0B"], 2));
    if let Some(number) = prefixed {
        return number;
    }
    match text {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also reads `inf`, `nan` and the like, which JavaScript does not.
        _ if text.contains(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))) => f64::NAN,
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// The value as text, as `String(value)` gives it for what is not a list or an object.
pub(crate) fn text(node: &Node<'_>) -> String {
    match &node.value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(spelled) => number_text(spelled),
        Json::String(text) => text.as_ref().to_owned(),
        Json::Array(_) | Json::Object(_) => node.to_value().to_string(),
    }
}

/// `5.0` is `5` in JavaScript; whole numbers lose their fraction, others keep it.
fn number_text(spelled: &str) -> String {
    match spelled.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < 1e21 => format!("{number:.0}"),
        Ok(number) => number.to_string(),
        Err(_) => spelled.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn odd_values_convert_as_in_javascript() {
        for (json, is_truthy, is_loosely_true, as_number) in [
            ("null", false, false, 0.0),
            ("true", true, true, 1.0),
            ("false", false, false, 0.0),
            ("0", false, false, 0.0),
            ("1", true, true, 1.0),
            ("1.0", true, true, 1.0),
            ("-2", true, false, -2.0),
            ("\"\"", false, false, 0.0),
            ("\"1\"", true, true, 1.0),
            ("\" 120 \"", true, false, 120.0),
            ("\"0x10\"", true, false, 16.0),
            ("\"yes\"", true, false, f64::NAN),
            ("\"inf\"", true, false, f64::NAN),
            ("\"false\"", true, false, f64::NAN),
            ("[]", true, false, f64::NAN),
            ("{}", true, false, f64::NAN),
        ] {
            let node = parse(json, 8).unwrap().root;
            assert_eq!(truthy(&node), is_truthy, "{json}");
            assert_eq!(loosely_true(&node), is_loosely_true, "{json}");
            assert_eq!(number(&node).to_bits(), as_number.to_bits(), "{json}");
        }
    }

    #[test]
    fn numbers_become_text_without_a_zero_fraction() {
        for (json, expected) in
            [("5", "5"), ("5.0", "5"), ("5e2", "500"), ("1.5", "1.5"), ("true", "true")]
        {
            assert_eq!(text(&parse(json, 8).unwrap().root), expected);
        }
    }
}
