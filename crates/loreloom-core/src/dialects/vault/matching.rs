//! Which notes the chat brings in: constants, keys, cascades, recursion, full-text search.

use std::borrow::Cow;

use super::{
    ExcludedNotes, Pick, Stopped, Vault, VaultCache, VaultTurn,
    compile::KeyProbe,
    order::{by_priority, sort_picks},
    windows::{Findings, Windows},
};
use crate::{
    dice::Dice,
    engine::{chance::ChanceRule, keys::passes, timing::check_delay},
    library::EntryIx,
    report::{Reason, Stop},
    utf16,
};

/// The notes that the chat brings in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matches {
    /// The notes, most important first.
    pub picks: Vec<Pick>,
    /// Notes whose key was found in the chat and that a rule of their own stopped, in vault order.
    pub stopped: Vec<Stopped>,
    /// Notes that a rule of their own stopped on another way in: by a link, in recursion, by topic.
    pub elsewhere: Vec<Stopped>,
}

impl Matches {
    /// The stops of all notes, for each note those last that it got furthest with.
    pub(super) fn furthest(&self) -> Vec<Stopped> {
        let mut stopped: Vec<Stopped> =
            self.stopped.iter().chain(&self.elsewhere).cloned().collect();
        stopped.sort_by_key(|one| one.stop.progress());
        stopped
    }
}

/// Finds the notes that the chat brings in.
pub fn find(turn: VaultTurn<'_>, dice: &mut dyn Dice, cache: &mut VaultCache) -> Matches {
    let mut matcher = NoteMatcher {
        turn,
        dice,
        windows: Windows::new(turn, cache),
        is_in: vec![false; turn.vault.len()],
        picks: Vec::new(),
        stopped: Vec::new(),
        elsewhere: Vec::new(),
    };
    matcher.take_forced();
    matcher.report("constants and new chats");
    if turn.rules.keys.depth > 0 {
        matcher.look_for_keys();
        matcher.report("keys");
        matcher.take_character();
        matcher.report("active character");
        matcher.cascade();
        matcher.report("cascade links");
        matcher.recurse();
        matcher.report("recursion");
        matcher.search();
        matcher.report("fuzzy search");
    }
    matcher.finish()
}

struct NoteMatcher<'a> {
    turn: VaultTurn<'a>,
    dice: &'a mut dyn Dice,
    windows: Windows<'a>,
    is_in: Vec<bool>,
    /// In the order they came in.
    picks: Vec<Pick>,
    stopped: Vec<Stopped>,
    elsewhere: Vec<Stopped>,
}

impl<'a> NoteMatcher<'a> {
    fn report(&mut self, stage: &'static str) {
        self.windows.report(stage, self.picks.len());
    }

    fn has(&self, ix: EntryIx) -> bool {
        self.is_in[ix.0 as usize]
    }

    fn take(&mut self, pick: Pick) {
        self.is_in[pick.ix.0 as usize] = true;
        self.picks.push(pick);
    }

    /// Takes a note that came in by another way than its keys, if the rules of its own let it.
    fn admit(&mut self, judged: Result<(), Stop>, pick: Pick) {
        match judged {
            Ok(()) if self.has(pick.ix) => {}
            Ok(()) => self.take(pick),
            Err(stop) => self.elsewhere.push(Stopped { ix: pick.ix, stop }),
        }
    }

    fn take_forced(&mut self) {
        let vault = self.turn.vault;
        let bootstraps: &[EntryIx] = if self.turn.is_new_chat() { &vault.bootstraps } else { &[] };
        let constants = vault.constants.iter().map(|&ix| (ix, Reason::Constant));
        let bootstraps = bootstraps.iter().map(|&ix| (ix, Reason::Bootstrap));
        let forced: Vec<(EntryIx, Reason)> =
            constants.chain(bootstraps).chain(self.turn.sticky_notes()).collect();
        for (ix, reason) in forced {
            self.admit(self.check_delay(ix), Pick::new(vault, ix, reason));
        }
    }

    fn check_delay(&self, ix: EntryIx) -> Result<(), Stop> {
        check_delay(self.turn.vault.note(ix).delay, self.turn.length())
    }

