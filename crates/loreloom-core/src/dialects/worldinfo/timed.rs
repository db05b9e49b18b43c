//! Sticky and cooldown effects: which run at the start of a scan, which begin at its end.

use rustc_hash::FxHashMap;

use super::{Quirks, fingerprint::sent_fingerprint, split_decorators};
use crate::{
    book::{Entry, Timed},
    ids::EntryId,
    library::{EntryIx, Library, Roster},
    state::{StoryState, TimedRecord},
    units::MessageCount,
};

/// The effects that run during a scan.
#[derive(Debug)]
pub(crate) struct Effects {
    sticky: FxHashMap<EntryIx, MessageCount>,
    cooldown: FxHashMap<EntryIx, MessageCount>,
    /// The records after the scan.
    pub(crate) state: StoryState,
}

impl Effects {
    /// A dry run sees no effect and changes no record.
    pub(crate) fn dry(state: &StoryState) -> Self {
        let (sticky, cooldown) = (FxHashMap::default(), FxHashMap::default());
        Self { sticky, cooldown, state: state.clone() }
    }

    /// The effects that run when the chat has `length` messages.
    pub(crate) fn begin(
        library: &Library,
        roster: &Roster,
        state: &StoryState,
        length: MessageCount,
    ) -> Self {
        let mut effects = Self::dry(state);
        let entry_of = |id: &EntryId, record: &TimedRecord| {
            let fingerprint = record.fingerprint?;
            let timed = roster.with_fingerprint(fingerprint);
            timed.or_else(|| untimed(library, roster, id, fingerprint))
        };
        for (id, record) in &state.sticky {
            let found = entry_of(id, record);
            match judge(record, found, length, |ix| timed(library, ix).sticky.is_some()) {
                Fate::Inert => {}
                Fate::Running(ix) => {
                    effects.sticky.insert(ix, record.end);
                }
                Fate::Gone => {
                    effects.state.sticky.remove(id);
                }
                Fate::Ended(ix) => {
                    effects.state.sticky.remove(id);
                    effects.cool_down(library, ix, length);
                }
            }
        }
        for (id, record) in &effects.state.cooldown.clone() {
            let found = entry_of(id, record);
            match judge(record, found, length, |ix| timed(library, ix).cooldown.is_some()) {
                Fate::Inert => {}
                Fate::Running(ix) => {
                    effects.cooldown.insert(ix, record.end);
                }
                Fate::Gone | Fate::Ended(_) => {
                    effects.state.cooldown.remove(id);
                }
            }
        }
        effects
    }

    /// When a sticky effect ends, the entry's cooldown begins, whatever ran before.
    /// It is the entry's own, under whatever name the ended record stood.
    fn cool_down(&mut self, library: &Library, ix: EntryIx, length: MessageCount) {
        let Some(cooldown) = timed(library, ix).cooldown else { return };
        let compiled = library.compiled(ix);
        let (fingerprint, id) = (compiled.fingerprint, &library.entry(compiled.slot).id);
        let end = MessageCount(length.0.saturating_add(cooldown));
        let record = TimedRecord { fingerprint, start: length, end, protected: true };
        self.state.cooldown.insert(id.clone(), record);
        self.cooldown.insert(ix, end);
    }

    /// Where a running sticky effect ends.
    pub(crate) fn sticky(&self, ix: EntryIx) -> Option<MessageCount> {
        self.sticky.get(&ix).copied()
    }

    /// The entries with a running sticky effect.
    pub(crate) fn sticky_entries(&self) -> impl Iterator<Item = EntryIx> {
        self.sticky.keys().copied()
    }

    /// Where a running cooldown ends.
    pub(crate) fn cooldown(&self, ix: EntryIx) -> Option<MessageCount> {
        self.cooldown.get(&ix).copied()
    }

    /// Begins the effects of an activated entry; one that runs is not begun again.
    pub(crate) fn activate(
        &mut self,
        library: &Library,
        (ix, instead): (EntryIx, Option<&Entry>),
        length: MessageCount,
    ) {
        let compiled = library.compiled(ix);
        // What the host sent is recognised only by a print that it sent along.
        let (timed, fingerprint) = match instead {
            Some(sent) => (running(sent.activation.timed), sent_fingerprint(sent)),
            None => (timed(library, ix), compiled.fingerprint),
        };
        let id = &library.entry(compiled.slot).id;
        let effects =
            [(timed.sticky, &mut self.state.sticky), (timed.cooldown, &mut self.state.cooldown)];
        for (messages, records) in effects {
            if let Some(messages) = messages {
                records.entry(id.clone()).or_insert(TimedRecord {
                    fingerprint,
                    start: length,
                    end: MessageCount(length.0.saturating_add(messages)),
                    protected: false,
                });
            }
        }
    }
}

/// The entry of an id, if it has no effects but the fingerprint of a record. Fingerprints
/// of such entries are not kept, so only the one the record names is tried.
fn untimed(library: &Library, roster: &Roster, id: &EntryId, fingerprint: u64) -> Option<EntryIx> {
    let ix = library.find(id)?;
    let here = roster.ranks(ix).next().is_some() && library.compiled(ix).fingerprint.is_none();
    let entry = library.entry(ix);
    let print = || {
        // The print covers the text without its decorators, whatever becomes of lone ones.
        let decorated = split_decorators(&entry.content, Quirks::sillytavern_1_19());
        super::fingerprint(entry, &library.book(ix).name, &decorated)
    };
    (here && print() == fingerprint).then_some(ix)
}

fn timed(library: &Library, ix: EntryIx) -> Timed {
    running(library.entry(ix).activation.timed)
}

/// Effects of no length are none.
fn running(timed: Timed) -> Timed {
    let some = |value: Option<u32>| value.filter(|&messages| messages > 0);
    Timed { sticky: some(timed.sticky), cooldown: some(timed.cooldown), ..timed }
}

enum Fate {
    Running(EntryIx),
    /// Kept, but its entry is not there or was edited.
    Inert,
    /// The chat did not advance, or nothing is left to wait for.
    Gone,
    Ended(EntryIx),
}

fn judge(
    record: &TimedRecord,
    entry: Option<EntryIx>,
    length: MessageCount,
    has_effect: impl Fn(EntryIx) -> bool,
) -> Fate {
    if length <= record.start && !record.protected {
        return Fate::Gone;
    }
    match entry {
        None if length >= record.end => Fate::Gone,
        None => Fate::Inert,
        Some(ix) if !has_effect(ix) => Fate::Gone,
        Some(ix) if length >= record.end => Fate::Ended(ix),
        Some(ix) => Fate::Running(ix),
    }
}
