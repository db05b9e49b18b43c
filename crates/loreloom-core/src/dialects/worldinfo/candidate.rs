//! A candidate of one pass.

use std::sync::Arc;

use super::fingerprint::sent_fingerprint;
use crate::{
    book::Entry,
    engine::cause::EntryMatch,
    library::{CompiledEntry, EntryIx, Library},
    tokens::Measure,
};

/// A candidate: an active entry, or an object that the front end sent in its place.
#[derive(Clone, Debug)]
pub(super) struct EntryCandidate {
    pub(super) key: CandidateKey,
    pub(super) ix: EntryIx,
    /// The entry whose result it shares.
    pub(super) slot: EntryIx,
    /// Whether nothing but its keys decides.
    pub(super) plain: bool,
    pub(super) found: EntryMatch,
    instead: Option<Arc<Entry>>,
    /// Whether timed effects recognise it as the stored entry, by its fingerprint.
    pub(super) recognised: bool,
    /// Its text, where that is not the stored one.
    pub(super) rendered: Option<Box<RenderedText>>,
}

/// The text of a candidate, before its macros or after them.
#[derive(Clone, Debug)]
pub(super) struct RenderedText {
    pub(super) text: Arc<str>,
    /// The measure of the text in its wrapper, if it has one.
    pub(super) wrapped: Option<Measure>,
}

/// Which candidate a roll belongs to. An object that the front end sent is not the stored
/// entry, so its failed roll is rolled again in the next pass. Either holds the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CandidateKey {
    /// Sorts before all others.
    Sent(u32),
    Rank(u32),
}

impl CandidateKey {
    pub(super) fn rank(self) -> u32 {
        match self {
            Self::Sent(rank) | Self::Rank(rank) => rank,
        }
    }
}

impl EntryCandidate {
    /// The stored entry at a rank.
    pub(super) fn stored(
        (rank, ix): (u32, EntryIx),
        compiled: &CompiledEntry,
        found: EntryMatch,
    ) -> Self {
        let CompiledEntry { slot, plain, .. } = *compiled;
        let key = CandidateKey::Rank(rank);
        Self { key, ix, slot, plain, found, instead: None, recognised: true, rendered: None }
    }

    /// The same, put before all others.
    #[must_use]
    pub(super) fn first(self) -> Self {
        Self { key: CandidateKey::Sent(self.key.rank()), plain: false, ..self }
    }

    /// What the front end sent instead of the stored entry.
    #[must_use]
    pub(super) fn instead(self, compiled: &CompiledEntry, entry: &Arc<Entry>) -> Self {
        let print = sent_fingerprint(entry);
        let recognised = print.is_some() && print == compiled.fingerprint;
        let rendered = RenderedText { text: entry.content.as_str().into(), wrapped: None };
        let (instead, rendered) = (Some(Arc::clone(entry)), Some(Box::new(rendered)));
        Self { instead, recognised, rendered, ..self.first() }
    }

    /// The entry whose rules hold for this candidate.
    pub(super) fn entry<'a>(&'a self, library: &'a Library) -> &'a Entry {
        self.instead.as_deref().unwrap_or_else(|| library.entry(self.ix))
    }

    /// Whether it takes no part in the budget.
    pub(super) fn ignores_budget(&self, library: &Library) -> bool {
        !self.plain && self.entry(library).budget.ignore
    }

    /// What the front end sent in its place.
    pub(super) fn sent(&self) -> Option<&Arc<Entry>> {
        self.instead.as_ref()
    }

    /// Whether both are the one object that the front end sent.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.sent().is_some() && other.sent().is_some() && self.slot == other.slot
    }

    /// The text as it was made for this turn, else as it is stored.
    pub(super) fn text(&self, library: &Library) -> Arc<str> {
        let made = self.rendered.as_ref().map(|rendered| &rendered.text);
        Arc::clone(made.unwrap_or(&library.compiled(self.ix).body))
    }

    /// The inclusion groups it competes in.
    pub(super) fn groups(&self, library: &Library) -> Vec<Box<str>> {
        match &self.instead {
            _ if self.plain => Vec::new(),
            Some(entry) => entry.group.each(),
            None => library.compiled(self.ix).groups.clone(),
        }
    }
}
