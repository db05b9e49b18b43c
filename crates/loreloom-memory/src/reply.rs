//! Replies as models write them.
//!
//! A prompt asks for lines of one form, or for a text. Models put lines into lists, quotes and
//! code fences, make tags bold, and write a sentence before and after. Some refuse. Only this file
//! knows about that: [`plain_lines`] removes the markup, so that each tier reads nothing but its
//! own form, and [`is_refusal`] and [`says_nothing`] recognise replies without content.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use crate::text::{LINE_ENDS, TextRules, pattern};

const BULLETS: [char; 12] = ['-', '*', '+', '•', '·', '‣', '▪', '◦', '●', '○', '–', '—'];
/// Boxes of a list to tick off.
const BOXES: [&str; 3] = ["[ ] ", "[x] ", "[X] "];

/// A reply whose lines have no list marks, quotes, bold, rules or code fences. With
/// [`TextRules::Literal`] it stays unchanged.
pub(crate) fn plain_lines(reply: &str, rules: TextRules) -> Cow<'_, str> {
    if !rules.is_tolerant() {
        return Cow::Borrowed(reply);
    }
    let lines = reply.split(LINE_ENDS).filter(|line| !is_fence(line));
    let lines = lines.map(|line| plain_line(&without_cells(line)));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Whether a line is a code fence, or a rule such as `---` or `|---|---|`.
fn is_fence(line: &str) -> bool {
    let line = line.trim();
    let is_mark = |one: char| matches!(one, '-' | '*' | '_' | '=' | '|' | ':' | ' ');
    let is_rule =
        line.len() >= 3 && line.contains(['-', '*', '_', '=']) && line.chars().all(is_mark);
    is_rule || line.starts_with("```") || line.starts_with("~~~")
}

/// A row of a table as a line: its cells with bars between, without the bar after a tag or a
/// number.
fn without_cells(line: &str) -> Cow<'_, str> {
    let inner = line.trim().strip_prefix('|').and_then(|inner| inner.strip_suffix('|'));
    let Some(inner) = inner else { return Cow::Borrowed(line) };
    let mut row = String::new();
    for cell in inner.split('|').map(str::trim) {
        let bare = row.trim_end_matches(['*', '`', '_']);
        let is_head = bare.is_empty()
            || bare.ends_with(']')
            || bare.chars().all(|letter| letter.is_ascii_digit());
        let between = if row.is_empty() {
            ""
        } else if is_head {
            " "
        } else {
            " | "
        };
        row.push_str(between);
        row.push_str(cell);
    }
    // A number alone in the first cell is the number of the row.
    let digits = row.len() - row.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let is_numbered = digits > 0 && row[digits..].starts_with([' ', '*', '`', '[']);
    Cow::Owned(if is_numbered { row[digits..].trim_start().to_owned() } else { row })
}

fn plain_line(line: &str) -> String {
    let mut rest = line.trim();
    while let Some(shorter) = without_list_mark(rest) {
        rest = shorter.trim_start();
    }
    let bare = rest.replace("**", "").replace("__", "");
    let bare = bare.trim();
    // Code or italics around the tag or the whole line.
    for mark in ['`', '*', '_'] {
        if let Some(inner) = bare.strip_prefix(mark) {
            return inner.replacen(mark, "", 1);
        }
    }
    bare.to_owned()
}

/// The line without one quote sign, bullet, number or box before it.
fn without_list_mark(line: &str) -> Option<&str> {
    let is_apart = |rest: &&str| rest.is_empty() || rest.starts_with([' ', '\t', '[', '\u{a0}']);
    let quote = line.strip_prefix('>');
    // An asterisk before a tag begins italics.
    let bullet = || line.strip_prefix(BULLETS).filter(is_apart).filter(|_| !line.starts_with("*["));
    let number = || {
        let open = line.strip_prefix('(').unwrap_or(line);
        let rest = open.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let digits = open.len() - rest.len();
        let rest = rest.strip_prefix(['.', ')', ':']).filter(is_apart);
        rest.filter(|_| (1..=3).contains(&digits))
    };
    let ticked = || BOXES.iter().find_map(|mark| line.strip_prefix(mark));
    quote.or_else(bullet).or_else(number).or_else(ticked)
}

static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:none|nothing|n/a|no (?:new|changes?|updates?|open|further|additional|notable|significant)|there (?:is|are) (?:nothing|none|no)|there['’]s nothing)\b",
    )
});
/// A longer reply says something, whatever its first words are.
const LONGEST_NOTHING: usize = 80;

