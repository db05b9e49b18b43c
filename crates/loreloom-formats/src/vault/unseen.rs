//! What Obsidian does not show of a note, and what its plugins replace: comments, queries,
//! templates, names of blocks.
//!
//! A comment may hold what the model must not know, so it goes wherever it ends. One that never
//! ends is kept: a lone `%%` is a text.

use std::ops::RangeInclusive;

use loreloom_core::book::is_js_space;

use crate::ahead::Ahead;

/// Fenced blocks of these languages are replaced by what a plugin makes of them.
const RUN: [&str; 9] =
    ["dataview", "dataviewjs", "tasks", "query", "base", "button", "customjs", "leaflet", "dice"];

/// What begins and ends something that is not shown, and what it must hold to be that.
struct Pair {
    open: &'static str,
    close: &'static str,
    holds: Option<&'static str>,
    one_line: bool,
}

const PAIRS: [Pair; 5] = [
    Pair { open: "%%", close: "%%", holds: None, one_line: false },
    Pair { open: "<!--", close: "-->", holds: None, one_line: false },
    // Templates of other programs look the same.
    Pair { open: "<%", close: "%>", holds: Some("tp."), one_line: false },
    Pair { open: "`= ", close: "`", holds: None, one_line: true },
    Pair { open: "`$=", close: "`", holds: None, one_line: true },
];

/// The text as its reader sees it.
pub(super) fn shown(text: &str) -> String {
    let mut fences = Fences::new(text);
    let mut pairs = PAIRS.map(|pair| {
        let (opens, closes) = (Ahead::new(text, pair.open), Ahead::new(text, pair.close));
        (pair, opens, closes)
    });
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    loop {
        let fence = fences.from(at);
        let opens = pairs.iter_mut().enumerate();
        let found = opens.filter_map(|(which, (_, opens, _))| Some((opens.from(at)?, which))).min();
        let before = fence.map_or(text.len(), |fence| fence.start);
        match (found.filter(|(start, _)| *start < before), fence) {
            (Some((start, which)), _) => {
                let (pair, _, closes) = &mut pairs[which];
                out.push_str(&text[at..start]);
                at = end_of(text, start, pair, closes).unwrap_or_else(|| {
                    out.push_str(pair.open);
                    start + pair.open.len()
                });
            }
            (None, Some(fence)) => {
                let kept = if fence.runs { fence.start } else { fence.end };
                out.push_str(&text[at..kept]);
                at = fence.end;
            }
            (None, None) => break,
        }
    }
    out.push_str(&text[at..]);
    without_block_names(&out)
}

/// Where what begins at `start` ends, if it is something that is not shown.
fn end_of(text: &str, start: usize, pair: &Pair, closes: &mut Ahead<'_>) -> Option<usize> {
    let first = start + pair.open.len();
    let close = closes.from(first)?;
    let inside = &text[first..close];
    let fits = pair.holds.is_none_or(|word| inside.contains(word));
    (fits && !(pair.one_line && inside.contains('\n'))).then_some(close + pair.close.len())
}

/// A block between fences that somebody closed.
#[derive(Clone, Copy)]
struct FencedBlock {
    start: usize,
    end: usize,
    /// Whether a plugin shows something else in its place.
    runs: bool,
}

/// A line that is a fence.
struct Fence<'text> {
    start: usize,
    end: usize,
    mark: &'text str,
    behind: &'text str,
}

/// Finds the fenced blocks of a text from its start to its end.
struct Fences<'text> {
    lines: Vec<Fence<'text>>,
    /// From where to where the answer is known, and the answer.
    known: Option<(RangeInclusive<usize>, Option<FencedBlock>)>,
}

impl<'text> Fences<'text> {
    fn new(text: &'text str) -> Self {
        let mut end = 0;
        let lines = text.split_inclusive('\n').filter_map(|line| {
            let start = end;
            end += line.len();
            let (mark, behind) = fence_of(line)?;
            Some(Fence { start, end, mark, behind })
        });
        Self { lines: lines.collect(), known: None }
    }

    /// The first block that begins at `from` or later. A fence inside something that was cut
    /// does not count.
    fn from(&mut self, from: usize) -> Option<FencedBlock> {
        if let Some((_, block)) = self.known.as_ref().filter(|(range, _)| range.contains(&from)) {
            return *block;
        }
        let lines = &self.lines[self.lines.partition_point(|line| line.start < from)..];
        let block = lines.split_first().and_then(|(open, others)| {
            let closes =
                |line: &&Fence<'_>| line.mark.starts_with(open.mark) && line.behind.is_empty();
            let end = others.iter().find(closes)?.end;
            Some(FencedBlock { start: open.start, end, runs: is_run(open.behind) })
        });
        let first = lines.first().map_or(usize::MAX, |line| line.start);
        self.known = Some((from..=first, block));
        block
    }
}

/// The fence at the start of a line, which may be in a quote, and what is behind it.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(['>', ' ', '\t']);
    let length = |mark: char| line.len() - line.trim_start_matches(mark).len();
    let length = length('`').max(length('~'));
    (length >= 3).then(|| (&line[..length], line[length..].trim_matches(is_js_space)))
}

fn is_run(behind: &str) -> bool {
    let language = behind.split(is_js_space).next().unwrap_or_default();
    RUN.iter().any(|name| language.eq_ignore_ascii_case(name))
}

/// The text without the names of blocks (`^name`) at the ends of its lines.
fn without_block_names(text: &str) -> String {
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '-';
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let said = line.trim_end();
        let named = said.rfind('^').filter(|at| {
            let before = said[..*at].chars().next_back();
            before.is_none_or(is_js_space)
                && at + 1 < said.len()
                && said[at + 1..].chars().all(is_part)
        });
        match named {
            Some(at) => {
                out.push_str(said[..at].trim_end());
                out.push_str(&line[said.len()..]);
            }
            None => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_obsidian_does_not_show_goes() {
        for (text, expected) in [
            ("a %%x%% b", "a  b"),
            ("a\n%% GM: a vampire.\nHe drinks 50% wine. %%\nb", "a\n\nb"),
            ("a %% 50% true %% b", "a  b"),
            ("a\n%%\nhidden\n%%  \nb", "a\n  \nb"),
            ("100%% sure", "100%% sure"),
            ("a <!-- GM:\nno --> b <!-- open", "a  b <!-- open"),
            ("on <% tp.date.now() %>, <%= user %>", "on , <%= user %>"),
            ("`= this.age` `=x` `$= dv.x` `= a\nb`", " `=x`  `= a\nb`"),
            ("a\n```dataview\nTABLE x\n```\nb", "a\nb"),
            ("> ```Tasks\n> not done\n> ```\nb", "b"),
            ("```rust\n%% kept\n```\nx %% y", "```rust\n%% kept\n```\nx %% y"),
            ("````dataviewjs\n```\nx\n```\n````\nb", "b"),
            ("```dataview\nnever closed", "```dataview\nnever closed"),
            ("%%\n```dataview\nx\n```\n%%b\n```js\ny\n```", "b\n```js\ny\n```"),
            ("%%\n```\n%%\nseen\n```dataview\nx\n```\nend", "\nseen\nend"),
            ("A line. ^a1-b\n\n^c2\nx^2 y ^ z\n- ^", "A line.\n\n\nx^2 y ^ z\n- ^"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_takes_time_by_its_length() {
        let text = "%%`= <!--<% ``` \n```\n".repeat(20_000);
        assert!(shown(&text).len() <= text.len());
    }
}
