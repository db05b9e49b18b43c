//! Every verdict of random vaults, compared with a slow and obvious reading of the rules.
//!
//! The oracle below knows nothing of indexes, caches or stages that skip work: it counts words in
//! strings and keeps a list of the notes that are in. It covers keys, refine keys, warmup, chance 0,
//! delay, cascades, recursion, search by topic, folders, pins, blocks, requires, excludes and both
//! budgets. Which notes a text is about is asked of the search itself (`bm25` has its own tests);
//! what becomes of them is not.

use std::{cmp::Reverse, collections::BTreeMap};

use proptest::prelude::*;

use super::*;
use crate::{
    book::SelectiveLogic,
    dice::{Dice, Roll},
    library::EntryIx,
    report::Outcome,
    tokens::TokenCounter,
    turn::VaultContext,
    units::Tokens,
};

struct NoDice;

impl Dice for NoDice {
    fn roll(&mut self, _: Roll<'_>) -> f64 {
        panic!("nothing here is left to chance")
    }
}

/// A token for every word.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX))
    }
}

const VOCABULARY: [&str; 4] = ["bell", "rope", "mast", "sail"];

/// One random vault, chat and scene.
#[derive(Clone, Debug)]
struct World {
    notes: Vec<Note>,
    chat: Vec<String>,
    rules: VaultRules,
    scene: VaultContext,
}

fn words(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(&VOCABULARY[..]).prop_map(str::to_owned), 0..=most)
}

fn titles() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((0..7_u8).prop_map(|at| format!("N{at}")), 0..2)
}

fn any_note(at: usize) -> impl Strategy<Value = Note> {
    let logic = prop::sample::select(
        &[
            SelectiveLogic::AndAny,
            SelectiveLogic::AndAll,
            SelectiveLogic::NotAny,
            SelectiveLogic::NotAll,
        ][..],
    );
    let matching =
        (words(2), words(2), logic, prop::option::of(1..4_u8), prop::option::of(0..4_u8));
    let relations = (titles(), titles(), titles());
    let rest = (
        prop::bool::weighted(0.15),
        prop::option::weighted(0.2, prop::sample::select(&[0.0, 1.0][..])),
        prop::option::weighted(0.2, 1..6_u32),
        prop::sample::select(&[50.0, 100.0][..]),
        prop::sample::select(&["", "Sea/", "Land/"][..]),
        (words(2), 0..7_usize, prop::bool::weighted(0.2)),
    );
    (matching, relations, rest).prop_map(move |(matching, relations, rest)| {
        let (constant, probability, delay, priority, folder, size) = rest;
        let mut note = Note::new("", &format!("{folder}N{at}.md"), &format!("N{at}"));
        (note.keys, note.refine.keys, note.refine.logic) = (matching.0, matching.1, matching.2);
        note.warmup = matching.3.map(f64::from);
        note.scan_depth = matching.4.map(f64::from);
        (note.relations.requires, note.relations.excludes, note.relations.cascade) = relations;
        (note.kind.constant, note.probability, note.delay) = (constant, probability, delay);
        let (said, size, excluded) = size;
        (note.priority, note.exclude_recursion) = (priority, excluded);
        note.content = format!("{} {}", said.join(" "), "word ".repeat(size + 1));
        note
    })
}

fn world() -> impl Strategy<Value = World> {
    let notes: Vec<_> = (0..6).map(any_note).collect();
    let mark = || {
        prop::collection::vec(
            (0..7_u8).prop_map(|at| NoteMark { title: format!("N{at}"), vault: None }),
            0..2,
        )
    };
    let chat = prop::collection::vec(words(3).prop_map(|words| words.join(" ")), 1..5);
    let folders = prop::bool::ANY;
    let limits = (prop::option::of(1..5_u32), prop::option::of(1..14_u32));
    let ways = (prop::option::of(1..3_u32), prop::bool::ANY);
    (notes, chat, mark(), mark(), folders, (limits, ways)).prop_map(
        |(notes, chat, pins, blocks, folders, ((entries, tokens), (steps, fuzzy)))| {
            let mut rules = VaultRules::default();
            (rules.keys.depth, rules.keys.names) = (2, false);
            rules.recursion.enabled = steps.is_some();
            rules.recursion.steps = steps.unwrap_or_default();
            (rules.fuzzy.enabled, rules.fuzzy.min_score) = (fuzzy, 0.0);
            rules.budget.entries = entries;
            rules.budget.tokens = tokens.map(Tokens);
            let folders = if folders { vec!["Sea".to_owned()] } else { Vec::new() };
            let scene = VaultContext { folders, pins, blocks, ..VaultContext::default() };
            World { notes, chat, rules, scene }
        },
    )
}

