//! Which messages a pass reads, and when the story is long enough to be summarised.
//!
//! The newest reply may still be swiped, so passes stop before it.

use std::ops::Range;

use loreloom_core::{
    chat::{PathItem, Role},
    tokens::TokenCounter,
    units::Tokens,
};

use crate::{
    presence::{Presence, voices},
    text::TextRules,
};

/// How many messages are settled: all except a final reply.
pub fn stable_cutoff(chat: &[PathItem]) -> usize {
    let ends_in_reply = chat.last().is_some_and(|last| last.message.role == Role::Assistant);
    chat.len() - usize::from(ends_in_reply)
}

/// The last `size` settled messages.
pub fn stable_window(chat: &[PathItem], size: usize) -> Range<usize> {
    let cutoff = stable_cutoff(chat);
    cutoff.saturating_sub(size)..cutoff
}

/// The settled messages since the last pass, with at least two rounds of context before
/// them and at most `max` in all; on the first pass the last `max`.
pub fn smart_window(
    chat: &[PathItem],
    last_cutoff: Option<usize>,
    extract_every: usize,
    max: usize,
) -> Range<usize> {
    let cutoff = stable_cutoff(chat);
    let earliest = cutoff.saturating_sub(max);
    let start = last_cutoff
        .map_or(earliest, |last| last.min(cutoff.saturating_sub(2 * extract_every)).max(earliest));
    start..cutoff
}

/// Messages as `name: text` lines, without hidden ones and instructions. A message without a name gets
/// that of the player, or of the only character.
pub fn lines(messages: &[PathItem]) -> String {
    let name_of = |role: Role| {
        let named = |item: &&PathItem| item.message.role == role && item.message.name.is_some();
        let found = messages.iter().rev().find(named);
        found.and_then(|item| item.message.name.as_deref()).unwrap_or(role.as_str())
    };
    let (player, character) = (name_of(Role::User), name_of(Role::Assistant));
    let lines: Vec<String> = messages
        .iter()
        .map(|item| &item.message)
        .filter(|message| message.is_seen())
        .map(|message| {
            let usual = if message.role == Role::User { player } else { character };
            format!("{}: {}", message.name.as_deref().unwrap_or(usual), message.text)
        })
        .collect();
    lines.join("\n")
}

