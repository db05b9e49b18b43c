//! A note's text: its title, its links, and what of it is for the model.

use std::ops::Range;

use loreloom_core::book::is_js_space;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::ahead::Ahead;

/// Where a first-level heading says its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headings {
    /// On its own line; an empty heading does not count.
    #[default]
    OnOneLine,
    /// Behind its blanks and line ends, as DeepLore reads it: what follows an empty heading is
    /// its text, and one that ends the note is a title of blanks.
    AcrossLines,
}

/// The ends of lines, as JavaScript knows them.
const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// The text of the first heading of the first level, and the bytes of it all without the line
/// end.
fn heading(body: &str, headings: Headings) -> Option<(&str, Range<usize>)> {
    lines(body).find_map(|(start, line)| {
        let after = start + line.strip_prefix('#').map(|_| 1)?;
        if !body[after..].starts_with(is_js_space) {
            return None;
        }
        let text = match headings {
            Headings::OnOneLine => after..start + line.len(),
            Headings::AcrossLines => across_lines(body, after)?,
        };
        let title = body[text.clone()].trim_matches(is_js_space);
        let says = headings == Headings::AcrossLines || !title.is_empty();
        says.then_some((title, start..text.end))
    })
}

/// The text behind the blanks at `start`, up to the end of its line. Where only blanks follow,
/// the last of them that does not end a line is the text, if another comes before it.
fn across_lines(body: &str, start: usize) -> Option<Range<usize>> {
    let rest = &body[start..];
    let text = match rest.find(|character| !is_js_space(character)) {
        Some(text) => text,
        None => rest.rfind(|character| !LINE_ENDS.contains(&character)).filter(|at| *at > 0)?,
    };
    let length = rest[text..].find(LINE_ENDS).unwrap_or(rest.len() - text);
    Some(start + text..start + text + length)
}

/// Lines with their first byte, without their ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive(LINE_ENDS).map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(LINE_ENDS))
    })
}

/// What a note is called: its first heading, else its file's name.
pub fn title(body: &str, path: &str, headings: Headings) -> String {
    if let Some((title, _)) = heading(body, headings) {
        return show_links(title);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name).to_owned()
}

/// The titles that a note's text links to, each once. Embedded pictures and the heading do
/// not count.
pub fn links(body: &str, headings: Headings) -> Vec<String> {
    let (mut found, mut known): (Vec<String>, FxHashSet<String>) = Default::default();
    let body = without_heading(body, headings);
    let mut links = Links::new(&body);
    let mut at = 0;
    while let Some(start) = body[at..].find("[[").map(|offset| at + offset) {
        let embedded = body[..start].ends_with('!');
        let (target, end) = match links.at(start) {
            Some(Link { parts: Some((target, _)), end, .. }) => (target, end),
            Some(Link { inner, has_bar: false, end, .. }) => (inner, end),
            Some(_) | None => {
                at = start + 1;
                continue;
            }
        };
        at = end;
        if embedded {
            continue;
        }
        let target = target.trim_matches(is_js_space);
        // A table escapes the bar between target and shown text.
        let target = target.strip_suffix('\\').unwrap_or(target).to_owned();
        if known.insert(target.clone()) {
            found.push(target);
        }
    }
    found
}

/// A link: `[[target|shown]]`, or `[[target]]`.
struct Link<'text> {
    inner: &'text str,
    /// Target and shown text, if both say something.
    parts: Option<(&'text str, &'text str)>,
    has_bar: bool,
    end: usize,
}

/// Finds links from the start of a text to its end, in time that grows with its length.
struct Links<'text> {
    text: &'text str,
    brackets: Ahead<'text>,
    bars: Ahead<'text>,
}

impl<'text> Links<'text> {
    fn new(text: &'text str) -> Self {
        Self { text, brackets: Ahead::new(text, "]"), bars: Ahead::new(text, "|") }
    }

    /// The link that begins at `start`.
    fn at(&mut self, start: usize) -> Option<Link<'text>> {
        let first = start + 2;
        let close = self.brackets.from(first)?;
        if close == first || !self.text[close..].starts_with("]]") {
            return None;
        }
        let bar = self.bars.from(first).filter(|bar| *bar < close);
        let both = bar.filter(|bar| *bar > first && bar + 1 < close);
        let parts = both.map(|bar| (&self.text[first..bar], &self.text[bar + 1..close]));
        let inner = &self.text[first..close];
        Some(Link { inner, parts, has_bar: bar.is_some(), end: close + 2 })
    }
}

