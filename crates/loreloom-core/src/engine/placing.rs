//! Placing: where an entry's position is in a prompt.

use crate::{
    book::{DepthFrom, Position},
    place::Place,
    units::{Depth, MessageCount},
};

/// The depth of an entry that names none.
pub const DEFAULT_DEPTH: Depth = Depth(4);

/// How a dialect reads positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceRules<'a> {
    /// The place of entries that name none.
    pub(crate) unstated: &'a Place,
    /// Whether slots are outlets.
    pub(crate) slots_are_outlets: bool,
    /// Whether the place before the description is behind the card: prompts have no places
    /// inside it.
    pub(crate) before_description_is_after: bool,
    /// The length of the chat, where depths may count from its beginning. Else all count from
    /// its end.
    pub(crate) length: Option<MessageCount>,
}

impl PlaceRules<'_> {
    /// The place of a position; `None` if the text goes nowhere.
    pub(crate) fn place(&self, position: &Position, depth: Depth) -> Option<Place> {
        Some(match position {
            Position::Default => self.unstated.clone(),
            Position::BeforeCharacter => Place::BeforeCharacter,
            Position::BeforeDescription if !self.before_description_is_after => {
                Place::BeforeCharacter
            }
            Position::AfterCharacter
            | Position::BeforeDescription
            | Position::AfterDescription
            | Position::Personality
            | Position::Scenario => Place::AfterCharacter,
            Position::NoteTop => Place::NoteTop,
            Position::NoteBottom => Place::NoteBottom,
            Position::ExamplesTop => Place::BeforeExamples,
            Position::ExamplesBottom => Place::AfterExamples,
            Position::AtDepth { from } => Place::AtDepth(match (from, self.length) {
                (DepthFrom::Oldest, Some(length)) => Depth(length.0.saturating_sub(depth.0)),
                (DepthFrom::Newest | DepthFrom::Oldest, _) => depth,
            }),
            Position::Slot(name) if !self.slots_are_outlets => Place::Slot(name.clone()),
            Position::Slot(name) => Place::Outlet(name.clone()),
            Position::Outlet(name) if !name.is_empty() => Place::Outlet(name.clone()),
            Position::Outlet(_) | Position::Nowhere => return None,
        })
    }
}
