//! Verdicts of entries that no text touched, derived when somebody asks.

use super::{compile::Furthest, pass::Scanner, rules::CardRules, terms::Terms, window::Window};
use crate::{
    engine::texts::Reach,
    library::{EntryIx, Library, MOST_MESSAGES, Roster},
    report::Stop,
    state::StoryState,
    turn::{Instruments, Turn},
};

/// The rule that keeps each of these entries out, in the same order.
pub(crate) fn judge_untouched(
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &CardRules,
    instruments: &mut Instruments<'_>,
    entries: &[EntryIx],
) -> Vec<Stop> {
    let everything = Furthest { messages: MOST_MESSAGES, characters: 0 };
    let window = Window::new(turn.transcript, everything);
    let mut scanner = Scanner::new((library, roster), turn, &window, state, rules, instruments);
    scanner.texts.reach_back(MOST_MESSAGES);
    entries.iter().map(|&ix| scanner.stop_of(ix)).collect()
}

impl Scanner<'_> {
    fn stop_of(&mut self, ix: EntryIx) -> Stop {
        match self.judge(ix) {
            Err(Stop::NoKeyFound) => self.out_of_reach(ix).unwrap_or(Stop::NoKeyFound),
            Err(stop) => stop,
            Ok(_) => Stop::NoKeyFound,
        }
    }

    /// A key that occurs in the chat, but further back than the entry scans.
    fn out_of_reach(&mut self, ix: EntryIx) -> Option<Stop> {
        let terms = self.terms(ix);
        let own = self.reach(terms);
        let anywhere = Reach { messages: MOST_MESSAGES, cut: 0, ..own };
        for key in &terms.keys.primary {
            let probe = self.probe(key);
            if self.texts.holds(ix, key, &probe, anywhere)
                && let Some(distance) = self.texts.distance(key, &probe)
            {
                let Terms { characters, tokens, .. } = *terms;
                let (key, depth) = (key.raw.to_string(), own.messages);
                return Some(Stop::OutOfReach { key, distance, depth, characters, tokens });
            }
        }
        None
    }
}
