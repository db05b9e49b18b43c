//! Reading a summary out of whatever a model wraps round it.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

static ANALYSIS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<analysis>.*?</analysis>|\[analysis\].*?\[/analysis\]"));
static OPEN_ANALYSIS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)(?:<analysis>|\[analysis\]).*?(<summary>|\[summary\])"));
static CLOSED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<summary>(.*?)</summary>|\[summary\](.*?)\[/summary\]"));
static OPEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?is)(?:<summary>|\[summary\])(.*)$"));
static FIRST_SECTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*1\."));
static LINE_BREAK: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)<br\s*/?>|</p\s*>"));
static MARKUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"</?[A-Za-z][^<>]*>"));
static BLANK_LINES: LazyLock<Regex> = LazyLock::new(|| pattern(r"[ \t]*\r?\n(?:[ \t]*\r?\n)*"));

/// The summary: between its markers, else from its marker on, else from section one on,
/// else all of it; without analysis and without HTML.
pub fn parse(reply: &str) -> String {
    let reply = ANALYSIS.replace_all(reply, "");
    let reply = OPEN_ANALYSIS.replace(&reply, "$1");
    let body = if let Some(found) = CLOSED.captures(&reply) {
        found.get(1).or_else(|| found.get(2)).map_or("", |text| text.as_str())
    } else if let Some(found) = OPEN.captures(&reply) {
        found.get(1).map_or("", |text| text.as_str())
    } else if let Some(found) = FIRST_SECTION.find(&reply) {
        &reply[found.start()..]
    } else {
        &reply
    };
    let text = LINE_BREAK.replace_all(body, "\n");
    let text = MARKUP.replace_all(&text, "");
    BLANK_LINES.replace_all(text.trim(), "\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_found_inside_every_wrapping() {
        for (reply, expected) in [
            ("ok\n[SUMMARY]\n1. Scene: pier\n[/SUMMARY]\nbye", "1. Scene: pier"),
            ("<analysis>x</analysis><summary>Calm.</summary>", "Calm."),
            ("<analysis>never closed <summary>Storm.</summary>", "Storm."),
            ("<summary>\n1. Cut off mid", "1. Cut off mid"),
            ("Here:\n1. Deck\n\n2. Two", "1. Deck\n2. Two"),
            ("<p>One.</p><p><b>Two</b><br/>Three</p>", "One.\nTwo\nThree"),
            ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6"),
            ("  ", ""),
        ] {
            assert_eq!(parse(reply), expected, "{reply}");
        }
    }
}
