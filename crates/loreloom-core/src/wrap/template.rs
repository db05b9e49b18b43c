//! Wrappers as text with `{{fields}}`: the short presets and the user's own.
//!
//! A template is accepted only if entries can be found again in a prompt written with it:
//! it has the content once, marks before and after it that cannot be mistaken for each
//! other, and text between any two fields.

use super::{
    escape::Style,
    field::{WrapField, WrapFields},
    marker::{Marker, clash, reaches_into},
};

/// A wrapper template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    style: Style,
    opening: Side,
    closing: Side,
    open: Marker,
    close: Marker,
    /// Bytes of the closing text before its mark: blanks that belong to the wrapper.
    lead: usize,
}

/// What is before or after the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Side {
    start: String,
    /// Fields, each with the text that follows it.
    fields: Vec<(WrapField, String)>,
}

/// Why a template is refused: entries wrapped with it could not be found again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no `{{content}}`.
    #[error("a wrapper template must hold `{{{{content}}}}`")]
    NoContent,
    /// The content is there more than once.
    #[error("a wrapper template must hold `{{{{content}}}}` once, found {count} times")]
    ContentRepeated {
        /// How often.
        count: usize,
    },
    /// A field that does not exist.
    #[error("a wrapper template may hold {known}, found `{{{{{found}}}}}`")]
    UnknownField {
        /// What is written there.
        found: String,
        /// The fields there are.
        known: String,
    },
    /// `{{` without `}}`.
    #[error("`{{{{` without `}}}}` at byte {at}")]
    Unclosed {
        /// Where.
        at: usize,
    },
    /// No fixed text marks the beginning of an entry.
    #[error(
        "a wrapper template must begin with fixed text, at least two characters that do not repeat, found `{found}`"
    )]
    NoOpening {
        /// The text before the first field.
        found: String,
    },
    /// No fixed text marks the end of an entry.
    #[error(
        "fixed text must follow `{{{{content}}}}`, at least two characters that do not repeat, found `{found}`"
    )]
    NoClosing {
        /// The text after the content.
        found: String,
    },
    /// Opening and closing look the same.
    #[error(
        "opening and closing of a wrapper template must differ, found `{opening}` and `{closing}`"
    )]
    Alike {
        /// The opening text.
        opening: String,
        /// The closing text.
        closing: String,
    },
    /// The end of a field's value cannot be found.
    #[error(
        "`{{{{{field}}}}}` must be followed by text that does not begin with a letter, a digit or an escape sign, found `{found}`"
    )]
    NoEnd {
        /// The field.
        field: &'static str,
        /// What follows it.
        found: String,
    },
}

enum TemplatePiece {
    Text(String),
    Field(WrapField),
    Content,
}

