//! The scan loop: initial pass, recursion, minimum activations, delayed levels.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    WorldInfoRules,
    candidate::{CandidateKey, EntryCandidate, RenderedText},
    judge::keys_of,
    near::{Nearness, nearness},
};
use crate::{
    book::Entry,
    engine::{
        EngineInput, Scanner, Timing,
        budget::{Budget, BudgetRule},
        cause::Cause,
        same_text::TakenTexts,
        texts::{Furthest, ScanSource},
        timing::RecursionStep,
        verdicts::Stops,
    },
    library::{EntryIx, Library, Stages},
    number::round,
    report::{BudgetUse, ScanPhase, Stop, Trigger, Warning},
    state::StoryState,
    tokens::Measure,
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
    /// How the budget was used; `None` if there was nothing to scan.
    pub budget: Option<BudgetUse>,
    /// Things a person should know.
    pub warnings: Vec<Warning>,
    pub(super) timing: Timing,
}

impl Scan {
    /// The state after the scan.
    pub fn state(&self) -> &StoryState {
        &self.timing.state
    }
}

/// An activated entry.
#[derive(Clone, Debug)]
pub struct Activated {
    /// The entry.
    pub ix: EntryIx,
    /// What the front end sent in its place.
    pub instead: Option<Arc<Entry>>,
    /// Its text, macros expanded.
    pub text: Arc<str>,
    /// The tokens of its text, with its wrapper.
    pub tokens: Tokens,
    pub(super) cause: Cause,
    pub(super) wrapping: Option<Box<Wrapping>>,
}

impl Activated {
    /// The entry whose rules hold: the one the front end sent, else the stored one.
    pub fn entry<'a>(&'a self, library: &'a Library) -> &'a Entry {
        self.instead.as_deref().unwrap_or_else(|| library.entry(self.ix))
    }

    /// How it came to fire.
    pub fn trigger(&self, library: &Library, turn: &Turn<'_>) -> Trigger {
        trigger(&self.cause, self.ix, library, turn)
    }
}

pub(super) fn trigger(cause: &Cause, ix: EntryIx, library: &Library, turn: &Turn<'_>) -> Trigger {
    cause.trigger(keys_of(library, ix), library, |location| location.place(library, turn))
}

/// A text that the next pass scans, with its measure where it is wrapped.
type Fed = (EntryIx, Arc<str>, Option<Measure>);

/// One pass of the loop, for tests and traces.
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

/// Scans: decides which active entries of World Info fire this turn.
pub fn scan(input: &EngineInput<'_>, instruments: &mut Instruments<'_>) -> Scan {
    let timing = Timing::begin(input);
    if input.active.entries().is_empty() {
        let (activated, stopped, passes) = (Vec::new(), Vec::new(), Vec::new());
        let (budget, warnings) = (None, Vec::new());
        return Scan { activated, stopped, passes, budget, warnings, timing };
    }
    WorldInfoScan::new(*input, timing, instruments).run()
}

/// The state of a scan.
pub(super) struct WorldInfoScan<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) rules: &'a WorldInfoRules,
    /// How entries are wrapped, where they are.
    pub(super) wrap: Option<Arc<WrapFormat>>,
    /// What the front end wants in, by slot.
    pub(super) forced: FxHashMap<EntryIx, &'a Forced>,
    pub(super) near: Nearness,
    level: u32,
    levels: Vec<u32>,
    /// Messages added to the scan depth by minimum activations.
    pub(super) skew: u32,
    pub(super) budget: Budget,
    /// Text activated in earlier passes.
    pub(super) running: Measure,
    /// What a line end measures.
    pub(super) newline: Measure,
    /// The candidate that did not fit, if macros or a wrapper changed its text.
    pub(super) unfit: Option<(CandidateKey, Box<RenderedText>)>,
    pub(super) activated: Vec<Activated>,
    /// Their texts.
    pub(super) texts: TakenTexts,
    /// By entry: whether it, or one that shares its result, is activated. Dense, because
    /// every pass asks for all of them.
    pub(super) placed: Vec<bool>,
    pub(super) failed: FxHashSet<CandidateKey>,
    pub(super) stops: Stops<CandidateKey>,
    passes: Vec<Pass>,
}

