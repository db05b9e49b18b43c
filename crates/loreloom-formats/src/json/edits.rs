//! Replacements in a JSON text. Every other byte stays: the spelling of numbers, the order of
//! keys, the escapes of strings and the blanks between them.

use std::ops::Range;

/// Replacements of parts of a text, collected and then made at once.
#[derive(Debug, Default)]
pub struct JsonEdits(Vec<(Range<usize>, String)>);

impl JsonEdits {
    /// Replaces a part of the text. An empty range inserts.
    pub fn replace(&mut self, range: Range<usize>, with: String) {
        self.0.push((range, with));
    }

    /// Removes rows of a list or object, each with one of the commas beside it. A row comes with
    /// whether it is kept; `inside` is the range between the brackets.
    pub fn remove_rows(&mut self, text: &str, inside: Range<usize>, rows: &[(Range<usize>, bool)]) {
        let Some(first) = rows.iter().position(|(_, kept)| *kept) else {
            if !rows.is_empty() {
                self.replace(inside, String::new());
            }
            return;
        };
        if first > 0 {
            self.replace(leading(text, inside, rows, first), String::new());
        }
        for pair in rows[first..].windows(2) {
            if let [(before, _), (row, false)] = pair {
                self.replace(before.end..row.end, String::new());
            }
        }
    }

    /// The text with all replacements made. Insertions at one point keep their order. A
    /// replacement inside one that begins earlier is left out.
    pub fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let added: usize = self.0.iter().map(|(_, with)| with.len()).sum();
        let mut out = String::with_capacity(text.len() + added);
        let mut done = 0;
        for (range, with) in &self.0 {
            if range.start < done {
                continue;
            }
            out.push_str(&text[done..range.start]);
            out.push_str(with);
            done = range.end;
        }
        out.push_str(&text[done..]);
        out
    }
}

/// The rows before the first that is kept. Its blanks stay, unless there are comments.
fn leading(
    text: &str,
    inside: Range<usize>,
    rows: &[(Range<usize>, bool)],
    first: usize,
) -> Range<usize> {
    let (start, end) = (rows[0].0.start, rows[first - 1].0.end);
    let (before, after) = (&text[inside.start..start], &text[end..rows[first].0.start]);
    match after.find(',') {
        Some(comma) if before.trim().is_empty() && after.trim() == "," => {
            inside.start..end + comma + 1
        }
        _ => start..rows[first].0.start,
    }
}