/// Whether a reply says that there is nothing to report: it is empty, `NONE`, or one sentence such
/// as "Nothing new happens here." Only for replies without anything of what was asked for: a
/// story can begin with the same words.
pub(crate) fn says_nothing(reply: &str, rules: TextRules) -> bool {
    is_none(reply, rules) || {
        let reply = plain_lines(reply, rules);
        let text = reply.trim().trim_end_matches(['.', '!']);
        let last = text.lines().last().unwrap_or_default().trim();
        let is_short = text.len() <= LONGEST_NOTHING
            && !text.contains(['\n', '.', '!', '?', ':', ','])
            && NOTHING.is_match(text);
        rules.is_tolerant() && (is_short || last.eq_ignore_ascii_case("none"))
    }
}

/// Whether a reply is empty or `NONE`.
pub(crate) fn is_none(reply: &str, rules: TextRules) -> bool {
    let reply = plain_lines(reply, rules);
    let text = reply.trim();
    text.is_empty() || text.trim_end_matches('.').eq_ignore_ascii_case("none")
}

/// How refusals begin, in the languages that stories are written in. Words that may also begin a
/// story need the deed that is refused.
static REFUSAL: LazyLock<Regex> = LazyLock::new(|| {
    const DEED: &str = r"(?:help|assist|continue|provide|create|generate|write|produce|comply|fulfil|engage|participate|summari|complete|process|discuss|respond|answer|share|do th|be able|roleplay|access|see any|find any)";
    pattern(&format!(
        r"(?i)^\W*(?:sorry,? but|(?:i['’]?m|i am) (?:very |really |so |truly )?(?:sorry|unable to|not able to)|(?:my )?apologies|i apologi[sz]e|i must (?:decline|refuse)|as an (?:ai|llm)\b|as a (?:large )?language model|(?:unfortunately,? |sorry,? |i['’]m afraid )?i (?:cannot|can not|can['’]t|won['’]t|will not|am unable to|do not feel comfortable|don['’]t feel comfortable) {DEED}|(?:es )?tut mir leid,? (?:aber )?ich|ich kann (?:dabei|das|diese)|je suis désolée?,? (?:mais )?je|désolée?,? (?:mais )?je|je ne peux pas {DEED}|lo siento,? pero|no puedo (?:ayudar|continuar|generar|crear)|desculpe,? (?:mas )?não|sinto muito,? mas|não posso (?:ajudar|continuar|criar)|извините,? (?:но )?я|к сожалению,? я не могу|申し訳(?:ありません|ございません)|すみませんが|(?:很)?抱歉[，,]|对不起[，,]|對不起[，,]|我(?:无法|無法|不能)(?:帮|幫|提供|继续|繼續|协助|協助|生成))"
    ))
});

/// Whether a reply is a refusal or an apology instead of what was asked for. Only its beginning
/// counts: people in stories apologise too.
pub(crate) fn is_refusal(reply: &str) -> bool {
    REFUSAL.is_match(reply.trim_start())
}

