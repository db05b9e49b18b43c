//! Which text may stay where it was placed, and which gets a new place every turn.
//!
//! A text that stays may outlive its activation by some messages. That is harmless for what is
//! true of the world, and wrong for what is true only now, for one speaker or instead of something
//! else: such text goes to the tail of the prompt and is never kept.

use super::StableSettings;
use crate::{
    book::{Entry, MatchOnce, SelectiveLogic},
    dialects::vault::Note,
    place::{Injection, LOREBOOK_SLOT, Place, Provenance},
};

/// Whether an entry is meant to come and go: by chance, by groups, by speaker, by
/// exclusion, by pauses, once only or with a greeting. Its text must not outlive its activation.
pub fn comes_and_goes(entry: &Entry) -> bool {
    let activation = &entry.activation;
    let filters = &activation.filters;
    let by_chance = activation.probability.is_some_and(|chance| chance < 100.0);
    let by_speaker = !filters.characters.is_empty() || !filters.tags.is_empty();
    let negated = activation.secondary.active
        && !activation.secondary.keys.is_empty()
        && matches!(activation.secondary.logic, SelectiveLogic::NotAny | SelectiveLogic::NotAll);
    let excluded = !activation.exclude_any.is_empty() || !activation.exclude_all.is_empty();
    by_chance
        || by_speaker
        || negated
        || excluded
        || !filters.triggers.is_empty()
        || !entry.group.names.trim().is_empty()
        || activation.timed.cooldown.is_some_and(|pause| pause > 0)
        || activation.gates.every.is_some()
        || activation.gates.greeting.is_some()
        || activation.gates.user_icon.is_some()
        || activation.once == Some(MatchOnce::OnceOnly)
}

/// The same for a note of a vault. A note with fields may be bound to a time, a place or
/// somebody's presence.
pub fn note_comes_and_goes(note: &Note) -> bool {
    let negated = !note.refine.keys.is_empty()
        && matches!(note.refine.logic, SelectiveLogic::NotAny | SelectiveLogic::NotAll);
    negated
        || note.probability.is_some_and(|chance| chance < 1.0)
        || note.cooldown.is_some()
        || !note.relations.requires.is_empty()
        || !note.relations.excludes.is_empty()
        || !note.fields.is_empty()
}

/// Whether a text is volatile by its place or its source.
pub(super) fn is_volatile(injection: &Injection, settings: &StableSettings) -> bool {
    let place = &injection.place;
    let near_the_end =
        place.depth().map_or(place.is_in_chat(), |depth| depth <= settings.notes_within);
    near_the_end
        || match &injection.source {
            Provenance::AuthorsNote => true,
            Provenance::Memory(slot) => settings.volatile_slots.contains(slot),
            Provenance::Lore { .. } => false,
        }
}

/// Whether a text is where a marker of the prompt asks for it, and nowhere else.
pub(super) fn is_marked(place: &Place, marked: &[Place]) -> bool {
    matches!(place, Place::Outlet(_))
        || matches!(place, Place::Slot(name) if name != LOREBOOK_SLOT || marked.contains(place))
}
