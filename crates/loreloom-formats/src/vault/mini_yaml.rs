//! DeepLore's own reader of fields, which reads line by line and knows no nesting.
//!
//! Comments stay part of values, quotes are stripped even where only one is there, and
//! lines it does not understand are skipped. Notes in the wild depend on all of that.

use loreloom_core::book::is_js_space;
use serde_json::{Map, Number, Value};

/// Reads the lines between the fences.
pub(super) fn read(text: &str) -> Map<String, Value> {
    let mut reader = MiniYamlReader::default();
    for line in text.split('\n') {
        reader.take(line);
    }
    reader.close_block();
    reader.fields
}

#[derive(Default)]
struct MiniYamlReader {
    fields: Map<String, Value>,
    key: Option<String>,
    /// Whether list items go to the list of `key`, or begin a new one.
    in_list: bool,
    block: Option<YamlBlock>,
}

struct YamlBlock {
    key: String,
    separator: &'static str,
    lines: Vec<String>,
}

impl MiniYamlReader {
    fn take(&mut self, line: &str) {
        let trimmed = line.trim_end_matches(is_js_space);
        if let Some(block) = &mut self.block {
            if trimmed.is_empty() || line.starts_with(is_js_space) {
                block.lines.push(trimmed.to_owned());
                return;
            }
            self.close_block();
        }
        if let Some(item) = list_item(trimmed)
            && let Some(key) = &self.key
        {
            let item = Value::String(unescape(unquote_pair(item)));
            match self.fields.get_mut(key) {
                Some(Value::Array(list)) if self.in_list => list.push(item),
                Some(_) | None => {
                    self.fields.insert(key.clone(), Value::Array(vec![item]));
                    self.in_list = true;
                }
            }
            return;
        }
        if let Some((key, value)) = pair(trimmed) {
            self.key = Some(key.to_owned());
            self.in_list = false;
            self.set(key, value);
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let separator = match value {
            "|" => "\n",
            ">" => " ",
            _ => {
                let value = scalar(value);
                self.in_list = value.is_array();
                self.fields.insert(key.to_owned(), value);
                return;
            }
        };
        self.block = Some(YamlBlock { key: key.to_owned(), separator, lines: Vec::new() });
    }

    fn close_block(&mut self) {
        if let Some(block) = self.block.take() {
            let text = block.lines.join(block.separator).trim_matches(is_js_space).to_owned();
            self.fields.insert(block.key, Value::String(text));
        }
    }
}

/// `- item`, at any indentation.
fn list_item(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(is_js_space).strip_prefix('-')?;
    rest.starts_with(is_js_space).then(|| trim(rest))
}

/// `key: value`, at no indentation.
fn pair(line: &str) -> Option<(&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !line.starts_with(is_word) {
        return None;
    }
    let end = line.find(|c: char| !is_word(c) && c != '.' && c != '-')?;
    let (key, rest) = line.split_at(end);
    Some((key, trim(rest.trim_start_matches(is_js_space).strip_prefix(':')?)))
}

/// Cuts what JavaScript takes for blanks, which is not quite what Rust does.
fn trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}

fn scalar(value: &str) -> Value {
    match value {
        "" | "[]" => Value::Array(Vec::new()),
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" | "~" => Value::Null,
        _ => {
            if let Some(inner) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                return Value::Array(inline_list(trim(inner)));
            }
            number(value).unwrap_or_else(|| Value::from(unquote_ends(value)))
        }
    }
}

/// Digits with at most one point, and a sign before them.
fn number(value: &str) -> Option<Value> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let number: f64 = value.parse().ok()?;
    Number::from_f64(number).map(Value::Number)
}

/// `a, "b, c", d`: a quote counts only at the beginning of an item.
fn inline_list(inner: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut current = String::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for character in inner.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quote.is_some() => {
                escaped = true;
                continue;
            }
            '"' | '\'' if quote.is_none() && trim(&current).is_empty() => quote = Some(character),
            _ if quote == Some(character) => quote = None,
            ',' if quote.is_none() => {
                items.push(Value::from(unquote_ends(trim(&current))));
                current.clear();
                continue;
            }
            _ => {}
        }
        current.push(character);
    }
    if !trim(&current).is_empty() {
        items.push(Value::from(unquote_ends(trim(&current))));
    }
    items
}

const QUOTES: [char; 2] = ['"', '\''];

/// Strips one quote at each end, whether or not they belong together.
fn unquote_ends(text: &str) -> &str {
    let text = text.strip_prefix(QUOTES).unwrap_or(text);
    text.strip_suffix(QUOTES).unwrap_or(text)
}

/// Strips the quotes around a text if both are the same.
fn unquote_pair(text: &str) -> &str {
    QUOTES
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

fn unescape(text: &str) -> String {
    text.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\")
}
