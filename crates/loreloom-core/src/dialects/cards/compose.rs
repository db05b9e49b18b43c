//! The texts of active entries: macros, texts put into other entries, the wrapper.

use super::{
    decorators::{InjectDirective, InjectTarget},
    pass::CardScan,
    rules::Cost,
};
use crate::{
    engine::{
        cause::{Cause, Why},
        in_format,
    },
    library::EntryIx,
    units::Tokens,
};

/// An active entry on its way into the prompt.
#[derive(Debug)]
pub(super) struct CardPiece {
    pub(super) ix: EntryIx,
    pub(super) cause: Cause,
    pub(super) text: String,
    /// The tokens of its text.
    pub(super) tokens: Tokens,
    /// What the budget pays for it.
    pub(super) cost: Tokens,
}

impl CardPiece {
    pub(super) fn new(ix: EntryIx, cause: Cause, text: String) -> Self {
        Self { ix, cause, text, tokens: Tokens::ZERO, cost: Tokens::ZERO }
    }

    /// How near in meaning it is, if that is why it is here.
    pub(super) fn near(&self) -> Option<f64> {
        if let Why::Near { score, .. } = self.cause.why { Some(score) } else { None }
    }
}

impl CardScan<'_> {
    /// Gives each active entry its text and cost.
    pub(super) fn compose(&mut self) {
        let mut active = std::mem::take(&mut self.active);
        for at in 0..active.len() {
            let inject = &self.terms(active[at].ix).inject;
            if let Some(InjectTarget::Lore(name)) = &inject.target {
                let text = std::mem::take(&mut active[at].text);
                if let Some(target) = self.target(&active, name) {
                    put_into(&mut active[target].text, &text, inject);
                }
            }
        }
        for piece in &mut active {
            self.weigh(piece);
        }
        self.active = active;
    }

    /// The active entry of this name, else of this id, that keeps its own text.
    fn target(&self, active: &[CardPiece], name: &str) -> Option<usize> {
        let keeps = |piece: &CardPiece| {
            !matches!(self.terms(piece.ix).inject.target, Some(InjectTarget::Lore(_)))
        };
        let named = |piece: &CardPiece| {
            let entry = self.scanner.input.library.entry(piece.ix);
            entry.name == name || entry.comment == name
        };
        let identified = |piece: &CardPiece| {
            let entry = self.scanner.input.library.entry(piece.ix);
            let original = entry.original_id.as_ref().map(ToString::to_string);
            entry.id.as_str() == name || original.as_deref() == Some(name)
        };
        let find = |wanted: &dyn Fn(&CardPiece) -> bool| {
            active.iter().position(|piece| keeps(piece) && wanted(piece))
        };
        find(&named).or_else(|| find(&identified))
    }

    fn weigh(&self, piece: &mut CardPiece) {
        if piece.text.trim().is_empty() {
            piece.text.clear();
            return;
        }
        piece.text = in_format(&piece.text, &self.rules.wrapper);
        piece.tokens = self.scanner.counter.count(&piece.text);
        let text = match self.rules.cost {
            Cost::Rendered => piece.tokens,
            Cost::AsWritten => self.scanner.counter.count(&self.terms(piece.ix).body),
        };
        piece.cost = text.saturating_add(Tokens(self.rules.message_overhead));
    }
}

fn put_into(target: &mut String, text: &str, inject: &InjectDirective) {
    match &inject.replace {
        Some(replaced) => *target = target.replace(replaced.as_str(), text),
        None if text.is_empty() => {}
        None if inject.prepend => *target = format!("{text}\n{target}"),
        None => *target = format!("{target}\n{text}"),
    }
}