    fn look_for_keys(&mut self) {
        let vault = self.turn.vault;
        let common = self.turn.rules.keys.depth;
        let mut touched: Vec<(EntryIx, u32)> = Vec::new();
        for depth in std::iter::once(None).chain(vault.depths.iter().copied().map(Some)) {
            let window = depth.unwrap_or(common);
            let found = self.windows.at(window).touched(vault);
            let own = found.into_iter().filter(|ix| vault.compiled(*ix).depth == depth);
            touched.extend(own.map(|ix| (ix, window)));
        }
        touched.sort_unstable();
        self.picks.reserve(touched.len());
        for (ix, window) in touched {
            if vault.compiled(ix).constant {
                continue;
            }
            match self.judge_keys(ix, window) {
                Ok(None) => {}
                Ok(Some(key)) if self.has(ix) => self.rename(ix, key),
                Ok(Some(key)) => {
                    let pick = Pick::new(vault, ix, Reason::Key);
                    self.take(Pick { key: Some(key), ..pick });
                }
                Err(stop) => self.stopped.push(Stopped { ix, stop }),
            }
        }
    }

    /// A note that bootstraps and whose key is found too: the key is the better reason.
    fn rename(&mut self, ix: EntryIx, key: usize) {
        if let Some(pick) = self.picks.iter_mut().find(|pick| pick.ix == ix) {
            pick.reason = Reason::Key;
            pick.key = Some(key);
        }
    }

    /// The key that lets a note in; `Ok(None)` if there is none.
    fn judge_keys(&mut self, ix: EntryIx, window: u32) -> Result<Option<usize>, Stop> {
        let vault = self.turn.vault;
        let findings = self.windows.at(window);
        let Some(key) = first_key(vault, ix, findings) else { return Ok(None) };
        if vault.compiled(ix).has_conditions {
            check_delay(vault.note(ix).delay, self.turn.length())?;
            check_refine(vault, ix, Some(key), findings)?;
            check_warmup(vault, ix, findings)?;
            self.roll(ix)?;
        }
        self.check_rest(ix).map(|()| Some(key))
    }

    fn check_rest(&self, ix: EntryIx) -> Result<(), Stop> {
        match self.cooldown_left(ix) {
            Some(left) => Err(Stop::Resting { left }),
            None => Ok(()),
        }
    }

    fn roll(&mut self, ix: EntryIx) -> Result<(), Stop> {
        let vault = self.turn.vault;
        ChanceRule::VAULT.roll(vault.note(ix).probability, vault.id(ix), self.dice)
    }

    fn cooldown_left(&self, ix: EntryIx) -> Option<u32> {
        self.turn.state.cooldown.get(self.turn.vault.id(ix)).copied().filter(|left| *left > 0)
    }

    /// Whether a note that still asks for a pause is in one.
    fn check_pause(&self, ix: EntryIx) -> Result<(), Stop> {
        if self.turn.vault.note(ix).cooldown.is_some() { self.check_rest(ix) } else { Ok(()) }
    }

    /// The notes of a name: all of them, since other notes name titles, not vaults.
    fn named(&self, name: &str) -> Vec<EntryIx> {
        let named = self.turn.vault.named(name);
        if self.turn.rules.quirks.last_title_wins {
            named.last().copied().into_iter().collect()
        } else {
            named.to_vec()
        }
    }

    fn take_character(&mut self) {
        let VaultTurn { vault, rules, character, .. } = self.turn;
        let named = |name: &&str| rules.active_character && !name.is_empty();
        let Some(name) = character.filter(named) else { return };
        let mut found = self.named(name);
        if found.is_empty() {
            let name = name.to_lowercase();
            let is_key = |key: &String| key.to_lowercase() == name;
            // A key is not a name: the first note that has it is enough.
            let keyed = vault.entries().find(|ix| vault.note(*ix).keys.iter().any(is_key));
            found.extend(keyed);
        }
        for ix in found {
            self.admit(self.check_delay(ix), Pick::new(vault, ix, Reason::ActiveCharacter));
        }
    }

    /// Notes that others bring along: one level, and only by notes that are in so far.
    fn cascade(&mut self) {
        let vault = self.turn.vault;
        let sources = self.picks.iter().map(|pick| pick.ix);
        let sources: Vec<EntryIx> = sources.filter(|ix| vault.compiled(*ix).cascades).collect();
        for source in sources {
            for title in &vault.note(source).relations.cascade {
                for ix in self.named(title) {
                    if self.has(ix) {
                        continue;
                    }
                    let from = vault.id(source).clone();
                    let judged = self.judge_cascade(ix);
                    self.admit(judged, Pick::new(vault, ix, Reason::Cascade { from }));
                }
            }
        }
    }

