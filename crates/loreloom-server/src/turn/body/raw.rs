//! The fields of a JSON object as text.
//!
//! A field that Loreloom does not know must reach the model as the front end wrote it, so a body
//! is changed by [`JsonEdits`] at the places that this module finds.

use std::{borrow::Cow, ops::Range};

use loreloom_formats::JsonEdits;
use loreloom_recognise::wire::outline::{self, Field, Outline};

/// The fields of an object, as text.
pub(super) struct RawFields<'text> {
    text: &'text str,
    outline: Cow<'text, Outline>,
}

impl<'text> RawFields<'text> {
    /// Reads an object; `None` if the text is not an object.
    pub(super) fn of(text: &'text str) -> Option<Self> {
        Some(Self { text, outline: Cow::Owned(Outline::of(text)?) })
    }

    /// The fields of a text whose outline is known.
    pub(super) fn over(text: &'text str, outline: &'text Outline) -> Self {
        Self { text, outline: Cow::Borrowed(outline) }
    }

    /// A field's value.
    pub(super) fn get(&self, name: &str) -> Option<&'text str> {
        self.text.get(self.outline.field(self.text, name)?.value.clone())
    }

    /// The range of a field that is a list, and those of its items.
    pub(super) fn list(&self, name: &str) -> Option<(Range<usize>, &[Range<usize>])> {
        let field = self.outline.field(self.text, name)?;
        Some((field.value.clone(), field.items.as_deref()?))
    }

    /// Removes the fields of a name; false if there are none.
    pub(super) fn remove(&self, name: &str, edits: &mut JsonEdits) -> bool {
        let row = |field: &Field| {
            let kept = field.name(self.text).as_deref() != Some(name);
            (field.name.start..field.value.end, kept)
        };
        let rows: Vec<_> = self.outline.fields().iter().map(row).collect();
        if rows.iter().all(|(_, kept)| *kept) {
            return false;
        }
        // An outline is that of an object, so the text has both braces.
        let inside = self.text.find('{').map_or(0, |open| open + 1)
            ..self.text.rfind('}').unwrap_or(self.text.len());
        edits.remove_rows(self.text, inside, &rows);
        true
    }
}

/// The items of a list, as text; `None` if the text is not a list.
pub(super) fn items(text: &str) -> Option<Vec<&str>> {
    Some(outline::items(text)?.into_iter().map(|item| &text[item]).collect())
}

/// The bytes of `part` in the text that it was read from.
pub(super) fn range_of(part: &str, text: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// A string as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object's text without a field, however often it is there; `None` if it never is.
pub(super) fn without(text: &str, name: &str) -> Option<String> {
    let fields = RawFields::of(text)?;
    let mut edits = JsonEdits::default();
    fields.remove(name, &mut edits).then(|| edits.apply(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_taken_out_and_nothing_else_changes() {
        for (text, expected) in [
            (r#"{"x":1,"own":{"a":[1,"}"]},"y":1.0e3}"#, Some(r#"{"x":1,"y":1.0e3}"#)),
            ("{ \"own\" : 1 ,\n \"y\":2}", Some("{\n \"y\":2}")),
            ("{\"y\": 2 ,\n\"own\" :\t\"a\\\"b\" }", Some("{\"y\": 2 }")),
            (r#"{"own":1}"#, Some("{}")),
            (r#"{"own":1,"own":2,"z":3,"own":4}"#, Some(r#"{"z":3}"#)),
            (r#"{"\u006fwn":1,"z":"\u00e9"}"#, Some(r#"{"z":"\u00e9"}"#)),
            (r#"{"z":[{},],"y":[1 2],"own":1}"#, Some(r#"{"z":[{},],"y":[1 2]}"#)),
            (r#"{"z":{"own":1}}"#, None),
            (r#"["own"]"#, None),
            ("{", None),
        ] {
            assert_eq!(without(text, "own").as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn edits_leave_every_other_byte() {
        let text = r#"{"a": [1.50, "x"]}"#;
        let fields = RawFields::of(text).unwrap();
        let (_, list) = fields.list("a").unwrap();
        let mut edits = JsonEdits::default();
        edits.replace(list[1].clone(), quoted("y\n"));
        let at = list[0].start;
        edits.replace(at..at, "0,".to_owned());
        assert_eq!(edits.apply(text), r#"{"a": [0,1.50, "y\n"]}"#);
    }
}
