//! Rules of writes to memory that all stores share.

use loreloom_ports::{MemoryError, OwnerEvents, SeenStory, Write, WriteSummary};

/// A write in the list of writes.
pub(crate) fn summary(write: &Write) -> WriteSummary {
    WriteSummary {
        id: write.id.clone(),
        author: write.author,
        note: write.note.clone(),
        chat: write.chat.clone(),
        at: write.at,
        owners: write.owners.iter().map(|given| given.owner.clone()).collect(),
    }
}

/// The story must still have the version that the write was computed on.
pub(crate) fn story_is_unchanged(story: &SeenStory, found: Option<u64>) -> Result<(), MemoryError> {
    if found == Some(story.version) {
        return Ok(());
    }
    let (chat, found) = (story.chat.clone(), found.unwrap_or(0));
    Err(MemoryError::StoryMoved { chat, expected: story.version, found })
}

/// A writer that names an event must have seen the last one of the owner.
pub(crate) fn last_event_was_seen(given: &OwnerEvents, last: u64) -> Result<(), MemoryError> {
    match given.seen {
        Some(expected) if expected != last => {
            Err(MemoryError::Behind { owner: given.owner.clone(), expected, found: last })
        }
        Some(_) | None => Ok(()),
    }
}
