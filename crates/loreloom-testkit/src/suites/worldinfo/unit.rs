//! Cases about one function of SillyTavern.

use loreloom_core::{
    book::Key,
    dialects::worldinfo::cyrb53,
    engine::in_format,
    scan::JsRegex,
    tokens::{ByteEstimate, TokenCounter as _},
};
use loreloom_formats::sillytavern::convert;
use serde_json::{Value, json};

pub(super) fn run(input: &Value) -> Result<Value, String> {
    let arg = |at: usize| &input["args"][at];
    let text = |at: usize| arg(at).as_str().unwrap_or_default();
    Ok(match input["fn"].as_str().unwrap_or_default() {
        "tokenEstimate" => json!(ByteEstimate.count(text(0)).0),
        "getStringHash" => json!(cyrb53(text(0))),
        "parseRegexFromString" => parse_regex(text(0)),
        "formatWorldInfo" => json!(in_format(text(0), text(1))),
        "splitKeywordsAndRegexes" => {
            json!(convert::split_typed_keys(text(0), |key| !parse_regex(key).is_null()))
        }
        "convertCharacterBook" => convert::from_character_book(arg(0)),
        "exportCharacterBook" => convert::to_character_book(text(0), arg(1)),
        "importWorldInfo" => {
            convert::from_other_program(arg(0)).ok_or("a file of another program was expected")?
        }
        other => return Err(format!("no function `{other}`")),
    })
}

fn parse_regex(key: &str) -> Value {
    match Key::parse(key) {
        // Keys are trimmed before they are parsed; this function is what comes after.
        Key::Regex(regex)
            if key.trim().len() == key.len()
                && JsRegex::new(&regex.pattern, &regex.flags).is_some() =>
        {
            json!({ "source": source(&regex.pattern), "flags": regex.flags })
        }
        Key::Regex(_) | Key::Literal(_) => Value::Null,
    }
}

/// A pattern as JavaScript's `source` shows it.
fn source(pattern: &str) -> String {
    let mut out = String::new();
    let (mut escaped, mut in_class) = (false, false);
    for character in pattern.chars() {
        match character {
            '/' if !escaped && !in_class => out.push_str("\\/"),
            '\n' => out.push_str(if escaped { "n" } else { "\\n" }),
            other => out.push(other),
        }
        in_class = !escaped && (character == '[' || in_class && character != ']');
        escaped = !escaped && character == '\\';
    }
    out
}
