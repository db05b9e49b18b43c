//! What is found in the chat, by scan depth.
//!
//! Messages are scanned one by one and cached by their text; a window adds up what its
//! messages hold. Only keys that contain a line end need the joined text.

use std::{fmt, sync::Arc};

use rustc_hash::FxHashMap;

use super::{Vault, VaultTurn, compile::KeyProbe};
use crate::{
    library::EntryIx,
    scan::{HitCache, PatternId, ScanText, Tallies},
};

/// Hits of messages seen before, for one compiled vault.
#[derive(Debug, Default)]
pub struct VaultCache {
    hits: HitCache<Tallies>,
    watcher: Watcher,
}

/// A stage of a turn, after it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VaultStage {
    /// Its name.
    pub name: &'static str,
    /// How many notes are in after it.
    pub notes: usize,
}

/// Called after each stage.
#[derive(Default)]
struct Watcher(Option<Box<dyn FnMut(VaultStage) + Send>>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watcher").field(&self.0.is_some()).finish()
    }
}

impl VaultCache {
    pub(super) fn of(&mut self, vault: &Vault, text: &ScanText) -> Arc<Tallies> {
        self.hits.get_or_find(text, |text| vault.tally(text))
    }

    /// Calls `watcher` after each stage. The engine has no clock; the watcher may have one.
    pub fn watch(&mut self, watcher: impl FnMut(VaultStage) + Send + 'static) {
        self.watcher = Watcher(Some(Box::new(watcher)));
    }

    pub(super) fn report(&mut self, name: &'static str, notes: usize) {
        if let Watcher(Some(watcher)) = &mut self.watcher {
            watcher(VaultStage { name, notes });
        }
    }
}

/// How often a key occurs.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    any: u32,
    word: u32,
}

/// What is found in a text.
#[derive(Debug, Default)]
pub(super) struct Findings {
    counts: FxHashMap<PatternId, Count>,
    /// The folded text, where some key needs it.
    text: Option<String>,
}

impl Findings {
    pub(super) fn add(&mut self, tallies: &Tallies) {
        self.counts.reserve(tallies.len());
        for tally in tallies {
            let count = self.counts.entry(tally.pattern).or_default();
            count.any += tally.any;
            count.word += tally.word;
        }
    }

    pub(super) fn with_text(&mut self, text: String) {
        self.text = Some(text);
    }

    /// How often a key occurs.
    pub(super) fn occurrences(&self, vault: &Vault, probe: KeyProbe) -> u32 {
        match probe {
            KeyProbe::Never => 0,
            KeyProbe::Everything => 1,
            KeyProbe::Pattern { pattern, word } => {
                let count = self.counts.get(&pattern).copied().unwrap_or_default();
                if word { count.word } else { count.any }
            }
            KeyProbe::Across { literal } => {
                let text = self.text.as_deref().unwrap_or_default();
                u32::try_from(text.matches(vault.across(literal)).count()).unwrap_or(u32::MAX)
            }
        }
    }

    /// The notes with a key among what was found, in vault order. Some have only a key that is
    /// not a whole word here, so each must still be judged.
    pub(super) fn touched(&self, vault: &Vault) -> Vec<EntryIx> {
        let found = self.counts.keys().flat_map(|pattern| vault.keys.touched(*pattern));
        let mut touched: Vec<EntryIx> = found.chain(&vault.spanning).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

/// The windows of a turn.
pub(super) struct Windows<'a> {
    turn: VaultTurn<'a>,
    cache: &'a mut VaultCache,
    open: Vec<(u32, Findings)>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(turn: VaultTurn<'a>, cache: &'a mut VaultCache) -> Self {
        Self { turn, cache, open: Vec::new() }
    }

    /// What is found in the newest `depth` messages.
    pub(super) fn at(&mut self, depth: u32) -> &Findings {
        let known = self.open.iter().position(|(open, _)| *open == depth);
        let at = known.unwrap_or_else(|| {
            let findings = self.look(depth);
            self.open.push((depth, findings));
            self.open.len() - 1
        });
        &self.open[at].1
    }

    fn look(&mut self, depth: u32) -> Findings {
        let (vault, mut findings) = (self.turn.vault, Findings::default());
        let window = self.turn.window(depth);
        let found: Vec<Arc<Tallies>> =
            window.into_iter().map(|line| self.cache.of(vault, &line.scan)).collect();
        findings.counts.reserve(found.iter().map(|tallies| tallies.len()).sum());
        for tallies in &found {
            findings.add(tallies);
        }
        if vault.has_keys_across() {
            findings.with_text(vault.folding.apply(&self.text(depth)).into_owned());
        }
        findings
    }

    /// The text of the newest `depth` messages.
    pub(super) fn text(&self, depth: u32) -> String {
        self.turn.lines.text(depth, self.turn.rules.quirks.hidden_use_depth)
    }

    /// Reports a stage.
    pub(super) fn report(&mut self, name: &'static str, notes: usize) {
        self.cache.report(name, notes);
    }
}
