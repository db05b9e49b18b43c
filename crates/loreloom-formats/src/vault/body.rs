//! A note's text: its title, its links, and what of it is for the model.

use loreloom_core::vault::truncate::squeeze_lines;

/// The text of a first-level heading, and the bytes of its line without the line end.
fn heading(body: &str) -> Option<(&str, std::ops::Range<usize>)> {
    lines(body).find_map(|(start, line)| {
        let text = line.strip_prefix('#')?;
        let title = text.strip_prefix(char::is_whitespace)?.trim();
        (!title.is_empty()).then(|| (title, start..start + line.len()))
    })
}

/// Lines with their first byte, without their ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}

/// What a note is called: its first heading, else its file's name.
pub fn title(body: &str, path: &str) -> String {
    if let Some((title, _)) = heading(body) {
        return show_links(title);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name).to_owned()
}

/// The titles that a note's text links to, each once. Embedded pictures and the heading do
/// not count.
pub fn links(body: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let body = without_heading(body);
    let mut at = 0;
    while let Some(start) = body[at..].find("[[").map(|offset| at + offset) {
        let embedded = body[..start].ends_with('!');
        let Some((inner, end)) = link_at(&body, start) else {
            at = start + 1;
            continue;
        };
        at = end;
        let (target, shown) = inner.split_once('|').map_or((inner, None), |(a, b)| (a, Some(b)));
        if embedded || target.is_empty() || shown == Some("") {
            continue;
        }
        let target = target.trim();
        // A table escapes the bar between target and shown text.
        let target = target.strip_suffix('\\').unwrap_or(target).to_owned();
        if !found.contains(&target) {
            found.push(target);
        }
    }
    found
}

/// The inside of the link that begins at `start`, and where the link ends.
fn link_at(text: &str, start: usize) -> Option<(&str, usize)> {
    let inside = &text[start + 2..];
    let end = inside.find(']')?;
    let closed = end > 0 && inside[end..].starts_with("]]");
    closed.then(|| (&inside[..end], start + 2 + end + 2))
}

fn without_heading(body: &str) -> String {
    match heading(body) {
        Some((_, range)) => format!("{}{}", &body[..range.start], &body[range.end..]),
        None => body.to_owned(),
    }
}

/// A note's text for the model: comments, tags of layout, the heading and pictures go,
/// links become what they show.
pub fn clean(body: &str) -> String {
    let text = cut_between(body, "%%deeplore-exclude%%", "%%/deeplore-exclude%%");
    let text = cut_inline_comments(&text);
    let text = cut_comment_blocks(&text);
    let text = cut_divs(&text);
    let text = without_heading(&text);
    let text = cut_pictures(&text);
    let text = show_links(&text);
    squeeze_lines(&text).trim_matches(is_blank).to_owned()
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
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

/// `<div …>` and `</div>`; what stands between them stays.
fn cut_divs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(start) = left.find('<') {
        let tag = &left[start..];
        let is_div = tag.starts_with("<div") || tag.starts_with("</div");
        if let Some(end) = tag.find('>').filter(|_| is_div) {
            out.push_str(&left[..start]);
            left = &tag[end + 1..];
        } else {
            out.push_str(&left[..=start]);
            left = &left[start + 1..];
        }
    }
    out.push_str(left);
    out
}

/// `![[…]]` and `![…](…)`, each inside one line.
fn cut_pictures(text: &str) -> String {
    let embeds = cut_matching(text, |rest| {
        let inside = rest.strip_prefix("![[")?;
        let end = inside.find("]]").filter(|end| !inside[..*end].contains('\n'))?;
        Some(3 + end + 2)
    });
    cut_matching(&embeds, |rest| {
        let inside = rest.strip_prefix("![")?;
        let line = inside.split('\n').next().unwrap_or(inside);
        let middle = line.find("](")?;
        let end = line[middle + 2..].find(')')?;
        Some(2 + middle + 2 + end + 1)
    })
}

/// Cuts what begins with `!` and `length` knows the length of.
fn cut_matching(text: &str, length: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(start) = left.find('!') {
        out.push_str(&left[..start]);
        let skipped = length(&left[start..]).unwrap_or_else(|| {
            out.push('!');
            1
        });
        left = &left[start + skipped..];
    }
    out.push_str(left);
    out
}

/// Links as they are shown: `[[target|text]]` is text, `[[target]]` is target.
fn show_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(start) = text[at..].find("[[").map(|offset| at + offset) {
        if let Some((inner, end)) = link_at(text, start) {
            let shown = match inner.split_once('|') {
                Some((target, shown)) if !target.is_empty() && !shown.is_empty() => shown,
                Some(_) | None => inner,
            };
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
        ] {
            assert_eq!(clean(body), cleaned, "{body:?}");
        }
    }

    #[test]
    fn links_are_unique_targets_outside_the_heading() {
        let body = "# On [[Mill]]\n[[A]] [[A|again]] ![[P.png]] [[B\\|bee]] [[|x]] [[C|]]";
        assert_eq!(links(body), ["A", "B"]);
        assert_eq!(title(body, "f.md"), "On Mill");
        assert_eq!(title("text", "a/No Heading.md"), "No Heading");
    }
}