/// The verdict of each note by the engine.
fn engine(world: &World) -> BTreeMap<String, &'static str> {
    let World { notes, chat, rules, scene } = world;
    let vault = Vault::compile(notes.clone(), rules);
    let mut lines = Lines::default();
    for text in chat {
        lines.push("Ann", text, true, true);
    }
    let state = VaultState::default();
    let turn = VaultTurn::new(&vault, rules, &state, &lines, scene);
    let (mut dice, mut cache) = (NoDice, VaultCache::default());
    let matches = find(turn, &mut dice, &mut cache);
    let picks = (matches.picks.clone(), Vec::new());
    let report = turn.decide(
        matches,
        picks,
        &mut VaultTools { counter: &Words, dice: &mut dice, cache: &mut cache, rendering: None },
    );
    let mut codes = BTreeMap::new();
    for verdict in &report.verdicts {
        let code = match &verdict.outcome {
            Outcome::Activated { .. } => "activated",
            Outcome::Stopped(stop) => stop.code(),
        };
        assert_eq!(codes.insert(verdict.title.clone(), code), None, "one verdict for each note");
    }
    let is_open = |ix: &EntryIx| !codes.contains_key(&vault.note(*ix).title);
    let open: Vec<EntryIx> = vault.entries().filter(is_open).collect();
    let stops = judge_untouched(turn, &open, &mut cache);
    codes.extend(
        open.iter().zip(stops).map(|(ix, stop)| (vault.note(*ix).title.clone(), stop.code())),
    );
    codes
}

/// The same by the rules alone.
struct Oracle<'a> {
    world: &'a World,
    inside: Vec<usize>,
    /// The scores of notes that are in by their topic, as bits: positive numbers sort as these do.
    scores: Vec<Option<Reverse<u64>>>,
    codes: Vec<Option<&'static str>>,
}

/// Later rules count more.
const ORDER: [&str; 6] =
    ["delay", "recursion_limit", "excluded_from_recursion", "secondary", "warmup", "chance"];

fn occurrences(key: &str, texts: &[String]) -> u32 {
    let count = |text: &String| u32::try_from(text.matches(key).count()).unwrap_or(u32::MAX);
    texts.iter().map(count).sum()
}