    fn judge_cascade(&mut self, ix: EntryIx) -> Result<(), Stop> {
        self.check_delay(ix)?;
        self.check_pause(ix)?;
        self.roll(ix)
    }

    fn recurse(&mut self) {
        if !self.turn.rules.recursion.enabled {
            return;
        }
        let mut newest = 0;
        let steps = self.turn.rules.recursion.steps;
        for step in 1..=steps {
            let findings = self.look_into(&self.sources_since(newest));
            newest = self.picks.len();
            for (ix, key) in self.newly_touched(&findings) {
                let judged = self.judge_recursion((ix, key), &findings);
                let pick = Pick::new(self.turn.vault, ix, Reason::Key);
                self.admit(judged, Pick { key: Some(key), step, ..pick });
            }
            if self.picks.len() == newest {
                return;
            }
        }
        // What one more step would look at.
        let findings = self.look_into(&self.sources_since(newest));
        for (ix, _) in self.newly_touched(&findings) {
            let stop = if self.takes_no_part(ix) {
                Stop::ExcludedFromRecursion
            } else {
                Stop::RecursionLimit { steps }
            };
            self.elsewhere.push(Stopped { ix, stop });
        }
    }

    /// Whether texts of other notes may not bring a note in.
    fn takes_no_part(&self, ix: EntryIx) -> bool {
        self.turn.vault.compiled(ix).exclude_recursion
            && self.turn.rules.recursion.excluded == ExcludedNotes::TakeNoPart
    }

    /// The notes that came in since, and whose texts bring others in.
    fn sources_since(&self, newest: usize) -> Vec<EntryIx> {
        let sources = self.picks[newest..].iter().map(|pick| pick.ix);
        sources.filter(|ix| !self.turn.vault.compiled(*ix).exclude_recursion).collect()
    }

    /// The notes that are not in yet and of which a key is found, with that key.
    fn newly_touched(&self, findings: &Findings) -> Vec<(EntryIx, usize)> {
        let vault = self.turn.vault;
        let is_open = |ix: &EntryIx| !self.has(*ix) && !vault.compiled(*ix).constant;
        let open = findings.touched(vault).into_iter().filter(is_open);
        open.filter_map(|ix| Some((ix, first_key(vault, ix, findings)?))).collect()
    }

    /// Whether a note's own conditions let recursion bring it in.
    fn judge_recursion(
        &mut self,
        (ix, key): (EntryIx, usize),
        findings: &Findings,
    ) -> Result<(), Stop> {
        let vault = self.turn.vault;
        self.check_delay(ix)?;
        self.check_pause(ix)?;
        if self.takes_no_part(ix) {
            return Err(Stop::ExcludedFromRecursion);
        }
        if !vault.compiled(ix).has_conditions {
            return Ok(());
        }
        check_refine(vault, ix, Some(key), findings)?;
        self.roll(ix)?;
        check_warmup(vault, ix, findings)
    }

    /// Hits in the texts of notes, joined by line ends and cut at the limit. Whole texts are
    /// scanned once per vault; only the one that is cut is scanned again.
    fn look_into(&self, sources: &[EntryIx]) -> Findings {
        let vault = self.turn.vault;
        let mut findings = Findings::default();
        let mut left = self.turn.rules.recursion.most_units;
        let mut parts: Vec<Cow<'a, str>> = Vec::new();
        for (at, &ix) in sources.iter().enumerate() {
            left = left.saturating_sub(usize::from(at > 0));
            let text = &vault.note(ix).content;
            let length = utf16::length(text);
            if length > left {
                let text = utf16::cut(text, left);
                findings.add(&vault.tally(text));
                parts.push(Cow::Borrowed(text));
                break;
            }
            findings.add(vault.found_in(ix));
            parts.push(Cow::Borrowed(text));
            left -= length;
        }
        if vault.has_keys_across() {
            findings.with_text(vault.folding.apply(&parts.join("\n")).into_owned());
        }
        findings
    }

