//! Verdicts of entries that no text touched, derived when somebody asks.

use super::{pass::Scanner, rules::CardRules, window::Window};
use crate::{
    library::{EntryIx, Library, MOST_MESSAGES, Roster},
    report::Stop,
    state::StoryState,
    texts::Reach,
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
    let window = Window::new(turn.transcript, MOST_MESSAGES);
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
        let anywhere = Reach { messages: MOST_MESSAGES, ..Self::reach(terms) };
        for key in &terms.keys.primary {
            let probe = self.probe(key);
            if self.texts.holds(ix, key, &probe, anywhere)
                && let Some(distance) = self.texts.distance(key, &probe)
            {
                let (key, depth) = (key.raw.to_string(), terms.depth);
                return Some(Stop::OutOfReach { key, distance, depth });
            }
        }
        None
    }
}
