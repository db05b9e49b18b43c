//! The passes: the chat first, then the texts of what was found.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    comments::{hidden_keys, without_comments},
    compile::CopyOf,
    compose::Piece,
    judge::Found,
    rules::{CardRules, Feed, RecursionScope},
    terms::Terms,
    window::Window,
};
use crate::{
    book::{Force, Taken},
    chat::Role,
    dice::{Dice, Roll},
    engine::texts::{Location, PartRef, Texts},
    library::{CompiledKey, Dialect, EntryIx, KeyMode, Library, Probe, Roster},
    macros::{Draw, MacroValues, VariableChanges, Variables},
    place::Place,
    report::{BudgetUse, KeyMatch, Reason, ScanPhase, Stop, Trigger, Warning},
    state::StoryState,
    tokens::TokenCounter,
    turn::{Instruments, Turn},
    units::Tokens,
    worldinfo::Effects,
};

/// What the card books decided.
#[derive(Debug)]
pub struct CardScan {
    /// The active entries that fit, in prompt order.
    pub placed: Vec<PlacedEntry>,
    /// The entries that were looked at and stopped, in file order.
    pub stopped: Vec<(EntryIx, Stop)>,
    /// The state after the scan.
    pub state: StoryState,
    /// How the budgets were used; none if no card book is attached.
    pub budgets: Vec<BudgetUse>,
    /// Prompts the front end is asked to hide.
    pub hide_prompts: Vec<String>,
    /// Things a person should know.
    pub warnings: Vec<Warning>,
}

/// An active entry that fits.
#[derive(Debug)]
pub struct PlacedEntry {
    /// The entry.
    pub ix: EntryIx,
    /// Its role.
    pub role: Role,
    /// Its text as sent; empty if it sends none of its own.
    pub text: String,
    /// The tokens of its text.
    pub tokens: Tokens,
    /// Where it goes; `None` if it sends no text of its own.
    pub place: Option<Place>,
    /// How it came to fire.
    pub trigger: Trigger,
}

/// Decides which entries of the attached card books the model sees. `after` is the state
/// that other pools of this turn left.
pub fn scan(
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    (state, after): (&StoryState, StoryState),
    rules: &CardRules,
    instruments: &mut Instruments<'_>,
) -> CardScan {
    if roster.cards().books.is_empty() {
        return CardScan {
            placed: Vec::new(),
            stopped: Vec::new(),
            state: after,
            budgets: Vec::new(),
            hide_prompts: Vec::new(),
            warnings: Vec::new(),
        };
    }
    let window = Window::new(turn.transcript, roster.cards().furthest(turn.input.text_completion));
    let mut scanner = Scanner::new((library, roster), turn, &window, state, rules, instruments);
    scanner.effects.state = after;
    scanner.run()
}

