//! A candidate of one pass.

use std::sync::Arc;

use super::{activation::Found, fingerprint::sent_fingerprint};
use crate::{
    book::Entry,
    library::{CompiledEntry, EntryIx, Library, group_names},
    tokens::Measure,
};

/// A candidate: an entry of the roster, or an object the host sent in its place.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) key: SeatKey,
    pub(super) ix: EntryIx,
    /// The entry whose result it shares.
    pub(super) slot: EntryIx,
    /// Whether nothing but its keys decides.
    pub(super) plain: bool,
    pub(super) found: Found,
    instead: Option<Arc<Entry>>,
    /// Whether it is the stored entry to timed effects, which go by fingerprints.
    pub(super) recognised: bool,
    /// What it says, where that is not the stored text as it is.
    pub(super) rendered: Option<Box<Rendered>>,
}

/// What a candidate says.
#[derive(Clone, Debug)]
pub(super) struct Rendered {
    /// The text after macros; `None` is the stored text.
    pub(super) text: Option<Arc<str>>,
    /// The measure of the text in its wrapper, if it has one.
    pub(super) wrapped: Option<Measure>,
}

/// Which candidate a roll belongs to. An object sent by the host is not the stored entry,
/// so its failed roll is rolled again in the next pass. Either holds the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SeatKey {
    /// Sorts before all others.
    Sent(u32),
    Rank(u32),
}

impl SeatKey {
    pub(super) fn rank(self) -> u32 {
        match self {
            Self::Sent(rank) | Self::Rank(rank) => rank,
        }
    }
}

impl Seat {
    /// The stored entry at a rank.
    pub(super) fn stored(rank: u32, ix: EntryIx, compiled: &CompiledEntry, found: Found) -> Self {
        let CompiledEntry { slot, plain, .. } = *compiled;
        let key = SeatKey::Rank(rank);
        Self { key, ix, slot, plain, found, instead: None, recognised: true, rendered: None }
    }

    /// The stored entry at a rank, put before all others.
    pub(super) fn first(rank: u32, ix: EntryIx, compiled: &CompiledEntry, found: Found) -> Self {
        let stored = Self::stored(rank, ix, compiled, found);
        Self { key: SeatKey::Sent(rank), plain: false, ..stored }
    }

    /// What the host sent in place of the entry at a rank.
    pub(super) fn instead(
        (rank, ix): (u32, EntryIx),
        compiled: &CompiledEntry,
        entry: &Arc<Entry>,
        found: Found,
    ) -> Self {
        let print = sent_fingerprint(entry);
        let recognised = print.is_some() && print == compiled.fingerprint;
        let first = Self::first(rank, ix, compiled, found);
        Self { instead: Some(Arc::clone(entry)), recognised, ..first }
    }

    /// The entry whose rules hold for this candidate.
    pub(super) fn entry<'a>(&'a self, library: &'a Library) -> &'a Entry {
        self.instead.as_deref().unwrap_or_else(|| library.entry(self.ix))
    }

    /// Whether it takes no part in the budget.
    pub(super) fn ignores_budget(&self, library: &Library) -> bool {
        !self.plain && self.entry(library).budget.ignore
    }

    pub(super) fn is_sent(&self) -> bool {
        self.instead.is_some()
    }

    /// Whether both are the one object that the host sent.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        other.is_sent() && self.slot == other.slot
    }

    pub(super) fn sent(&self) -> Option<&Arc<Entry>> {
        self.instead.as_ref()
    }

    /// The text before macros.
    pub(super) fn body<'a>(&'a self, library: &'a Library) -> &'a str {
        match &self.instead {
            Some(entry) => &entry.content,
            None => &library.compiled(self.ix).body,
        }
    }

    /// The text as it was made for this turn, else as it is stored.
    pub(super) fn text(&self, library: &Library) -> Arc<str> {
        let made = self.rendered.as_ref().and_then(|rendered| rendered.text.clone());
        made.unwrap_or_else(|| match &self.instead {
            Some(entry) => entry.content.as_str().into(),
            None => Arc::clone(&library.compiled(self.ix).body),
        })
    }

    /// The inclusion groups it competes in.
    pub(super) fn groups(&self, library: &Library) -> Vec<Box<str>> {
        if self.plain {
            return Vec::new();
        }
        match &self.instead {
            Some(entry) => group_names(&entry.group.names),
            None => library.compiled(self.ix).groups.clone(),
        }
    }
}