impl Oracle<'_> {
    fn note(&self, at: usize) -> &Note {
        &self.world.notes[at]
    }

    fn depth(&self, at: usize) -> usize {
        let whole = |depth: f64| (0..9_u32).rev().find(|&one| f64::from(one) <= depth);
        let own =
            self.note(at).scan_depth.and_then(whole).and_then(|one| usize::try_from(one).ok());
        own.unwrap_or(2)
    }

    /// The messages that a note looks into.
    fn window(&self, depth: usize) -> &[String] {
        let chat = &self.world.chat;
        &chat[chat.len().saturating_sub(depth)..]
    }

    fn stop(&mut self, at: usize, code: &'static str) {
        let rank = |code: &str| ORDER.iter().position(|one| *one == code).unwrap_or(ORDER.len());
        if self.codes[at].is_none_or(|known| rank(code) > rank(known)) {
            self.codes[at] = Some(code);
        }
    }

    /// Whether a note's own rules let it in. `texts` are what its keys are looked for in; none
    /// if keys do not matter.
    fn lets_in(&self, at: usize, texts: Option<&[String]>) -> Result<(), &'static str> {
        let note = self.note(at);
        if note.delay.is_some_and(|delay| self.world.chat.len() < delay as usize) {
            return Err("delay");
        }
        if let Some(texts) = texts {
            let refine = &note.refine.keys;
            let found = refine.iter().filter(|key| occurrences(key, texts) > 0).count();
            let holds = refine.is_empty()
                || match note.refine.logic {
                    SelectiveLogic::AndAny | SelectiveLogic::Unknown => found > 0,
                    SelectiveLogic::AndAll => found == refine.len(),
                    SelectiveLogic::NotAny => found == 0,
                    SelectiveLogic::NotAll => found < refine.len(),
                };
            if !holds {
                return Err("secondary");
            }
            let said: u32 = note.keys.iter().map(|key| occurrences(key, texts)).sum();
            if note.warmup.is_some_and(|needed| f64::from(said) < needed) {
                return Err("warmup");
            }
        }
        if note.probability == Some(0.0) { Err("chance") } else { Ok(()) }
    }

    fn matching(&mut self) {
        let count = self.world.notes.len();
        for at in (0..count).filter(|at| self.world.notes[*at].kind.constant) {
            let delay = self.note(at).delay.is_some_and(|d| self.world.chat.len() < d as usize);
            if delay { self.stop(at, "delay") } else { self.inside.push(at) }
        }
        for at in (0..count).filter(|at| !self.world.notes[*at].kind.constant) {
            let window = self.window(self.depth(at)).to_vec();
            if self.note(at).keys.iter().any(|key| occurrences(key, &window) > 0) {
                self.admit(at, Some(&window));
            }
        }
        for source in self.inside.clone() {
            for title in self.note(source).relations.cascade.clone() {
                let target = self.world.notes.iter().position(|note| note.title == title);
                if let Some(at) = target.filter(|at| !self.inside.contains(at)) {
                    self.admit(at, None);
                }
            }
        }
    }

    fn admit(&mut self, at: usize, texts: Option<&[String]>) {
        match self.lets_in(at, texts) {
            Ok(()) => self.inside.push(at),
            Err(code) => self.stop(at, code),
        }
    }

    /// The texts of the notes that came in last, and the notes that they name.
    fn named_since(&self, newest: usize) -> (Vec<String>, Vec<usize>) {
        let sources = self.inside[newest..].iter().map(|at| self.note(*at));
        let sources = sources.filter(|note| !note.exclude_recursion);
        let texts: Vec<String> = sources.map(|note| note.content.clone()).collect();
        let is_named = |at: &usize| {
            let note = self.note(*at);
            let open = !note.kind.constant && !self.inside.contains(at);
            open && note.keys.iter().any(|key| occurrences(key, &texts) > 0)
        };
        let named = (0..self.world.notes.len()).filter(is_named).collect();
        (texts, named)
    }

    fn recursion(&mut self) {
        if !self.world.rules.recursion.enabled {
            return;
        }
        let mut newest = 0;
        for _ in 0..self.world.rules.recursion.steps {
            let (texts, named) = self.named_since(newest);
            newest = self.inside.len();
            for at in named {
                let delayed = self.lets_in(at, None) == Err("delay");
                if self.note(at).exclude_recursion && !delayed {
                    self.stop(at, "excluded_from_recursion");
                } else if self.lets_in(at, Some(&texts)) == Err("warmup")
                    && self.lets_in(at, None) == Err("chance")
                {
                    // Here the dice come first.
                    self.stop(at, "chance");
                } else {
                    self.admit(at, Some(&texts));
                }
            }
            if self.inside.len() == newest {
                return;
            }
        }
        for at in self.named_since(newest).1 {
            let excluded = self.note(at).exclude_recursion;
            self.stop(at, if excluded { "excluded_from_recursion" } else { "recursion_limit" });
        }
    }

    /// Notes that the newest messages are about.
    fn topic(&mut self) {
        let World { notes, rules, .. } = self.world;
        let vault = Vault::compile(notes.clone(), rules);
        let Some(search) = vault.search() else { return };
        let text = self.window(rules.keys.depth as usize).join("\n");
        for found in search.query(&text, rules.fuzzy.most, rules.fuzzy.min_score) {
            let at = found.ix.0 as usize;
            if !self.inside.contains(&at) {
                let window = self.window(self.depth(at)).to_vec();
                self.scores[at] = Some(Reverse(found.score.to_bits()));
                self.admit(at, Some(&window));
            }
        }
    }

    fn is_marked(&self, at: usize, marks: &[NoteMark]) -> bool {
        marks.iter().any(|mark| mark.title == self.note(at).title)
    }

    fn is_exempt(&self, at: usize) -> bool {
        self.note(at).kind.constant || self.is_marked(at, &self.world.scene.pins)
    }

    /// Takes out every note that a rule stops.
    fn take_out(&mut self, code: &'static str, is_out: impl Fn(&Self, usize) -> bool) {
        for at in self.inside.clone() {
            if is_out(self, at) {
                self.inside.retain(|one| *one != at);
                self.codes[at] = Some(code);
            }
        }
    }

    fn scene(&mut self) {
        let World { scene, notes, .. } = self.world;
        self.take_out("folder", |own, at| {
            let path = &own.note(at).path;
            let outside = path.contains('/') && !path.starts_with("Sea/");
            !scene.folders.is_empty() && outside && !own.is_exempt(at)
        });
        for at in 0..notes.len() {
            if self.is_marked(at, &scene.pins) && !self.inside.contains(&at) {
                self.inside.push(at);
            }
        }
        self.take_out("blocked", |own, at| own.is_marked(at, &scene.blocks));
    }

    fn importance(&self, at: usize) -> (u64, Option<Reverse<u64>>, usize) {
        let pinned = self.is_marked(at, &self.world.scene.pins);
        let priority = if pinned { 10.0 } else { self.note(at).priority };
        (priority.to_bits(), self.scores[at], at)
    }

    fn relations(&mut self) {
        loop {
            // The least important first; of equals, the first title.
            let mut order = self.inside.clone();
            order.sort_by_key(|&at| {
                let (priority, _, title) = self.importance(at);
                (Reverse(priority), title)
            });
            let mut changed = false;
            for at in order {
                let here =
                    |title: &String| self.inside.iter().any(|one| self.note(*one).title == *title);
                let relations = &self.note(at).relations;
                let code = if self.is_exempt(at) {
                    None
                } else if !relations.requires.iter().all(here) {
                    Some("requires")
                } else {
                    relations.excludes.iter().any(here).then_some("excludes")
                };
                if let Some(code) = code {
                    self.inside.retain(|one| *one != at);
                    self.codes[at] = Some(code);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn budget(&mut self) {
        let budget = self.world.rules.budget;
        let limit = budget.tokens.map_or(u32::MAX, |tokens| tokens.0);
        let (mut used, mut sent) = (0, 0);
        let mut order = self.inside.clone();
        order.sort_by_key(|&at| self.importance(at));
        for at in order {
            let size = Words.count(&self.note(at).content).0;
            let fits = used + size <= limit;
            self.codes[at] = Some(if budget.entries.is_some_and(|most| sent >= most) {
                "max_entries"
            } else if fits || sent == 0 {
                used += if fits { size } else { 0 };
                sent += 1;
                "activated"
            } else if size > limit {
                "over_budget"
            } else {
                "budget"
            });
        }
    }

    /// Why nothing touched a note.
    fn untouched(&self, at: usize) -> &'static str {
        let keys = &self.note(at).keys;
        if keys.is_empty() {
            return "no_keys";
        }
        let said = |text: &&String| keys.iter().any(|key| text.contains(key.as_str()));
        let back = self.world.chat.iter().rev().position(|text| said(&text));
        match back {
            Some(back) if back >= self.depth(at) => "out_of_reach",
            Some(_) | None => "no_key_found",
        }
    }
}

fn oracle(world: &World) -> BTreeMap<String, &'static str> {
    let count = world.notes.len();
    let mut own =
        Oracle { world, inside: Vec::new(), scores: vec![None; count], codes: vec![None; count] };
    own.matching();
    own.recursion();
    own.topic();
    own.scene();
    own.relations();
    own.budget();
    let code = |at: usize| own.codes[at].unwrap_or_else(|| own.untouched(at));
    (0..count).map(|at| (own.note(at).title.clone(), code(at))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_verdict_is_the_one_of_the_obvious_reading(world in world()) {
        prop_assert_eq!(engine(&world), oracle(&world));
    }
}
