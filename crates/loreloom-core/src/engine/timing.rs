//! Timing: sticky, cooldown and delay, entries that stay or stay away once matched, and who
//! may fire in this turn at all.
//!
//! Effects are read at the start of a turn and recorded at its end. All dialects share one
//! [`Timing`], each continues with the records that the one before it left.

use rustc_hash::FxHashMap;

use super::EngineInput;
use crate::{
    book::{Entry, Timed},
    dialects::worldinfo::{Quirks, fingerprint, sent_fingerprint, split_decorators},
    ids::{EntryId, MessageId},
    library::{ActiveEntries, EntryIx, Library},
    report::Stop,
    state::{StoryState, TimedRecord},
    turn::Turn,
    units::MessageCount,
};

/// The effects that run in a turn.
#[derive(Debug)]
pub(crate) struct Timing {
    sticky: FxHashMap<EntryIx, MessageCount>,
    cooldown: FxHashMap<EntryIx, MessageCount>,
    /// The records after the turn so far.
    pub(crate) state: StoryState,
    length: MessageCount,
    /// Nothing is recorded.
    dry_run: bool,
}

/// How far recursion has come, for entries that wait for it or take no part in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecursionStep {
    /// Whether the texts of active entries are scanned in this pass.
    pub(crate) recursing: bool,
    /// The level that is reached: entries of a higher one wait.
    pub(crate) level: u32,
    /// Whether entries that take no part in recursion are stopped. Where they are not, they
    /// only do not see those texts.
    pub(crate) stops_excluded: bool,
}

