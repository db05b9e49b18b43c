//! The settings of a configuration file, with the line of each.

use std::ops::Range;

use anyhow::Context as _;
use loreloom_settings::{Changes, SettingScope, find};
use serde_json::Value;
use toml::de::{DeArray, DeTable, DeValue};

use super::PARTS;

/// The settings of a file.
pub(super) struct SettingLines {
    server: Vec<Line>,
    books: Vec<Vec<Line>>,
    vaults: Vec<Vec<Line>>,
}

/// A setting on a line.
struct Line {
    name: String,
    value: Value,
    number: usize,
    /// Where its value is in the text.
    span: Range<usize>,
}

/// Names of `[features]` that choose a connection.
const CHOICES: [&str; 4] = ["writer", "extractor", "selector", "embedder"];

impl SettingLines {
    pub(super) fn read(text: &str) -> Result<Self, toml::de::Error> {
        let document = DeTable::parse(text)?;
        let document = document.get_ref();
        let mut server = Vec::new();
        for (key, value) in document {
            let key = key.get_ref().as_ref();
            let is_part = PARTS.contains(&key);
            if !is_part {
                walk(text, key, value, &mut server);
            }
        }
        server.retain(|line| {
            let choice = line.name.strip_prefix("features.");
            !choice.is_some_and(|name| {
                CHOICES.iter().any(|known| name.split('.').next() == Some(known))
            })
        });
        let of = |part: &str, own: &[&str]| entries(text, document, part, own);
        let books = of("books", &["file", "to", "dialect"]);
        let vaults = of("vaults", &["folder", "name"]);
        Ok(Self { server, books, vaults })
    }

    /// The settings of the whole file.
    pub(super) fn settings(&self) -> anyhow::Result<Changes> {
        let mut changes = Changes::default();
        for Line { name, value, number, .. } in &self.server {
            changes.set(name, value.clone()).with_context(|| format!("line {number}"))?;
        }
        Ok(changes)
    }

    /// Where the value of a setting is in the text.
    pub(super) fn span(&self, name: &str) -> Option<Range<usize>> {
        Some(self.server.iter().find(|line| line.name == name)?.span.clone())
    }

    /// The settings of one book or vault.
    pub(super) fn overrides(&self, scope: SettingScope, at: usize) -> anyhow::Result<Changes> {
        let all = if scope == SettingScope::Book { &self.books } else { &self.vaults };
        let mut changes = Changes::default();
        for Line { name, value, number, .. } in all.get(at).into_iter().flatten() {
            let set = changes.set_for(scope, name, value.clone());
            set.with_context(|| format!("line {number}"))?;
        }
        Ok(changes)
    }
}

/// The settings of each entry of a list of tables.
fn entries(text: &str, document: &DeTable<'_>, part: &str, own: &[&str]) -> Vec<Vec<Line>> {
    let Some(DeValue::Array(items)) = document.get(part).map(toml::Spanned::get_ref) else {
        return Vec::new();
    };
    let lines = |item: &toml::Spanned<DeValue<'_>>| {
        let mut found = Vec::new();
        if let DeValue::Table(fields) = item.get_ref() {
            for (key, value) in fields {
                let key = key.get_ref().as_ref();
                if !own.contains(&key) {
                    walk(text, key, value, &mut found);
                }
            }
        }
        found
    };
    items.iter().map(lines).collect()
}

/// Collects settings. A table is a value if a setting has its name.
fn walk(text: &str, name: &str, value: &toml::Spanned<DeValue<'_>>, found: &mut Vec<Line>) {
    if let DeValue::Table(fields) = value.get_ref()
        && find(name).is_none()
    {
        for (key, value) in fields {
            walk(text, &format!("{name}.{}", key.get_ref()), value, found);
        }
        return;
    }
    let number = text[..value.span().start.min(text.len())].matches('\n').count() + 1;
    let (name, span) = (name.to_owned(), value.span());
    found.push(Line { name, value: json(value.get_ref()), number, span });
}

/// The same value in JSON. A number that JSON cannot have is a text, which the setting refuses.
fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => {
            let digits_of = number.as_str();
            let digits = i128::from_str_radix(digits_of, number.radix());
            let number = digits.ok().and_then(|number| {
                u64::try_from(number)
                    .ok()
                    .map(Value::from)
                    .or_else(|| i64::try_from(number).ok().map(Value::from))
            });
            number.unwrap_or_else(|| Value::from(digits_of))
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            parsed.map_or_else(|| Value::from(number.as_str()), Value::Number)
        }
        DeValue::Boolean(is_on) => Value::from(*is_on),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => array(items),
        DeValue::Table(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
            Value::Object(fields.collect())
        }
    }
}

fn array(items: &DeArray<'_>) -> Value {
    items.iter().map(|item| json(item.get_ref())).collect()
}
