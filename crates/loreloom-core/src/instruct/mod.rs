//! Text-completion prompts: where turns begin and end in one text.
//!
//! Text-completion front ends write the chat into a single prompt, with the separators the
//! model was trained on. Only the separators are facts. Which turns are story is decided
//! elsewhere, with what is known of the chat.

mod templates;

use std::ops::Range;

pub use self::templates::{SystemTurns, TEMPLATES, Template};
use crate::chat::Role;

/// The longest speaker name that is accepted, in bytes.
pub const LONGEST_NAME: usize = 48;

impl Template {
    /// Where the turn with text at byte `at` begins, its opening included.
    pub(crate) fn turn_start(&self, prompt: &str, at: usize) -> Option<usize> {
        let openings = self.openings.iter().map(|(_, opening)| *opening);
        let named = self.named.map(|(before, _)| before);
        openings.chain(named).filter_map(|opening| prompt[..at].rfind(opening)).max()
    }

    /// The role that a text of this role is written as: not every template has turns of the system
    /// between others.
    pub(crate) fn writes_as(&self, prompt: &str, role: Role) -> Role {
        let is_system = |opening: &&(Role, &str)| opening.0 == Role::System;
        let shown = || {
            let mut openings = self.openings.iter().filter(is_system);
            openings
                .any(|(_, opening)| prompt.contains(opening) || at_start(prompt, opening).is_some())
        };
        match (role, self.system_turns) {
            (Role::System | Role::Tool, SystemTurns::Own) => Role::System,
            (Role::System | Role::Tool, SystemTurns::IfShown) if shown() => Role::System,
            (Role::System | Role::Tool, SystemTurns::IfShown | SystemTurns::AsUser) => Role::User,
            (Role::User | Role::Assistant, _) => role,
        }
    }

    /// The text before and after a turn of this role: as the prompt has it, or as front ends write
    /// it. `turns` are those of the prompt.
    pub(crate) fn frame(&self, prompt: &str, turns: &[TextTurn], role: Role) -> (String, String) {
        let (mut lead, mut trail) = (None, None::<&str>);
        let usual = self.writes.iter().find(|(other, ..)| *other == role);
        let (before, after) = usual.map_or(("", ""), |(_, before, after)| (*before, *after));
        for (at, pair) in turns.windows(2).enumerate() {
            let (turn, next) = (&pair[0], &pair[1]);
            let opening = &prompt[turn.start..turn.range.start];
            // What is around the instructions may not be what is around a turn.
            let is_story = at == 0 && (self.system_as_user && role != Role::System);
            let is_other = at == 0 && opening.trim() != before.trim();
            let unlike = is_story || is_other || turn.role != role;
            if unlike || !turn.opened || turn.range.is_empty() {
                continue;
            }
            lead = Some(opening);
            let after = &prompt[turn.range.end..next.start];
            // The last turn before the open one may have a line more.
            trail = Some(trail.filter(|known| known.len() <= after.len()).unwrap_or(after));
        }
        let lead = lead.unwrap_or(before);
        // The prompt's first line has no line end before it.
        let mut openings = self.openings.iter().filter(|(other, _)| *other == role);
        let begins_line = openings.any(|(_, opening)| opening.starts_with('\n'));
        let line = if begins_line && !lead.starts_with('\n') { "\n" } else { "" };
        (format!("{line}{lead}"), trail.unwrap_or(after).to_owned())
    }
}

/// How far behind an opening its name must end, in bytes.
const NEAR: usize = 96;
/// How long its remark may be, in bytes: else a line of nothing but openings would be searched
/// to its end for each.
const REMARK: usize = 512;

/// How a remark begins that says how long a reply is to be.
const LENGTH: &str = " (length = ";

