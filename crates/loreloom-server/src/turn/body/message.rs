//! One message of a body with text written into it.

use loreloom_core::assemble::PromptEdit;
use loreloom_formats::JsonEdits;
use loreloom_recognise::wire;
use serde_json::Value;

use super::raw::{RawFields, items, quoted, range_of};

/// Makes edits in a message. Its content is text, or a list of parts of which some are.
pub(super) fn edit(json: &mut JsonEdits, body: &str, message: &str, edits: &[&PromptEdit]) {
    let Some(content) = RawFields::of(message).and_then(|fields| fields.get("content")) else {
        return;
    };
    if let Ok(text) = serde_json::from_str::<String>(content) {
        json.replace(range_of(content, body), quoted(&edited(&text, 0, edits)));
        return;
    }
    // The message's text is that of its text parts, joined.
    let mut start = 0;
    for part in items(content).unwrap_or_default() {
        let Ok(value) = serde_json::from_str::<Value>(part) else { continue };
        let Some(text) = wire::part_text(&value) else { continue };
        let end = start + text.len();
        let here: Vec<&PromptEdit> =
            edits.iter().copied().filter(|one| (start..=end).contains(&one.start)).collect();
        if !here.is_empty() {
            let string = match RawFields::of(part).and_then(|fields| fields.get("text")) {
                Some(text) => text,
                None => part,
            };
            json.replace(range_of(string, body), quoted(&edited(text, start, &here)));
        }
        start = end + wire::BETWEEN_PARTS.len();
    }
}

/// A text that begins at byte `start` of its message, with edits made.
pub(super) fn edited(text: &str, start: usize, edits: &[&PromptEdit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for edit in edits {
        let at = (edit.start - start).clamp(from, text.len());
        let end = edit.end.saturating_sub(start).clamp(at, text.len());
        out.push_str(&text[from..at]);
        out.push_str(&edit.joined.text);
        from = end;
    }
    out.push_str(&text[from..]);
    out
}