impl Timing {
    /// The effects that run now. A dry run sees none and changes no record.
    pub(crate) fn begin(input: &EngineInput<'_>) -> Self {
        let EngineInput { library, active, turn, state, .. } = *input;
        let (sticky, cooldown) = (FxHashMap::default(), FxHashMap::default());
        let (length, dry_run) = (turn.length(), turn.input.dry_run);
        let mut effects = Self { sticky, cooldown, state: state.clone(), length, dry_run };
        if dry_run {
            return effects;
        }
        let entry_of = |id: &EntryId, record: &TimedRecord| {
            let fingerprint = record.fingerprint?;
            let timed = active.with_fingerprint(fingerprint);
            timed.or_else(|| untimed(library, active, id, fingerprint))
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
                    effects.cool_down(library, ix);
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

    /// When a sticky effect ends, the entry's cooldown begins, whatever ran before. It belongs to
    /// the entry, even if the ended record had another name.
    fn cool_down(&mut self, library: &Library, ix: EntryIx) {
        let Some(cooldown) = timed(library, ix).cooldown else { return };
        let compiled = library.compiled(ix);
        let (fingerprint, id) = (compiled.fingerprint, &library.entry(compiled.slot).id);
        let record = begun(fingerprint, self.length, cooldown);
        let (end, record) = (record.end, TimedRecord { protected: true, ..record });
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

    /// What timing says about an entry: the end of a sticky effect that runs, or a stop.
    pub(crate) fn check(
        &self,
        (ix, entry): (EntryIx, &Entry),
        turn: &Turn<'_>,
        step: RecursionStep,
    ) -> Result<Option<MessageCount>, Stop> {
        check_filters(turn, entry)?;
        check_delay(entry.activation.timed.delay, turn.length())?;
        if let Some(until) = self.sticky(ix) {
            return Ok(Some(until));
        }
        if let Some(until) = self.cooldown(ix) {
            return Err(Stop::Cooldown { until });
        }
        let level = entry.recursion.delay_level;
        if level > 0 && (!step.recursing || level > step.level) {
            return Err(Stop::RecursionLevel { level });
        }
        if step.recursing && step.stops_excluded && entry.recursion.exclude {
            return Err(Stop::ExcludedFromRecursion);
        }
        Ok(None)
    }

    /// Records that an entry matched. Only its first match counts.
    pub(crate) fn remember_match(&mut self, id: &EntryId, turn: &Turn<'_>) {
        if !self.dry_run {
            let now = turn.answers.unwrap_or_default();
            self.state.first_match.entry(id.clone()).or_insert(now);
        }
    }

    /// Begins the effects of an activated entry; one that runs is not begun again.
    pub(crate) fn activate(&mut self, library: &Library, ix: EntryIx, instead: Option<&Entry>) {
        if self.dry_run {
            return;
        }
        let compiled = library.compiled(ix);
        // What the front end sent is recognised only by a fingerprint that it sent along.
        let (timed, fingerprint) = match instead {
            Some(sent) => (running(sent.activation.timed), sent_fingerprint(sent)),
            None => (timed(library, ix), compiled.fingerprint),
        };
        let id = &library.entry(compiled.slot).id;
        let effects =
            [(timed.sticky, &mut self.state.sticky), (timed.cooldown, &mut self.state.cooldown)];
        for (messages, records) in effects {
            if let Some(messages) = messages {
                records.entry(id.clone()).or_insert(begun(fingerprint, self.length, messages));
            }
        }
    }
}

/// The record of an effect of so many messages that begins now.
pub(crate) fn begun(fingerprint: Option<u64>, length: MessageCount, messages: u32) -> TimedRecord {
    let end = MessageCount(length.0.saturating_add(messages));
    TimedRecord { fingerprint, start: length, end, protected: false }
}

/// Where an effect ends that runs in a chat of this length, for callers that know its owner.
pub(crate) fn runs_until(record: &TimedRecord, length: MessageCount) -> Option<MessageCount> {
    match judge(record, Some(EntryIx(0)), length, |_| true) {
        Fate::Running(_) => Some(record.end),
        Fate::Inert | Fate::Gone | Fate::Ended(_) => None,
    }
}

/// Whether a chat is long enough.
pub(crate) fn check_delay(delay: Option<u32>, length: MessageCount) -> Result<(), Stop> {
    match delay.map(MessageCount).filter(|until| length < *until) {
        Some(until) => Err(Stop::Delay { until }),
        None => Ok(()),
    }
}

/// The earlier turn in which an entry matched first. The record of this turn, which a swiped
/// reply left, is no earlier one.
pub(crate) fn matched_before(input: &EngineInput<'_>, id: &EntryId) -> Option<MessageId> {
    let now = input.turn.answers.unwrap_or_default();
    input.state.first_match.get(id).copied().filter(|turn| *turn != now)
}

/// Whether an entry is switched on, and meant for this turn's speaker and kind of generation.
fn check_filters(turn: &Turn<'_>, entry: &Entry) -> Result<(), Stop> {
    let activation = &entry.activation;
    if !activation.enabled {
        return Err(Stop::Disabled);
    }
    let filters = &activation.filters;
    let trigger = turn.input.generation.as_str();
    if !filters.triggers.is_empty() && !filters.triggers.iter().any(|wanted| wanted == trigger) {
        let (wanted, found) = (filters.triggers.clone(), trigger.to_owned());
        return Err(Stop::Trigger { wanted, found });
    }
    if !filters.characters.is_empty() {
        let name = turn.input.speaker.as_ref().and_then(|speaker| speaker.filter_name.as_deref());
        let listed = name.is_some_and(|name| filters.characters.iter().any(|one| one == name));
        if listed == filters.exclude {
            let (listed, exclude) = (filters.characters.clone(), filters.exclude);
            return Err(Stop::Character { listed, exclude });
        }
    }
    // A front end that knows no tags cannot filter by them.
    if !filters.tags.is_empty()
        && let Some(tags) = turn.input.speaker.as_ref().and_then(|speaker| speaker.tags.as_deref())
    {
        let listed = filters.tags.iter().any(|tag| tags.contains(tag));
        if listed == filters.exclude {
            let (listed, exclude) = (filters.tags.clone(), filters.exclude);
            return Err(Stop::Tag { listed, exclude });
        }
    }
    Ok(())
}

/// The entry of an id, if it has no effects but the fingerprint of a record. Fingerprints
/// of such entries are not kept, so only the one the record names is tried.
fn untimed(
    library: &Library,
    active: &ActiveEntries,
    id: &EntryId,
    wanted: u64,
) -> Option<EntryIx> {
    let ix = library.find(id)?;
    let here = active.ranks(ix).next().is_some() && library.compiled(ix).fingerprint.is_none();
    let entry = library.entry(ix);
    let print = || {
        // The print covers the text without its decorators, whatever becomes of lone ones.
        let decorated = split_decorators(&entry.content, Quirks::sillytavern_1_19());
        fingerprint(entry, &library.book(ix).name, &decorated)
    };
    (here && print() == wanted).then_some(ix)
}

fn timed(library: &Library, ix: EntryIx) -> Timed {
    running(library.entry(ix).activation.timed)
}

/// Effects without a length do not count.
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
