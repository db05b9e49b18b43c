//! Changing a JSON text in places, every other byte left as it is.
//!
//! Numbers keep their spelling, keys their order, strings their escapes: a field that
//! Loreloom does not know must reach the model as the front end wrote it.

use std::{borrow::Cow, ops::Range};

use super::scan;

/// The fields of an object, in order, as they are written.
pub(super) struct Fields<'text>(Vec<Field<'text>>);

/// A field, as it is written.
struct Field<'text> {
    name: Cow<'text, str>,
    value: &'text str,
    /// The items of a value that is a list.
    items: Option<Vec<&'text str>>,
}

impl<'text> Fields<'text> {
    /// Reads an object; `None` if the text is none.
    pub(super) fn of(text: &'text str) -> Option<Self> {
        let read = |scan::Field { name, value, items }| {
            let items = items.map(|items| items.into_iter().map(|item| &text[item]).collect());
            Some(Field { name: unquoted(&text[name])?, value: &text[value], items })
        };
        scan::fields(text)?.into_iter().map(read).collect::<Option<_>>().map(Self)
    }

    /// A field. Of several, the last counts, as with most readers.
    fn field(&self, name: &str) -> Option<&Field<'text>> {
        self.0.iter().rfind(|field| field.name == name)
    }

    /// A field's value.
    pub(super) fn get(&self, name: &str) -> Option<&'text str> {
        self.field(name).map(|field| field.value)
    }

    /// A field that is a list, and its items.
    pub(super) fn list(&self, name: &str) -> Option<(&'text str, &[&'text str])> {
        let field = self.field(name)?;
        Some((field.value, field.items.as_deref()?))
    }

    /// Where in their text the fields of a name stand, each with the comma that goes with it.
    pub(super) fn places_of(&self, name: &str, text: &str) -> Vec<Range<usize>> {
        let found = self.0.iter().filter(|field| field.name == name);
        found.map(|field| field_range(text, range_of(field.value, text))).collect()
    }
}

/// What a JSON string says.
fn unquoted(string: &str) -> Option<Cow<'_, str>> {
    match string.get(1..string.len() - 1)? {
        plain if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str(string).ok().map(Cow::Owned),
    }
}

/// The items of a list, as they are written; `None` if the text is none.
pub(super) fn items(text: &str) -> Option<Vec<&str>> {
    Some(scan::items(text)?.into_iter().map(|item| &text[item]).collect())
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
        let places = Fields::of(text)?.places_of(name, text);
        let Some(range) = places.last() else { return left };
        left = Some([&text[..range.start], &text[range.end..]].concat());
        if places.len() == 1 {
            return left;
        }
    }
}

/// The bytes of a field with the comma that parts it from its neighbours.
fn field_range(text: &str, value: Range<usize>) -> Range<usize> {
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
        let fields = Fields::of(text).unwrap();
        let (_, list) = fields.list("a").unwrap();
        let mut patches = Patches::default();
        patches.put(range_of(list[1], text), quoted("y\n"));
        let at = range_of(list[0], text).start;
        patches.put(at..at, "0,".to_owned());
        assert_eq!(patches.apply(text), r#"{"a": [0,1.50, "y\n"]}"#);
    }
}
