//! The passes: the chat first, then the texts of what was found.

use std::{collections::BTreeSet, sync::Arc};

use rustc_hash::FxHashSet;

use super::{
    comments::{hidden_keys, without_comments},
    compile::CopyOf,
    compose::CardPiece,
    rules::{CardRules, Feed, RecursionScope},
    window::CardWindow,
};
use crate::{
    book::{Force, MatchOnce},
    engine::{
        EngineInput, Scanner, Timing,
        cause::{EntryMatch, Why},
        chance::ChanceRule,
        near::nearest,
        texts::{Furthest, ScanSource},
        timing::matched_before,
        verdicts::Stops,
    },
    library::{CardPool, EntryIx, MOST_MESSAGES, Stages},
    macros::{VariableChanges, Variables},
    report::{ScanPhase, Stop},
    turn::Instruments,
};

/// The rule that keeps each of these entries out, in the same order.
pub(crate) fn judge_untouched(
    input: &EngineInput<'_>,
    entries: &[EntryIx],
    instruments: &mut Instruments<'_>,
) -> Vec<Stop> {
    let everything = Furthest::messages(MOST_MESSAGES);
    let window = &CardWindow::new(input.turn.transcript, everything);
    let mut stops = vec![Stop::NoKeyFound; entries.len()];
    for pool in &input.active.cards().pools {
        let rules = &pool.dialect.card_rules(&input.rules.cards);
        let timing = Timing::begin(input);
        let mut scan = CardScan::new(*input, PoolScan { pool, rules, window }, timing, instruments);
        scan.scanner.texts.reach_back(everything);
        for (&ix, stop) in entries.iter().zip(&mut stops) {
            if scan.is_here(ix) {
                *stop = scan.stop_of(ix);
            }
        }
    }
    stops
}

/// What one pool is scanned with.
#[derive(Clone, Copy)]
pub(super) struct PoolScan<'a> {
    pub(super) pool: &'a CardPool,
    pub(super) rules: &'a CardRules,
    pub(super) window: &'a CardWindow,
}

/// The state of a scan.
pub(super) struct CardScan<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) pool: &'a CardPool,
    pub(super) rules: &'a CardRules,
    pub(super) window: &'a CardWindow,
    pub(super) active: Vec<CardPiece>,
    is_active: FxHashSet<EntryIx>,
    /// The active ones that are copies of others.
    copies: Vec<EntryIx>,
    failed: FxHashSet<EntryIx>,
    pub(super) stops: Stops<EntryIx>,
    /// What accepted entries wrote, in order: visible at once, kept only if they are sent.
    pub(super) written: Vec<(EntryIx, VariableChanges)>,
    /// The variables before any of that.
    pub(super) unwritten: Variables,
}

impl<'a> CardScan<'a> {
    pub(super) fn new(
        input: EngineInput<'a>,
        PoolScan { pool, rules, window }: PoolScan<'a>,
        timing: Timing,
        instruments: &'a mut Instruments<'_>,
    ) -> Self {
        let (stages, transcript) = (Stages::Cards, &window.transcript);
        let source = ScanSource { stages, transcript, prompts: &[], words: rules.words };
        Self {
            unwritten: timing.state.variables.clone(),
            scanner: Scanner::new(input, source, timing, instruments),
            pool,
            rules,
            window,
            active: Vec::new(),
            is_active: FxHashSet::default(),
            copies: Vec::new(),
            failed: FxHashSet::default(),
            stops: Stops::default(),
            written: Vec::new(),
        }
    }

    /// Finds the entries that are active, before the budget.
    pub(super) fn find(&mut self) {
        let EngineInput { library, turn, state, .. } = self.scanner.input;
        self.scanner.look_at_lasting(&self.pool.always);
        let forced = turn.input.forced.iter().map(|forced| &forced.entry);
        let remembered = forced.chain(state.first_match.keys());
        self.scanner.look_at(remembered.filter_map(|id| library.find(id)));
        self.scanner.texts.reach_back(self.pool.furthest(turn.input.text_completion));
        loop {
            let feeding = self.activate_live();
            let limit = self.rules.max_passes;
            if feeding.is_empty() || (limit > 0 && self.scanner.pass >= limit) {
                break;
            }
            if !self.rules.lore_at_once {
                self.scanner.texts.add_lore(feeding);
            }
            self.scanner.pass += 1;
            self.scanner.phase = ScanPhase::Recursion;
        }
        self.add_near();
        self.record_matches();
    }

    /// Whether an entry is in this pool.
    fn is_here(&self, ix: EntryIx) -> bool {
        self.scanner.input.library.dialect_of(ix) == self.pool.dialect
    }

