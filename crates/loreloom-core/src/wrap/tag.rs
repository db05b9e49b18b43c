//! The `<lorebook …>` tag: attributes that have no value are left out.

use std::sync::LazyLock;

use super::{
    escape::Style,
    field::{WrapField, WrapFields},
    marker::Marker,
};

/// The beginning of an opening tag and of a closing one.
pub(super) struct TagMarks {
    pub(super) open: Marker,
    pub(super) close: Marker,
}

#[expect(clippy::expect_used, reason = "both marks are constants, and a test makes them")]
pub(super) static MARKS: LazyLock<TagMarks> = LazyLock::new(|| TagMarks {
    open: Marker::new("<lorebook", Style::Entity).expect("a usable mark"),
    close: Marker::new("</lorebook", Style::Entity).expect("a usable mark"),
});

/// Writes an opening tag with these fields.
pub(super) fn write_open(fields: &WrapFields, out: &mut String) {
    out.push_str(MARKS.open.as_str());
    for (field, value) in fields.iter() {
        out.push(' ');
        out.push_str(field.as_str());
        out.push_str("=\"");
        Style::Entity.escape(&value.written(), '"', out);
        out.push('"');
    }
    out.push('>');
}

/// Reads the opening tag at the start of `text`, which begins with its mark: the fields and
/// the tag's length. Attributes of other programs are passed over.
pub(super) fn read_open(text: &str) -> Result<(WrapFields, usize), usize> {
    let mut fields = WrapFields::new();
    let mut at = MARKS.open.as_str().len();
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        if rest.starts_with('>') {
            return Ok((fields, at + blank + 1));
        }
        // `<lorebooks` is another tag.
        let name = rest.find(|char: char| !is_name(char)).filter(|&end| end > 0 && blank > 0);
        let Some(name_end) = name else { return Err(at) };
        let after = rest[name_end..].trim_start();
        let after = after.strip_prefix('=').ok_or(at)?.trim_start();
        let quote = after.chars().next().filter(|char| matches!(char, '"' | '\'')).ok_or(at)?;
        let value_at = text.len() - after.len() + 1;
        let (value, length) =
            Style::Entity.read(&text[value_at..], quote).map_err(|upto| value_at + upto)?;
        if let Some(field) = WrapField::from_name(&rest[..name_end]) {
            fields.read(field, value);
        }
        at = value_at + length + 1;
    }
}

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-' | ':' | '.')
}

/// The length of the closing tag at the start of `text`, which begins with its mark.
pub(super) fn read_close(text: &str) -> Option<usize> {
    let after = text[MARKS.close.as_str().len()..].trim_start().strip_prefix('>')?;
    Some(text.len() - after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_spread_over_lines_and_with_foreign_attributes_are_read() {
        let text = "<lorebook uid='12'\n          name = \"A &amp; B\"\n  from_card=\"false\"\n scan_state=\"INITIAL\">x";
        let (fields, length) = read_open(text).unwrap();
        assert_eq!(&text[length..], "x");
        let read: Vec<(&str, String)> =
            fields.iter().map(|(field, value)| (field.as_str(), value.written())).collect();
        assert_eq!(
            read,
            [
                ("uid", "12".to_owned()),
                ("name", "A & B".to_owned()),
                ("scan", "INITIAL".to_owned())
            ]
        );
    }

    #[test]
    fn what_only_looks_like_a_tag_is_none() {
        for text in [
            "<lorebooks>",
            "<lorebook",
            "<lorebook name>",
            "<lorebook name=x>",
            "<lorebook name=\"x",
        ] {
            assert!(read_open(text).is_err(), "{text}");
        }
        assert_eq!(read_close("</lorebook >."), Some(12));
        assert_eq!(read_close("</lorebooks>"), None);
    }
}
