//! The pieces of a text prompt.
//!
//! Examples look like turns here. Three things give them away: a separator line, the
//! user's name before texts that have none in the chat, and the seam where the model's
//! last example meets the greeting, two turns of the model in a row.

use super::{
    End, PartReader, Shape, Spot, Window,
    glue::{Cut, pieces_within},
};
use loreloom_core::{
    chat::Role,
    instruct::{Template, TextTurn, only_a_name, template_of, turns},
};

use crate::{
    following::Following,
    named_turns::turns_by_name,
    text::{TextKey, speaker},
};

/// Turns that templates without a system role invent to keep the roles alternating.
const FILLERS: [&str; 2] = [
    "Understood.",
    "Let's get started. Please respond based on the information and instructions provided above.",
];

/// Whether a text is such a turn.
pub(crate) fn is_filler(text: &str) -> bool {
    FILLERS.contains(&text)
}

/// Cuts a text prompt.
pub(super) fn read(prompt: &str, reader: PartReader<'_>) -> Window {
    let PartReader { speakers, known } = reader;
    let template = template_of(prompt);
    let (mut turns, shape) = match template {
        Some(template) => {
            // Instructions have no role of their own where none is ever opened.
            let mut openings = template.openings.iter().filter(|(role, _)| *role == Role::System);
            let has_system = openings.any(|(_, opening)| prompt.contains(opening));
            let merged = template.system_as_user || !has_system;
            let shape = if merged { Shape::PromptMerged } else { Shape::Prompt };
            (turns(prompt, template, |name| speakers.is_user(name)), shape)
        }
        None => (turns_by_name(prompt, speakers), Shape::Prompt),
    };
    let end = take_end(prompt, &mut turns);
    // Templates write an empty turn of the model between two of the user.
    turns.retain(|turn| !turn.range.is_empty());
    let text = |turn: &TextTurn| prompt[turn.range.clone()].to_owned();
    let start = match template {
        Some(template) => {
            let start = after_story_string(prompt, &turns, template);
            start + examples_length(prompt, &turns[start..], reader)
        }
        None => chat_section(prompt, &turns, known),
    };
    let mut window = Window { preamble: Vec::new(), parts: Vec::new(), end, examples: 0, shape };
    for (index, turn) in turns.iter().enumerate() {
        let name = turn.name.as_deref();
        let spot = |range| Spot { message: 0, range };
        if index < start || is_filler(&text(turn)) {
            window.examples += usize::from(index < start && turn.role != Role::System);
            let spot = spot(turn.range.clone());
            let part = reader.part(turn.role, name, &text(turn), spot);
            window.preamble.push(part);
        } else if template.is_some() {
            let spot = spot(turn.range.clone());
            let part = reader.part(turn.role, name, &text(turn), spot);
            window.parts.push(part);
        } else {
            let pieces = pieces_within(prompt, turn.range.clone(), "\n", Cut::Nowhere, known);
            for (at, range) in pieces.into_iter().enumerate() {
                let (role, name) = match at {
                    0 if turns.len() == 1 && name.is_none() => (Role::User, None),
                    0 => (turn.role, name),
                    _ => (Role::System, None),
                };
                let piece = &prompt[range.clone()];
                window.parts.push(reader.part(role, name, piece, spot(range)));
            }
        }
    }
    window
}

/// Takes away a last turn that is only opened, and says how the prompt ends.
fn take_end(prompt: &str, turns: &mut Vec<TextTurn>) -> End {
    let Some(last) = turns.last() else { return End::Closed };
    let text = &prompt[last.range.clone()];
    if text.is_empty() || only_a_name(text) {
        let role = last.role;
        turns.pop();
        return End::Open(role);
    }
    if last.closed || last.role != Role::Assistant { End::Closed } else { End::Unfinished }
}

/// How many turns from the first on are the main prompt and the card.
fn after_story_string(prompt: &str, turns: &[TextTurn], template: &Template) -> usize {
    let system = turns.iter().take_while(|turn| turn.role == Role::System).count();
    if system > 0 || !template.system_as_user {
        return system;
    }
    // The story string is the user's first turn; a prompt with one turn has none.
    let filler = |turn: &TextTurn| is_filler(&prompt[turn.range.clone()]);
    match turns {
        [_, answer, ..] if filler(answer) => 2,
        [_, _, ..] => 1,
        _ => 0,
    }
}

/// How many turns are examples.
fn examples_length(prompt: &str, turns: &[TextTurn], reader: PartReader<'_>) -> usize {
    let PartReader { speakers, known } = reader;
    let key = |turn: &TextTurn| TextKey::of(&prompt[turn.range.clone()]);
    let unknown = |turn: &TextTurn| !known.in_a_chat(key(turn));
    if turns.first().is_none_or(|turn| turn.role != Role::User) {
        return 0;
    }
    let talk: Vec<usize> = (0..turns.len()).filter(|at| turns[*at].role != Role::System).collect();
    let filler = talk.iter().copied().find(|at| is_filler(&prompt[turns[*at].range.clone()]));
    let by_model = |at: &usize| turns[*at].role == Role::Assistant;
    let seam = talk.windows(2).find(|pair| pair.iter().all(by_model)).map(|pair| pair[0] + 1);
    let by_user = |at: &&usize| {
        speaker(&prompt[turns[**at].range.clone()])
            .is_some_and(|(name, _)| Some(name) == speakers.user.as_deref())
    };
    let users: Vec<usize> = talk.iter().copied().filter(|at| !by_model(at)).collect();
    let named = users.iter().take_while(by_user).count();
    let by_name = if named > 0 { users.get(named).copied() } else { None };
    // Where the template names who speaks, the text does not.
    let by_template = turns.iter().any(|turn| turn.name.is_some());
    let end = filler.or(seam.filter(|_| named > 0 || by_template)).or(by_name).unwrap_or(0);
    let taken = turns[..end].iter().filter(|turn| turn.role != Role::System).all(unknown);
    if taken { end } else { 0 }
}

/// Where the chat begins in a prompt without a template: its last section, or the first
/// that has a known message.
fn chat_section(prompt: &str, turns: &[TextTurn], known: &Following<'_>) -> usize {
    let last = turns.iter().map(|turn| turn.section).max().unwrap_or(0);
    let key = |turn: &TextTurn| TextKey::of(&prompt[turn.range.clone()]);
    let found = turns.iter().find(|turn| turn.section > 0 && known.in_a_chat(key(turn)));
    let section = found.map_or(last, |turn| turn.section);
    let inside = turns.iter().position(|turn| turn.section == section && turn.name.is_some());
    inside.unwrap_or(if turns.len() > 1 { turns.len() } else { 0 })
}
