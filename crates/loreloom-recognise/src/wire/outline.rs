//! Where the parts of a JSON text are, without parsing them.
//!
//! Reading a body and adding lore to it both need its structure, which is found once. Bad JSON is
//! noticed only where its structure breaks.

use std::{borrow::Cow, ops::Range};

use memchr::memchr2;

/// A field of an object: the ranges of its name, its value and, for a list, its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, with the quotes.
    pub name: Range<usize>,
    /// Its value.
    pub value: Range<usize>,
    /// The items of a list.
    pub items: Option<Vec<Range<usize>>>,
}

impl Field {
    /// Its name without escapes; `None` if that is not JSON.
    pub fn name<'text>(&self, text: &'text str) -> Option<Cow<'text, str>> {
        let quoted = text.get(self.name.clone())?;
        let plain = quoted.get(1..quoted.len().checked_sub(1)?)?;
        if plain.bytes().any(|byte| byte == b'\\' || byte < b' ') {
            return serde_json::from_str(quoted).ok().map(Cow::Owned);
        }
        Some(Cow::Borrowed(plain))
    }
}

/// The fields of an object, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline(Vec<Field>);

impl Outline {
    /// The outline of a text; `None` if it is not an object.
    pub fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        let end = list(bytes, blanks(bytes, 0), (b'{', b'}'), |from| {
            let name = from..string(bytes, from)?;
            let colon = blanks(bytes, name.end);
            let from = (bytes.get(colon) == Some(&b':')).then_some(colon + 1)?;
            let from = blanks(bytes, from);
            let (end, items) = match items_from(bytes, from, |from| value(bytes, from)) {
                Some((end, items)) => (end, Some(items)),
                // Also a broken list: its end may still be found.
                None => (value(bytes, from)?, None),
            };
            found.push(Field { name, value: from..end, items });
            Some(end)
        })?;
        (blanks(bytes, end) == bytes.len()).then_some(Self(found))
    }

    /// The fields, in order.
    pub fn fields(&self) -> &[Field] {
        &self.0
    }

    /// The fields of a name, in order.
    pub fn named<'a>(&'a self, text: &'a str, name: &'a str) -> impl Iterator<Item = &'a Field> {
        self.0.iter().filter(move |field| field.name(text).as_deref() == Some(name))
    }

    /// The field of a name. Of several, the last counts, as with most readers.
    pub fn field(&self, text: &str, name: &str) -> Option<&Field> {
        self.0.iter().rfind(|field| field.name(text).as_deref() == Some(name))
    }
}

/// The ranges of the items of a list; `None` if the text is not a list.
pub fn items(text: &str) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let (end, items) = items_from(bytes, blanks(bytes, 0), |from| value(bytes, from))?;
    (blanks(bytes, end) == bytes.len()).then_some(items)
}

/// The end of the list that begins at a position, and its items.
fn items_from(
    bytes: &[u8],
    from: usize,
    mut item: impl FnMut(usize) -> Option<usize>,
) -> Option<(usize, Vec<Range<usize>>)> {
    let mut items = Vec::new();
    let one = |from| item(from).inspect(|end| items.push(from..*end));
    let end = list(bytes, from, (b'[', b']'), one)?;
    Some((end, items))
}

/// Walks over the items between two brackets, from the opening one at `from`. `one` returns the
/// end of the item at a position. Returns the end of the closing bracket.
fn list(
    bytes: &[u8],
    from: usize,
    (open, close): (u8, u8),
    mut one: impl FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    if *bytes.get(from)? != open {
        return None;
    }
    let mut at = blanks(bytes, from + 1);
    if *bytes.get(at)? != close {
        loop {
            at = blanks(bytes, one(at)?);
            match *bytes.get(at)? {
                b',' => at = blanks(bytes, at + 1),
                end if end == close => break,
                _ => return None,
            }
        }
    }
    Some(at + 1)
}

/// The end of the value that begins at a position.
pub(super) fn value(bytes: &[u8], from: usize) -> Option<usize> {
    match *bytes.get(from)? {
        b'"' => string(bytes, from),
        b'{' | b'[' => {
            let (mut depth, mut at) = (0_usize, from);
            loop {
                match *bytes.get(at)? {
                    b'"' => {
                        at = string(bytes, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => (),
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || is_blank(*byte);
            let length = bytes[from..].iter().position(ends).unwrap_or(bytes.len() - from);
            (length > 0).then_some(from + length)
        }
    }
}

/// The end of the string that begins at a position.
fn string(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = (*bytes.get(from)? == b'"').then_some(from + 1)?;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = bytes.get(from..).unwrap_or_default().iter().take_while(|byte| is_blank(**byte));
    from + blanks.count()
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, value::RawValue};

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[\"\\\\{}\\[\\],: \u{e9}\u{1f600}a]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[\"\\\\a{}]{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_sees_what_a_reader_of_json_sees(value in any_value(), pretty in any::<bool>()) {
            let text = if pretty { format!(" {value:#}\n") } else { value.to_string() };
            let raw: Option<Vec<&RawValue>> = serde_json::from_str(&text).ok();
            let read: Option<Vec<&str>> =
                raw.map(|items| items.into_iter().map(RawValue::get).collect());
            let seen = items(&text);
            let seen: Option<Vec<&str>> =
                seen.map(|items| items.into_iter().map(|item| &text[item]).collect());
            prop_assert_eq!(seen, read);
            let seen = Outline::of(&text);
            for field in seen.iter().flat_map(Outline::fields) {
                let start = field.value.start;
                let alone = items(&text[field.value.clone()]);
                let alone: Option<Vec<_>> = alone.map(|items| {
                    items.into_iter().map(|item| item.start + start..item.end + start).collect()
                });
                prop_assert_eq!(&field.items, &alone);
            }
            let seen = seen.map(|Outline(fields)| {
                let value = |range: Range<usize>| serde_json::from_str::<Value>(&text[range]).unwrap();
                let pair = |field: Field| (field.name(&text).unwrap().into_owned(), value(field.value));
                fields.into_iter().map(pair).collect::<Vec<_>>()
            });
            let read = value.as_object().map(|fields| {
                let fields = fields.iter();
                fields.map(|(name, value)| (name.clone(), value.clone())).collect()
            });
            prop_assert_eq!(seen, read);
        }

        #[test]
        fn nothing_makes_it_fail(text in "[\"\\\\{}\\[\\],: a1\u{e9}]{0,20}") {
            let ranges = |field: Field| {
                [field.name, field.value].into_iter().chain(field.items.into_iter().flatten())
            };
            let all = Outline::of(&text).into_iter().flat_map(|outline| outline.0).flat_map(ranges);
            for range in all.chain(items(&text).into_iter().flatten()) {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
