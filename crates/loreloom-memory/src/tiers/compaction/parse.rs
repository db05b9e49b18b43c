//! Reads a summary from a reply, whatever the model puts around it.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    rules::Rules,
    text::{TextRules, pattern},
};

static ANALYSIS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?is)<analysis>.*?</analysis>"));
static ANY_ANALYSIS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<analysis>.*?</analysis>|\[analysis\].*?\[/analysis\]"));
static OPEN_ANALYSIS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<analysis>.*?(<summary>|\[summary\])"));
/// Where a summary can be. The first match wins.
static MARKED: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        pattern(r"(?is)\[summary\](.*?)\[/summary\]"),
        pattern(r"(?is)\[summary\](.*)$"),
        pattern(r"(?is)<summary>(.*?)</summary>"),
        pattern(r"(?is)<summary>(.*)$"),
    ]
});
static FIRST_SECTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^1\."));
static LINE_BREAK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)</?br\s*/?>|</(?:p|div|h[1-6]|li|tr)>"));
static MARKUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)</?[A-Za-z][^<>]*>|<!--.*?-->"));
static ANGLES: LazyLock<Regex> = LazyLock::new(|| pattern(r"<[^>]+>"));
static BLANK_LINES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\n{3,}"));

/// The summary: the text between its markers, else from its marker on, else from section one on,
/// else all of it. Analysis and HTML are removed. Square markers win over angle markers.
pub fn parse(reply: &str, rules: &Rules) -> String {
    let reply = match rules.text {
        TextRules::Tolerant => ANY_ANALYSIS.replace_all(reply, ""),
        TextRules::Literal => ANALYSIS.replace(reply, ""),
    };
    let reply = OPEN_ANALYSIS.replace(&reply, "$1");
    let marked = MARKED.iter().find_map(|marked| Some(marked.captures(&reply)?.get(1)?.as_str()));
    let section = || Some(&reply[FIRST_SECTION.find(&reply)?.start()..]);
    let body = marked.or_else(section).unwrap_or(&reply);
    let text = LINE_BREAK.replace_all(body, "\n");
    let text = rules.text.choose(&MARKUP, &ANGLES).replace_all(&text, "");
    BLANK_LINES.replace_all(&text, "\n\n").trim().to_owned()
}

/// Whether a reply has the markers of a summary.
pub(super) fn is_marked(reply: &str) -> bool {
    MARKED.iter().any(|marked| marked.is_match(reply))
}

/// Whether a reply says where its summary ends.
pub(super) fn is_closed(reply: &str) -> bool {
    let [square, _, angle, _] = &*MARKED;
    square.is_match(reply) || angle.is_match(reply)
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
            ("<summary>angle</summary>[SUMMARY]bracket[/SUMMARY]", "bracket"),
            ("[SUMMARY]open <summary>x</summary>", "open x"),
            ("<summary>\n1. Cut off mid", "1. Cut off mid"),
            ("Here:\n1. Deck\n\n2. Two", "1. Deck\n\n2. Two"),
            ("Here:\n1. Deck\n\n\n\n2. Two", "1. Deck\n\n2. Two"),
            ("Intro\n  1. Indented\n2. B", "Intro\n  1. Indented\n2. B"),
            ("<p>One.</p><p><b>Two</b><br/>Three</p>", "One.\nTwo\nThree"),
            ("<h1>T</h1><ul><li>a</li><li>b</li></ul>", "T\na\nb"),
            ("<div>One</div>Two</br>Three", "One\nTwo\nThree"),
            ("line one  \nline two", "line one  \nline two"),
            ("<!-- note -->text", "text"),
            ("  ", ""),
        ] {
            assert_eq!(parse(reply, &Rules::default()), expected, "{reply}");
            assert_eq!(parse(reply, &Rules::smart_memory_1_8()), expected, "{reply}");
        }
    }

    #[test]
    fn a_tolerant_reader_knows_analysis_and_markup_when_it_sees_them() {
        for (reply, tolerant, strict) in [
            ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6", "5  6"),
            ("<analysis>a</analysis><analysis>b</analysis>rest", "rest", "brest"),
            ("[analysis]x[/analysis]rest", "rest", "[analysis]x[/analysis]rest"),
        ] {
            assert_eq!(parse(reply, &Rules::default()), tolerant, "{reply}");
            assert_eq!(parse(reply, &Rules::smart_memory_1_8()), strict, "{reply}");
        }
    }
}
