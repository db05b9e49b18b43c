//! Turns written into one text.
//!
//! Text-completion front ends write the chat into a single prompt, with the separators the
//! model was trained on, or with nothing but names at line starts. Only the separators are
//! facts; which turns are story is decided later, with what is known of the chat.

use std::ops::Range;

use super::text::{only_a_name, speaker};
use crate::chat::Role;

/// How a family of models separates turns.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    /// Its common name.
    pub name: &'static str,
    /// What opens a turn of each role.
    pub openings: &'static [(Role, &'static str)],
    /// What may end a turn.
    pub closings: &'static [&'static str],
    /// Whether instructions inside the chat are written as the user's turns.
    pub system_as_user: bool,
}

/// Known templates; the first that opens a turn in a prompt is the prompt's.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "ChatML",
        openings: &[
            (Role::System, "<|im_start|>system"),
            (Role::User, "<|im_start|>user"),
            (Role::Assistant, "<|im_start|>assistant"),
        ],
        closings: &["<|im_end|>"],
        system_as_user: false,
    },
    Template {
        name: "Llama 3",
        openings: &[
            (Role::System, "<|start_header_id|>system<|end_header_id|>"),
            (Role::User, "<|start_header_id|>user<|end_header_id|>"),
            (Role::Assistant, "<|start_header_id|>assistant<|end_header_id|>"),
        ],
        closings: &["<|eot_id|>"],
        system_as_user: false,
    },
    Template {
        name: "Llama 4",
        openings: &[
            (Role::System, "<|header_start|>system<|header_end|>"),
            (Role::User, "<|header_start|>user<|header_end|>"),
            (Role::Assistant, "<|header_start|>assistant<|header_end|>"),
        ],
        closings: &["<|eot|>"],
        system_as_user: false,
    },
    Template {
        name: "Gemma",
        openings: &[
            (Role::System, "<start_of_turn>system"),
            (Role::User, "<start_of_turn>user"),
            (Role::Assistant, "<start_of_turn>model"),
        ],
        closings: &["<end_of_turn>"],
        system_as_user: true,
    },
    Template {
        name: "Command R",
        openings: &[
            (Role::System, "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>"),
            (Role::User, "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"),
            (Role::Assistant, "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"),
        ],
        closings: &["<|END_OF_TURN_TOKEN|>"],
        system_as_user: false,
    },
    Template {
        name: "DeepSeek",
        openings: &[(Role::User, "<｜User｜>"), (Role::Assistant, "<｜Assistant｜>")],
        closings: &["<｜end▁of▁sentence｜>"],
        system_as_user: true,
    },
    Template {
        name: "Metharme",
        openings: &[
            (Role::System, "<|system|>"),
            (Role::User, "<|user|>"),
            (Role::Assistant, "<|model|>"),
            (Role::Assistant, "<|assistant|>"),
        ],
        closings: &["<|end|>", "</s>"],
        system_as_user: false,
    },
    Template {
        name: "Mistral",
        openings: &[
            (Role::System, "[SYSTEM_PROMPT]"),
            (Role::User, "[INST]"),
            (Role::Assistant, "[/INST]"),
            (Role::Assistant, "[/SYSTEM_PROMPT]"),
        ],
        closings: &["</s>"],
        system_as_user: true,
    },
    Template {
        name: "Alpaca",
        openings: &[
            (Role::System, "### Input:"),
            (Role::User, "### Instruction:"),
            (Role::Assistant, "### Response:"),
        ],
        closings: &["</s>"],
        system_as_user: true,
    },
];

impl Template {
    /// Where the turn with text at byte `at` begins, its opening included.
    pub(crate) fn turn_start(&self, prompt: &str, at: usize) -> Option<usize> {
        let openings = self.openings.iter();
        openings.filter_map(|(_, opening)| prompt[..at].rfind(opening)).max()
    }

    /// Where the next turn after byte `at` begins.
    pub(crate) fn next_turn(&self, prompt: &str, at: usize) -> Option<usize> {
        let openings = self.openings.iter();
        openings.filter_map(|(_, opening)| prompt[at..].find(opening)).min().map(|next| at + next)
    }

    /// Whether a turn of this role can stand between any two others.
    pub(crate) fn can_write(&self, role: Role) -> bool {
        !self.system_as_user && self.openings.iter().any(|(other, _)| *other == role)
    }

