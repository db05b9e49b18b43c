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
    engine::{chance::ChanceRule, keys::passes},
    library::EntryIx,
    report::{Reason, Stop},
    utf16,
};

/// The notes that the chat brings in.
#[derive(Clone, Debug, PartialEq)]
pub struct Matches {
    /// The notes, most important first.
    pub picks: Vec<Pick>,
    /// Notes whose key was found and that a rule of their own stopped, in vault order.
    pub stopped: Vec<Stopped>,
    /// How the search by meaning went.
    pub fuzzy: FuzzyUse,
}

/// How the search by meaning went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FuzzyUse {
    /// Whether it ran.
    pub active: bool,
    /// Notes that scored high enough.
    pub candidates: usize,
    /// Notes it brought in.
    pub matched: usize,
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
        fuzzy: FuzzyUse::default(),
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
    fuzzy: FuzzyUse,
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

    fn take_forced(&mut self) {
        let vault = self.turn.vault;
        for &ix in &vault.constants {
            self.take(Pick::new(vault, ix, Reason::Constant));
        }
        if self.turn.is_new_chat() {
            for &ix in &vault.bootstraps {
                if !self.has(ix) {
                    self.take(Pick::new(vault, ix, Reason::Bootstrap));
                }
            }
        }
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
            check_refine(vault, ix, key, findings)?;
            if let Some(needed) = vault.note(ix).warmup {
                let found = occurrences(vault, ix, findings);
                if f64::from(found) < needed {
                    return Err(Stop::Warmup { needed, found });
                }
            }
            self.roll(ix)?;
        }
        match self.cooldown_left(ix) {
            Some(left) => Err(Stop::Resting { left }),
            None => Ok(Some(key)),
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
    fn pauses(&self, ix: EntryIx) -> bool {
        self.cooldown_left(ix).is_some() && self.turn.vault.note(ix).cooldown.is_some()
    }

    /// The notes with a title: all of them, since other notes name titles, not vaults.
    fn titled(&self, title: &str) -> Vec<EntryIx> {
        let titled = self.turn.vault.titled(title);
        if self.turn.rules.quirks.last_title_wins {
            titled.last().copied().into_iter().collect()
        } else {
            titled.to_vec()
        }
    }

    fn take_character(&mut self) {
        let VaultTurn { vault, rules, character, .. } = self.turn;
        let named = |name: &&str| rules.active_character && !name.is_empty();
        let Some(name) = character.filter(named) else { return };
        let mut found = self.titled(name);
        if found.is_empty() {
            let name = name.to_lowercase();
            let is_key = |key: &String| key.to_lowercase() == name;
            // A key is not a name: the first note that has it is enough.
            let keyed = vault.entries().find(|ix| vault.note(*ix).keys.iter().any(is_key));
            found.extend(keyed);
        }
        for ix in found {
            if !self.has(ix) {
                self.take(Pick::new(vault, ix, Reason::ActiveCharacter));
            }
        }
    }

    /// Notes that others bring along: one level, and only by notes that are in so far.
    fn cascade(&mut self) {
        let vault = self.turn.vault;
        let sources = self.picks.iter().map(|pick| pick.ix);
        let sources: Vec<EntryIx> = sources.filter(|ix| vault.compiled(*ix).cascades).collect();
        for source in sources {
            for title in &vault.note(source).relations.cascade {
                for ix in self.titled(title) {
                    if self.has(ix) || self.pauses(ix) || self.roll(ix).is_err() {
                        continue;
                    }
                    let from = vault.id(source).clone();
                    self.take(Pick::new(vault, ix, Reason::Cascade { from }));
                }
            }
        }
    }

    fn recurse(&mut self) {
        if !self.turn.rules.recursion.enabled {
            return;
        }
        let mut newest = 0;
        for step in 1..=self.turn.rules.recursion.steps {
            let sources: Vec<EntryIx> = self.picks[newest..]
                .iter()
                .map(|pick| pick.ix)
                .filter(|ix| !self.turn.vault.compiled(*ix).exclude_recursion)
                .collect();
            newest = self.picks.len();
            let findings = self.look_into(&sources);
            for ix in findings.touched(self.turn.vault) {
                if !self.has(ix) && !self.turn.vault.compiled(ix).constant {
                    self.judge_recursion(ix, step, &findings);
                }
            }
            if self.picks.len() == newest {
                return;
            }
        }
    }

    fn judge_recursion(&mut self, ix: EntryIx, step: u32, findings: &Findings) {
        let (vault, compiled) = (self.turn.vault, self.turn.vault.compiled(ix));
        if compiled.exclude_recursion
            && self.turn.rules.recursion.excluded == ExcludedNotes::TakeNoPart
        {
            return;
        }
        let Some(key) = first_key(vault, ix, findings) else { return };
        if self.pauses(ix) || (compiled.has_conditions && !self.may_recur(ix, findings)) {
            return;
        }
        let pick = Pick::new(vault, ix, Reason::Key);
        self.take(Pick { key: Some(key), step, ..pick });
    }

    /// Whether a note's own conditions let recursion bring it in.
    fn may_recur(&mut self, ix: EntryIx, findings: &Findings) -> bool {
        let vault = self.turn.vault;
        let enough = |needed: f64| f64::from(occurrences(vault, ix, findings)) >= needed;
        refine_holds(vault, ix, findings)
            && self.roll(ix).is_ok()
            && vault.note(ix).warmup.is_none_or(enough)
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
        self.fuzzy.active = true;
        let text = self.windows.text(self.turn.rules.keys.depth);
        let found = search.query(&text, rules.most, rules.min_score);
        self.fuzzy.candidates = found.len();
        for one in found {
            if self.has(one.ix) || self.cooldown_left(one.ix).is_some() {
                continue;
            }
            if self.is_too_rare(one.ix) || self.roll(one.ix).is_err() {
                continue;
            }
            let reason = Reason::Fuzzy { score: one.score };
            self.take(Pick::new(vault, one.ix, reason));
            self.fuzzy.matched += 1;
        }
    }

    /// Whether a note found by meaning fails its own conditions on keys.
    fn is_too_rare(&mut self, ix: EntryIx) -> bool {
        let (vault, note) = (self.turn.vault, self.turn.vault.note(ix));
        let window = self.turn.depth_of(ix);
        if self.turn.rules.fuzzy.refine && !refine_holds(vault, ix, self.windows.at(window)) {
            return true;
        }
        // Less than one occurrence is none to wait for.
        let Some(needed) = note.warmup.filter(|needed| *needed >= 1.0) else { return false };
        f64::from(occurrences(vault, ix, self.windows.at(window))) < needed
    }

    fn finish(mut self) -> Matches {
        let mut picks = std::mem::take(&mut self.picks);
        sort_picks(self.turn.vault, &mut picks, self.turn.rules);
        if self.turn.rules.order.by_occurrences {
            let VaultTurn { vault, rules, .. } = self.turn;
            let findings = self.windows.at(rules.keys.depth);
            let count = |pick: &Pick| occurrences(vault, pick.ix, findings);
            picks.sort_by(|a, b| {
                by_priority(a.priority, b.priority, rules.order.reversed)
                    .then_with(|| count(b).cmp(&count(a)))
            });
        }
        Matches { picks, stopped: self.stopped, fuzzy: self.fuzzy }
    }
}

