//! Texts inside the chat: which belong together, and in which order.

use super::Joined;
use crate::{
    chat::Role,
    place::{Injection, Place},
    units::Depth,
};

/// How deep an author's note is by default, and so the lore around it where a prompt
/// shows none.
const NOTE_DEPTH: Depth = Depth(4);

/// The texts of each depth and role as one, deepest first; at one depth the model's on top
/// and the system's at the bottom, and around notes before others, as SillyTavern has them.
pub(super) fn by_depth<'a>(
    injections: impl IntoIterator<Item = &'a Injection>,
) -> Vec<(Depth, Role, Joined)> {
    let mut inside: Vec<(Depth, u8, &Injection)> = injections
        .into_iter()
        .filter_map(|one| depth_of(&one.place).map(|(depth, rank)| (depth, rank, one)))
        .collect();
    inside.sort_by_key(|(depth, rank, one)| (std::cmp::Reverse((*depth, one.role)), *rank));
    let same = |a: &(Depth, u8, &Injection), b: &(Depth, u8, &Injection)| {
        a.0 == b.0 && a.2.role == b.2.role
    };
    let groups = inside.chunk_by(same).filter_map(|group| group.first().map(|one| (one, group)));
    groups
        .map(|(one, group)| (one.0, one.2.role, Joined::of(group.iter().map(|other| other.2))))
        .collect()
}

/// The depth of a place inside the chat, and its rank there.
fn depth_of(place: &Place) -> Option<(Depth, u8)> {
    if *place == Place::NoteTop {
        return Some((NOTE_DEPTH, 0));
    }
    if *place == Place::NoteBottom {
        return Some((NOTE_DEPTH, 1));
    }
    place.depth().map(|depth| (depth, 2))
}