    /// What stands before and after the text of a turn, read off a turn of the prompt.
    pub(crate) fn frame(&self, prompt: &str, role: Role) -> (String, String) {
        let mut openings = self.openings.iter().filter(|(other, _)| *other == role);
        let opening = openings.next().map_or("", |(_, opening)| *opening);
        let turns = by_template(prompt, self);
        let gap = turns.iter().find_map(|turn| {
            let start = self.turn_start(prompt, turn.range.start)?;
            let text = &prompt[start..turn.range.start];
            let (_, used) = self.openings.iter().find(|(_, opening)| text.starts_with(opening))?;
            Some(text[used.len()..].to_owned()).filter(|_| !turn.range.is_empty())
        });
        let close = turns.iter().find_map(|turn| {
            let next = self.next_turn(prompt, turn.range.end)?;
            Some(prompt[turn.range.end..next].to_owned()).filter(|_| !turn.range.is_empty())
        });
        let gap = gap.unwrap_or_default();
        (format!("{opening}{gap}"), close.unwrap_or_default())
    }
}

/// One turn of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) role: Role,
    pub(super) name: Option<String>,
    /// Where its text stands, outer blanks left out.
    pub(super) range: Range<usize>,
    /// Whether something ends it; the model goes on in one that nothing ends.
    pub(super) closed: bool,
    /// Counts scene separators before it (prompts without a template).
    pub(super) section: usize,
}

/// The template of a prompt.
pub fn template_of(prompt: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| {
        let talks = template.openings.iter().filter(|(role, _)| *role != Role::System);
        talks.into_iter().any(|(_, opening)| prompt.contains(opening))
    })
}

/// The turns of a prompt in a template. Text before the first is a turn of the system.
pub(super) fn by_template(prompt: &str, template: &Template) -> Vec<Turn> {
    let mut marks: Vec<(usize, usize, Role)> = template
        .openings
        .iter()
        .flat_map(|(role, opening)| {
            let plain = prompt.match_indices(opening).map(|(at, found)| (at, at + found.len()));
            plain.chain(annotated(prompt, opening)).map(|(start, end)| (start, end, *role))
        })
        .collect();
    marks.sort_unstable_by_key(|mark| mark.0);
    let mut turns = Vec::with_capacity(marks.len() + 1);
    let first = marks.first().map_or(prompt.len(), |mark| mark.0);
    if !prompt[..first].trim().is_empty() {
        turns.push(turn(prompt, 0..first, Role::System, template, true));
    }
    for (index, (_, start, role)) in marks.iter().enumerate() {
        let next = marks.get(index + 1).map(|mark| mark.0);
        let range = *start..next.unwrap_or(prompt.len());
        turns.push(turn(prompt, range, *role, template, next.is_some()));
    }
    turns
}

/// Openings with a remark, as in `### Response (two paragraphs):`.
fn annotated<'a>(
    prompt: &'a str,
    opening: &'a str,
) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    let name = opening.strip_suffix(':').unwrap_or("\0");
    prompt.match_indices(name).filter_map(move |(at, found)| {
        let rest = prompt[at + found.len()..].strip_prefix(" (")?;
        let line = rest.lines().next().unwrap_or_default();
        let length = line.find("):")?;
        Some((at, at + found.len() + 2 + length + 2))
    })
}

fn turn(prompt: &str, range: Range<usize>, role: Role, template: &Template, ended: bool) -> Turn {
    let text = &prompt[range.clone()];
    let close = template.closings.iter().filter_map(|closing| text.find(closing)).min();
    let end = range.start + close.unwrap_or(text.len());
    let range = trimmed(prompt, range.start..end);
    Turn { role, name: None, range, closed: ended || close.is_some(), section: 0 }
}

/// The turns of a prompt that has only names at line starts.
pub(super) fn by_names(prompt: &str, user: Option<&str>, certain: &[String]) -> Vec<Turn> {
    let names = names_in(prompt, certain);
    let mut turns: Vec<Turn> = Vec::new();
    let mut section = 0;
    let mut at = 0;
    for line in prompt.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        if is_separator(line) {
            section += 1;
            continue;
        }
        match named(line, &names) {
            Some((name, skip)) => {
                let role = if user == Some(name) { Role::User } else { Role::Assistant };
                let range = trimmed(prompt, range.start + skip..range.end);
                turns.push(Turn {
                    role,
                    name: Some(name.to_owned()),
                    range,
                    closed: true,
                    section,
                });
            }
            None => match turns.last_mut().filter(|turn| turn.section == section) {
                Some(turn) => turn.range = trimmed(prompt, turn.range.start..range.end),
                None => turns.push(Turn {
                    role: Role::System,
                    name: None,
                    range: trimmed(prompt, range),
                    closed: true,
                    section,
                }),
            },
        }
    }
    if let Some(last) = turns.last_mut() {
        last.closed = prompt.ends_with('\n') || last.role == Role::System;
    }
    turns
}