/// The first key of a note that is found.
fn first_key(vault: &Vault, ix: EntryIx, findings: &Findings) -> Option<usize> {
    let found = |probe: &KeyProbe| findings.occurrences(vault, *probe) > 0;
    vault.key_probes(ix).iter().position(found)
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

fn check_refine(vault: &Vault, ix: EntryIx, key: usize, findings: &Findings) -> Result<(), Stop> {
    if refine_holds(vault, ix, findings) {
        return Ok(());
    }
    let note = vault.note(ix);
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (probe, key) in vault.refine_probes(ix).iter().zip(&note.refine.keys) {
        let list = if findings.occurrences(vault, *probe) > 0 { &mut found } else { &mut missing };
        list.push(key.clone());
    }
    let (key, logic) = (note.keys[key].clone(), note.refine.logic);
    Err(Stop::Secondary { key, logic, found, missing })
}

/// What is found of a note's keys in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundKeys {
    /// The first key that is found.
    pub primary: Option<String>,
    /// That key, if the refine keys let it pass.
    pub key: Option<String>,
    /// How often all keys occur, added up.
    pub occurrences: u32,
}

/// Looks for a note's keys in a text.
pub fn count_keys(vault: &Vault, ix: EntryIx, text: &str) -> FoundKeys {
    let mut findings = Findings::default();
    findings.add(&vault.tally(text));
    findings.with_text(vault.folding.apply(text).into_owned());
    let keys = &vault.note(ix).keys;
    let primary = first_key(vault, ix, &findings).map(|at| keys[at].clone());
    let key = primary.clone().filter(|_| refine_holds(vault, ix, &findings));
    FoundKeys { primary, key, occurrences: occurrences(vault, ix, &findings) }
}