fn without_heading(body: &str, headings: Headings) -> String {
    match heading(body, headings) {
        Some((_, range)) => format!("{}{}", &body[..range.start], &body[range.end..]),
        None => body.to_owned(),
    }
}

/// A note's text for the model: comments, tags of layout, the heading and pictures go,
/// links become what they show.
pub fn clean(body: &str, headings: Headings) -> String {
    let text = cut_between(body, "%%deeplore-exclude%%", "%%/deeplore-exclude%%");
    let text = cut_inline_comments(&text);
    let text = cut_comment_blocks(&text);
    let text = cut_divs(&text);
    let text = without_heading(&text, headings);
    let text = cut_pictures(&text);
    let text = show_links(&text);
    squeeze_lines(&text).trim_matches(is_js_space).to_owned()
}

/// At most one empty line in a row.
fn squeeze_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut newlines = 0;
    for character in text.chars() {
        newlines = if character == '\n' { newlines + 1 } else { 0 };
        if newlines <= 2 {
            out.push(character);
        }
    }
    out
}

fn cut_between(text: &str, open: &str, close: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(start) = left.find(open) {
        let Some(end) = left[start + open.len()..].find(close) else { break };
        out.push_str(&left[..start]);
        left = &left[start + open.len() + end + close.len()..];
    }
    out.push_str(left);
    out
}

/// `%% … %%` inside a line.
fn cut_inline_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(start) = left.find("%%") {
        let inside = &left[start + 2..];
        let end = inside.find(['%', '\n']).unwrap_or(inside.len());
        if end > 0 && inside[end..].starts_with("%%") {
            out.push_str(&left[..start]);
            left = &inside[end + 2..];
        } else {
            out.push_str(&left[..=start]);
            left = &left[start + 1..];
        }
    }
    out.push_str(left);
    out
}

/// Lines from one that begins with `%%` to one that is nothing else.
fn cut_comment_blocks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept_to = 0;
    let mut open: Option<usize> = None;
    for (start, line) in lines(text) {
        match open {
            None if line.starts_with("%%") => open = Some(start),
            Some(first) if line == "%%" => {
                out.push_str(&text[kept_to..first]);
                kept_to = start + line.len();
                open = None;
            }
            None | Some(_) => {}
        }
    }
    out.push_str(&text[kept_to..]);
    out
}

/// `<div …>` and `</div>`; what is between them stays.
fn cut_divs(text: &str) -> String {
    let mut ends = Ahead::new(text, ">");
    cut_matching(text, '<', |start| {
        let tag = &text[start..];
        let is_div = tag.starts_with("<div") || tag.starts_with("</div");
        Some(ends.from(start).filter(|_| is_div)? + 1)
    })
}

/// `![[…]]` and `![…](…)`, each inside one line.
fn cut_pictures(text: &str) -> String {
    let (mut closes, mut line_ends) = (Ahead::new(text, "]]"), Ahead::new(text, LINE_ENDS));
    let embeds = cut_matching(text, '!', |start| {
        let inside = start + 3;
        let close = text[start..].starts_with("![[").then(|| closes.from(inside))??;
        line_ends.from(inside).is_none_or(|line| line > close).then_some(close + 2)
    });
    let (mut middles, mut closes) = (Ahead::new(&embeds, "]("), Ahead::new(&embeds, ")"));
    let mut line_ends = Ahead::new(&embeds, LINE_ENDS);
    cut_matching(&embeds, '!', |start| {
        let inside = start + 2;
        let middle = embeds[start..].starts_with("![").then(|| middles.from(inside))??;
        let close = closes.from(middle + 2)?;
        line_ends.from(inside).is_none_or(|line| line > close).then_some(close + 1)
    })
}

/// Cuts what begins with `first` and `end` knows the end of.
fn cut_matching(text: &str, first: char, mut end: impl FnMut(usize) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(start) = text[at..].find(first).map(|offset| at + offset) {
        out.push_str(&text[at..start]);
        at = end(start).unwrap_or_else(|| {
            out.push(first);
            start + first.len_utf8()
        });
    }
    out.push_str(&text[at..]);
    out
}