    /// One pass. All entries see the same text, unless texts are scanned at once. The texts that
    /// the next pass adds.
    fn activate_live(&mut self) -> Vec<(EntryIx, Arc<str>)> {
        let active = self.scanner.input.active;
        let mut feeding = Vec::new();
        let mut live: BTreeSet<u32> = self.scanner.take_live().into_iter().collect();
        let mut next = Vec::new();
        while let Some(rank) = live.pop_first() {
            let ix = active.cards().order[rank as usize];
            if !self.is_here(ix) || self.is_active(ix) || self.failed.contains(&ix) {
                continue;
            }
            match self.decide(ix) {
                Ok(found) => {
                    self.accept(ix, &found);
                    let text = self.feed();
                    if let Some(text) = text.as_ref().filter(|_| self.rules.lore_at_once) {
                        self.scanner.texts.add_lore(vec![text.clone()]);
                        let touched = self.scanner.texts.take_touched().into_iter();
                        let (behind, before): (Vec<u32>, Vec<u32>) =
                            touched.partition(|&touched| touched > rank);
                        live.extend(behind);
                        next.extend(before);
                    }
                    feeding.extend(text);
                }
                Err(stop) => self.stops.add(ix, stop),
            }
            next.push(rank);
        }
        self.scanner.look_at_ranks(next);
        feeding
    }

    fn decide(&mut self, ix: EntryIx) -> Result<EntryMatch, Stop> {
        let found = self.judge(ix)?;
        if self.rolls(&found) {
            let (id, probability) =
                (&self.scanner.input.library.entry(ix).id, self.terms(ix).probability);
            ChanceRule::CARDS.roll(probability, id, self.scanner.dice).inspect_err(|_| {
                self.failed.insert(ix);
            })?;
        }
        Ok(found)
    }

    fn accept(&mut self, ix: EntryIx, found: &EntryMatch) {
        self.stops.remove(ix);
        self.withdraw_copies(ix);
        if self.copy(ix).is_some() {
            self.copies.push(ix);
        }
        self.is_active.insert(ix);
        let terms = self.terms(ix);
        let cause = self.scanner.cause(found, terms.keys.keys());
        // Macros are replaced once a turn, for all who read the text.
        let id = &self.scanner.input.library.entry(ix).id;
        let (text, writes) = self.scanner.expand(id, &terms.body);
        self.active.push(CardPiece::new(ix, cause, text.into_owned()));
        self.scanner.write(&writes);
        if !writes.is_empty() {
            self.written.push((ix, writes));
        }
    }

    /// Takes back the copies of an entry that became active in a later pass than they did.
    /// The text they added to the scan is that of the entry itself.
    fn withdraw_copies(&mut self, of: EntryIx) {
        let copies = std::mem::take(&mut self.copies);
        let is_copy =
            |ix: &EntryIx| matches!(self.copy(*ix), Some(CopyOf::Entry(one)) if one == of);
        let (withdrawn, kept): (Vec<EntryIx>, Vec<EntryIx>) = copies.into_iter().partition(is_copy);
        self.copies = kept;
        for ix in withdrawn {
            self.is_active.remove(&ix);
            self.active.retain(|piece| piece.ix != ix);
            self.stops.replace(ix, self.copied(of));
        }
    }

    pub(super) fn is_active(&self, ix: EntryIx) -> bool {
        self.is_active.contains(&ix)
    }

    /// The text that the entry accepted last adds to the scan.
    fn feed(&self) -> Option<(EntryIx, Arc<str>)> {
        let library = self.scanner.input.library;
        let CardPiece { ix, text, .. } = self.active.last()?;
        let terms = self.terms(*ix);
        let by_book = || match self.rules.recursion {
            RecursionScope::OwnBook => self.rules.is_recursive(library.book(*ix)),
            RecursionScope::AnyBook => {
                let mut books = self.pool.books.iter().map(|&at| &library.books()[at]);
                books.any(|one| self.rules.is_recursive(one))
            }
        };
        if !terms.feeds.unwrap_or_else(by_book) {
            return None;
        }
        let text = match self.rules.feed {
            Feed::Expanded => {
                let hidden = hidden_keys(&terms.body);
                format!("{text}{}", self.scanner.macros.expand(&hidden)).into()
            }
            Feed::AsWritten => without_comments(&terms.body).0.into(),
        };
        Some((*ix, text))
    }

    /// Adds entries found by meaning, nearest first, which keys did not find.
    fn add_near(&mut self) {
        let mut taken = 0;
        for (score, ix) in nearest(&self.scanner.input, |dialect| dialect == self.pool.dialect) {
            if taken >= self.rules.semantic_entries {
                return;
            }
            if self.may_be_near(ix) {
                let found = self.by(Why::Near { score, threshold: None }, self.terms(ix));
                self.accept(ix, &found);
                taken += 1;
            }
        }
    }

    /// Whether meaning alone may let an entry in.
    fn may_be_near(&self, ix: EntryIx) -> bool {
        let (input, terms) = (&self.scanner.input, self.terms(ix));
        let spent = terms.once == Some(MatchOnce::OnceOnly)
            && matched_before(input, &input.library.entry(ix).id).is_some();
        let suppressed = terms.force == Some(Force::Suppress);
        terms.enabled && !suppressed && !spent && !self.is_active(ix)
    }

    /// A match is a match whether or not it fits: recorded before the budget.
    fn record_matches(&mut self) {
        let EngineInput { library, turn, .. } = self.scanner.input;
        for ix in self.active.iter().map(|piece| piece.ix) {
            let terms = self.terms(ix);
            if terms.once.is_some() {
                self.scanner.timing.remember_match(&library.entry(ix).id, turn);
            }
            self.scanner.timing.activate(library, ix, None);
        }
    }
}
