//! What a dialect works with while it scans: the turn, its texts, and what is found in them.

use rustc_hash::FxHashMap;

use super::{
    EngineInput, Timing,
    texts::{ScanSource, SlowKey, TurnTexts},
};
use crate::{
    book::KeyOrigin,
    dice::Dice,
    library::{EntryIx, KeyMode, Probe, Stages},
    macros::MacroValues,
    report::{ScanPhase, Warning},
    tokens::TokenCounter,
    turn::Instruments,
};

/// The working state of a scan that all dialects share.
pub(crate) struct Scanner<'a> {
    pub(crate) input: EngineInput<'a>,
    pub(super) stages: Stages,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) dice: &'a mut dyn Dice,
    pub(crate) texts: TurnTexts<'a>,
    pub(crate) macros: MacroValues<'a>,
    pub(crate) timing: Timing,
    /// Keys with macros, as they are this turn.
    pub(super) resolved: FxHashMap<(Box<str>, KeyMode, KeyOrigin), Probe>,
    /// Ranks to look at in the next pass.
    live: Vec<u32>,
    /// The pass that runs, counted from 1.
    pub(crate) pass: u32,
    pub(crate) phase: ScanPhase,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(
        input: EngineInput<'a>,
        source: ScanSource<'a>,
        timing: Timing,
        instruments: &'a mut Instruments<'_>,
    ) -> Self {
        let Instruments { counter, dice, cache } = instruments;
        Self {
            input,
            stages: source.stages,
            counter: *counter,
            dice: &mut **dice,
            texts: TurnTexts::new(&input, source, cache),
            macros: input.turn.macros(),
            timing,
            resolved: FxHashMap::default(),
            live: Vec::new(),
            pass: 1,
            phase: ScanPhase::Initial,
        }
    }

    /// Looks at these entries in the next pass, whatever the texts hold.
    pub(crate) fn look_at(&mut self, entries: impl IntoIterator<Item = EntryIx>) {
        let EngineInput { library, active, .. } = self.input;
        // Entries of other dialects have ranks of their own.
        let ours = |ix: &EntryIx| library.dialect_of(*ix).stages() == self.stages;
        self.live.extend(entries.into_iter().filter(ours).flat_map(|ix| active.ranks(ix)));
    }

    /// Looks at the entries that may fire whatever the texts hold: those of these ranks, and
    /// those that stay because they fired before.
    pub(crate) fn look_at_lasting(&mut self, always: &[u32]) {
        self.live.extend(always);
        let sticky: Vec<EntryIx> = self.timing.sticky_entries().collect();
        self.look_at(sticky);
    }

    /// Looks at these ranks in the next pass.
    pub(crate) fn look_at_ranks(&mut self, ranks: impl IntoIterator<Item = u32>) {
        self.live.extend(ranks);
    }

    /// The ranks to look at in this pass, ascending: those asked for and those whose keys were
    /// found since the last one.
    pub(crate) fn take_live(&mut self) -> Vec<u32> {
        let mut live = std::mem::take(&mut self.live);
        live.extend(self.texts.take_touched());
        live.sort_unstable();
        live.dedup();
        live
    }

    /// Warnings about keys whose expressions were not run to their end.
    pub(crate) fn slow_keys(&mut self) -> Vec<Warning> {
        let library = self.input.library;
        let warning = |SlowKey { ix, key, cost }| Warning::KeyTooSlow {
            entry: library.entry(ix).title().to_owned(),
            key: key.into(),
            cost,
        };
        self.texts.take_too_slow().into_iter().map(warning).collect()
    }
}
