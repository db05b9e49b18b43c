//! Where active entries go.

use std::sync::Arc;

use super::{
    compose::CardPiece,
    decorators::InjectTarget,
    pass::{CardScan, PoolScan},
    terms::Terms,
    window::CardWindow,
};
use crate::{
    book::{DepthFrom, Position},
    engine::{
        DEFAULT_DEPTH, EngineInput, Timing, contribution::Contribution, placing::PlaceRules,
        render::LoreScripts, same_text::TakenTexts,
    },
    library::EntryIx,
    place::Place,
    report::Warning,
    state::StoryState,
    turn::{Instruments, TranscriptMessage},
    units::{Depth, Tokens},
};

/// Adds to a turn what card books have to say, and returns the state after it. `timing` is what
/// other dialects of this turn left.
pub(crate) fn contribute(
    input: &EngineInput<'_>,
    lore: &mut Contribution,
    timing: Timing,
    instruments: &mut Instruments<'_>,
) -> StoryState {
    let text = input.turn.input.text_completion;
    let mut timing = timing;
    let mut taken = TakenTexts::new(input);
    taken.take_injections(&lore.injections);
    for pool in &input.active.cards().pools {
        let window = &CardWindow::new(input.turn.transcript, pool.furthest(text));
        let rules = &pool.dialect.card_rules(&input.rules.cards);
        let mut scan = CardScan::new(*input, PoolScan { pool, rules, window }, timing, instruments);
        scan.find();
        let (found, after) = scan.finish(&mut taken);
        lore.extend(found);
        timing = after;
    }
    timing.state
}

impl CardScan<'_> {
    fn finish(mut self, taken: &mut TakenTexts) -> (Contribution, Timing) {
        let EngineInput { library, active, .. } = self.scanner.input;
        let mut pool =
            Contribution { hide_prompts: self.hide_prompts(), ..Contribution::default() };
        self.compose();
        pool.budgets = self.fit(taken);
        pool.warnings = self.warnings();
        let mut stopped = self.stops.take_sorted();
        stopped.sort_by_key(|(ix, _)| active.ranks(*ix).next());
        self.place(&mut pool);
        pool.add_stopped(library, stopped);
        (pool, self.scanner.timing)
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

    /// What a person should know about the entries that were looked at.
    fn warnings(&mut self) -> Vec<Warning> {
        let looked_at = self.active.iter().map(|piece| piece.ix).chain(self.stops.keys());
        let mut looked_at: Vec<EntryIx> = looked_at.collect();
        looked_at.sort_unstable();
        let mut warnings: Vec<Warning> = Vec::new();
        for ix in looked_at {
            let terms = self.terms(ix);
            let entry = self.scanner.input.library.entry(ix).title();
            let bad = terms.keys.bad.iter();
            warnings.extend(
                bad.map(|key| Warning::KeyUnusable { entry: entry.to_owned(), key: key.clone() }),
            );
            warnings.extend(terms.problems.iter().map(|(line, problem)| Warning::Decorator {
                entry: entry.to_owned(),
                line: line.clone(),
                problem: *problem,
            }));
        }
        warnings.extend(self.scanner.slow_keys());
        warnings
    }

    /// Places the active entries in prompt order. Variables keep what those wrote that are
    /// sent.
    fn place(&mut self, pool: &mut Contribution) {
        let EngineInput { library, turn, rules, .. } = self.scanner.input;
        let mut active = std::mem::take(&mut self.active);
        self.sort_by_place(&mut active);
        self.scanner.timing.state.variables = std::mem::take(&mut self.unwritten);
        for (ix, writes) in std::mem::take(&mut self.written) {
            if active.iter().any(|one| one.ix == ix) {
                self.scanner.timing.state.write(&writes);
            }
        }
        let scripts = LoreScripts::of(turn, rules);
        for CardPiece { ix, cause, text, tokens, .. } in active {
            let terms = self.terms(ix);
            let place = if text.is_empty() { None } else { self.place_of(terms) };
            if let Some(place) = &place {
                let text: Arc<str> = text.into();
                let sent = scripts.apply(&text, place.depth(), &self.scanner.macros);
                let same = Arc::ptr_eq(&sent, &text);
                let tokens = if same { tokens } else { self.scanner.counter.count(&sent) };
                if !sent.is_empty() {
                    pool.inject((library, ix), (place.clone(), terms.role), &sent, tokens);
                }
            }
            let keys = terms.keys.keys();
            let trigger = cause.trigger(keys, library, |at| self.window.place(at, library, turn));
            pool.add_active((library, ix), place, tokens, trigger);
        }
    }

    fn place_of(&self, terms: &Terms) -> Option<Place> {
        if let Some(InjectTarget::Slot(name)) = &terms.inject.target {
            return Some(Place::Slot(name.clone()));
        }
        let depth = match (terms.at_tokens, &terms.position) {
            (Some(tokens), Position::AtDepth { from }) => self.depth_in(tokens, *from),
            _ => terms.at_depth.map_or(DEFAULT_DEPTH, Depth),
        };
        let rules = PlaceRules {
            unstated: &match self.rules.unplaced_depth {
                Some(depth) => Place::AtDepth(Depth(depth)),
                None => Place::Slot(self.rules.slot.clone()),
            },
            slots_are_outlets: false,
            before_description_is_after: false,
            length: Some(self.scanner.input.turn.length()),
        };
        rules.place(&terms.position, depth)
    }

    /// How many messages, from the newest or the oldest, have no more than so many tokens
    /// together: texts are put between messages, never into them.
    fn depth_in(&self, tokens: u32, from: DepthFrom) -> Depth {
        let mut left = Tokens(tokens);
        let fits = |message: &&TranscriptMessage| {
            let rest = left.checked_sub(self.scanner.counter.count(message.scan.as_str()));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let messages = self.scanner.input.turn.transcript.messages.iter();
        let count = match from {
            DepthFrom::Newest => messages.rev().take_while(fits).count(),
            DepthFrom::Oldest => messages.take_while(fits).count(),
        };
        Depth(u32::try_from(count).unwrap_or(u32::MAX))
    }
}
