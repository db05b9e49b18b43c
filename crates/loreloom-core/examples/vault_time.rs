//! How long does a vault take to decide a turn?
//!
//! `cargo run --release -p loreloom-core --example vault_time [NOTES]`
//!
//! Generated notes and a generated chat of 50 messages, 20 KB: words of three or four
//! syllables, two words in a hundred the title of a note.

use std::{
    env,
    error::Error,
    io::Write as _,
    time::{Duration, Instant},
};

use loreloom_core::{
    dice::TurnDice,
    ids::ChatId,
    vault::{Lines, Note, Vault, VaultCache, VaultRules, VaultState, bm25::Bm25, find},
};

const SYLLABLES: [&str; 16] = [
    "ka", "ro", "mi", "len", "tor", "sha", "vel", "dun", "pri", "oss", "ger", "ith", "na", "bre",
    "fal", "quo",
];

/// mulberry32.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6d2b_79f5);
        let mut value = (self.0 ^ (self.0 >> 15)).wrapping_mul(self.0 | 1);
        value ^= value.wrapping_add((value ^ (value >> 7)).wrapping_mul(value | 0x3d));
        f64::from(value ^ (value >> 14)) / 4_294_967_296.0
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `count`")]
    fn below(&mut self, count: u32) -> usize {
        (self.next() * f64::from(count)) as usize
    }

    fn word(&mut self) -> String {
        let syllables = 3 + self.below(2);
        (0..syllables).map(|_| SYLLABLES[self.below(16)]).collect()
    }
}

fn notes(count: u32) -> (Vec<Note>, Vec<String>) {
    let mut random = Random(42);
    let vocabulary: Vec<String> = (0..20_000).map(|_| random.word()).collect();
    let notes = (0..count).map(|at| note(&mut random, &vocabulary, at)).collect();
    (notes, vocabulary)
}

fn note(random: &mut Random, vocabulary: &[String], at: u32) -> Note {
    let name = format!("{}{at:x}", random.word());
    let title = name[..1].to_uppercase() + &name[1..];
    let mut note = Note::new("", &format!("{title}.md"), &title);
    let pair = format!("{} {}", random.word(), random.word());
    let third = if random.next() < 0.15 {
        vocabulary[random.below(20_000)].clone()
    } else {
        random.word() + &random.word()
    };
    note.keys = vec![name, pair, third];
    let words: Vec<&str> = (0..120).map(|_| vocabulary[random.below(20_000)].as_str()).collect();
    note.content = words.join(" ") + ".";
    note.priority = f64::from(u32::try_from(random.below(100)).unwrap_or_default() + 1);
    note
}

fn chat(notes: &[Note], vocabulary: &[String]) -> Lines {
    let mut random = Random(7);
    let count = u32::try_from(notes.len()).unwrap_or(u32::MAX);
    let mut lines = Lines::default();
    for at in 0..50 {
        let mut text = String::new();
        while text.len() < 400 {
            if !text.is_empty() {
                text.push(' ');
            }
            if random.next() < 0.02 {
                text.push_str(&notes[random.below(count)].title);
            } else {
                text.push_str(&vocabulary[random.below(20_000)]);
            }
        }
        lines.push(if at % 2 == 0 { "User" } else { "Bot" }, &text, at % 2 == 0, true);
    }
    lines
}

/// The best and the median of 31 runs.
fn timed<T>(mut run: impl FnMut() -> T) -> (Duration, Duration, T) {
    let mut result = run();
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        result = run();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    (times[0], times[15], result)
}

fn main() -> Result<(), Box<dyn Error>> {
    let count: u32 = env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    let (notes, vocabulary) = notes(count);
    let lines = chat(&notes, &vocabulary);
    let out = &mut std::io::stdout();
    let mut rules = VaultRules::default();
    rules.keys.depth = 50;
    let start = Instant::now();
    let vault = Vault::compile(notes.iter().cloned(), &rules);
    writeln!(out, "{count} notes: compiled in {:.1?}", start.elapsed())?;
    let state = VaultState::default();
    for (name, whole_words, recursion, cold) in [
        ("keys, every message new", false, false, true),
        ("keys, whole words, every message new", true, false, true),
        ("keys, messages known", false, false, false),
        ("with recursion, every message new", true, true, true),
        ("with recursion, messages known", true, true, false),
    ] {
        rules.keys.whole_words = whole_words;
        rules.recursion.enabled = recursion;
        let vault = Vault::compile(notes.iter().cloned(), &rules);
        let mut cache = VaultCache::default();
        let (best, median, found) = timed(|| {
            if cold {
                cache = VaultCache::default();
            }
            let mut dice = TurnDice::at(1, &ChatId::from("chat"), None);
            find(&vault, &lines, None, &state, &rules, (&mut dice, &mut cache)).picks.len()
        });
        writeln!(out, "{name}: best {best:.1?}, median {median:.1?} ({found} notes)")?;
    }
    drop(vault);
    let texts: Vec<String> = notes
        .iter()
        .map(|note| format!("{} {} {}", note.title, note.keys.join(" "), note.content))
        .collect();
    let (best, median, mut index) = timed(|| {
        let mut index = Bm25::default();
        index.add_all(texts.iter().map(String::as_str));
        index
    });
    writeln!(out, "full text, built: best {best:.1?}, median {median:.1?}")?;
    let query = lines.text(50, false);
    let (best, median, found) = timed(|| index.query(&query, 20, 0.5).len());
    writeln!(
        out,
        "full text, {} bytes asked: best {best:.1?}, median {median:.1?} ({found})",
        query.len()
    )?;
    let (best, median, ()) = timed(|| {
        let doc = index.add(&texts[0]);
        index.remove(doc, &texts[0]);
    });
    writeln!(out, "full text, one note changed: best {best:.1?}, median {median:.1?}")?;
    Ok(())
}
