//! Cards as YAML: read as JSON, and written so that every YAML reader accepts them.

use serde_json::Value;

use crate::{error::FormatError, note::Notes};

/// Events that aliases may repeat: a few lines must not unfold to gigabytes.
const MOST_REPEATED: usize = 10_000;

/// Whether a file is called a YAML file.
pub(crate) fn is_called_yaml(file_name: Option<&str>) -> bool {
    let extension =
        file_name.and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    extension.is_some_and(|one| one.eq_ignore_ascii_case("yaml") || one.eq_ignore_ascii_case("yml"))
}

/// The document as JSON. Of a duplicate key the last counts, as in JSON.
pub(crate) fn to_json(text: &str, notes: &mut Notes) -> Result<Value, FormatError> {
    let value = read(text, serde_saphyr::DuplicateKeyPolicy::LastWins)?;
    if read(text, serde_saphyr::DuplicateKeyPolicy::Error).is_err() {
        notes.warn("", "the same key stands twice in one mapping: the last one was used");
    }
    Ok(value)
}

fn read(
    text: &str,
    duplicate_keys: serde_saphyr::DuplicateKeyPolicy,
) -> Result<Value, FormatError> {
    let options = serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_REPEATED,
        }
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // The first line says what is wrong; the others draw the place.
        let problem = error.to_string().lines().next().unwrap_or_default().to_owned();
        FormatError::NotYaml { problem }
    })
}

/// An object as YAML, a line for each of its fields. Values are JSON, which is YAML.
pub(crate) fn write(root: &Value) -> String {
    let Value::Object(fields) = root else { return format!("{root}\n") };
    let mut text = String::new();
    for (name, value) in fields {
        let is_plain = !name.is_empty()
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
                .contains(&name.to_lowercase().as_str());
        let name = if is_plain { name.clone() } else { Value::from(name.as_str()).to_string() };
        let line = format!("{name}: {value}\n");
        text.push_str(&escaped(&line));
    }
    if fields.is_empty() { "{}\n".to_owned() } else { text }
}

/// Escapes characters that JSON allows and YAML does not.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        let code = u32::from(character);
        if matches!(code, 0x7F..=0x9F | 0x2028 | 0x2029 | 0xFEFF | 0xFFFE | 0xFFFF) {
            // `escape_unicode` would put braces round the digits, as Rust does.
            text.extend(["\\u", format!("{code:04x}").as_str()]);
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let card = json!({
            "name": "Ørla: \"Cap\" #1",
            "on": "- not a list\n\t@tab\u{85}\u{7f}",
            "odd key": null,
            "tags": ["a", "b: c"],
            "deep": {"x": [1, 2.5, true, {}]},
            "": "",
        });
        let read = |text: &str| to_json(text, &mut Notes::default()).unwrap();
        assert_eq!(read(&write(&card)), card);
        assert_eq!(read(&write(&json!({}))), json!({}));
    }

    #[test]
    fn a_key_that_stands_twice_is_reported() {
        for (text, warned) in [("name: a\nname: b", true), ("name: a\nother: {name: b}", false)] {
            let mut notes = Notes::default();
            assert!(to_json(text, &mut notes).is_ok());
            assert_eq!(!notes.finish().is_empty(), warned, "{text}");
        }
    }

    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.extend([format!("a{level}: &a{level} [{items}]\n")]);
        }
        assert!(matches!(to_json(&bomb, &mut Notes::default()), Err(FormatError::NotYaml { .. })));
    }
}
