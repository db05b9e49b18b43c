//! Where a key was found, and how reports show it.

use crate::{
    library::{EntryIx, Library},
    report::{MatchPlace, TextSource},
    scan::{Folding, ScanText},
    turn::Turn,
};

/// Where a key was found: bytes of one part as it is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) part: PartRef,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A part of a turn's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartRef {
    /// A message, counted from the oldest.
    Message(u32),
    /// A card text, in the order of [`card_texts`].
    Card(u32),
    /// A prompt, in the order of those that are not empty.
    Prompt(u32),
    /// The text of an activated entry.
    Lore(EntryIx),
    /// Several parts together.
    Joined,
}

pub(super) fn location(part: PartRef, (start, end): (usize, usize)) -> Location {
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Location { part, start: byte(start), end: byte(end) }
}

/// A span of the folded text as bytes of the text itself.
pub(super) fn raw_location(
    part: PartRef,
    text: &ScanText,
    folding: Folding,
    (start, end): (u32, u32),
) -> Location {
    location(part, text.raw_span(folding, (start as usize, end as usize)))
}

impl Location {
    /// The place as reports show it.
    pub(crate) fn place(&self, library: &Library, turn: &Turn<'_>) -> MatchPlace {
        let (start, end) = (self.start as usize, self.end as usize);
        let source = match self.part {
            PartRef::Message(index) => {
                let message = &turn.transcript.messages[index as usize];
                let Some(start) = (start + message.trimmed).checked_sub(message.prefix) else {
                    return MatchPlace { source: TextSource::Speaker { index }, start, end };
                };
                let end = end + message.trimmed - message.prefix;
                let name = message.name.as_deref().map(str::to_owned);
                let source = TextSource::Message { index, role: message.role, name };
                return MatchPlace { source, start, end };
            }
            PartRef::Card(at) => [
                TextSource::Persona,
                TextSource::Description,
                TextSource::Personality,
                TextSource::DepthPrompt,
                TextSource::Scenario,
                TextSource::CreatorNotes,
            ][at as usize]
                .clone(),
            PartRef::Prompt(at) => {
                TextSource::Prompt { name: turn.input.prompts[at as usize].name.clone() }
            }
            PartRef::Lore(ix) => TextSource::Entry { entry: library.entry(ix).id.clone() },
            PartRef::Joined => TextSource::Joined,
        };
        MatchPlace { source, start, end }
    }
}