impl Template {
    /// Reads a template. Blanks around it are dropped, since entries are joined by line ends; `\n`
    /// is a line end.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let source = source.replace("\\n", "\n").trim().to_owned();
        let pieces = pieces(&source)?;
        let style = if source.starts_with('<') { Style::Entity } else { Style::Backslash };
        let count = pieces.iter().filter(|piece| matches!(piece, TemplatePiece::Content)).count();
        match count {
            0 => return Err(TemplateError::NoContent),
            1 => {}
            count => return Err(TemplateError::ContentRepeated { count }),
        }
        let mut sides = pieces.split(|piece| matches!(piece, TemplatePiece::Content));
        let opening = side(sides.next().unwrap_or_default(), style, TemplateError::no_opening)?;
        let closing = side(sides.next().unwrap_or_default(), style, TemplateError::no_closing)?;
        let mark = |text: &str| {
            let open = Marker::longest(text, style, |_| true);
            let open = open.ok_or_else(|| TemplateError::no_opening(&opening.start))?;
            let (close, lead) = closing_mark(&closing.start, style, &open)?;
            Ok((open, close, lead))
        };
        // Blanks at the end of the opening may be what it shares with the closing.
        let (open, close, lead) =
            mark(&opening.start).or_else(|error| mark(opening.start.trim_end()).or(Err(error)))?;
        Ok(Self { source, style, opening, closing, open, close, lead })
    }

    /// The template as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The fields it writes.
    pub fn fields(&self) -> Vec<WrapField> {
        let fields = self.opening.fields.iter().chain(&self.closing.fields);
        fields.map(|(field, _)| *field).collect()
    }

    pub(super) fn marks(&self) -> (&Marker, &Marker) {
        (&self.open, &self.close)
    }

    pub(super) fn write_open(&self, fields: &WrapFields, out: &mut String) {
        self.opening.write(self.style, fields, out);
    }

    pub(super) fn write_close(&self, fields: &WrapFields, out: &mut String) {
        self.closing.write(self.style, fields, out);
    }

    /// Reads the opening at the start of `text`: the fields and its length.
    pub(super) fn read_open(&self, text: &str) -> Result<(WrapFields, usize), usize> {
        let mut fields = WrapFields::new();
        let length = self.opening.read(self.style, text, &mut fields)?;
        Ok((fields, length))
    }

    /// Reads the closing whose mark is at byte `mark`: where it begins, where it ends,
    /// and its fields.
    pub(super) fn read_close(&self, text: &str, mark: usize) -> Option<(usize, usize, WrapFields)> {
        let start = mark.checked_sub(self.lead)?;
        let mut fields = WrapFields::new();
        let length = self.closing.read(self.style, text.get(start..)?, &mut fields).ok()?;
        Some((start, start + length, fields))
    }
}

impl TemplateError {
    fn no_opening(found: &str) -> Self {
        Self::NoOpening { found: found.to_owned() }
    }

    fn no_closing(found: &str) -> Self {
        Self::NoClosing { found: found.to_owned() }
    }
}