/// One turn of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTurn {
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, where the prompt gives it.
    pub name: Option<String>,
    /// The bytes of its text, without outer blanks.
    pub range: Range<usize>,
    /// Where it begins, with what opens it. A text of another turn can be written here.
    pub start: usize,
    /// Whether something opens it.
    pub opened: bool,
    /// Whether a separator ends it. The model continues a turn that nothing ends.
    pub closed: bool,
    /// How many scene separators come before it (prompts without a template).
    pub section: usize,
}

/// Who speaks a turn, and how it begins.
#[derive(Clone, Copy)]
struct TurnOpening<'prompt> {
    role: Role,
    name: Option<&'prompt str>,
    start: usize,
    opened: bool,
}

impl TextTurn {
    fn new(opening: TurnOpening<'_>, range: Range<usize>, closed: bool) -> Self {
        let TurnOpening { role, name, start, opened } = opening;
        Self { role, name: name.map(str::to_owned), range, start, opened, closed, section: 0 }
    }
}

/// The template of a prompt: the first that opens a turn of the model in it, else the first
/// that opens one of the user.
pub fn template_of(prompt: &str) -> Option<&'static Template> {
    let opens = |template: &&Template, role: Role| {
        let own = template.openings.iter().filter(|(other, _)| *other == role);
        let named = template.named.map(|(before, _)| before);
        let mut openings = own.map(|(_, opening)| *opening).chain(named);
        openings.any(|opening| prompt.contains(opening) || at_start(prompt, opening).is_some())
    };
    let fits = |template: &&Template| template.holds.is_none_or(|text| prompt.contains(text));
    let known = || TEMPLATES.iter().filter(fits);
    let by_model = known().find(|template| opens(template, Role::Assistant));
    by_model.or_else(|| known().find(|template| opens(template, Role::User)))
}

/// The opening of a turn: its position, where the text begins, who speaks.
struct Opening<'prompt> {
    start: usize,
    end: usize,
    role: Role,
    name: Option<&'prompt str>,
}

/// The turns of a prompt in a template. Text before the first is a turn of the system.
/// `is_user` says whether a name is the user's.
pub fn turns(prompt: &str, template: &Template, is_user: impl Fn(&str) -> bool) -> Vec<TextTurn> {
    let mut marks: Vec<Opening<'_>> = template
        .openings
        .iter()
        .flat_map(|(role, opening)| {
            let plain = prompt.match_indices(opening).map(|(at, found)| (at, at + found.len()));
            let first = at_start(prompt, opening).map(|end| (0, end));
            let all = plain.chain(first).chain(annotated(prompt, opening));
            all.map(|(start, end)| Opening { start, end, role: *role, name: None })
        })
        .collect();
    marks.extend(named_openings(prompt, template, is_user));
    // Where a role is the beginning of a name, the name is longer.
    marks.sort_unstable_by_key(|mark| (mark.start, std::cmp::Reverse(mark.end)));
    // A remark or a name may hold what looks like another opening.
    let mut end = 0;
    marks.retain(|mark| {
        let apart = mark.start >= end;
        end = if apart { mark.end } else { end };
        apart
    });
    for mark in &mut marks {
        if let Some((name, end)) = heading(prompt, template, mark.end) {
            (mark.name, mark.end) = (Some(name), end);
        }
    }
    let mut found = Vec::with_capacity(marks.len() + 1);
    let first = marks.first().map_or(prompt.len(), |mark| mark.start);
    let before = prompt[..first].trim();
    // A prompt may begin with the token of its beginning.
    let has_turns = first < prompt.len();
    let token = before.starts_with('<') && before.ends_with('>') && !before.contains([' ', '\n']);
    let is_token = has_turns && token;
    if !before.is_empty() && !is_token {
        let opening = TurnOpening { role: Role::System, name: None, start: 0, opened: false };
        push_turns(&mut found, prompt, 0..first, opening, template);
    }
    for (index, mark) in marks.iter().enumerate() {
        let next = marks.get(index + 1).map(|mark| mark.start);
        let range = mark.end..next.unwrap_or(prompt.len());
        let (role, name) = (mark.role, mark.name);
        // Where the end of the user's turn opens the model's, that end belongs to the user.
        let ends = template.answer_closes && role == Role::Assistant;
        let line = usize::from(ends && prompt[mark.end..].starts_with('\n'));
        let start = if ends { mark.end + line } else { mark.start };
        let opening = TurnOpening { role, name, start, opened: true };
        push_turns(&mut found, prompt, range, opening, template);
    }
    found
}

