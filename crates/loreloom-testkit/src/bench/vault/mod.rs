//! Vaults: CPU time per turn against DeepLore, and the time until a folder, or a change in it, is
//! read.
//!
//! DeepLore's figures are CPU milliseconds of 2.0.2 under Node 20 on a machine of this kind,
//! with inputs made by the same rule; ours are medians of the same run.

mod folder;
mod story;

use std::time::Duration;

use loreloom_core::{
    bm25::Bm25,
    dialects::vault::{Lines, Vault, VaultCache, VaultRules, VaultState, VaultTurn, find},
    dice::TurnDice,
    ids::ChatId,
    turn::VaultContext,
};

use self::story::{World, lines};
use super::figure::{Figure, median_micros};

const LIMIT: Duration = Duration::from_secs(1);

/// DeepLore's recorded CPU milliseconds for a number of notes and a chat.
struct Recorded {
    notes: u32,
    messages: usize,
    bytes: usize,
    substring: f64,
    whole_words: f64,
    recursion: f64,
    search_build: f64,
    search_query: f64,
}

const RECORDED: [Recorded; 3] = [
    recorded(1000, (4, 2_000), (4.1, 5.7, 104.0), (116.0, 18.0)),
    recorded(10_000, (4, 2_000), (38.0, 110.0, 5_575.0), (1_282.0, 196.0)),
    recorded(10_000, (50, 20_000), (374.0, 1_467.0, 12_521.0), (1_669.0, 1_768.0)),
];

const fn recorded(
    notes: u32,
    (messages, bytes): (usize, usize),
    (substring, whole_words, recursion): (f64, f64, f64),
    (search_build, search_query): (f64, f64),
) -> Recorded {
    Recorded {
        notes,
        messages,
        bytes,
        substring,
        whole_words,
        recursion,
        search_build,
        search_query,
    }
}

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    for recorded in &RECORDED {
        let world = World::new(recorded.notes);
        let chat = lines(&world.chat(recorded.messages, recorded.bytes));
        keys(recorded, &world, &chat, print);
        search(recorded, &world, &chat, print);
    }
    folder::run(print)
}

/// The keyword stage: with every message new, which is the worst case, and at the next turn of a
/// chat.
fn keys(recorded: &Recorded, world: &World, chat: &Lines, print: &mut dyn FnMut(Figure)) {
    let (state, context) = (VaultState::default(), VaultContext::default());
    for (mode, whole_words, recursion, theirs) in [
        ("keys", false, false, recorded.substring),
        ("whole words", true, false, recorded.whole_words),
        ("recursion", true, true, recorded.recursion),
    ] {
        let mut rules = VaultRules::default();
        rules.keys.depth = u32::try_from(recorded.messages).unwrap_or(u32::MAX);
        rules.keys.whole_words = whole_words;
        rules.recursion.enabled = recursion;
        let vault = Vault::compile(world.notes.iter().cloned(), &rules);
        let found = |cache: &mut VaultCache| {
            let mut dice = TurnDice::at(1, &ChatId::from("chat"), None);
            let turn = VaultTurn::new(&vault, &rules, &state, chat, &context);
            find(turn, &mut dice, cache).picks.len()
        };
        let matched = found(&mut VaultCache::default());
        let cold = median_micros(LIMIT, || found(&mut VaultCache::default()));
        let name =
            format!("{} x {} {mode}, {matched} match", recorded.notes, kilobytes(recorded.bytes));
        let times = |micros: f64| theirs * 1000.0 / micros;
        let figure = Figure::new(&name, cold, "µs");
        print(figure.against(times(cold), "times DeepLore's CPU time"));
        let mut cache = VaultCache::default();
        let known = median_micros(LIMIT, || found(&mut cache));
        let figure = Figure::new(format!("{name}, messages known"), known, "µs");
        print(figure.against(times(known), "times DeepLore's CPU time"));
    }
}

fn search(recorded: &Recorded, world: &World, chat: &Lines, print: &mut dyn FnMut(Figure)) {
    let texts: Vec<String> = world
        .notes
        .iter()
        .map(|note| format!("{} {} {}", note.title, note.keys.join(" "), note.content))
        .collect();
    let build = || {
        let mut index = Bm25::default();
        index.add_all(texts.iter().map(String::as_str));
        index
    };
    let built = median_micros(LIMIT, build) / 1000.0;
    let name = format!("BM25 build, {} notes", recorded.notes);
    let figure = Figure::new(name, built, "ms");
    print(figure.against(recorded.search_build / built, "times DeepLore's CPU time"));
    let mut index = build();
    let depth = u32::try_from(recorded.messages).unwrap_or(u32::MAX);
    let text = chat.text(depth, false);
    let asked = median_micros(LIMIT, || index.query(&text, 20, 0.5).len());
    let name = format!("BM25 query, {} x {}", recorded.notes, kilobytes(recorded.bytes));
    let figure = Figure::new(name, asked, "µs");
    print(figure.against(recorded.search_query * 1000.0 / asked, "times DeepLore's CPU time"));
    let changed = median_micros(LIMIT, || {
        let doc = index.add(&texts[0]);
        index.remove(doc, &texts[0]);
        if index.wants_compaction() {
            index.compact();
        }
    });
    let name = format!("BM25, one of {} notes changed", recorded.notes);
    print(Figure::new(name, changed, "µs"));
}

fn kilobytes(bytes: usize) -> String {
    format!("{}k", bytes / 1000)
}