fn pieces(source: &str) -> Result<Vec<TemplatePiece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find("{{") {
        let at = source.len() - rest.len() + start;
        let end = rest[start..].find("}}").ok_or(TemplateError::Unclosed { at })? + start;
        if start > 0 {
            pieces.push(TemplatePiece::Text(rest[..start].to_owned()));
        }
        let name = rest[start + 2..end].trim();
        pieces.push(match WrapField::from_name(name) {
            Some(field) => TemplatePiece::Field(field),
            None if name.eq_ignore_ascii_case("content") => TemplatePiece::Content,
            None => {
                let known =
                    WrapField::ALL.iter().map(|field| format!("`{{{{{}}}}}`", field.as_str()));
                let known: Vec<String> = known.collect();
                let known = format!("`{{{{content}}}}`, {}", known.join(", "));
                return Err(TemplateError::UnknownField { found: name.to_owned(), known });
            }
        });
        rest = &rest[end + 2..];
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn side(
    pieces: &[TemplatePiece],
    style: Style,
    unmarked: fn(&str) -> TemplateError,
) -> Result<Side, TemplateError> {
    let [TemplatePiece::Text(start), rest @ ..] = pieces else { return Err(unmarked("")) };
    let mut side = Side { start: start.clone(), fields: Vec::new() };
    let mut rest = rest.iter();
    while let Some(piece) = rest.next() {
        let TemplatePiece::Field(field) = piece else { continue };
        let after = match rest.next() {
            Some(TemplatePiece::Text(after)) => after.as_str(),
            Some(TemplatePiece::Field(_) | TemplatePiece::Content) | None => "",
        };
        if !after.starts_with(|first| style.can_end(first)) {
            let (field, found) = (field.as_str(), after.to_owned());
            return Err(TemplateError::NoEnd { field, found });
        }
        side.fields.push((*field, after.to_owned()));
    }
    Ok(side)
}

/// The mark of the closing text and the blanks before it. A mark without those blanks is
/// better: it is then escaped wherever it is in a line.
fn closing_mark(text: &str, style: Style, open: &Marker) -> Result<(Marker, usize), TemplateError> {
    let lead = text.len() - text.trim_start().len();
    let mut usable = false;
    for lead in [lead, 0] {
        usable |= Marker::longest(&text[lead..], style, |_| true).is_some();
        let distinct = |close: &Marker| {
            let whole = &text[..lead + close.as_str().len()];
            !clash(open, close)
                && !reaches_into(open.as_str(), whole)
                && !reaches_into(close.as_str(), whole)
        };
        if let Some(close) = Marker::longest(&text[lead..], style, distinct) {
            return Ok((close, lead));
        }
    }
    if usable {
        let (opening, closing) = (open.as_str().to_owned(), text.to_owned());
        return Err(TemplateError::Alike { opening, closing });
    }
    Err(TemplateError::no_closing(text))
}

impl Side {
    fn write(&self, style: Style, fields: &WrapFields, out: &mut String) {
        out.push_str(&self.start);
        for (field, after) in &self.fields {
            if let (Some(value), Some(delimiter)) = (fields.text(*field), after.chars().next()) {
                style.escape(&value, delimiter, out);
            }
            out.push_str(after);
        }
    }

    /// Reads this side at the start of `text`: its length, or how far it could be read.
    fn read(&self, style: Style, text: &str, fields: &mut WrapFields) -> Result<usize, usize> {
        let mut at = self.start.len();
        if !text.starts_with(&self.start) {
            return Err(1);
        }
        for (field, after) in &self.fields {
            let delimiter = after.chars().next().ok_or(1_usize)?;
            let (value, length) = style.read(&text[at..], delimiter).map_err(|upto| at + upto)?;
            at += length;
            if !text[at..].starts_with(after.as_str()) {
                return Err(at);
            }
            at += after.len();
            fields.read(*field, value);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_that_cannot_be_read_back_are_refused_with_the_reason() {
        for (source, reason) in [
            ("<a>{{name}}</a>", "a wrapper template must hold `{{content}}`"),
            (
                "<a>{{content}}{{content}}</a>",
                "a wrapper template must hold `{{content}}` once, found 2 times",
            ),
            ("<a {{name>{{content", "`{{` without `}}` at byte 3"),
            (
                "{{name}}: {{content}} [end]",
                "a wrapper template must begin with fixed text, at least two characters that do not repeat, found ``",
            ),
            (
                "*{{name}}*{{content}}[end]",
                "a wrapper template must begin with fixed text, at least two characters that do not repeat, found `*`",
            ),
            (
                "[lore {{name}}]{{content}}",
                "fixed text must follow `{{content}}`, at least two characters that do not repeat, found ``",
            ),
            (
                "[lore {{name}}]{{content}}***",
                "fixed text must follow `{{content}}`, at least two characters that do not repeat, found `***`",
            ),
            (
                "=== {{name}} ===\n{{content}}\n=== ",
                "opening and closing of a wrapper template must differ, found `=== ` and `\n===`",
            ),
            (
                "[lore {{name}}{{uid}}]{{content}}[end]",
                "`{{name}}` must be followed by text that does not begin with a letter, a digit or an escape sign, found ``",
            ),
            (
                "[lore {{name}} {{uid}}x]{{content}}[end]",
                "`{{uid}}` must be followed by text that does not begin with a letter, a digit or an escape sign, found `x]`",
            ),
            (
                "[lore] {{name}}{{content}}[end]",
                "`{{name}}` must be followed by text that does not begin with a letter, a digit or an escape sign, found ``",
            ),
        ] {
            assert_eq!(Template::parse(source).unwrap_err().to_string(), reason, "{source}");
        }
        let error = Template::parse("[a {{nome}}]{{content}}[/a]").unwrap_err().to_string();
        assert!(
            error.starts_with("a wrapper template may hold `{{content}}`, `{{uid}}`, `{{name}}`")
        );
        assert!(error.ends_with("`{{timestamp}}`, found `{{nome}}`"), "{error}");
    }

    #[test]
    fn line_ends_may_be_written_as_escapes() {
        let template = Template::parse(" [a {{Primary_Key}}]\\n{{ content }}\\n[/a]\n").unwrap();
        assert_eq!(template.source(), "[a {{Primary_Key}}]\n{{ content }}\n[/a]");
        assert_eq!(template.fields(), [WrapField::Key]);
        assert_eq!((template.close.as_str(), template.lead), ("[/a]", 1));
    }
}
