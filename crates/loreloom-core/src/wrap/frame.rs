//! A wrapper ready for use: what its marks are, and how its two sides are written and read.

use std::sync::LazyLock;

use super::{
    field::{WrapField, WrapFields},
    format::{WrapFormat, XmlDetail},
    marker::{Marker, lower, raise},
    tag,
    template::Template,
};

#[derive(Clone, Copy, Debug)]
pub(super) enum Frame<'a> {
    Tag(XmlDetail),
    Template(&'a Template),
}

/// An entry read back from a text, by byte offsets.
#[derive(Clone, Debug)]
pub(super) struct WrappedEntry {
    pub(super) fields: WrapFields,
    pub(super) content: String,
    pub(super) end: usize,
}

static MARKDOWN: LazyLock<Template> =
    LazyLock::new(|| preset("### Lore: {{name}}\n{{content}}\n***"));
static LB: LazyLock<Template> = LazyLock::new(|| preset("[LB:{{name}}]{{content}}[/LB]"));
/// SillyTavern users write only the heading. Without an end, the entry could not be separated from
/// the text after it.
static WORLD_INFO: LazyLock<Template> =
    LazyLock::new(|| preset("[World Info: {{name}}]\n{{content}}\n[/World Info]"));

#[expect(clippy::expect_used, reason = "the presets are constants, and tests use each")]
fn preset(source: &str) -> Template {
    Template::parse(source).expect("a preset that can be read back")
}

impl WrapFormat {
    pub(super) fn frame(&self) -> Option<Frame<'_>> {
        Some(match self {
            Self::None => return None,
            Self::Xml(detail) => Frame::Tag(*detail),
            Self::Markdown => Frame::Template(&MARKDOWN),
            Self::Lb => Frame::Template(&LB),
            Self::WorldInfo => Frame::Template(&WORLD_INFO),
            Self::Custom(template) => Frame::Template(template),
        })
    }

    /// The fields that the format writes.
    pub fn fields(&self) -> Vec<WrapField> {
        match self.frame() {
            None => Vec::new(),
            Some(Frame::Tag(detail)) => detail.fields().to_vec(),
            Some(Frame::Template(template)) => template.fields(),
        }
    }
}

impl Frame<'_> {
    pub(super) fn marks(&self) -> (&Marker, &Marker) {
        match self {
            Self::Tag(_) => (&tag::MARKS.open, &tag::MARKS.close),
            Self::Template(template) => template.marks(),
        }
    }

    pub(super) fn write(&self, fields: &WrapFields, content: &str) -> String {
        let (open, close) = self.marks();
        let content = raise(content, &[open, close]);
        let mut out = String::with_capacity(content.len() + 64);
        match self {
            Self::Tag(detail) => {
                tag::write_open(&fields.only(detail.fields()), &mut out);
                out.push('\n');
                out.push_str(&content);
                out.push_str("\n</lorebook>");
            }
            Self::Template(template) => {
                template.write_open(fields, &mut out);
                out.push_str(&content);
                template.write_close(fields, &mut out);
            }
        }
        out
    }

    /// Reads the opening whose mark is at byte `at`: its fields and where the content
    /// begins, or where to look on.
    pub(super) fn read_open(&self, text: &str, at: usize) -> Result<(WrapFields, usize), usize> {
        let read = match self {
            Self::Tag(_) => tag::read_open(&text[at..]).map(|(fields, length)| {
                let line_end = usize::from(text[at + length..].starts_with('\n'));
                (fields, length + line_end)
            }),
            Self::Template(template) => template.read_open(&text[at..]),
        };
        let after = at + text[at..].chars().next().map_or(1, char::len_utf8);
        read.map(|(fields, length)| (fields, at + length))
            .map_err(|upto| text.floor_char_boundary(at + upto).max(after))
    }

    /// Reads the closing whose mark is at byte `mark`, for a content from byte `from`:
    /// where it begins, where it ends, and its fields.
    pub(super) fn read_close(
        &self,
        text: &str,
        from: usize,
        mark: usize,
    ) -> Option<(usize, usize, WrapFields)> {
        let (start, end, fields) = match self {
            Self::Tag(_) => {
                let length = tag::read_close(&text[mark..])?;
                let line_end = usize::from(mark > from && text[..mark].ends_with('\n'));
                (mark - line_end, mark + length, WrapFields::new())
            }
            Self::Template(template) => template.read_close(text, mark)?,
        };
        (start >= from).then_some((start, end, fields))
    }

    /// Reads the entry whose opening mark is at byte `at`, or says where to look on.
    pub(super) fn read_block(&self, text: &str, at: usize) -> Result<WrappedEntry, usize> {
        let (mut fields, from) = self.read_open(text, at)?;
        let (open, close) = self.marks();
        // Marks inside a content are escaped: another opening means that this one has no
        // end.
        let limit = open.find(&text[from..]).map_or(text.len(), |next| from + next);
        let mark = close.find(&text[from..limit]).map(|mark| from + mark).ok_or(limit)?;
        let (end, after, more) = self.read_close(text, from, mark).ok_or(mark)?;
        for (field, value) in more.iter() {
            fields.read(field, value.written());
        }
        let content = lower(&text[from..end], &[open, close]).into_owned();
        Ok(WrappedEntry { fields, content, end: after })
    }
}