/// Distinct speakers, in order of appearance.
pub fn speakers(messages: &[PathItem]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in messages.iter().flat_map(|item| voices(&item.message)) {
        if !names.iter().any(|seen| seen == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// What one member of a group says and hears: the messages of its long-term pass. They keep their
/// ids, so memories rest on the right messages. With [`TextRules::Literal`] it hears only the user.
pub fn heard_by(
    chat: &[PathItem],
    window: Range<usize>,
    member: &str,
    presence: &Presence,
    rules: TextRules,
) -> Vec<PathItem> {
    let is_heard = |at: &usize| {
        let message = &chat[*at].message;
        let own = message.name.as_deref() == Some(member);
        let counts = rules.is_tolerant() || message.role != Role::Assistant;
        counts && presence.hears(*at) || own
    };
    let window = window.start.min(chat.len())..window.end.min(chat.len());
    window.filter(is_heard).map(|at| chat[at].clone()).collect()
}

/// A chat shorter than this is never summarised.
const SHORTEST_SUMMARY: usize = 4;

/// Whether the messages after the summary fill `threshold` per cent of the context, which is
/// already without the reply.
pub fn should_compact(
    chat: &[PathItem],
    summary_end: usize,
    context: Tokens,
    threshold: u32,
    counter: &dyn TokenCounter,
) -> bool {
    if chat.len() < SHORTEST_SUMMARY {
        return false;
    }
    let open = lines(&chat[summary_end.min(chat.len())..]);
    u64::from(counter.count(&open).0) * 100 >= u64::from(context.0) * u64::from(threshold)
        && !open.is_empty()
}

/// The first message that is still sent if history is shrunk: what the summary covers is left out,
/// and the newest `keep` messages stay. It moves in large steps, so that the beginning of the
/// prompt stays the same for many turns.
pub fn history_boundary(length: usize, summary_end: usize, keep: usize) -> usize {
    const STEP: usize = 20;
    let most = summary_end.min(length.saturating_sub(keep));
    most / STEP * STEP
}

/// Splits a whole chat for catching up: pieces of at most 20 messages and at most 35 % of
/// the context (but never less than 500 tokens), each with at least one message.
pub fn catch_up_chunks(
    chat: &[PathItem],
    context: Tokens,
    counter: &dyn TokenCounter,
) -> Vec<Range<usize>> {
    const MOST_MESSAGES: usize = 20;
    let limit = (u64::from(context.0) * 35 / 100).max(500);
    let mut chunks = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (at, item) in chat.iter().enumerate() {
        let cost = u64::from(counter.count(&item.message.text).0);
        if at > start && (at - start >= MOST_MESSAGES || used + cost > limit) {
            chunks.push(start..at);
            (start, used) = (at, 0);
        }
        used += cost;
    }
    if start < chat.len() {
        chunks.push(start..chat.len());
    }
    chunks
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;
    use crate::text::QuarterEstimate;

    fn chat(roles: &str) -> Vec<PathItem> {
        let message = |(at, role)| {
            let role = if role == 'u' { Role::User } else { Role::Assistant };
            Message::new(role, Some("N"), format!("m{at}"))
        };
        let path = Path::of(ChatId::from("c"), roles.chars().enumerate().map(message));
        path.items().to_vec()
    }

    #[test]
    fn a_reply_at_the_end_is_not_settled() {
        for (roles, cutoff) in [("uaua", 3), ("uau", 3), ("a", 0), ("", 0)] {
            assert_eq!(stable_cutoff(&chat(roles)), cutoff, "{roles}");
        }
        assert_eq!(stable_window(&chat("uauaua"), 3), 2..5);
    }

    #[test]
    fn the_smart_window_overlaps_the_last_one_and_is_capped() {
        let ten = chat("uauauauaua");
        for (last, every, max, expected) in [
            (None, 1, 4, 5..9),
            (Some(8), 3, 20, 3..9),
            (Some(2), 2, 20, 2..9),
            (Some(0), 1, 5, 4..9),
            (Some(9), 9, 20, 0..9),
        ] {
            assert_eq!(smart_window(&ten, last, every, max), expected, "{last:?} {every} {max}");
        }
    }

    #[test]
    fn a_member_of_a_group_reads_what_it_says_and_hears() {
        let message = |(role, name): (Role, &str)| Message::new(role, Some(name), name);
        let speakers = [(Role::User, "Player"), (Role::Assistant, "Lis"), (Role::Assistant, "Odo")];
        let path = Path::of(ChatId::from("c"), speakers.map(message));
        for (rules, expected) in
            [(TextRules::Tolerant, "Player Lis Odo"), (TextRules::Literal, "Player Odo")]
        {
            let heard = heard_by(path.items(), 0..3, "Odo", &Presence::default(), rules);
            let said: Vec<&str> = heard.iter().map(|item| item.message.text.as_str()).collect();
            assert_eq!(said.join(" "), expected);
        }
    }

    #[test]
    fn history_shrinks_in_steps_and_keeps_the_newest() {
        for (length, covered, keep, expected) in [
            (100, 0, 20, 0),
            (100, 59, 20, 40),
            (100, 60, 20, 60),
            (70, 60, 20, 40),
            (9, 60, 20, 0),
        ] {
            assert_eq!(history_boundary(length, covered, keep), expected, "{length} {covered}");
        }
    }

    #[test]
    fn a_chat_is_chunked_by_count_and_by_tokens() {
        let chunks = catch_up_chunks(&chat(&"ua".repeat(25)), Tokens(100), &QuarterEstimate);
        assert_eq!(chunks, [0..20, 20..40, 40..50]);
        let long = Message::new(Role::User, None, "x".repeat(2400));
        let path = Path::of(ChatId::from("c"), [long.clone(), long.clone(), long]);
        let chunks = catch_up_chunks(path.items(), Tokens(4000), &QuarterEstimate);
        assert_eq!(chunks, [0..2, 2..3]);
    }
}
