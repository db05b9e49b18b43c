//! Where active entries go.

use super::{
    decorators::InjectTarget,
    pass::{PlacedEntry, Scanner},
    terms::Terms,
};
use crate::{
    book::{DepthFrom, Position},
    library::Library,
    place::{Injection, Place, Provenance},
    rules::Rules,
    tokens::TokenCounter,
    turn::{TranscriptMessage, Turn},
    units::{Depth, Tokens},
    worldinfo::DEFAULT_DEPTH,
};

impl Scanner<'_> {
    /// The active entries in prompt order.
    pub(super) fn place(mut self) -> Vec<PlacedEntry> {
        let mut active = std::mem::take(&mut self.active);
        active.sort_by(|a, b| self.by_place(a, b));
        let placed = active.into_iter().map(|piece| {
            let terms = self.terms(piece.ix);
            PlacedEntry {
                ix: piece.ix,
                role: terms.role,
                place: if piece.text.is_empty() { None } else { self.place_of(terms) },
                tokens: piece.tokens,
                text: piece.text,
                trigger: piece.trigger,
            }
        });
        placed.collect()
    }

    fn place_of(&self, terms: &Terms) -> Option<Place> {
        if let Some(InjectTarget::Slot(name)) = &terms.inject.target {
            return Some(Place::Slot(name.clone()));
        }
        let depth = match (terms.at_tokens, &terms.position) {
            (Some(tokens), Position::AtDepth { from }) => self.depth_in(tokens, *from),
            _ => terms.at_depth.map_or(DEFAULT_DEPTH, Depth),
        };
        Some(match &terms.position {
            Position::Default => Place::Slot(self.rules.slot.clone()),
            Position::BeforeCharacter | Position::BeforeDescription => Place::BeforeCharacter,
            // There are no places inside the card: its far side is nearest.
            Position::AfterCharacter
            | Position::AfterDescription
            | Position::Personality
            | Position::Scenario => Place::AfterCharacter,
            Position::NoteTop => Place::NoteTop,
            Position::NoteBottom => Place::NoteBottom,
            Position::ExamplesTop => Place::BeforeExamples,
            Position::ExamplesBottom => Place::AfterExamples,
            Position::AtDepth { from: DepthFrom::Newest } => Place::AtDepth(depth),
            Position::AtDepth { from: DepthFrom::Oldest } => {
                Place::AtDepth(Depth(self.turn.length().0.saturating_sub(depth.0)))
            }
            Position::Outlet(name) if !name.is_empty() => Place::Outlet(name.clone()),
            Position::Slot(name) => Place::Slot(name.clone()),
            Position::Outlet(_) | Position::Nowhere => return None,
        })
    }
}

impl Scanner<'_> {
    /// How many messages, from the newest or the oldest, have no more than so many tokens
    /// together: texts stand between messages, never in them.
    fn depth_in(&self, tokens: u32, from: DepthFrom) -> Depth {
        let mut left = Tokens(tokens);
        let fits = |message: &&TranscriptMessage| {
            let rest = left.checked_sub(self.counter.count(message.scan.as_str()));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let messages = self.turn.transcript.messages.iter();
        let count = match from {
            DepthFrom::Newest => messages.rev().take_while(fits).count(),
            DepthFrom::Oldest => messages.take_while(fits).count(),
        };
        Depth(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

/// The texts to inject: one for each entry that has a place.
pub(crate) fn injections(
    library: &Library,
    placed: &[PlacedEntry],
    turn: &Turn<'_>,
    rules: &Rules,
    counter: &dyn TokenCounter,
) -> Vec<Injection> {
    let macros = turn.macros();
    let mut injections = Vec::new();
    for one in placed {
        let Some(place) = one.place.clone() else { continue };
        let depth = if let Place::AtDepth(depth) = place { Some(depth) } else { None };
        let mut text = one.text.clone();
        for script in rules.regex_scripts.iter().filter(|script| script.applies_to_lore(depth)) {
            text = script.apply(&text, &macros);
        }
        if !text.is_empty() {
            injections.push(Injection {
                place,
                role: one.role,
                tokens: if text == one.text { one.tokens } else { counter.count(&text) },
                text,
                source: Provenance::Lore {
                    book: library.book(one.ix).id.clone(),
                    entry: library.entry(one.ix).id.clone(),
                },
            });
        }
    }
    injections
}