impl<'a> WorldInfoScan<'a> {
    pub(super) fn new(
        input: EngineInput<'a>,
        timing: Timing,
        instruments: &'a mut Instruments<'_>,
    ) -> Self {
        let EngineInput { library, active, turn, .. } = input;
        let (rules, wrap) = (&input.rules.world_info, &input.rules.wrap);
        let forced =
            turn.input.forced.iter().filter_map(|one| {
                library.find(&one.entry).map(|ix| (library.compiled(ix).slot, one))
            });
        let mut levels: Vec<u32> = active.levels().to_vec();
        let level = if levels.is_empty() { 0 } else { levels.remove(0) };
        let source = ScanSource {
            stages: Stages::WorldInfo,
            transcript: turn.transcript,
            prompts: &turn.input.prompts,
            words: rules.words,
        };
        let newline = instruments.counter.measure("\n");
        let rule = BudgetRule { full_is_over: true, ..BudgetRule::default() };
        let mut scan = Self {
            scanner: Scanner::new(input, source, timing, instruments),
            rules,
            wrap: (!wrap.is_none()).then(|| Arc::new(wrap.clone())),
            forced: forced.collect(),
            near: nearness(&input),
            level,
            levels,
            skew: 0,
            budget: Budget::new(limit(rules, turn.input.context), rule),
            running: Measure::default(),
            newline,
            unfit: None,
            activated: Vec::new(),
            texts: TakenTexts::new(&input),
            placed: vec![false; library.len()],
            failed: FxHashSet::default(),
            stops: Stops::default(),
            passes: Vec::new(),
        };
        scan.begin();
        scan
    }

    /// Looks at all entries that may fire whatever the texts hold.
    fn begin(&mut self) {
        let EngineInput { library, active, .. } = self.scanner.input;
        self.scanner.look_at_lasting(active.always());
        // Entries that share a slot are all replaced by what the front end sent.
        self.scanner.look_at(self.forced.keys().flat_map(|&slot| library.sharing(slot)));
        self.scanner.look_at(self.near.keys().copied());
    }

    fn run(mut self) -> Scan {
        let most = self.rules.max_recursion_steps;
        self.scanner.pass = 0;
        let mut next = Some(ScanPhase::Initial);
        while let Some(phase) = next {
            if most > 0 && most <= self.scanner.pass {
                break;
            }
            self.scanner.phase = phase;
            self.scanner.pass += 1;
            next = self.pass();
        }
        self.finish()
    }