/// The state of a scan.
pub(super) struct Scanner<'a> {
    pub(super) library: &'a Library,
    pub(super) roster: &'a Roster,
    pub(super) turn: &'a Turn<'a>,
    pub(super) rules: &'a CardRules,
    pub(super) window: &'a Window,
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) dice: &'a mut dyn Dice,
    pub(super) texts: Texts<'a>,
    pub(super) macros: MacroValues<'a>,
    pub(super) state: &'a StoryState,
    pub(super) effects: Effects,
    pub(super) resolved: FxHashMap<(Box<str>, KeyMode, Taken), Probe>,
    /// Counted from 1.
    pub(super) pass: u32,
    /// Ranks to look at, ascending.
    live: Vec<u32>,
    pub(super) active: Vec<Piece>,
    is_active: FxHashSet<EntryIx>,
    /// The active ones that are copies of others.
    copies: Vec<EntryIx>,
    failed: FxHashSet<EntryIx>,
    pub(super) stops: FxHashMap<EntryIx, Stop>,
    /// What accepted entries wrote, in order: visible at once, kept only if they are sent.
    written: Vec<(EntryIx, VariableChanges)>,
    /// The variables before any of that.
    unwritten: Variables,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(
        (library, roster): (&'a Library, &'a Roster),
        turn: &'a Turn<'a>,
        window: &'a Window,
        state: &'a StoryState,
        rules: &'a CardRules,
        instruments: &'a mut Instruments<'_>,
    ) -> Self {
        let Instruments { counter, dice, cache } = instruments;
        let pool = (library, roster, Dialect::Cards);
        let texts = Texts::new(pool, &window.transcript, &turn.input.card, &[], rules.words, cache);
        let effects = if turn.input.dry_run {
            Effects::dry(state)
        } else {
            Effects::begin(library, roster, state, turn.length())
        };
        Self {
            library,
            roster,
            turn,
            rules,
            window,
            counter: *counter,
            dice: &mut **dice,
            texts,
            macros: turn.macros(),
            state,
            effects,
            resolved: FxHashMap::default(),
            pass: 1,
            live: Vec::new(),
            active: Vec::new(),
            is_active: FxHashSet::default(),
            copies: Vec::new(),
            failed: FxHashSet::default(),
            stops: FxHashMap::default(),
            written: Vec::new(),
            unwritten: Variables::default(),
        }
    }

    fn run(mut self) -> CardScan {
        self.unwritten = self.effects.state.variables.clone();
        self.live.clone_from(&self.roster.cards().always);
        let forced = self.turn.input.forced.iter().map(|forced| &forced.entry);
        let remembered = self.state.first_match.keys();
        let entries = forced.chain(remembered).filter_map(|id| self.library.find(id));
        let entries: Vec<EntryIx> = entries.chain(self.effects.sticky_entries()).collect();
        for ix in entries {
            if self.library.dialect_of(ix) == Dialect::Cards {
                self.live.extend(self.roster.ranks(ix));
            }
        }
        let furthest = self.roster.cards().furthest(self.turn.input.text_completion);
        self.texts.reach_back(furthest.messages);
        if furthest.characters > 0 {
            self.texts.reach_back_characters(furthest.characters);
        }
        loop {
            let feeding = self.activate_live();
            let limit = self.rules.max_passes;
            if feeding.is_empty() || (limit > 0 && self.pass >= limit) {
                break;
            }
            self.texts.add_lore(feeding);
            self.pass += 1;
        }
        self.add_near();
        self.record_matches();
        self.finish()
    }

    /// One pass: all entries see the same text. The texts that the next one adds.
    fn activate_live(&mut self) -> Vec<(EntryIx, Arc<str>)> {
        self.live.extend(self.texts.take_touched());
        self.live.sort_unstable();
        self.live.dedup();
        let mut feeding = Vec::new();
        for rank in std::mem::take(&mut self.live) {
            let ix = self.roster.cards().order[rank as usize];
            if self.is_active.contains(&ix) || self.failed.contains(&ix) {
                continue;
            }
            match self.decide(ix) {
                Ok(found) => {
                    self.accept(ix, &found);
                    feeding.extend(self.feed());
                }
                Err(stop) => self.stop(ix, stop),
            }
            self.live.push(rank);
        }
        feeding
    }

    fn decide(&mut self, ix: EntryIx) -> Result<Found, Stop> {
        let found = self.judge(ix)?;
        if found.rolls {
            let probability = self.terms(ix).probability;
            self.roll(ix, probability).inspect_err(|_| {
                self.failed.insert(ix);
            })?;
        }
        Ok(found)
    }

    fn stop(&mut self, ix: EntryIx, stop: Stop) {
        if self.stops.get(&ix).is_none_or(|known| stop.progress() > known.progress()) {
            self.stops.insert(ix, stop);
        }
    }

    pub(super) fn accept(&mut self, ix: EntryIx, found: &Found) {
        self.stops.remove(&ix);
        self.withdraw_copies(ix);
        if self.copy(ix).is_some() {
            self.copies.push(ix);
        }
        self.is_active.insert(ix);
        let trigger = self.trigger(ix, found);
        let text = self.expand(ix);
        self.active.push(Piece::new(ix, trigger, text));
    }

    /// Takes back the copies of an entry that became active in a later pass than they did.
    /// What they added to the scanned text is what the entry itself says.
    fn withdraw_copies(&mut self, of: EntryIx) {
        let copies = std::mem::take(&mut self.copies);
        let is_copy =
            |ix: &EntryIx| matches!(self.copy(*ix), Some(CopyOf::Entry(one)) if one == of);
        let (withdrawn, kept): (Vec<EntryIx>, Vec<EntryIx>) = copies.into_iter().partition(is_copy);
        self.copies = kept;
        for ix in withdrawn {
            self.is_active.remove(&ix);
            self.active.retain(|piece| piece.ix != ix);
            self.stops.insert(ix, self.copied(of));
        }
    }

    pub(super) fn is_active(&self, ix: EntryIx) -> bool {
        self.is_active.contains(&ix)
    }

    /// An entry's text with its macros replaced: once a turn, for all who read it.
    fn expand(&mut self, ix: EntryIx) -> String {
        let entry = &self.library.entry(ix).id;
        let body = &self.terms(ix).body;
        let dice = &mut *self.dice;
        let mut roll = |draw: Draw| {
            dice.roll(if draw.lasting {
                Roll::Pick(entry, draw.index)
            } else {
                Roll::Macro(entry, draw.index)
            })
        };
        let (mut writes, variables) = (VariableChanges::default(), &self.effects.state.variables);
        let text = self.macros.expand_rolling(body, variables, &mut writes, &mut roll);
        let text = text.into_owned();
        if !writes.is_empty() {
            self.effects.state.write(&writes);
            self.resolved.clear();
            self.written.push((ix, writes));
        }
        text
    }

    /// The text that the entry accepted last adds to what is scanned.
    fn feed(&self) -> Option<(EntryIx, Arc<str>)> {
        let Piece { ix, text, .. } = self.active.last()?;
        let ix = *ix;
        let terms = self.terms(ix);
        let by_book = || match self.rules.recursion {
            RecursionScope::OwnBook => self.rules.is_recursive(self.library.book(ix)),
            RecursionScope::AnyBook => {
                let books = self.roster.cards().books.iter();
                books.map(|&at| &self.library.books()[at]).any(|one| self.rules.is_recursive(one))
            }
        };
        if !terms.feeds.unwrap_or_else(by_book) {
            return None;
        }
        let text = match self.rules.feed {
            Feed::Expanded => {
                let hidden = hidden_keys(&terms.body);
                format!("{text}{}", self.macros.expand(&hidden)).into()
            }
            Feed::AsWritten => without_comments(&terms.body).0.into(),
        };
        Some((ix, text))
    }

    fn trigger(&mut self, ix: EntryIx, found: &Found) -> Trigger {
        let terms = self.terms(ix);
        let primary = found.primary.map(|at| self.located(&terms.keys.primary[at], terms));
        let parents = match (&primary, found.primary) {
            (Some((_, Some(Location { part: PartRef::Lore(_), .. }))), Some(at)) => {
                let key = &terms.keys.primary[at];
                let probe = self.probe(key);
                self.texts.parents(key, &probe)
            }
            _ => Vec::new(),
        };
        let secondary = found.secondary.iter();
        let secondary: Vec<KeyMatch> =
            secondary.map(|&at| self.located(&terms.keys.secondary[at], terms).0).collect();
        Trigger {
            reason: found.reason.clone(),
            phase: if self.pass > 1 { ScanPhase::Recursion } else { ScanPhase::Initial },
            pass: self.pass,
            depth: self.reach(terms).messages,
            primary: primary.map(|(key, _)| key),
            secondary,
            parents: parents.into_iter().map(|ix| self.library.entry(ix).id.clone()).collect(),
        }
    }

    fn located(&mut self, key: &CompiledKey, terms: &Terms) -> (KeyMatch, Option<Location>) {
        let probe = self.probe(key);
        let reach = self.reach(terms);
        let (location, others) = self.texts.locate_all(key, &probe, reach).unzip();
        let expanded = self.macros.expand_reading(&key.raw, &self.effects.state.variables);
        let place = |at: Location| self.window.place(&at, self.library, self.turn);
        let told = KeyMatch {
            key: key.raw.to_string(),
            expanded: (*expanded != *key.raw).then(|| expanded.into_owned()),
            at: location.map(place),
            also: others.into_iter().flatten().map(place).collect(),
        };
        (told, location)
    }

    /// A match is a match whether or not it fits: recorded before the budget.
    fn record_matches(&mut self) {
        if self.turn.input.dry_run {
            return;
        }
        let now = self.turn.answers.unwrap_or_default();
        let length = self.turn.length();
        for piece in &self.active {
            let terms = self.terms(piece.ix);
            let id = &self.library.entry(piece.ix).id;
            if terms.keep || terms.once {
                self.effects.state.first_match.entry(id.clone()).or_insert(now);
            }
            self.effects.activate(self.library, (piece.ix, None), length);
        }
    }

    fn finish(mut self) -> CardScan {
        let hide_prompts = self.hide_prompts();
        self.compose();
        let budgets = self.fit();
        let looked_at = self.active.iter().map(|piece| piece.ix).chain(self.stops.keys().copied());
        let mut looked_at: Vec<EntryIx> = looked_at.collect();
        looked_at.sort_unstable();
        let mut warnings: Vec<Warning> =
            looked_at.iter().flat_map(|&ix| self.warnings_of(ix)).collect();
        warnings.extend(self.texts.take_too_slow().into_iter().map(|(ix, key)| {
            Warning::KeyTooSlow {
                entry: self.library.entry(ix).title().to_owned(),
                key: key.into(),
            }
        }));
        let mut stopped: Vec<(EntryIx, Stop)> = self.stops.drain().collect();
        stopped.sort_by_key(|(ix, _)| self.roster.ranks(*ix).next());
        let mut state = std::mem::take(&mut self.effects.state);
        let (written, unwritten) =
            (std::mem::take(&mut self.written), std::mem::take(&mut self.unwritten));
        let placed = self.place();
        state.variables = unwritten;
        for (ix, writes) in written {
            if placed.iter().any(|one| one.ix == ix) {
                state.write(&writes);
            }
        }
        CardScan { placed, stopped, state, budgets, hide_prompts, warnings }
    }

    /// What active entries ask the front end to hide, whether or not their text fits.
    fn hide_prompts(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.active.iter().flat_map(|piece| &self.terms(piece.ix).hide_prompts) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn warnings_of(&self, ix: EntryIx) -> Vec<Warning> {
        let terms = self.terms(ix);
        let entry = self.library.entry(ix).title();
        let unusable = terms
            .keys
            .bad
            .iter()
            .map(|key| Warning::KeyUnusable { entry: entry.to_owned(), key: key.clone() });
        let decorators = terms.problems.iter().map(|(line, problem)| Warning::Decorator {
            entry: entry.to_owned(),
            line: line.clone(),
            problem: *problem,
        });
        unusable.chain(decorators).collect()
    }

    /// Adds entries found by meaning, nearest first, which keys did not find.
    fn add_near(&mut self) {
        let mut near: Vec<(f64, EntryIx)> = self
            .turn
            .input
            .near
            .iter()
            .filter_map(|near| Some((near.score, self.library.find(&near.entry)?)))
            .filter(|(_, ix)| self.library.dialect_of(*ix) == Dialect::Cards)
            .filter(|(_, ix)| self.roster.ranks(*ix).next().is_some())
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken = 0;
        for (score, ix) in near {
            if taken >= self.rules.semantic_entries {
                return;
            }
            if let Some(found) = self.judge_near(ix, score) {
                self.accept(ix, &found);
                taken += 1;
            }
        }
    }

    /// The reason of an entry that is near in meaning.
    fn judge_near(&self, ix: EntryIx, score: f64) -> Option<Found> {
        let terms = self.terms(ix);
        let id = &self.library.entry(ix).id;
        let now = self.turn.answers.unwrap_or_default();
        let spent = terms.once && self.state.first_match.get(id).is_some_and(|turn| *turn != now);
        let suppressed = terms.force == Some(Force::Suppress);
        let free = terms.enabled && !suppressed && !spent && !self.is_active(ix);
        free.then(|| Found::by(Reason::Semantic { score, threshold: None }, false))
    }
}
