//! The file in which a vault defines its fields.

use loreloom_core::{book::is_js_space, dialects::vault::FieldDefinition};
use serde_json::{Map, Number, Value};

use super::{
    YamlReader,
    field_definition::{BadField, RawField, check},
};

/// A file of definitions, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldFile {
    /// The fields that can be used.
    pub fields: Vec<FieldDefinition>,
    /// What was wrong with the others, or put right.
    pub bad: Vec<BadField>,
    /// Whether the file is neither YAML nor laid out as DeepLore writes it.
    pub unreadable: bool,
}

/// Reads the file.
pub fn read_fields(text: &str, reader: YamlReader) -> FieldFile {
    let raw = match reader {
        // DeepLore trims the file, so a first line is never indented, and counts characters.
        YamlReader::Mini => Some(read_lines(text.trim_matches(is_js_space), 1)),
        YamlReader::Full => read_yaml(text).or_else(|| Some(read_lines(text, 2))),
    };
    let raw = raw.unwrap_or_default();
    let written = text.lines().map(str::trim).any(|line| {
        !line.is_empty() && !line.starts_with('#') && line != "fields:" && line != "fields: []"
    });
    let mut file = FieldFile { unreadable: raw.is_empty() && written, ..FieldFile::default() };
    for field in raw {
        let (definition, bad) = check(&field);
        file.fields.extend(definition);
        file.bad.extend(bad);
    }
    file
}

fn read_yaml(text: &str) -> Option<Vec<RawField>> {
    let value: Value = serde_saphyr::from_str(text).ok()?;
    let fields = value.get("fields")?.as_array()?;
    Some(fields.iter().filter_map(Value::as_object).cloned().collect())
}

/// What lines of which indentation belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldPart {
    Field,
    Gating,
    Values,
}

/// Reads the layout that DeepLore writes: indentation of 2, 4 and 6. A tab is as wide as `tab`.
fn read_lines(text: &str, tab: usize) -> Vec<RawField> {
    let mut fields: Vec<RawField> = Vec::new();
    let mut part = FieldPart::Field;
    for line in text.split('\n') {
        let line = line.trim_end_matches(is_js_space);
        let content = line.trim_start_matches(is_js_space);
        let blanks = line[..line.len() - content.len()].chars();
        let indent: usize = blanks.map(|blank| if blank == '\t' { tab } else { 1 }).sum();
        if let Some(name) = field_start(content).filter(|_| indent == 2) {
            let mut values = Map::new();
            values.insert("name".to_owned(), Value::from(name));
            fields.push(values);
            part = FieldPart::Field;
            continue;
        }
        if let Some(field) = fields.last_mut() {
            part = take_line(field, part, indent, content);
        }
    }
    fields
}

/// The name in `- name: …`.
fn field_start(content: &str) -> Option<&str> {
    let rest = content.strip_prefix('-').filter(|rest| rest.starts_with(is_js_space))?;
    let name = rest.trim_start_matches(is_js_space).strip_prefix("name:")?;
    let name = name.trim_matches(is_js_space);
    (!name.is_empty()).then_some(name)
}

fn take_line(field: &mut RawField, part: FieldPart, indent: usize, content: &str) -> FieldPart {
    let pair = pair(content);
    match (part, indent, pair) {
        (_, 4, Some(("gating", _))) => return FieldPart::Gating,
        (_, 4, Some(("values", list))) => {
            let inside = list.strip_prefix('[').map(|rest| rest.trim_start_matches(is_js_space));
            if inside.is_none_or(|rest| !rest.starts_with(']')) {
                return FieldPart::Values;
            }
            field.insert("values".to_owned(), Value::Array(Vec::new()));
            return FieldPart::Field;
        }
        (_, 4, Some((key, value))) => {
            if !value.is_empty() {
                field.insert(key.to_owned(), scalar(value));
            }
            return FieldPart::Field;
        }
        (_, 4, None) if content.starts_with(is_word) => return FieldPart::Field,
        (FieldPart::Gating, 6, Some((key, value))) if !value.is_empty() => {
            let gating = field.entry("gating").or_insert_with(|| Map::new().into());
            if let Some(gating) = gating.as_object_mut() {
                gating.insert(key.to_owned(), scalar(value));
            }
        }
        (FieldPart::Values, 6, _) => {
            let item = content.strip_prefix('-').filter(|rest| rest.starts_with(is_js_space));
            if let Some(item) = item {
                let values = field.entry("values").or_insert_with(|| Vec::<Value>::new().into());
                if let Some(values) = values.as_array_mut() {
                    values.push(Value::from(item.trim_matches(is_js_space)));
                }
            }
        }
        _ => {}
    }
    part
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// `key: value`, the colon right behind the key.
fn pair(content: &str) -> Option<(&str, &str)> {
    let (key, value) = content.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(is_word);
    is_key.then(|| (key, value.trim_matches(is_js_space)))
}

fn scalar(value: &str) -> Value {
    let quoted = |quote: char| match value.strip_prefix(quote)?.strip_suffix(quote) {
        None if value.len() == 1 => Some(""),
        inside => inside,
    };
    match value {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        "[]" => Value::Array(Vec::new()),
        _ => {
            let number = value.parse().ok().filter(|_| is_number(value));
            let number = number.and_then(Number::from_f64).map(Value::Number);
            let text = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            number.unwrap_or_else(|| Value::from(text))
        }
    }
}

/// Digits, perhaps with a sign before and a part behind a point.
fn is_number(value: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = value.strip_prefix('-').unwrap_or(value);
    value.split_once('.').map_or_else(|| digits(value), |(a, b)| digits(a) && digits(b))
}

#[cfg(test)]
mod tests {
    use loreloom_core::dialects::vault::Operator;

    use super::*;

    const FILE: &str = "fields:\n  - name: mood\n    multi: true\n    gating:\n      operator: \
                        not_any\n    values:\n      - calm\n  - name: Keys\n  - name: rank\n    \
                        type: integer\n";

    #[test]
    fn both_readers_agree_on_the_layout_that_deeplore_writes() {
        let mini = read_fields(FILE, YamlReader::Mini);
        assert_eq!(mini, read_fields(FILE, YamlReader::Full));
        let names: Vec<&str> = mini.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["mood", "rank"]);
        assert_eq!(mini.fields[0].gating.operator, Operator::NotAny);
        assert_eq!(mini.fields[0].values, ["calm"]);
        assert_eq!(mini.bad.len(), 2);
    }

    #[test]
    fn deeplore_counts_characters_and_trims_the_file() {
        for (text, names) in [
            ("fields:\n\t\t- name: mood\n\t\t\t\tlabel: Mood\n", vec!["Mood"]),
            ("  - name: mood\n    label: Mood\n", vec![]),
            ("x\n  - name: mood\n    label: Mood\n", vec!["Mood"]),
            ("x\n  -name: mood\n", vec![]),
            ("x\n  - name: mood\n    label: +5\n", vec!["+5"]),
            ("x\n  - name: mood\n    label : x\n", vec!["mood"]),
        ] {
            let read = read_fields(text, YamlReader::Mini);
            let labels: Vec<&str> = read.fields.iter().map(|field| field.label.as_str()).collect();
            assert_eq!(labels, names, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_defines_nothing_is_told_apart_from_an_unreadable_one() {
        assert!(!read_fields("# none\nfields: []\n", YamlReader::Full).unreadable);
        assert!(read_fields("mood: string\n", YamlReader::Full).unreadable);
    }
}
