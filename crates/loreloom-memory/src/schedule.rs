//! When passes are due. Everything is computed from the path, so a restart, a swipe or a branch
//! cannot leave a wrong counter.

use std::ops::Range;

use loreloom_core::chat::{PathItem, Role};

use crate::{
    record::Scene,
    settings::Settings,
    window::{smart_window, stable_cutoff, stable_window},
};

/// The windows of one extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extraction {
    /// What the session pass reads.
    pub session: Range<usize>,
    /// What the long-term and ledger passes read.
    pub longterm: Range<usize>,
    /// What the arcs pass reads.
    pub arcs: Range<usize>,
    /// Where this extraction stops reading. The next one gets it as `last_cutoff`.
    pub cutoff: usize,
}

/// How many messages a session pass reads at most.
const SESSION: usize = 40;
/// How many a long-term pass reads at most.
const LONG_TERM: usize = 20;
/// How many an arcs pass reads at most.
const ARCS: usize = 100;

/// The extraction that a person asks for: the newest messages, whether read before or not. The last
/// reply counts only if there is nothing else, because it may still be swiped.
pub fn at_once(chat: &[PathItem]) -> Extraction {
    let window = |size: usize| {
        let settled = stable_window(chat, size);
        if settled.is_empty() { chat.len().saturating_sub(size)..chat.len() } else { settled }
    };
    Extraction {
        session: window(SESSION),
        longterm: window(LONG_TERM),
        arcs: window(ARCS),
        cutoff: stable_cutoff(chat),
    }
}

/// The extraction that is due, if enough replies came since the last one.
pub fn extraction(
    chat: &[PathItem],
    last_cutoff: Option<usize>,
    settings: &Settings,
) -> Option<Extraction> {
    extraction_for(chat, last_cutoff, settings, 1)
}

/// The same if several characters spoke. Each hears only a part of the messages, so long-term
/// passes read further back.
pub fn extraction_for(
    chat: &[PathItem],
    last_cutoff: Option<usize>,
    settings: &Settings,
    speakers: usize,
) -> Option<Extraction> {
    let every = settings.extract_every.max(1);
    let since = &chat[last_cutoff.unwrap_or(0).min(chat.len())..];
    let replies = since.iter().filter(|item| item.message.role == Role::Assistant).count();
    let window = |max: usize| smart_window(chat, last_cutoff, every, max);
    let due = Extraction {
        session: window(SESSION),
        longterm: window(LONG_TERM * speakers.max(1)),
        arcs: stable_window(chat, ARCS),
        cutoff: stable_cutoff(chat),
    };
    (replies >= every && !(due.session.is_empty() && due.longterm.is_empty())).then_some(due)
}

/// The messages of the current scene: everything after the last scene on the path.
pub fn open_scene(chat: &[PathItem], history: &[Scene]) -> Range<usize> {
    let ended = history.iter().rev().find_map(|scene| {
        let last = scene.receipts.last()?;
        chat.iter().rposition(|item| item.id == *last)
    });
    let start = ended.map_or(0, |at| at + 1);
    start.min(chat.len())..chat.len()
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;

    fn chat(length: usize) -> Vec<PathItem> {
        let message = |at: usize| {
            let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
            Message::new(role, Some("N"), format!("m{at}"))
        };
        Path::of(ChatId::from("c"), (0..length).map(message)).items().to_vec()
    }

    #[test]
    fn what_is_asked_for_reads_the_newest_messages_read_or_not() {
        for (length, session, longterm, cutoff) in
            [(0, 0..0, 0..0, 0), (50, 9..49, 29..49, 49), (51, 11..51, 31..51, 51)]
        {
            let due = at_once(&chat(length));
            assert_eq!((due.session, due.longterm, due.cutoff), (session, longterm, cutoff));
        }
        let greeting = Message::new(Role::Assistant, Some("N"), "m");
        let alone = Path::of(ChatId::from("c"), [greeting]);
        assert_eq!(at_once(alone.items()).longterm, 0..1);
    }

    #[test]
    fn an_extraction_is_due_after_so_many_replies() {
        let settings = Settings::default();
        assert_eq!(extraction(&chat(5), None, &settings), None);
        let first = extraction(&chat(6), None, &settings);
        assert_eq!(first.as_ref().map(|due| (due.longterm.clone(), due.cutoff)), Some((0..5, 5)));
        assert_eq!(extraction(&chat(8), Some(5), &settings), None);
        let second = extraction(&chat(10), Some(5), &settings);
        assert_eq!(second.map(|due| due.longterm), Some(3..9));
    }

    #[test]
    fn a_scene_begins_where_the_last_one_on_the_path_ended() {
        let chat = chat(8);
        let scene = |end: usize| Scene {
            receipts: chat[..end].iter().map(|item| item.id).collect(),
            ..Scene::default()
        };
        assert_eq!(open_scene(&chat, &[]), 0..8);
        assert_eq!(open_scene(&chat, &[scene(3), scene(5)]), 5..8);
        assert_eq!(open_scene(&chat[..4], &[scene(3), scene(5)]), 3..4);
    }
}
