//! The turns of a text prompt that has no template: names at line starts open them.

use loreloom_core::{
    chat::Role,
    instruct::{TextTurn, only_a_name, trimmed},
};

use crate::{speakers::Speakers, text::speaker};

/// The turns of a prompt that has only names at line starts.
pub(crate) fn turns_by_name(prompt: &str, speakers: &Speakers) -> Vec<TextTurn> {
    let names = names_in(prompt, speakers);
    let mut turns: Vec<TextTurn> = Vec::new();
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
                let role = if speakers.is_user(name) { Role::User } else { Role::Assistant };
                let start = range.start;
                let range = trimmed(prompt, start + skip..range.end);
                turns.push(TextTurn {
                    role,
                    name: Some(name.to_owned()),
                    range,
                    start,
                    opened: true,
                    closed: true,
                    section,
                });
            }
            None => match turns.last_mut().filter(|turn| turn.section == section) {
                Some(turn) => turn.range = trimmed(prompt, turn.range.start..range.end),
                None => turns.push(TextTurn {
                    role: Role::System,
                    name: None,
                    start: range.start,
                    opened: false,
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

/// The line that SillyTavern writes before examples and the chat, where its users set no other.
pub(crate) const SEPARATOR: &str = "***";

/// A line of its own that parts examples and chat where no template does.
pub(crate) fn is_separator(line: &str) -> bool {
    matches!(line.trim(), SEPARATOR | "<START>")
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

/// Who speaks in a prompt without a template: speakers that are certain, the one whose turn is
/// open, and names that open two lines.
fn names_in<'a>(prompt: &'a str, speakers: &'a Speakers) -> Vec<&'a str> {
    let certain = speakers.names.iter().chain(&speakers.former);
    let mut names: Vec<&str> = certain.map(String::as_str).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(prompt: &str, turns: &[TextTurn]) -> Vec<(Role, String)> {
        turns.iter().map(|turn| (turn.role, prompt[turn.range.clone()].to_owned())).collect()
    }

    #[test]
    fn names_part_a_prompt_without_a_template() {
        let prompt = "Be brief.\n***\nWren: Hm?\nMira Vell: No.\n***\nMira Vell: Come in.\nMind the step.\nWren: I do.\nMira Vell:Mira Vell: Good";
        let wren = Some("Wren".to_owned());
        let speakers =
            Speakers { names: wren.iter().cloned().collect(), user: wren, ..Speakers::default() };
        let turns = turns_by_name(prompt, &speakers);
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
