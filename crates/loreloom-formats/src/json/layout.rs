//! JSON text in the layout of the file it goes into.

use loreloom_core::book::{Indent, Newline, TextStyle};
use serde::Serialize as _;
use serde_json::{Value, ser::PrettyFormatter};

/// The value as text in this style; lines after the first start at `level`.
pub(crate) fn to_text(value: &Value, style: &TextStyle, level: usize) -> String {
    let unit = match style.indent {
        Indent::None => return value.to_string(),
        Indent::Spaces(count) => " ".repeat(usize::from(count)),
        Indent::Tab => "\t".to_owned(),
    };
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    if value.serialize(&mut serializer).is_err() {
        return value.to_string();
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|_| value.to_string());
    // A line end inside a JSON text is always layout: in strings it is an escape.
    text.replace('\n', &format!("{}{}", newline(style), unit.repeat(level)))
}

/// Begins a new line at `level`, where the style has lines.
pub(crate) fn break_line(out: &mut String, style: &TextStyle, level: usize) {
    let (unit, count) = match style.indent {
        Indent::None => return,
        Indent::Spaces(count) => (" ", usize::from(count)),
        Indent::Tab => ("\t", 1),
    };
    out.push_str(newline(style));
    out.extend(std::iter::repeat_n(unit, count * level));
}

/// The separator between a key and its value.
pub(crate) fn colon(style: &TextStyle) -> &'static str {
    if style.indent == Indent::None { "\":" } else { "\": " }
}

/// The line end of a style.
pub(crate) fn newline(style: &TextStyle) -> &'static str {
    match style.newline {
        Newline::Lf => "\n",
        Newline::CrLf => "\r\n",
    }
}

/// A number as JSON spells it: whole numbers without a fraction.
pub(crate) fn number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return Value::from(number as i64);
    }
    Value::from(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_follows_the_style_of_the_file() {
        let value = json!({"a": [1, "x\ny"]});
        let style = |indent, newline| TextStyle { indent, newline, ..TextStyle::default() };
        for (style, level, expected) in [
            (style(Indent::None, Newline::Lf), 3, "{\"a\":[1,\"x\\ny\"]}"),
            (style(Indent::Tab, Newline::Lf), 0, "{\n\t\"a\": [\n\t\t1,\n\t\t\"x\\ny\"\n\t]\n}"),
            (
                style(Indent::Spaces(1), Newline::CrLf),
                1,
                "{\r\n  \"a\": [\r\n   1,\r\n   \"x\\ny\"\r\n  ]\r\n }",
            ),
        ] {
            assert_eq!(to_text(&value, &style, level), expected);
        }
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        for (value, expected) in [(5.0, "5"), (-0.5, "-0.5"), (1e300, "1e+300"), (0.0, "0")] {
            assert_eq!(number(value).to_string(), expected);
        }
    }
}
