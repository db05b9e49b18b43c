//! The scan loop: initial pass, recursion, minimum activations, delayed levels.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    WorldInfoRules,
    cause::Cause,
    near::Nearness,
    seat::{Rendered, Seat, SeatKey},
    timed::Effects,
};
use crate::{
    book::{Entry, Taken},
    dice::Dice,
    engine::texts::Texts,
    library::{CompiledKey, Dialect, EntryIx, KeyMode, Library, Probe, Roster},
    macros::MacroValues,
    report::{BudgetUse, ScanPhase, Stop, Trigger},
    state::StoryState,
    tokens::{Measure, TokenCounter},
    turn::{Forced, Instruments, Turn},
    units::Tokens,
    wrap::{WrapFormat, Wrapping},
};

/// What a scan decided.
#[derive(Debug)]
pub struct Scan {
    /// The activated entries in order of activation.
    pub activated: Vec<Activated>,
    /// The entries that were looked at and stopped, by rank.
    pub stopped: Vec<(EntryIx, Stop)>,
    /// The passes of the loop.
    pub passes: Vec<Pass>,
    /// The state after the scan.
    pub state: StoryState,
    /// How the budget was used; `None` if there was nothing to scan.
    pub budget: Option<BudgetUse>,
    /// Keys that needed more steps than allowed.
    pub too_slow: Vec<(EntryIx, Box<str>)>,
}

/// An activated entry.
#[derive(Clone, Debug)]
pub struct Activated {
    /// The entry.
    pub ix: EntryIx,
    /// What the host sent in its place.
    pub instead: Option<Arc<Entry>>,
    /// What macros made of its text; `None` is the stored text as it is.
    pub(super) made: Option<Arc<str>>,
    /// The tokens of its text, with its wrapper.
    pub tokens: Tokens,
    pub(super) cause: Cause,
    pub(super) wrapping: Option<Box<Wrapping>>,
}

impl Activated {
    /// The entry whose rules hold: the one the host sent, else the stored one.
    pub fn entry<'a>(&'a self, library: &'a Library) -> &'a Entry {
        self.instead.as_deref().unwrap_or_else(|| library.entry(self.ix))
    }

    /// Its text, macros expanded.
    pub fn text<'a>(&'a self, library: &'a Library) -> &'a Arc<str> {
        self.made.as_ref().unwrap_or_else(|| &library.compiled(self.ix).body)
    }

    /// How it came to fire.
    pub fn trigger(&self, library: &Library, turn: &Turn<'_>) -> Trigger {
        self.cause.trigger(self.ix, library, turn)
    }
}

/// A text that the next pass scans, with its measure where it is wrapped.
type Fed = (EntryIx, Arc<str>, Option<Measure>);

/// One pass of the loop, for those who want to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// What the pass was for.
    pub phase: ScanPhase,
    /// What the next one is for.
    pub next: Option<ScanPhase>,
    /// Candidates left after groups.
    pub candidates: Vec<EntryIx>,
    /// Those among them that failed no roll.
    pub successful: Vec<EntryIx>,
    /// Activated entries so far.
    pub total: usize,
    /// Whether something did not fit so far.
    pub overflowed: bool,
    /// The recursion level reached.
    pub level: u32,
}

/// Scans: decides which entries of the roster fire this turn. Entries are sent as they are.
pub fn scan(
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &WorldInfoRules,
    instruments: &mut Instruments<'_>,
) -> Scan {
    scan_wrapping(library, roster, turn, state, rules, &WrapFormat::None, instruments)
}

/// Scans with entries that are sent in wrappers, whose tokens count in the budget.
pub fn scan_wrapping(
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &WorldInfoRules,
    wrap: &WrapFormat,
    instruments: &mut Instruments<'_>,
) -> Scan {
    let effects = if turn.input.dry_run {
        Effects::dry(state)
    } else {
        Effects::begin(library, roster, state, turn.length())
    };
    if roster.entries().is_empty() {
        return Scan {
            activated: Vec::new(),
            stopped: Vec::new(),
            passes: Vec::new(),
            state: effects.state,
            budget: None,
            too_slow: Vec::new(),
        };
    }
    let mut scanner = Scanner::new(library, roster, turn, rules, effects, instruments);
    scanner.wrap = (!wrap.is_none()).then(|| Arc::new(wrap.clone()));
    scanner.run()
}

