//! Verdicts of entries that no text touched, derived when somebody asks.

use super::{WorldInfoRules, pass::Scanner, timed::Effects};
use crate::{
    engine::texts::Reach,
    library::{EntryIx, Library, MOST_MESSAGES, Roster},
    report::Stop,
    state::StoryState,
    turn::{Instruments, Turn},
};

/// The rule that keeps each of these entries out, in the same order.
pub fn judge_untouched(
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &WorldInfoRules,
    instruments: &mut Instruments<'_>,
    entries: &[EntryIx],
) -> Vec<Stop> {
    let effects = if turn.input.dry_run {
        Effects::dry(state)
    } else {
        Effects::begin(library, roster, state, turn.length())
    };
    let mut scanner = Scanner::new(library, roster, turn, rules, effects, instruments);
    scanner.texts.reach_back(MOST_MESSAGES);
    entries.iter().map(|&ix| scanner.stop_of(ix)).collect()
}

impl Scanner<'_> {
    fn stop_of(&mut self, ix: EntryIx) -> Stop {
        let rank = self.roster.ranks(ix).next();
        match rank.map(|rank| self.judge(rank)) {
            Some(Err(Stop::NoKeyFound)) => self.out_of_reach(ix).unwrap_or(Stop::NoKeyFound),
            Some(Err(stop)) => stop,
            Some(Ok(_)) | None => Stop::NoKeyFound,
        }
    }

    /// A key that occurs in the chat, but further back than the entry scans.
    fn out_of_reach(&mut self, ix: EntryIx) -> Option<Stop> {
        let library = self.library;
        let own = self.reach(ix, library.entry(ix));
        let anywhere = Reach { messages: MOST_MESSAGES, cut: 0, opened: true, ..own };
        let key = library.compiled(ix).keys.iter().find(|key| self.holds(ix, key, anywhere))?;
        let probe = self.probe(key);
        let distance = self.texts.distance(key, &probe)?;
        let (key, characters) = (key.raw.to_string(), library.compiled(ix).characters);
        Some(Stop::OutOfReach { key, distance, depth: own.messages, characters, tokens: None })
    }
}