    fn pass(&mut self) -> Option<ScanPhase> {
        let EngineInput { library, active, .. } = self.scanner.input;
        let usual = Furthest::messages(self.rules.depth.saturating_add(self.skew));
        self.scanner.texts.reach_back(active.furthest().or(usual));
        let mut candidates = self.candidates();
        candidates.sort_by_key(|one| (!self.is_sticky(one), one.key));
        let mut candidates = self.settle_groups(candidates);
        self.fit(&mut candidates);
        let successful = candidates.iter().filter(|one| !self.failed.contains(&one.key));
        let feeds = |one: &&EntryCandidate| one.plain || !one.entry(library).recursion.prevent;
        let feeding = successful.clone().filter(feeds);
        let any = feeding.clone().next().is_some();
        let mut pass = Pass {
            phase: self.scanner.phase,
            next: None,
            candidates: candidates.iter().map(|one| one.slot).collect(),
            successful: successful.map(|one| one.slot).collect(),
            total: self.activated.len(),
            overflowed: self.budget.overflowed,
            level: 0,
        };
        let may_feed =
            self.rules.recursive || !self.levels.is_empty() || self.rules.min_activations > 0;
        let fed: Vec<Fed> = if may_feed {
            let wrapped =
                |one: &EntryCandidate| one.rendered.as_ref().and_then(|text| text.wrapped);
            feeding.map(|one| (one.ix, one.text(library), wrapped(one))).collect()
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

    fn candidates(&mut self) -> Vec<EntryCandidate> {
        let mut live = self.scanner.take_live();
        // What is activated stays so, and what failed its roll does not roll again.
        live.retain(|&rank| {
            !self.is_placed(rank) && !self.failed.contains(&CandidateKey::Rank(rank))
        });
        let mut candidates: Vec<EntryCandidate> = Vec::with_capacity(live.len());
        for &rank in &live {
            match self.judge(rank) {
                // What the front end sent for several entries of one number is one object.
                Ok(one) if one.sent().is_some() && candidates.iter().any(|it| one.is_same(it)) => {}
                Ok(one) => candidates.push(one),
                Err(stop) => self.stops.add(CandidateKey::Rank(rank), stop),
            }
        }
        self.scanner.look_at_ranks(live);
        candidates
    }

    /// Whether the entry at a rank, or one that shares its result, is activated.
    fn is_placed(&self, rank: u32) -> bool {
        let EngineInput { library, active, .. } = self.scanner.input;
        self.placed[library.compiled(active.at(rank)).slot.0 as usize]
    }

    /// Whether a candidate is there because it stays.
    pub(super) fn is_sticky(&self, one: &EntryCandidate) -> bool {
        !one.plain && one.recognised && self.scanner.timing.sticky(one.ix).is_some()
    }

    pub(super) fn recursion_step(&self) -> RecursionStep {
        RecursionStep {
            recursing: self.scanner.phase == ScanPhase::Recursion,
            level: self.level,
            stops_excluded: self.rules.recursive,
        }
    }

    /// Adds the texts of a pass to what the next one scans and pays for.
    fn feed(&mut self, feeding: Vec<Fed>) {
        let (counter, newline) = (self.scanner.counter, self.newline);
        let mut measure = Measure::default();
        for (at, (_, text, wrapped)) in feeding.iter().enumerate() {
            if at > 0 {
                measure += newline;
            }
            measure += wrapped.unwrap_or_else(|| counter.measure(text));
        }
        if measure > Measure::default() {
            self.running += measure + newline;
            // Keys are looked for in the texts of entries, not in their wrappers.
            let texts = feeding.into_iter().map(|(ix, text, _)| (ix, text));
            self.scanner.texts.add_lore(texts.collect());
        }
    }

    fn next_phase(&mut self, feeding: bool) -> Option<ScanPhase> {
        let overflowed = self.budget.overflowed;
        let after_widening =
            self.scanner.phase == ScanPhase::MinActivations && self.scanner.texts.has_lore();
        if self.rules.recursive && !overflowed && (feeding || after_widening) {
            return Some(ScanPhase::Recursion);
        }
        let wanted = self.rules.min_activations as usize;
        if !overflowed && wanted > 0 && self.activated.len() < wanted {
            let depth = u64::from(self.rules.depth) + u64::from(self.skew);
            let most = u64::from(self.rules.min_activations_depth_max);
            let length = u64::from(self.scanner.input.turn.length().0);
            if !((most > 0 && depth > most) || depth > length) {
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

    fn finish(mut self) -> Scan {
        let EngineInput { library, active, .. } = self.scanner.input;
        let may_last = |one: &&Activated| one.instead.is_some() || !library.compiled(one.ix).plain;
        for one in self.activated.iter().filter(may_last) {
            self.scanner.timing.activate(library, one.ix, one.instead.as_deref());
        }
        self.budget.used = self.activated.iter().map(|one| one.tokens).sum();
        let stops = self.stops.take_sorted().into_iter();
        let stopped = stops.filter(|(key, _)| !self.is_placed(key.rank()));
        Scan {
            stopped: stopped.map(|(key, stop)| (active.at(key.rank()), stop)).collect(),
            warnings: self.warnings(),
            activated: self.activated,
            passes: self.passes,
            budget: Some(self.budget.report("world_info")),
            timing: self.scanner.timing,
        }
    }

    /// What a person should know about keys.
    fn warnings(&mut self) -> Vec<Warning> {
        let EngineInput { library, active, .. } = self.scanner.input;
        let mut warnings = self.scanner.slow_keys();
        let here = |ix: EntryIx| active.ranks(ix).next().is_some();
        let failed = library.not_regexes().filter(|(ix, _)| here(*ix));
        warnings.extend(failed.map(|(ix, key)| Warning::KeyNotARegex {
            entry: library.entry(ix).title().to_owned(),
            key: key.to_owned(),
        }));
        warnings
    }
}

/// The budget in tokens: a share of the context, at least 1, at most the cap.
fn limit(rules: &WorldInfoRules, context: Tokens) -> Tokens {
    // Negative shares mean no budget.
    let share = round(rules.budget_percent * f64::from(context.0) / 100.0).max(1);
    match rules.budget_cap {
        0 => Tokens(share),
        cap => Tokens(share.min(cap)),
    }
}