/// The state of a scan.
pub(super) struct Scanner<'a> {
    pub(super) library: &'a Library,
    pub(super) roster: &'a Roster,
    pub(super) turn: &'a Turn<'a>,
    pub(super) rules: &'a WorldInfoRules,
    /// How entries are wrapped, where they are.
    pub(super) wrap: Option<Arc<WrapFormat>>,
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) dice: &'a mut dyn Dice,
    pub(super) texts: Texts<'a>,
    pub(super) macros: MacroValues<'a>,
    pub(super) effects: Effects,
    pub(super) forced: FxHashMap<EntryIx, &'a Forced>,
    pub(super) near: Nearness,
    pub(super) resolved: FxHashMap<(Box<str>, KeyMode, Taken), Probe>,
    /// Ranks to look at, ascending.
    live: Vec<u32>,
    pub(super) phase: ScanPhase,
    pub(super) level: u32,
    levels: Vec<u32>,
    /// Messages added to the scan depth by minimum activations.
    pub(super) skew: u32,
    pub(super) count: u32,
    pub(super) budget: Tokens,
    /// Text activated in earlier passes.
    pub(super) running: Measure,
    pub(super) overflowed: bool,
    /// The candidate that did not fit, if macros or a wrapper changed what it says.
    pub(super) unfit: Option<(SeatKey, Box<Rendered>)>,
    pub(super) activated: Vec<Activated>,
    /// By entry: whether it, or one that shares its result, is activated. Dense, because
    /// every pass asks for all of them.
    pub(super) placed: Vec<bool>,
    pub(super) failed: FxHashSet<SeatKey>,
    pub(super) stops: FxHashMap<SeatKey, Stop>,
    passes: Vec<Pass>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(
        library: &'a Library,
        roster: &'a Roster,
        turn: &'a Turn<'a>,
        rules: &'a WorldInfoRules,
        effects: Effects,
        instruments: &'a mut Instruments<'_>,
    ) -> Self {
        let Instruments { counter, dice, cache } = instruments;
        let texts = Texts::new(
            (library, roster, Dialect::WorldInfo),
            turn.transcript,
            &turn.input.card,
            &turn.input.prompts,
            rules.words,
            cache,
        );
        let forced: FxHashMap<EntryIx, &Forced> = turn
            .input
            .forced
            .iter()
            .filter_map(|one| library.find(&one.entry).map(|ix| (library.compiled(ix).slot, one)))
            .collect();
        let mut live = roster.always().to_vec();
        // Entries of other dialects have ranks of their own.
        let ours = |ix: &EntryIx| library.dialect_of(*ix) == Dialect::WorldInfo;
        live.extend(effects.sticky_entries().filter(ours).flat_map(|ix| roster.ranks(ix)));
        // Entries that share a slot are all replaced by what the host sent.
        let sharing = forced.keys().copied().filter(ours).flat_map(|slot| library.sharing(slot));
        live.extend(sharing.flat_map(|ix| roster.ranks(ix)));
        let near = Nearness::judge(&turn.input.near, library, roster, rules);
        live.extend(near.entries().flat_map(|ix| roster.ranks(ix)));
        let mut levels: Vec<u32> = roster.levels().to_vec();
        let level = if levels.is_empty() { 0 } else { levels.remove(0) };
        Self {
            library,
            roster,
            turn,
            rules,
            wrap: None,
            counter: *counter,
            dice: &mut **dice,
            texts,
            macros: turn.macros(),
            effects,
            forced,
            near,
            resolved: FxHashMap::default(),
            live,
            phase: ScanPhase::Initial,
            level,
            levels,
            skew: 0,
            count: 0,
            budget: budget(rules, turn.input.context),
            running: Measure::default(),
            overflowed: false,
            unfit: None,
            activated: Vec::new(),
            placed: vec![false; library.len()],
            failed: FxHashSet::default(),
            stops: FxHashMap::default(),
            passes: Vec::new(),
        }
    }

    fn run(mut self) -> Scan {
        let mut next = Some(ScanPhase::Initial);
        while let Some(phase) = next {
            if self.rules.max_recursion_steps > 0 && self.rules.max_recursion_steps <= self.count {
                break;
            }
            self.phase = phase;
            self.count += 1;
            next = self.pass();
        }
        self.finish()
    }

    fn pass(&mut self) -> Option<ScanPhase> {
        let depth = self.rules.depth.saturating_add(self.skew).max(self.roster.deepest());
        self.texts.reach_back(depth);
        if self.roster.widest() > 0 {
            self.texts.reach_back_characters(self.roster.widest());
        }
        self.take_touched();
        let mut candidates = self.candidates();
        candidates.sort_by_key(|seat| (!self.is_sticky(seat), seat.key));
        let mut candidates = self.settle_groups(candidates);
        self.fit(&mut candidates);
        let library = self.library;
        let successful = candidates.iter().filter(|seat| !self.failed.contains(&seat.key));
        let feeds = |seat: &&Seat| seat.plain || !seat.entry(library).recursion.prevent;
        let feeding = successful.clone().filter(feeds);
        let any = feeding.clone().next().is_some();
        let mut pass = Pass {
            phase: self.phase,
            next: None,
            candidates: candidates.iter().map(|seat| seat.slot).collect(),
            successful: successful.map(|seat| seat.slot).collect(),
            total: self.activated.len(),
            overflowed: self.overflowed,
            level: 0,
        };
        let may_feed =
            self.rules.recursive || !self.levels.is_empty() || self.rules.min_activations > 0;
        let fed: Vec<Fed> = if may_feed {
            let wrapped = |seat: &Seat| seat.rendered.as_ref().and_then(|one| one.wrapped);
            feeding.map(|seat| (seat.ix, seat.text(library), wrapped(seat))).collect()
        } else {
            Vec::new()
        };
        let next = self.next_phase(any);
        if next.is_some() {
            self.feed(fed);
        }
        pass.next = next;
        pass.level = self.level;
        self.passes.push(pass);
        next
    }

    fn take_touched(&mut self) {
        self.live.extend(self.texts.take_touched());
        self.live.sort_unstable();
        self.live.dedup();
    }

    fn candidates(&mut self) -> Vec<Seat> {
        let mut live = std::mem::take(&mut self.live);
        // What is activated stays so, and what failed its roll does not roll again.
        live.retain(|&rank| !self.is_placed(rank) && !self.failed.contains(&SeatKey::Rank(rank)));
        let mut candidates: Vec<Seat> = Vec::with_capacity(live.len());
        for &rank in &live {
            let key = SeatKey::Rank(rank);
            match self.judge(rank) {
                // What the host sent for several entries of one number is one object.
                Ok(seat) if seat.is_sent() && candidates.iter().any(|one| seat.is_same(one)) => {}
                Ok(seat) => candidates.push(seat),
                Err(stop) => self.stop(key, stop),
            }
        }
        self.live = live;
        candidates
    }

    /// Whether the entry at a rank, or one that shares its result, is activated.
    fn is_placed(&self, rank: u32) -> bool {
        self.placed[self.library.compiled(self.roster.at(rank)).slot.0 as usize]
    }

    /// Remembers why an entry was stopped: the rule that stopped it when it got furthest.
    pub(super) fn stop(&mut self, key: SeatKey, stop: Stop) {
        if self.stops.get(&key).is_none_or(|known| stop.progress() > known.progress()) {
            self.stops.insert(key, stop);
        }
    }

    /// Adds the texts of a pass to what the next one scans and pays for.
    fn feed(&mut self, feeding: Vec<Fed>) {
        let newline = self.counter.measure("\n");
        let mut measure = Measure::default();
        for (at, (_, text, wrapped)) in feeding.iter().enumerate() {
            if at > 0 {
                measure += newline;
            }
            measure += wrapped.unwrap_or_else(|| self.counter.measure(text));
        }
        if measure > Measure::default() {
            self.running += measure + newline;
            // Keys are looked for in what entries say, not in their wrappers.
            self.texts.add_lore(feeding.into_iter().map(|(ix, text, _)| (ix, text)).collect());
        }
    }

    fn next_phase(&mut self, feeding: bool) -> Option<ScanPhase> {
        let may_recurse = self.rules.recursive && !self.overflowed;
        let after_widening = self.phase == ScanPhase::MinActivations && self.texts.has_lore();
        if may_recurse && (feeding || after_widening) {
            return Some(ScanPhase::Recursion);
        }
        let wanted = self.rules.min_activations as usize;
        if !self.overflowed && wanted > 0 && self.activated.len() < wanted {
            let depth = u64::from(self.rules.depth) + u64::from(self.skew);
            let most = u64::from(self.rules.min_activations_depth_max);
            let over = (most > 0 && depth > most) || depth > u64::from(self.turn.length().0);
            if !over {
                self.skew += 1;
                return Some(ScanPhase::MinActivations);
            }
        }
        if self.levels.is_empty() {
            return None;
        }
        self.level = self.levels.remove(0);
        Some(ScanPhase::Recursion)
    }

    /// What a key looks for this turn.
    pub(super) fn probe(&mut self, key: &CompiledKey) -> Probe {
        if matches!(key.probe, Probe::Dynamic) { self.resolve(key) } else { key.probe.clone() }
    }

    fn finish(mut self) -> Scan {
        if !self.turn.input.dry_run {
            let may_last =
                |one: &&Activated| one.instead.is_some() || !self.library.compiled(one.ix).plain;
            for activated in self.activated.iter().filter(may_last) {
                let entry = (activated.ix, activated.instead.as_deref());
                self.effects.activate(self.library, entry, self.turn.length());
            }
        }
        let used = self.activated.iter().map(|one| one.tokens).sum();
        let stops = std::mem::take(&mut self.stops).into_iter();
        let mut stopped: Vec<(SeatKey, Stop)> =
            stops.filter(|(key, _)| !self.is_placed(key.rank())).collect();
        stopped.sort_by_key(|(key, _)| *key);
        let stopped = stopped.into_iter().map(|(key, stop)| (self.roster.at(key.rank()), stop));
        Scan {
            stopped: stopped.collect(),
            too_slow: self.texts.take_too_slow(),
            activated: self.activated,
            passes: self.passes,
            state: self.effects.state,
            budget: Some(BudgetUse {
                pool: "world_info".to_owned(),
                limit: self.budget,
                used,
                overflowed: self.overflowed,
            }),
        }
    }
}

/// The budget in tokens: a share of the context, at least 1, at most the cap.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and negative shares mean no budget"
)]
fn budget(rules: &WorldInfoRules, context: Tokens) -> Tokens {
    let share = (rules.budget_percent * f64::from(context.0) / 100.0 + 0.5).floor() as u32;
    let share = share.max(1);
    match rules.budget_cap {
        0 => Tokens(share),
        cap => Tokens(share.min(cap)),
    }
}
