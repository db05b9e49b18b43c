//! What is found in the chat, by how far back one looks.
//!
//! Messages are scanned one by one and remembered by their text; a window adds up what its
//! messages hold. Only keys that contain a line end need the joined text.

use std::{fmt, sync::Arc};

use rustc_hash::FxHashMap;

use super::{Lines, Vault, index::KeyProbe};
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

/// A stage of a turn that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// How many notes are in after it.
    pub notes: usize,
}

/// Whoever is told of stages as they are done.
#[derive(Default)]
struct Watcher(Option<Box<dyn FnMut(Stage) + Send>>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watcher(there)" } else { "Watcher(none)" })
    }
}

impl VaultCache {
    pub(super) fn of(&mut self, vault: &Vault, text: &ScanText) -> Arc<Tallies> {
        self.hits.get_or_find(text, |text| vault.tally(text))
    }

    /// Tells `watcher` of every stage as it is done. The engine has no clock; who watches may.
    pub fn watch(&mut self, watcher: impl FnMut(Stage) + Send + 'static) {
        self.watcher = Watcher(Some(Box::new(watcher)));
    }

    pub(super) fn tell(&mut self, name: &'static str, notes: usize) {
        if let Watcher(Some(watcher)) = &mut self.watcher {
            watcher(Stage { name, notes });
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

    /// The notes with a key among what was found, in vault order. Some have only a key that
    /// is not a whole word here: each is still to be judged.
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
    vault: &'a Vault,
    lines: &'a Lines,
    hidden_use_depth: bool,
    cache: &'a mut VaultCache,
    open: Vec<(u32, Findings)>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(
        vault: &'a Vault,
        lines: &'a Lines,
        hidden_use_depth: bool,
        cache: &'a mut VaultCache,
    ) -> Self {
        Self { vault, lines, hidden_use_depth, cache, open: Vec::new() }
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
        let vault = self.vault;
        let mut findings = Findings::default();
        let window = self.lines.window(depth, self.hidden_use_depth);
        let found: Vec<Arc<Tallies>> =
            window.into_iter().map(|line| self.cache.of(vault, &line.scan)).collect();
        findings.counts.reserve(found.iter().map(|tallies| tallies.len()).sum());
        for tallies in &found {
            findings.add(tallies);
        }
        if vault.has_keys_across() {
            let text = self.lines.text(depth, self.hidden_use_depth);
            findings.with_text(vault.folding.apply(&text).into_owned());
        }
        findings
    }

    /// Tells of a stage that is done.
    pub(super) fn tell(&mut self, name: &'static str, notes: usize) {
        self.cache.tell(name, notes);
    }

    /// The text of the newest `depth` messages.
    pub(super) fn text(&self, depth: u32) -> String {
        self.lines.text(depth, self.hidden_use_depth)
    }
}
