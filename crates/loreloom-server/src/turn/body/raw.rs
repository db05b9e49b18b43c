//! Changing a JSON text in places, every other byte left as it is.
//!
//! Numbers keep their spelling, keys their order, strings their escapes: a field that
//! Loreloom does not know must reach the model as the front end wrote it.

use std::{borrow::Cow, ops::Range};

use loreloom_recognise::wire::outline::{self, Outline};

/// The fields of an object, as they are written.
pub(super) struct RawFields<'text> {
    text: &'text str,
    outline: Cow<'text, Outline>,
}

impl<'text> RawFields<'text> {
    /// Reads an object; `None` if the text is none.
    pub(super) fn of(text: &'text str) -> Option<Self> {
        Some(Self { text, outline: Cow::Owned(Outline::of(text)?) })
    }

    /// Those of a text whose outline is known.
    pub(super) fn over(text: &'text str, outline: &'text Outline) -> Self {
        Self { text, outline: Cow::Borrowed(outline) }
    }

    /// A field's value.
    pub(super) fn get(&self, name: &str) -> Option<&'text str> {
        self.text.get(self.outline.field(self.text, name)?.value.clone())
    }

    /// Where a field that is a list stands, and where its items do.
    pub(super) fn list(&self, name: &str) -> Option<(Range<usize>, &[Range<usize>])> {
        let field = self.outline.field(self.text, name)?;
        Some((field.value.clone(), field.items.as_deref()?))
    }

    /// Where in their text the fields of a name stand, each with the comma that goes with it.
    pub(super) fn places_of(&self, name: &str) -> Vec<Range<usize>> {
        let found = self.outline.named(self.text, name);
        found.map(|field| field_range(self.text, &field.value)).collect()
    }
}

/// The items of a list, as they are written; `None` if the text is none.
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

/// Replacements in a text. They must not overlap.
#[derive(Default)]
pub(super) struct Patches(Vec<(Range<usize>, String)>);

impl Patches {
    /// Puts a text in the place of another.
    pub(super) fn put(&mut self, range: Range<usize>, text: String) {
        self.0.push((range, text));
    }

    /// The text with all replacements made. Those at one point stay in order.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let grown: usize = self.0.iter().map(|(_, patch)| patch.len()).sum();
        let mut out = String::with_capacity(text.len() + grown);
        let mut from = 0;
        for (range, patch) in &self.0 {
            out.push_str(&text[from..range.start]);
            out.push_str(patch);
            from = range.end;
        }
        out.push_str(&text[from..]);
        out
    }
}

/// An object's text without a field, however often it is there; `None` if it never is.
pub(super) fn without(text: &str, name: &str) -> Option<String> {
    let mut left: Option<String> = None;
    loop {
        let text = left.as_deref().unwrap_or(text);
        let places = RawFields::of(text)?.places_of(name);
        let Some(range) = places.last() else { return left };
        left = Some([&text[..range.start], &text[range.end..]].concat());
        if places.len() == 1 {
            return left;
        }
    }
}

/// The bytes of a field with the comma that parts it from its neighbours.
fn field_range(text: &str, value: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let back = |from: usize| bytes[..from].trim_ascii_end().len();
    // `"name"` stands before the colon; an object's value has both before it.
    let name_end = back(back(value.start).saturating_sub(1));
    let start = opening_quote(bytes, name_end.saturating_sub(1));
    let after = bytes.len() - bytes[value.end..].trim_ascii_start().len();
    if bytes.get(after) == Some(&b',') {
        return start..after + 1;
    }
    let before = back(start);
    let comma = before > 0 && bytes[before - 1] == b',';
    (if comma { before - 1 } else { start })..value.end
}

/// Where the string that is closed by the quote at `close` begins.
fn opening_quote(bytes: &[u8], close: usize) -> usize {
    let mut at = close;
    while at > 0 {
        at -= 1;
        let slashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if bytes[at] == b'"' && slashes % 2 == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_taken_out_and_nothing_else_changes() {
        for (text, expected) in [
            (r#"{"x":1,"own":{"a":[1,"}"]},"y":1.0e3}"#, Some(r#"{"x":1,"y":1.0e3}"#)),
            ("{ \"own\" : 1 ,\n \"y\":2}", Some("{ \n \"y\":2}")),
            ("{\"y\": 2 ,\n\"own\" :\t\"a\\\"b\" }", Some("{\"y\": 2  }")),
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
    fn patches_leave_every_other_byte() {
        let text = r#"{"a": [1.50, "x"]}"#;
        let fields = RawFields::of(text).unwrap();
        let (_, list) = fields.list("a").unwrap();
        let mut patches = Patches::default();
        patches.put(list[1].clone(), quoted("y\n"));
        let at = list[0].start;
        patches.put(at..at, "0,".to_owned());
        assert_eq!(patches.apply(text), r#"{"a": [0,1.50, "y\n"]}"#);
    }
}
