//! A candidate of one pass.

use std::sync::Arc;

use super::activation::Found;
use crate::{
    book::Entry,
    library::{EntryIx, Library, group_names},
};

/// A candidate: an entry of the roster, or an object the host sent in its place.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) key: SeatKey,
    pub(super) ix: EntryIx,
    pub(super) found: Found,
    instead: Option<Arc<Entry>>,
}

/// Which candidate a roll belongs to. An object sent by the host is not the stored entry,
/// so its failed roll is rolled again in the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SeatKey {
    /// Sorts before all others.
    Sent(EntryIx),
    Rank(u32),
}

impl Seat {
    pub(super) fn stored(rank: u32, ix: EntryIx, found: Found) -> Self {
        Self { key: SeatKey::Rank(rank), ix, found, instead: None }
    }

    pub(super) fn instead(ix: EntryIx, entry: &Arc<Entry>, found: Found) -> Self {
        Self { key: SeatKey::Sent(ix), ix, found, instead: Some(Arc::clone(entry)) }
    }

    /// The entry whose rules hold for this candidate.
    pub(super) fn entry<'a>(&'a self, library: &'a Library) -> &'a Entry {
        self.instead.as_deref().unwrap_or_else(|| library.entry(self.ix))
    }

    pub(super) fn is_sent(&self) -> bool {
        self.instead.is_some()
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

    /// The inclusion groups it competes in.
    pub(super) fn groups(&self, library: &Library) -> Vec<Box<str>> {
        match &self.instead {
            Some(entry) => group_names(&entry.group.names),
            None => library.compiled(self.ix).groups.clone(),
        }
    }
}