/// A line of its own that parts examples and chat where no template does.
fn is_separator(line: &str) -> bool {
    matches!(line.trim(), "***" | "<START>")
}

/// The name that opens a line, and how many bytes come before the text.
fn named<'line>(line: &'line str, names: &[&str]) -> Option<(&'line str, usize)> {
    let (name, _) = line.split_once(':')?;
    if !names.contains(&name) {
        return None;
    }
    // A continued message is written with its name twice.
    let mut skip = name.len() + 1;
    while let Some(again) = line[skip..].strip_prefix(name).filter(|rest| rest.starts_with(':')) {
        skip = line.len() - again.len() + 1;
    }
    Some((name, skip))
}

/// Who speaks in a prompt without a template: those who are certain, the one whose turn is
/// open, and whoever opens two lines.
fn names_in<'a>(prompt: &'a str, certain: &'a [String]) -> Vec<&'a str> {
    let mut names: Vec<&str> = certain.iter().map(String::as_str).collect();
    if let Some(open) = prompt.lines().last().filter(|line| only_a_name(line)) {
        names.push(open.trim().trim_end_matches(':'));
    }
    let mut once: Vec<&str> = Vec::new();
    for (name, _) in prompt.lines().filter_map(speaker) {
        if once.contains(&name) {
            names.push(name);
        } else {
            once.push(name);
        }
    }
    names
}

/// The range without outer blanks.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    start..start + inside.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(prompt: &str, turns: &[Turn]) -> Vec<(Role, String)> {
        turns.iter().map(|turn| (turn.role, prompt[turn.range.clone()].to_owned())).collect()
    }

    #[test]
    fn every_template_is_split_into_its_turns() {
        let turns = [(Role::System, "sys"), (Role::User, "hi"), (Role::Assistant, "ho")];
        for prompt in [
            "<|im_start|>system\nsys<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nho<|im_end|>\n<|im_start|>assistant\n",
            "<|start_header_id|>system<|end_header_id|>\n\nsys<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nho<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            "sys\n\n### Instruction:\nhi\n\n### Response:\nho\n\n### Response:\n",
            "sys\n\n### Instruction:\nhi\n\n### Response:\nho\n\n### Response (two paragraphs):\n",
            "[SYSTEM_PROMPT]sys[INST]hi[/INST]ho</s>[/INST]",
        ] {
            let template = template_of(prompt).unwrap();
            let found = by_template(prompt, template);
            let mut expected: Vec<(Role, String)> =
                turns.iter().map(|(role, text)| (*role, (*text).to_owned())).collect();
            expected.push((Role::Assistant, String::new()));
            assert_eq!(read(prompt, &found), expected, "{}", template.name);
            assert!(!found.last().unwrap().closed);
        }
    }

    #[test]
    fn names_part_a_prompt_without_a_template() {
        let prompt = "Be brief.\n***\nWren: Hm?\nMira Vell: No.\n***\nMira Vell: Come in.\nMind the step.\nWren: I do.\nMira Vell:Mira Vell: Good";
        let turns = by_names(prompt, Some("Wren"), &["Wren".to_owned()]);
        assert_eq!(
            read(prompt, &turns),
            [
                (Role::System, "Be brief.".to_owned()),
                (Role::User, "Hm?".to_owned()),
                (Role::Assistant, "No.".to_owned()),
                (Role::Assistant, "Come in.\nMind the step.".to_owned()),
                (Role::User, "I do.".to_owned()),
                (Role::Assistant, "Good".to_owned()),
            ]
        );
        let sections: Vec<usize> = turns.iter().map(|turn| turn.section).collect();
        assert_eq!(sections, [0, 1, 1, 2, 2, 2]);
        assert!(!turns.last().unwrap().closed);
    }
}