/// The name in the line that a turn begins with, if it is nothing else, and where that ends.
fn heading<'prompt>(
    prompt: &'prompt str,
    template: &Template,
    at: usize,
) -> Option<(&'prompt str, usize)> {
    let (before, after) = template.heading?;
    let rest = prompt[at..].strip_prefix('\n')?.strip_prefix(before)?;
    let line = rest.lines().next().unwrap_or_default();
    let name = line.trim_end().strip_suffix(after)?;
    let end = prompt.len() - rest.len() + name.len() + after.len();
    only_a_name(&format!("{name}:")).then_some((name, end))
}

/// The end of an opening at the start of a line, if the prompt begins with it.
fn at_start(prompt: &str, opening: &str) -> Option<usize> {
    let line = opening.strip_prefix('\n')?;
    prompt.starts_with(line).then_some(line.len())
}

/// Openings that have a name in place of the role.
fn named_openings<'prompt>(
    prompt: &'prompt str,
    template: &Template,
    is_user: impl Fn(&str) -> bool,
) -> Vec<Opening<'prompt>> {
    let Some((before, after)) = template.named else { return Vec::new() };
    let roles = template.openings.iter().map(|(_, opening)| {
        opening.strip_prefix(before).unwrap_or(opening).trim_end_matches(after)
    });
    let roles: Vec<&str> = roles.collect();
    let found = prompt.match_indices(before).filter_map(|(start, _)| {
        let rest = &prompt[start + before.len()..];
        let (name, _) = rest[..rest.floor_char_boundary(NEAR)].split_once(after)?;
        let is_name = only_a_name(&format!("{name}:")) && !roles.contains(&name);
        let role = match name {
            _ if is_user(name) => Role::User,
            "System" => Role::System,
            _ => Role::Assistant,
        };
        let end = start + before.len() + name.len() + after.len();
        let name = Some(name).filter(|_| role != Role::System);
        is_name.then_some(Opening { start, end, role, name })
    });
    found.collect()
}

/// Openings with a remark, as in `### Response (two paragraphs):` and
/// `### Response: (length = long)`.
fn annotated<'a>(
    prompt: &'a str,
    opening: &'a str,
) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    let found = opening.strip_suffix(':').into_iter().flat_map(|name| prompt.match_indices(name));
    found.filter_map(move |(at, found)| {
        let rest = &prompt[at + found.len()..];
        // What follows the colon is text, unless it is a length, which no story says.
        let (begins, ends) = match rest.strip_prefix(':') {
            Some(rest) if rest.starts_with(LENGTH) => (": (", ")"),
            Some(_) => return None,
            None => (" (", "):"),
        };
        let rest = rest.strip_prefix(begins)?;
        let line = rest[..rest.floor_char_boundary(REMARK)].lines().next().unwrap_or_default();
        let length = line.find(ends)?;
        Some((at, at + found.len() + begins.len() + length + ends.len()))
    })
}

