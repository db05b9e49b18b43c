//! Chat-template tokens and role markers.

use super::{Hazard, HazardKind, PromptTarget};
use crate::instruct::{TEMPLATES, Template};

/// Tokens that are no `<|name|>`.
const TOKENS: &[&str] = &[
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<<SYS>>",
    "<</SYS>>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<sop>",
    "<eop>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[gMASK]",
    "]~b]",
    "]~!b[",
    "[e~[",
];

/// Lines that open turns in prompts of models without a template.
const ROLE_LINES: [&str; 10] = [
    "\nHuman:",
    "\nHUMAN:",
    "\nAssistant:",
    "\nASSISTANT:",
    "\nUser:",
    "\nUSER:",
    "\nSystem:",
    "\nSYSTEM:",
    "\nAI:",
    "\nBot:",
];

/// The longest name between `<|` and `|>`, in characters.
const LONGEST_NAME: usize = 64;

/// Tokens and markers of a text, in order, none overlapping another.
pub(super) fn hazards(text: &str, target: PromptTarget) -> Vec<Hazard> {
    let markers = markers(target);
    let (mut found, mut from) = (Vec::new(), 0);
    for (start, char) in text.char_indices() {
        if start < from {
            continue;
        }
        let rest = &text[start..];
        let token = matches!(char, '<' | '[' | ']').then(|| token(rest)).flatten();
        let (kind, length) = match token {
            Some(length) => (HazardKind::TemplateToken, length),
            None => match markers.iter().find_map(|marker| marker.length_at(text, start)) {
                Some(length) => (HazardKind::RoleMarker, length),
                None => continue,
            },
        };
        from = start + length;
        found.push(Hazard { kind, start, end: from });
    }
    found
}

/// A token or marker that does nothing any more: people and models still read it.
pub(super) fn escaped(piece: &str, kind: HazardKind) -> String {
    let is_word = piece.starts_with(|char: char| char.is_ascii_alphabetic());
    match kind {
        HazardKind::RoleMarker if is_word => piece.replacen(':', " :", 1),
        HazardKind::TemplateToken
        | HazardKind::RoleMarker
        | HazardKind::HiddenText
        | HazardKind::ZeroWidth
        | HazardKind::Direction => {
            let first = piece.chars().next().map_or(0, char::len_utf8);
            format!("{} {}", &piece[..first], &piece[first..])
        }
    }
}

/// The length of the token that a text begins with.
fn token(text: &str) -> Option<usize> {
    let known = TOKENS.iter().find(|token| text.starts_with(**token));
    known.map(|token| token.len()).or_else(|| named_token(text))
}

/// `<|name|>`, `<|name>`, `<name|>`, and the same with wide bars.
fn named_token(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    let is_bar = |char: char| matches!(char, '|' | '｜');
    let name = inside.strip_prefix(is_bar);
    let opened = name.is_some();
    let name = name.unwrap_or(inside);
    let is_part = |char: char| char.is_alphanumeric() || "_-.:/▁".contains(char);
    let mut chars = name.char_indices().take(LONGEST_NAME + 1);
    let (length, end) = chars.find(|(_, char)| !is_part(*char))?;
    if length == 0 {
        return None;
    }
    let rest = &name[length..];
    let closed = is_bar(end);
    let rest = if closed { rest.strip_prefix(is_bar)? } else { rest };
    let rest = rest.strip_prefix('>')?;
    (opened || closed).then_some(text.len() - rest.len())
}

/// A text that opens a turn.
struct RoleMarker {
    text: &'static str,
    /// Whether it counts only at the beginning of a line.
    begins_line: bool,
}

impl RoleMarker {
    fn of(opening: &'static str) -> Self {
        let line = opening.strip_prefix('\n');
        Self { text: line.unwrap_or(opening).trim_end(), begins_line: line.is_some() }
    }

    /// Its length where it is at byte `start` of a text.
    fn length_at(&self, text: &str, start: usize) -> Option<usize> {
        let rest = &text[start..];
        if self.begins_line && !(start == 0 || text[..start].ends_with('\n')) {
            return None;
        }
        let Some(heading) = self.text.strip_suffix(':').filter(|one| one.starts_with('#')) else {
            return rest.starts_with(self.text).then_some(self.text.len());
        };
        let found = rest.get(..heading.len())?;
        let after = &rest[heading.len()..];
        // Front ends also write `### Response (two paragraphs):`.
        let ends = after.starts_with(':') || after.starts_with(" (");
        (found.eq_ignore_ascii_case(heading) && ends).then_some(heading.len())
    }
}

/// The markers that open turns in a prompt.
fn markers(target: PromptTarget) -> Vec<RoleMarker> {
    let is_heading = |opening: &&'static str| opening.starts_with('#');
    let is_token = |opening: &str| opening.starts_with(['<', '[']);
    let openings = |template: &'static Template| template.openings.iter().map(|(_, one)| *one);
    let markers: Vec<&'static str> = match target {
        PromptTarget::Messages => Vec::new(),
        PromptTarget::Text(Some(template)) => {
            openings(template).filter(|opening| !is_token(opening)).collect()
        }
        // A line like `USER: …` may be a dialogue. No story has a line like `### Instruction:`.
        PromptTarget::Any => TEMPLATES.iter().flat_map(openings).filter(is_heading).collect(),
        // Here such a line opens a turn of the speaker with that name.
        PromptTarget::Text(None) => {
            let headings = TEMPLATES.iter().flat_map(openings).filter(is_heading);
            headings.chain(ROLE_LINES).collect()
        }
    };
    markers.into_iter().map(RoleMarker::of).collect()
}
