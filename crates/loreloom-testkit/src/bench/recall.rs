//! How fast passages are recalled, and what memory adds to a turn.
//!
//! Stories are made from a fixed seed: words as often as in real text (the n-th word one
//! n-th as often as the first), turns of 8 to 40 words, two speakers.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::{
    recall::{Passage, PassageIndex, PassageQuery, Weights},
    service::{MemoryServices, NewMemory, Options, Ports, TableVectors, TurnRequest, Who},
    text::QuarterEstimate,
};
use loreloom_ports::{Clock, Owner, StoryStore as _, Vector};
use loreloom_store::SqliteStore;

use super::figure::{Figure, median_micros};
use crate::store_suite::Checked;

/// Turns, and the most a query over them may take, in milliseconds.
const SIZES: [(usize, f64); 2] = [(700, 5.0), (100_000, 25.0)];
/// Messages and memories of the turn that is measured.
const MESSAGES: usize = 10_000;
const MEMORIES: usize = 200;
/// Sentences that are embedded between two looks at the clock.
const SENTENCES: u32 = 100;
const LIMIT: Duration = Duration::from_secs(2);

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let embedder = StaticEmbedder::embedded();
    let embed = |text: &str| -> Vector { embedder.embed_one(text) };
    let sentence = "She set the lantern down beside the ledger and asked who had moved the bell.";
    // Reading the time of a thread takes longer than embedding one sentence.
    let taken = median_micros(LIMIT / 4, || {
        for _ in 0..SENTENCES {
            std::hint::black_box(embedder.embed_one(std::hint::black_box(sentence)));
        }
    });
    let each = taken / f64::from(SENTENCES);
    print(Figure::new("embedding a sentence of 14 words", each, "µs"));
    for (turns, most) in SIZES {
        let mut made = Made(turns as u64);
        let texts: Vec<String> = (0..turns).map(|_| made.turn()).collect();
        let mut index = PassageIndex::new([]);
        let start = cpu_time::ThreadTime::now();
        for (at, text) in texts.iter().enumerate() {
            let speaker = Some(if at.is_multiple_of(2) { "Mira" } else { "Torvald" });
            index.push(Passage { speaker, text, stretch: 0, by_player: false }, Some(&embed));
        }
        let each = start.elapsed().as_secs_f64() * 1e6
            / f64::from(u32::try_from(turns).unwrap_or(u32::MAX));
        print(Figure::new(format!("adding one of {turns} turns"), each, "µs"));
        let questions: Vec<String> = (0..16).map(|_| made.question()).collect();
        let mut next = questions.iter().cycle();
        let taken = median_micros(LIMIT, || {
            let question = next.next().map_or("", String::as_str);
            index.search(PassageQuery::new(question, 10), &Weights::default(), Some(&embed))
        });
        let taken = taken / 1000.0;
        let figure = Figure::new(format!("one query over {turns} turns"), taken, "ms");
        print(figure.against(taken / most, format!("of the limit of {most} ms")));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    turn(&runtime, print).map_err(|error| error.to_string())
}

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1)
    }
}

/// What memory takes of a turn, over SQLite, with everything read before.
fn turn(runtime: &tokio::runtime::Runtime, print: &mut dyn FnMut(Figure)) -> Checked {
    let directory = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(directory.path().join("stories.sqlite"))?);
    let ports = Ports {
        story: store.clone(),
        log: store.clone(),
        jobs: store.clone(),
        clock: Arc::new(Still),
        table: Some(TableVectors::english(|text| StaticEmbedder::embedded().embed_one(text))),
        embedder: None,
    };
    let service = MemoryServices::new(&ports, Options::default());
    let (tenant, chat) = (TenantId::local(), ChatId::from("bench"));
    let mut made = Made(7);
    let message = |at: usize, text: String| {
        let (role, name) =
            if at.is_multiple_of(2) { (Role::User, "Mira") } else { (Role::Assistant, "Torvald") };
        Message::new(role, Some(name), text)
    };
    let messages: Vec<Message> = (0..=MESSAGES).map(|at| message(at, made.turn())).collect();
    let path = Path::of(chat.clone(), messages);
    let who = Who::named("Torvald");
    runtime.block_on(async {
        store.open_chat(&tenant, &chat, "Bench", Timestamp(0)).await?;
        let owner = Owner::Character("Torvald".into());
        for _ in 0..MEMORIES {
            let new = NewMemory { content: made.turn(), ..NewMemory::default() };
            service.edits.add(&tenant, &owner, new).await?;
        }
        Checked::Ok(())
    })?;
    let asked = TurnRequest {
        tenant: &tenant,
        chat: &chat,
        path: path.items(),
        speaker: &who,
        group: &[],
        seen_from: MESSAGES - 20,
        cap: None,
        settings: None,
        counter: &QuarterEstimate,
        embed_within: Duration::ZERO,
    };
    let start = cpu_time::ThreadTime::now();
    runtime.block_on(service.recall.for_turn(&asked))?;
    let first = start.elapsed().as_secs_f64() * 1e3;
    let name = format!("the first turn over {MESSAGES} messages");
    print(Figure::new(name, first, "ms"));
    let mut times = Vec::new();
    for _ in 0..200 {
        // What this thread computes; the store's own threads are waited for and not counted.
        let start = cpu_time::ThreadTime::now();
        runtime.block_on(service.recall.for_turn(&asked))?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let name = format!("a turn over {MESSAGES} messages, {MEMORIES} memories");
    print(Figure::new(format!("{name}, p50"), times[times.len() / 2], "ms"));
    print(Figure::new(format!("{name}, p99"), times[times.len() * 99 / 100], "ms"));
    Ok(())
}

/// Words from a fixed seed.
struct Made(u64);

impl Made {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A word, common ones more often: of about 12,000.
    fn word(&mut self) -> String {
        const PARTS: [&str; 16] = [
            "ba", "den", "fo", "gar", "hu", "jol", "ke", "lan", "mi", "nor", "pe", "rus", "sa",
            "tin", "vo", "zel",
        ];
        let octave = self.next() % 14;
        let mut rank = (1 << octave) + self.next() % (1 << octave);
        let mut word = String::new();
        while rank > 0 {
            word.push_str(PARTS[usize::try_from(rank % 16).unwrap_or(0)]);
            rank /= 16;
        }
        word
    }

    fn turn(&mut self) -> String {
        let count = 8 + self.next() % 33;
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        format!("{}.", words.join(" "))
    }

    fn question(&mut self) -> String {
        let words: Vec<String> = (0..8).map(|_| self.word()).collect();
        format!("What about {}?", words.join(" "))
    }
}