    fn search(&mut self) {
        let (vault, rules) = (self.turn.vault, self.turn.rules.fuzzy);
        let Some(search) = vault.search().filter(|_| rules.enabled) else { return };
        let text = self.windows.text(self.turn.rules.keys.depth);
        for one in search.query(&text, rules.most, rules.min_score) {
            if self.has(one.ix) {
                continue;
            }
            let judged = self.judge_topic(one.ix);
            self.admit(judged, Pick::new(vault, one.ix, Reason::Fuzzy { score: one.score }));
        }
    }

    /// Whether the own conditions of a note that is about the chat let it in.
    fn judge_topic(&mut self, ix: EntryIx) -> Result<(), Stop> {
        let vault = self.turn.vault;
        self.check_delay(ix)?;
        self.check_rest(ix)?;
        let findings = self.windows.at(self.turn.depth_of(ix));
        if self.turn.rules.fuzzy.refine {
            check_refine(vault, ix, first_key(vault, ix, findings), findings)?;
        }
        // A warmup below one occurrence waits for nothing.
        if vault.note(ix).warmup.is_some_and(|needed| needed >= 1.0) {
            check_warmup(vault, ix, findings)?;
        }
        self.roll(ix)
    }

    fn finish(mut self) -> Matches {
        let mut picks = std::mem::take(&mut self.picks);
        let VaultTurn { vault, rules, .. } = self.turn;
        if rules.order.by_occurrences {
            let findings = self.windows.at(rules.keys.depth);
            for pick in &mut picks {
                pick.occurrences = occurrences(vault, pick.ix, findings);
            }
        }
        sort_picks(vault, &mut picks, rules);
        if rules.order.by_occurrences && rules.quirks.title_breaks_ties {
            picks.sort_by(|a, b| {
                by_priority(a.priority, b.priority, rules.order.reversed)
                    .then_with(|| b.occurrences.cmp(&a.occurrences))
            });
        }
        Matches { picks, stopped: self.stopped, elsewhere: self.elsewhere }
    }
}

/// The first key of a note that is found.
fn first_key(vault: &Vault, ix: EntryIx, findings: &Findings) -> Option<usize> {
    let found = |probe: &KeyProbe| findings.occurrences(vault, *probe) > 0;
    vault.key_probes(ix).iter().position(found)
}

/// All keys of a note that are found.
pub(super) fn found_keys(vault: &Vault, ix: EntryIx, findings: &Findings) -> Vec<String> {
    let probes = vault.key_probes(ix).iter().zip(vault.keys_of(ix));
    let found = probes.filter(|(probe, _)| findings.occurrences(vault, **probe) > 0);
    found.map(|(_, key)| key.to_owned()).collect()
}

/// How often the keys of a note occur, added up.
fn occurrences(vault: &Vault, ix: EntryIx, findings: &Findings) -> u32 {
    vault.key_probes(ix).iter().map(|probe| findings.occurrences(vault, *probe)).sum()
}

fn refine_holds(vault: &Vault, ix: EntryIx, findings: &Findings) -> bool {
    let refine = vault.refine_probes(ix);
    let found = refine.iter().filter(|probe| findings.occurrences(vault, **probe) > 0).count();
    refine.is_empty() || passes(vault.note(ix).refine.logic, found, refine.len())
}

/// `key` is the key that was found, if one was.
fn check_refine(
    vault: &Vault,
    ix: EntryIx,
    key: Option<usize>,
    findings: &Findings,
) -> Result<(), Stop> {
    if refine_holds(vault, ix, findings) {
        return Ok(());
    }
    let note = vault.note(ix);
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (probe, key) in vault.refine_probes(ix).iter().zip(&note.refine.keys) {
        let list = if findings.occurrences(vault, *probe) > 0 { &mut found } else { &mut missing };
        list.push(key.clone());
    }
    let key = key.and_then(|at| vault.keys_of(ix).nth(at)).unwrap_or_default().to_owned();
    Err(Stop::Secondary { key, logic: note.refine.logic, found, missing })
}

fn check_warmup(vault: &Vault, ix: EntryIx, findings: &Findings) -> Result<(), Stop> {
    let Some(needed) = vault.note(ix).warmup else { return Ok(()) };
    let found = occurrences(vault, ix, findings);
    if f64::from(found) < needed { Err(Stop::Warmup { needed, found }) } else { Ok(()) }
}
