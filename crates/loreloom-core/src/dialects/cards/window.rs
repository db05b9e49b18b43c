//! The part of a chat that card books scan: what user and model said, without comments.

use super::comments::{Cuts, without_comments};
use crate::{
    chat::Role,
    engine::texts::{Furthest, Location, PartRef},
    library::{Library, MOST_MESSAGES},
    report::{MatchPlace, TextSource},
    scan::ScanText,
    turn::{Transcript, TranscriptMessage, Turn},
};

/// The newest messages of a chat as card books scan them.
pub(super) struct CardWindow {
    pub(super) transcript: Transcript,
    sources: Vec<WindowMessage>,
}

/// Where a message of the window is in the chat.
struct WindowMessage {
    index: usize,
    cuts: Cuts,
}

impl CardWindow {
    /// The newest messages of user and model.
    pub(super) fn new(chat: &Transcript, furthest: Furthest) -> Self {
        let depth = furthest.messages.min(MOST_MESSAGES) as usize;
        let spoken = chat.messages.iter().enumerate().rev().filter(|(_, one)| is_spoken(one.role));
        // What is cut off messages only makes room for more of them.
        let mut left = furthest.characters as usize;
        let in_reach = |(at, (_, message)): &(usize, (usize, &TranscriptMessage))| {
            let reached = *at < depth || left > 0;
            if left > 0 {
                let own = &message.scan.as_str()[own_start(message)..];
                left = left.saturating_sub(without_comments(own).0.chars().count() + 1);
            }
            reached
        };
        let spoken = spoken.take(MOST_MESSAGES as usize).enumerate();
        let newest = spoken.take_while(in_reach).map(|(_, one)| one);
        let mut newest: Vec<(usize, &TranscriptMessage)> = newest.collect();
        newest.reverse();
        let mut window = Self { transcript: Transcript::new(false), sources: Vec::new() };
        for (index, message) in newest {
            let own = &message.scan.as_str()[own_start(message)..];
            let (text, cuts) = without_comments(own);
            let scan = if text.len() == message.scan.as_str().len() {
                message.scan.clone()
            } else {
                ScanText::new(&*text)
            };
            window.transcript.messages.push(TranscriptMessage { scan, ..message.clone() });
            window.sources.push(WindowMessage { index, cuts });
        }
        window
    }

    /// Where a key was found, as reports show it.
    pub(super) fn place(&self, at: &Location, library: &Library, turn: &Turn<'_>) -> MatchPlace {
        let PartRef::Message(index) = at.part else { return at.place(library, turn) };
        let source = &self.sources[index as usize];
        let message = &turn.transcript.messages[source.index];
        // From the window's text to the scanned text, and from there to the message's own.
        let byte = |byte: u32| {
            let scanned = own_start(message) + source.cuts.uncut(byte as usize);
            (scanned + message.trimmed).saturating_sub(message.prefix)
        };
        MatchPlace {
            source: TextSource::Message {
                index: u32::try_from(source.index).unwrap_or(u32::MAX),
                role: message.role,
                name: message.name.as_deref().map(str::to_owned),
            },
            start: byte(at.start),
            // What was cut right behind the key is not part of it.
            end: if at.end > at.start { byte(at.end - 1) + 1 } else { byte(at.end) },
        }
    }
}

pub(super) fn is_spoken(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant)
}

/// Where the message's own text begins in what World Info scans, which may have the
/// speaker's name before it.
fn own_start(message: &TranscriptMessage) -> usize {
    message.prefix.saturating_sub(message.trimmed).min(message.scan.as_str().len())
}