/// What models write before a text: "Sure! Here is the summary:", or a heading.
static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?i:\s*(?:(?:sure|certainly|of course|absolutely|okay|ok|understood|gerne|natürlich|bien sûr|claro)\b[^\n:]{0,80}[:!.]\s*)?(?:(?:here(?:'s|’s| is| are)|below is|hier ist|voici|aquí (?:está|tienes))\b[^\n:]{0,80}:\s*\n)|\s*(?:sure|certainly|of course|absolutely|understood)[!.]\s*\n|\s*(?:#{1,6} |\*\*)[^\n*]{0,30}(?:summary|recap|history|correction|note)[^\n*]{0,30}(?:\*\*)?:?\s*\n|\s*(?:\*\*)?(?:the )?(?:scene |story |thread |arc )?(?:summary|recap)(?::\*\*|\*\*:|:) *|\s*```\w*\n)",
    )
});
/// What models write after a text.
static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:\n```\s*|\n\s*(?:let me know (?:if|whether|what)|would you like me to|feel free to|i hope this|please let me know)\b[^\n]{0,160}\s*)$",
    )
});

/// A text that was asked for, without what models write before and after it; `None` for a refusal,
/// for "nothing", and for JSON.
pub(crate) fn prose(reply: &str, rules: TextRules) -> Option<&str> {
    let mut text = reply.trim();
    while let Some(found) = BEFORE.find(text).filter(|_| rules.is_tolerant()) {
        text = text[found.end()..].trim();
    }
    while let Some(found) = AFTER.find(text).filter(|_| rules.is_tolerant()) {
        text = text[..found.start()].trim();
    }
    let is_other = rules.is_tolerant()
        && (is_refusal(text) || is_none(text, rules) || text.starts_with(['{', '[']));
    (!text.is_empty() && !is_other).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_before_and_around_a_line_goes_and_its_words_stay() {
        for line in [
            "[fact:3] Mara keeps bees.",
            "  - [fact:3] Mara keeps bees.",
            "* [fact:3] Mara keeps bees.",
            "• [fact:3] Mara keeps bees.",
            "-[fact:3] Mara keeps bees.",
            "1. [fact:3] Mara keeps bees.",
            "12) [fact:3] Mara keeps bees.",
            "(2) [fact:3] Mara keeps bees.",
            "> [fact:3] Mara keeps bees.",
            "> - [fact:3] Mara keeps bees.",
            "- [ ] [fact:3] Mara keeps bees.",
            "**[fact:3]** Mara keeps bees.",
            "- **[fact:3]** Mara keeps bees.",
            "**[fact:3] Mara keeps bees.**",
            "*[fact:3] Mara keeps bees.*",
            "`[fact:3]` Mara keeps bees.",
            "1. `[fact:3] Mara keeps bees.`",
            "```\n[fact:3] Mara keeps bees.\n```",
            "|---|:---|\n| [fact:3] | Mara keeps bees. |",
            "| 1 | [fact:3] | Mara keeps bees. |",
            "| **[fact:3]** | Mara keeps bees. |",
        ] {
            let plain = plain_lines(line, TextRules::Tolerant);
            assert_eq!(plain, "[fact:3] Mara keeps bees.", "{line}");
            assert_eq!(plain_lines(line, TextRules::Literal), line);
        }
        let row = plain_lines("| [knows] | Odo | Mara left. |", TextRules::Tolerant);
        assert_eq!(row, "[knows] Odo | Mara left.");
        for line in ["-> Odo", "1942 was cold", "3.5 miles", "Odo -> Mara: fear(low)", "a * b * c"]
        {
            assert_eq!(plain_lines(line, TextRules::Tolerant), line);
        }
    }

    #[test]
    fn nothing_can_be_said_in_a_sentence_but_not_in_many() {
        for (reply, tolerant, literal) in [
            ("", true, true),
            (" None. ", true, true),
            ("- NONE", true, false),
            ("**NONE**", true, false),
            ("Sure! Here are the notes:\n\nNONE", true, false),
            ("Nothing new happens here.", true, false),
            ("There are no new memories to note.", true, false),
            ("No new threads.", true, false),
            ("Nonetheless, [fact] he stays.", false, false),
            ("Mara noted nothing.", false, false),
            ("There is no way Odo waves: he is dead.", false, false),
            ("Nothing new about Mara, but:\n[fact] She left.", false, false),
            (&format!("Nothing was left of the ship. {}", "It burned. ".repeat(20)), false, false),
        ] {
            assert_eq!(says_nothing(reply, TextRules::Tolerant), tolerant, "{reply}");
            assert_eq!(says_nothing(reply, TextRules::Literal), literal, "{reply}");
        }
    }

    #[test]
    fn a_refusal_is_known_by_its_first_words() {
        for reply in [
            "I'm sorry, but I can't help with that.",
            "I’m really sorry, but this content goes against my guidelines.",
            "I cannot continue this story.",
            "Unfortunately, I can't provide a summary of this material.",
            "As an AI, I do not write such texts.",
            "I apologize, but there is no story in your message.",
            "Es tut mir leid, aber ich kann dabei nicht helfen.",
            "Lo siento, pero no puedo ayudar con eso.",
            "申し訳ありませんが、お手伝いできません。",
            "抱歉，我无法提供帮助。",
        ] {
            assert!(is_refusal(reply), "{reply}");
            assert_eq!(prose(reply, TextRules::Tolerant), None);
            assert_eq!(prose(reply, TextRules::Literal), Some(reply));
        }
        for text in [
            "Mara says that she is sorry.",
            "I cannot stay, Odo says, and leaves the island.",
            "\"I'm not here,\" whispers Odo.",
            "As an heir of the house, Mara holds the key.",
            "Nothing is left of the mill. Odo blames Mara, and she leaves for the coast.",
        ] {
            assert!(!is_refusal(text), "{text}");
            assert_eq!(prose(text, TextRules::Tolerant), Some(text));
        }
        assert_eq!(prose(" Calm. \n", TextRules::Tolerant), Some("Calm."));
        for reply in [
            "Sure! Here is the summary of the scene:\n\nOdo left.",
            "Here's a recap:\nOdo left.\n\nLet me know if you want more detail!",
            "## Scene summary\n\nOdo left.",
            "**Summary:**\nOdo left.",
            "**Scene summary:** Odo left.",
            "**Thread recap**: Odo left.",
            "Summary: Odo left.",
            "Certainly.\n```text\nOdo left.\n```",
        ] {
            assert_eq!(prose(reply, TextRules::Tolerant), Some("Odo left."), "{reply}");
            assert_eq!(prose(reply, TextRules::Literal), Some(reply));
        }
        for text in ["Here is where Odo died: the reef.", "Certainly. Odo said so."] {
            assert_eq!(prose(text, TextRules::Tolerant), Some(text));
        }
        assert_eq!(prose("{\"summary\": \"x\"}", TextRules::Tolerant), None);
    }
}
