//! Removes a reasoning model's thoughts from its reply.
//!
//! Models write them in `<think>…</think>` (some `<thinking>` or `<reasoning>`). Chat
//! templates often put the opening tag into the prompt, so a reply may begin inside the
//! block and only close it; a reply cut off by its length may never close it.

use std::borrow::Cow;

/// The names of think tags.
const NAMES: [&str; 3] = ["think", "thinking", "reasoning"];

/// The longest inside of a tag that is looked at, spaces included.
const LONGEST_TAG: usize = 24;

/// A think tag found in a text.
struct Tag {
    start: usize,
    end: usize,
    name: &'static str,
    closes: bool,
}

/// The reply without think blocks.
///
/// - `<think>…</think>` goes, wherever it is; blocks may nest.
/// - A block that is never closed goes up to the end of the text.
/// - A closing tag without an opening one, before any text has been kept by a block, means
///   that the reply began inside the block: everything up to it goes.
///
/// What is left loses the white space at the start that followed a block. A text without
/// tags is returned as it is.
pub fn strip_think(text: &str) -> Cow<'_, str> {
    let tags = tags(text);
    if tags.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut from = 0;
    for tag in tags {
        if !tag.closes {
            if open.is_empty() {
                kept.push_str(&text[from..tag.start]);
            }
            open.push(tag.name);
            continue;
        }
        match open.iter().rposition(|name| *name == tag.name) {
            Some(depth) => open.truncate(depth),
            None if open.is_empty() => kept.clear(),
            None => {}
        }
        if open.is_empty() {
            from = tag.end;
        }
    }
    if open.is_empty() {
        kept.push_str(&text[from..]);
    }
    Cow::Owned(kept.trim_start().to_owned())
}

/// All think tags of a text, in order.
fn tags(text: &str) -> Vec<Tag> {
    text.match_indices('<').filter_map(|(start, _)| tag_at(text, start)).collect()
}

fn tag_at(text: &str, start: usize) -> Option<Tag> {
    let rest = &text[start + 1..];
    let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
    // Look only as far as a tag can reach: a text full of `<` must not take quadratic time.
    let length = rest.bytes().take(LONGEST_TAG).position(|byte| byte == b'>')?;
    let inner = rest.get(..length)?;
    let name = NAMES.into_iter().find(|name| name.eq_ignore_ascii_case(inner.trim()))?;
    let end = start + 1 + usize::from(closes) + inner.len() + 1;
    Some(Tag { start, end, name, closes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_stripped_and_everything_else_stays() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("  plain, spaces kept \n", "  plain, spaces kept \n"),
            ("<think>hm</think>\n\nYes.", "Yes."),
            ("<think></think>Yes.", "Yes."),
            ("A <think>x</think>B", "A B"),
            ("A<think>x</think>B<think>y</think>C", "ABC"),
            ("<think>never closed, so all of it", ""),
            ("Yes.<think>never closed", "Yes."),
            ("began inside</think>\nYes.", "Yes."),
            ("began <think>inside</think> twice</think> Yes.", "Yes."),
            ("<think>outer<think>inner</think>still</think>Yes.", "Yes."),
            ("<THINK>x</Think >Yes.", "Yes."),
            ("<thinking>x</thinking>Yes.", "Yes."),
            ("<reasoning>a</think>b</reasoning>Yes.", "Yes."),
            ("a < b and c > d, <thin>k</thin>", "a < b and c > d, <thin>k</thin>"),
            ("<thinker>x</thinker>", "<thinker>x</thinker>"),
            ("é<think>日</think>本", "é本"),
            ("<think", "<think"),
            ("", ""),
        ] {
            assert_eq!(strip_think(text), expected, "{text}");
        }
    }

    #[test]
    fn stripping_twice_changes_nothing_more() {
        for text in ["<think>a</think>b", "x</think>y", "<think>a", "<think>a</think><b>"] {
            let once = strip_think(text).into_owned();
            assert_eq!(strip_think(&once), once, "{text}");
        }
    }
}