/// Adds the turn in `range`, and what follows its end there.
fn push_turns(
    turns: &mut Vec<TextTurn>,
    prompt: &str,
    range: Range<usize>,
    opening: TurnOpening<'_>,
    template: &Template,
) {
    let ended = range.end < prompt.len();
    let text = &prompt[range.clone()];
    let closings = template.closings.iter().flat_map(|closing| text.match_indices(closing));
    let mut ends: Vec<(usize, usize)> =
        closings.map(|(at, found)| (range.start + at, range.start + at + found.len())).collect();
    ends.sort_unstable();
    let mut start = range.start;
    let mut speaks = opening;
    for (end, next) in ends {
        let own = trimmed(prompt, start..end.max(start));
        if start == range.start || !own.is_empty() {
            turns.push(TextTurn::new(speaks, own, true));
        }
        start = next;
        let role = if template.model_unopened { Role::Assistant } else { Role::System };
        speaks = TurnOpening { role, name: None, start: next, opened: false };
    }
    let own = trimmed(prompt, start..range.end);
    if start == range.start || !own.is_empty() {
        turns.push(TextTurn::new(speaks, own, ended));
    }
}

/// The range without outer blanks.
pub fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    start..start + inside.trim().len()
}

/// Whether the text is nothing but `Name:`.
pub fn only_a_name(text: &str) -> bool {
    text.trim().strip_suffix(':').is_some_and(|name| {
        !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains([':', '\n', '"'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(prompt: &str, turns: &[TextTurn]) -> Vec<(Role, String)> {
        turns.iter().map(|turn| (turn.role, prompt[turn.range.clone()].to_owned())).collect()
    }

    #[test]
    fn every_template_is_split_into_its_turns() {
        let expected_turns = [(Role::System, "sys"), (Role::User, "hi"), (Role::Assistant, "ho")];
        for prompt in [
            "<|im_start|>system\nsys<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nho<|im_end|>\n<|im_start|>assistant\n",
            "<|start_header_id|>system<|end_header_id|>\n\nsys<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nho<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            "sys\n\n### Instruction:\nhi\n\n### Response:\nho\n\n### Response:\n",
            "sys\n\n### Instruction:\nhi\n\n### Response:\nho\n\n### Response (two paragraphs):\n",
            "[SYSTEM_PROMPT]sys[INST]hi[/INST]ho</s>[/INST]",
            "<|turn>system\nsys<turn|>\n<|turn>user\nhi<turn|>\n<|turn>model\nho<turn|>\n<|turn>model\n",
            "<|im_system|>system<|im_middle|>sys<|im_end|><|im_user|>user<|im_middle|>hi<|im_end|><|im_assistant|>assistant<|im_middle|>ho<|im_end|><|im_assistant|>assistant<|im_middle|>",
            "<|start|>system<|message|>sys<|end|><|start|>user<|message|>hi<|end|><|start|>assistant<|channel|>final<|message|>ho<|end|><|start|>assistant<|channel|>final<|message|>",
            "<|system|>sys<|endofsystem|>\n<|userprompt|>hi<|endofuserprompt|>\n<|response|>ho<|endofresponse|>\n<|response|>",
            "<|system|>sys<|user|>hi<|model|>ho<|model|>",
            "<|system|>\nsys\n<|user|>\nhi\n<|assistant|>\nho<|end_of_text|>\n<|assistant|>\n",
            "sys\nUSER: hi\nASSISTANT: ho</s>\nASSISTANT: ",
            "SYSTEM: sys\nUSER: hi\nASSISTANT: ho\nASSISTANT: ",
            "sys\n### Human:\nhi\n### Assistant:\nho\n### Assistant:\n",
            "sys\nUSER: \nhi\nASSISTANT: \nho\nASSISTANT: ",
            "sys\nUser: hi<|end_of_turn|>\nAssistant: ho<|end_of_turn|>\nAssistant: ",
            "BEGINNING OF CONVERSATION: sysUSER: hiGPT: ho</s>GPT:",
            "sys\n### Instruction:\nhi\n\n### Response:\nho\n\n### Response: (length = unlimited)\n",
            "sys\n### Instruction:\n#### Wren:\nhi\n### Response:\n#### Mira:\nho\n### Response (2 paragraphs, natural):\n#### Mira:\n",
        ] {
            let template = template_of(prompt).unwrap();
            let found = turns(prompt, template, |_| false);
            let mut expected: Vec<(Role, String)> =
                expected_turns.iter().map(|(role, text)| (*role, (*text).to_owned())).collect();
            expected.push((Role::Assistant, String::new()));
            assert_eq!(read(prompt, &found), expected, "{}", template.name);
            assert!(!found.last().unwrap().closed);
        }
    }

    #[test]
    fn text_after_the_end_of_a_turn_is_the_models_or_an_instruction() {
        for (prompt, role) in [
            ("[INST] a[/INST] b</s> c</s> d</s>[INST] e[/INST]", Role::Assistant),
            ("\nUSER: a\nASSISTANT: b</s>c</s>d</s>\nUSER: e\nASSISTANT:", Role::System),
        ] {
            let template = template_of(prompt).unwrap();
            let found = read(prompt, &turns(prompt, template, |_| false));
            let expected = [
                (Role::User, "a"),
                (Role::Assistant, "b"),
                (role, "c"),
                (role, "d"),
                (Role::User, "e"),
                (Role::Assistant, ""),
            ];
            assert_eq!(found, expected.map(|(role, text)| (role, text.to_owned())), "{prompt}");
        }
    }

    #[test]
    fn a_name_may_take_the_place_of_the_role() {
        let prompt = "<|im_start|>system\nsys<|im_end|>\n<|im_start|>Ilse\nhi<|im_end|>\n<|im_start|>Ilse Brandt\nhey<|im_end|>\n<|im_start|>Edda\nho<|im_end|>\n<|im_start|>System\n";
        let template = template_of(prompt).unwrap();
        let turns = turns(prompt, template, |name| name.starts_with("Ilse"));
        let found: Vec<(Role, Option<&str>, &str)> = turns
            .iter()
            .map(|turn| (turn.role, turn.name.as_deref(), &prompt[turn.range.clone()]))
            .collect();
        assert_eq!(
            found,
            [
                (Role::System, None, "sys"),
                (Role::User, Some("Ilse"), "hi"),
                (Role::User, Some("Ilse Brandt"), "hey"),
                (Role::Assistant, Some("Edda"), "ho"),
                (Role::System, None, ""),
            ]
        );
        let hey = prompt.find("hey").unwrap();
        assert_eq!(template.turn_start(prompt, hey), prompt.find("<|im_start|>Ilse Brandt"));
        let frame = ("<|im_start|>system\n".to_owned(), "<|im_end|>\n".to_owned());
        assert_eq!(template.frame(prompt, &turns, Role::System), frame);
    }

    #[test]
    fn a_turn_may_begin_with_a_line_that_names_its_speaker() {
        let prompt = "### Instruction:\n#### Wren:\nhi\n### Response:\n#### Of bells: a list\n";
        let turns = turns(prompt, template_of(prompt).unwrap(), |_| false);
        let found: Vec<_> = turns
            .iter()
            .map(|turn| (turn.role, turn.name.as_deref(), &prompt[turn.range.clone()]))
            .collect();
        let expected =
            [(Role::User, Some("Wren"), "hi"), (Role::Assistant, None, "#### Of bells: a list")];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_that_some_template_opens_turns_with_are_names() {
        for prompt in [
            "User: hi\nAssistant: ho\nUser:",
            "Wren: hi\nGPT: ho\nWren:",
            "Wren: The form says USER: me.\nChatGPT: ho\nWren:",
        ] {
            assert_eq!(template_of(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn openings_within_each_other_are_one() {
        for (prompt, expected) in [
            ("### Response (### Instruction: a): b", vec![(Role::Assistant, "b".to_owned())]),
            ("<|im_start|>a<|im_start|>user\nb", vec![(Role::Assistant, "b".to_owned())]),
        ] {
            let turns = turns(prompt, template_of(prompt).unwrap(), |_| false);
            assert_eq!(read(prompt, &turns), expected, "{prompt}");
        }
    }
}
