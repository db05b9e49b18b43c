//! Field values of one entry, each with a remark where it is not of the right type.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use loreloom_core::number::whole;

use super::fields::{Field, KnownField};
use crate::{
    import::OddValues,
    json::{Json, Node, js},
    note::Notes,
    tolerant::meant_as_true,
};

/// The fields of one entry and where remarks about them go.
pub(super) struct Values<'tree, 'text, 'notes> {
    pub(super) node: &'tree Node<'text>,
    pub(super) known: KnownField<'tree, 'text>,
    pub(super) odd: OddValues,
    pub(super) notes: &'notes mut Notes,
}

impl<'tree, 'text> Values<'tree, 'text, '_> {
    /// The value, unless missing or null.
    pub(super) fn given(&self, field: Field) -> Option<&'tree Node<'text>> {
        self.known.get(field).filter(|node| !node.is_null())
    }

    pub(super) fn repairs(&self) -> bool {
        self.odd == OddValues::Repair
    }

    pub(super) fn read_as(&mut self, field: Field, node: &Node<'_>, read: impl std::fmt::Display) {
        self.notes.warn(field.name(), format!("{} was read as {read}", node.shown()));
    }

    /// A boolean; missing is false.
    pub(super) fn flag(&mut self, field: Field) -> bool {
        self.choice(field).unwrap_or(false)
    }

    /// A boolean that may be left to the settings.
    pub(super) fn choice(&mut self, field: Field) -> Option<bool> {
        let node = self.given(field)?;
        if let Json::Bool(value) = node.value {
            return Some(value);
        }
        let value = if self.repairs() { meant_as_true(node) } else { js::truthy(node) };
        self.read_as(field, node, value);
        Some(value)
    }

    /// Text; missing is empty.
    pub(super) fn text(&mut self, field: Field) -> String {
        let Some(node) = self.given(field) else { return String::new() };
        if let Json::String(text) = &node.value {
            return text.as_ref().to_owned();
        }
        let text = js::text(node);
        self.notes.warn(field.name(), format!("must be text, found {}: read as text", node.kind()));
        text
    }

    /// A number; `None` where the field is missing, null or not a number.
    pub(super) fn number(&mut self, field: Field) -> Option<f64> {
        let node = self.given(field)?;
        let number = js::number(node).clamp(f64::MIN, f64::MAX);
        if let Json::Number(_) = node.value {
            return Some(number);
        }
        if number.is_nan() {
            self.notes.warn(
                field.name(),
                format!("must be a number, found {}: read as missing", node.shown()),
            );
            return None;
        }
        self.read_as(field, node, number);
        Some(number)
    }

    /// A count of messages or levels; `None` where there is none. Fractions count as the
    /// next whole number, because they are only ever compared with whole ones.
    pub(super) fn count(&mut self, field: Field) -> Option<u32> {
        let node = self.given(field).filter(|node| js::truthy(node))?;
        let number = self.number(field)?;
        let count = whole(number.ceil());
        if number < 0.0 || number.fract() != 0.0 {
            self.read_as(field, node, count);
        }
        (count > 0).then_some(count)
    }

    /// A list of texts; what is not a list is empty.
    pub(super) fn list(&mut self, field: Field) -> Vec<String> {
        let Some(node) = self.given(field) else { return Vec::new() };
        match &node.value {
            Json::Array(items) => self.items(field.name(), items),
            Json::String(text) if self.repairs() => {
                let keys = crate::keys::split(text);
                self.notes
                    .warn(field.name(), format!("must be a list, found text: split into {keys:?}"));
                keys
            }
            _ => {
                self.notes.warn(
                    field.name(),
                    format!("must be a list, found {}: read as empty", node.kind()),
                );
                Vec::new()
            }
        }
    }

    /// The texts of a list; numbers become text, null is dropped.
    pub(super) fn items(&mut self, name: &str, items: &[Node<'_>]) -> Vec<String> {
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Json::String(text) => texts.push(text.as_ref().to_owned()),
                Json::Null => self.notes.warn(name, "null in the list was dropped"),
                _ => {
                    let text = js::text(item);
                    self.notes.warn(name, format!("{} in the list was read as text", item.shown()));
                    texts.push(text);
                }
            }
        }
        texts
    }
}
