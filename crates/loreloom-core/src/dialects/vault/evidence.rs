//! Which key let a note in, and where it was found.

use super::{Pick, VaultCache, VaultTurn, compile::KeyProbe};
use crate::{
    chat::Role,
    ids::EntryId,
    library::EntryIx,
    report::{KeyMatch, MatchPlace, Reason, ScanPhase, TextSource, Trigger},
    scan::{Tallies, raw_span},
};

/// The matches of a turn.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) turn: VaultTurn<'a>,
    /// All notes that the chat brought in.
    pub(super) picks: &'a [Pick],
}

impl Evidence<'_> {
    /// How a note came in.
    pub(super) fn trigger(&self, pick: &Pick, cache: &mut VaultCache) -> Trigger {
        let depth = self.turn.depth_of(pick.ix);
        let probe = pick.key.map(|at| self.turn.vault.key_probes(pick.ix)[at]);
        let at = probe.and_then(|probe| {
            if pick.step > 0 {
                self.in_notes(pick, probe)
            } else {
                self.in_chat(probe, depth, cache)
            }
        });
        let parents = match (&at, &pick.reason) {
            (_, Reason::Cascade { from } | Reason::Linked { from }) => vec![from.clone()],
            (Some(MatchPlace { source: TextSource::Entry { entry }, .. }), _) => {
                vec![entry.clone()]
            }
            (Some(_) | None, _) => Vec::new(),
        };
        // A key that lies across messages has no place of its own.
        let at = at.or(Some(MatchPlace { source: TextSource::Joined, start: 0, end: 0 }));
        let key =
            |key: &str| KeyMatch { key: key.to_owned(), expanded: None, at, also: Vec::new() };
        Trigger {
            reason: pick.reason.clone(),
            phase: if pick.step > 0 { ScanPhase::Recursion } else { ScanPhase::Initial },
            pass: pick.step + 1,
            depth,
            primary: pick.key_text(self.turn.vault).map(key),
            secondary: Vec::new(),
            parents,
        }
    }

    /// The newest message of the window that holds a key.
    fn in_chat(&self, probe: KeyProbe, depth: u32, cache: &mut VaultCache) -> Option<MatchPlace> {
        self.turn.window(depth).into_iter().rev().find_map(|line| {
            let span = first(&cache.of(self.turn.vault, &line.scan), probe)?;
            let (start, end) = self.trace(line.scan.as_str(), span);
            let prefix = line.name.len() + 2;
            Some(if start < prefix {
                MatchPlace { source: TextSource::Speaker { index: line.index }, start, end }
            } else {
                let role = if line.user { Role::User } else { Role::Assistant };
                let name = (!line.name.is_empty()).then(|| line.name.to_string());
                let source = TextSource::Message { index: line.index, role, name };
                MatchPlace { source, start: start - prefix, end: end - prefix }
            })
        })
    }

    /// The note of the step before whose text holds a key.
    fn in_notes(&self, pick: &Pick, probe: KeyProbe) -> Option<MatchPlace> {
        let before = self.picks.iter().filter(|one| one.step + 1 == pick.step);
        before.into_iter().find_map(|one| self.in_note(one.ix, probe))
    }

    fn in_note(&self, ix: EntryIx, probe: KeyProbe) -> Option<MatchPlace> {
        let note = self.turn.vault.note(ix);
        if note.exclude_recursion {
            return None;
        }
        let (start, end) = self.trace(&note.content, first(self.turn.vault.found_in(ix), probe)?);
        let entry: EntryId = self.turn.vault.id(ix).clone();
        Some(MatchPlace { source: TextSource::Entry { entry }, start, end })
    }

    /// The span in the text as written.
    fn trace(&self, text: &str, span: (usize, usize)) -> (usize, usize) {
        let folding = self.turn.vault.folding;
        if folding.is_traceable(text) {
            raw_span(text, folding.case, span)
        } else {
            folding.span_of(text, span)
        }
    }
}

/// Where a key is found first, in the folded text.
fn first(tallies: &Tallies, probe: KeyProbe) -> Option<(usize, usize)> {
    let KeyProbe::Pattern { pattern, word } = probe else { return None };
    let tally = tallies.get(pattern)?;
    if word { tally.first_word_span() } else { Some(tally.first_span()) }
}