/// Links as they are shown: `[[target|text]]` is text, `[[target]]` is target. Those with a
/// text go first: `[[||[[A|b]]` holds one.
fn show_links(text: &str) -> String {
    let shown = replace_links(text, |link| link.parts.map(|(_, shown)| shown));
    replace_links(&shown, |link| Some(link.inner))
}

/// Puts what `show` gives for a link in its place.
fn replace_links(text: &str, show: impl for<'t> Fn(&Link<'t>) -> Option<&'t str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut links = Links::new(text);
    let mut at = 0;
    while let Some(start) = text[at..].find("[[").map(|offset| at + offset) {
        let link = links.at(start);
        if let Some((shown, end)) = link.and_then(|link| Some((show(&link)?, link.end))) {
            out.push_str(&text[at..start]);
            out.push_str(shown);
            at = end;
        } else {
            out.push_str(&text[at..=start]);
            at = start + 1;
        }
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_for_the_model_stays() {
        for (body, cleaned) in [
            ("# T\n\nA [[B|b]] c [[D]].\n\n\n\nE", "A b c D.\n\nE"),
            ("a %%x%% b %% y %%%%z%% 100%% c", "a  b  100%% c"),
            ("a\n%%\nhidden\n%%\nb", "a\n\nb"),
            ("a\n%% kept open\nb", "a\n%% kept open\nb"),
            ("<div class=\"x\">a</div> <b>c</b>", "a <b>c</b>"),
            ("![[p.png]]a![alt](u)b! [[x", "ab! [[x"),
            ("%%deeplore-exclude%%\nGM\n%%/deeplore-exclude%%ok", "ok"),
            ("x\n# First\n# Second", "x\n\n# Second"),
            ("\u{feff}\u{85}text\u{feff}", "\u{85}text"),
            ("a\u{2028}%%\nhidden\n%%\u{2029}b", "a\u{2028}\u{2029}b"),
            ("![[a\u{2028}b]]", "!a\u{2028}b"),
            ("[[||[[A|b]]", "[[||b"),
            ("[[|x]] [[C|]] [[D|e|f]]", "|x C| e|f"),
        ] {
            assert_eq!(clean(body, Headings::OnOneLine), cleaned, "{body:?}");
        }
    }

    #[test]
    fn an_empty_heading_is_none_except_to_deeplore() {
        for (body, ours, theirs) in [
            (
                "# \n\nThe Mill\n\nIt turns.",
                ("f", "#\x20\n\nThe Mill\n\nIt turns."),
                ("The Mill", "It turns."),
            ),
            ("#\nThe Mill.\nOn.", ("f", "#\nThe Mill.\nOn."), ("The Mill.", "On.")),
            ("a\n#  ", ("f", "a\n#"), ("", "a")),
            ("#\n\n", ("f", "#"), ("f", "#")),
            ("# ", ("f", "#"), ("f", "#")),
            ("#\u{85}x", ("f", "#\u{85}x"), ("f", "#\u{85}x")),
            ("a\u{2028}#\tT \r\nx", ("T", "a\u{2028}\r\nx"), ("T", "a\u{2028}\r\nx")),
            ("#\n# T\nx", ("T", "#\n\nx"), ("# T", "x")),
        ] {
            let read = |headings| (title(body, "f.md", headings), clean(body, headings));
            let expected = |(title, content): (&str, &str)| (title.to_owned(), content.to_owned());
            assert_eq!(read(Headings::OnOneLine), expected(ours), "{body:?}");
            assert_eq!(read(Headings::AcrossLines), expected(theirs), "{body:?}");
        }
    }

    #[test]
    fn links_are_unique_targets_outside_the_heading() {
        let body = "# On [[Mill]]\n[[A]] [[A|again]] ![[P.png]] [[B\\|bee]] [[|x]] [[C|]]";
        let headings = Headings::OnOneLine;
        assert_eq!(links(body, headings), ["A", "B"]);
        assert_eq!(links("[[||[[A|b]]", headings), ["A"]);
        assert_eq!(title(body, "f.md", headings), "On Mill");
        assert_eq!(title("text", "a/No Heading.md", headings), "No Heading");
    }
}
