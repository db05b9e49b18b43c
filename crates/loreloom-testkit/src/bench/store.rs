//! How fast the SQLite store commits turns and reads long paths.
//!
//! A commit waits for the disk. So between commits a bare append of as many bytes is timed, too:
//! the ratio is meaningful on a slow or shared disk as well.

#![expect(clippy::cast_precision_loss, reason = "figures are printed with three digits")]

use std::{
    fs::File,
    io::Write,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;
use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    state::StateDelta,
    units::Timestamp,
};
use loreloom_ports::StoryStore;
use loreloom_store::SqliteStore;

use super::figure::Figure;
use crate::store_suite::{Checked, Failure, fixture};

/// Replies made to each message before the story goes on with the last.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    messages: usize,
    swipes: u64,
}

const SHAPES: [Shape; 3] = [
    Shape { name: "straight", messages: 5000, swipes: 1 },
    Shape { name: "every reply swiped once", messages: 5000, swipes: 2 },
    Shape { name: "every reply swiped four times", messages: 5000, swipes: 5 },
];

/// The most a commit may take, at the 99th of 100, in milliseconds.
const COMMIT: f64 = 2.0;
/// The least turns that must be stored in a second.
const RATE: f64 = 500.0;
/// The most that loading the state of a long path may take, in milliseconds.
const STATE: f64 = 5.0;
/// The most that a chat of a thousand turns may take on disk, in megabytes.
const SIZE: f64 = 20.0;

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(measure(print)).map_err(|error| error.to_string())
}

async fn measure(print: &mut dyn FnMut(Figure)) -> Checked {
    let directory = tempfile::tempdir()?;
    commits(&directory.path().join("commits.sqlite"), print).await?;
    together(&directory.path().join("together.sqlite"), print).await?;
    for shape in SHAPES {
        let file = directory.path().join(format!("{} {}.sqlite", shape.name, shape.messages));
        let store = SqliteStore::open(&file)?;
        let path = build(&store, shape).await?;
        drop(store);
        reads(&file, shape, &path, print).await?;
    }
    Ok(())
}

async fn build(store: &SqliteStore, shape: Shape) -> Result<Path, Failure> {
    let (tenant, chat) = (TenantId::local(), ChatId::from("long"));
    store.open_chat(&tenant, &chat, "Long", Timestamp(0)).await?;
    let mut path = Path::new(chat.clone());
    while path.items().len() < shape.messages {
        let number = path.items().len() as u64;
        path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
        let asked = path.clone();
        for swipe in 0..shape.swipes {
            let mut turn = fixture::turn(&asked, delta(number), 1);
            turn.prompt.clear();
            let id = store.commit_turn(&tenant, &asked, &turn, None).await?.id;
            path = asked.clone();
            path.push(fixture::said(Role::Assistant, &fixture::prose(number * 7 + swipe, 120)));
            let reply = fixture::reply(id, &path, 1).ok_or("a reply")?;
            store.commit_reply(&tenant, &chat, &reply).await?;
        }
    }
    Ok(path)
}

fn delta(number: u64) -> StateDelta {
    fixture::sticky(&format!("entry {}", number % 40), 5)
}

async fn reads(
    file: &std::path::Path,
    shape: Shape,
    path: &Path,
    print: &mut dyn FnMut(Figure),
) -> Checked {
    let (tenant, chat) = (TenantId::local(), path.chat());
    let (mut cold, mut warm, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..20 {
        let store = SqliteStore::open(file)?;
        for paths in [&mut cold, &mut warm] {
            let begun = Instant::now();
            let nodes = store.path(&tenant, chat, path.prefix()).await?;
            paths.push(begun.elapsed());
            if nodes.len() != path.items().len() {
                return Err(format!("the path has {} messages", nodes.len()).into());
            }
        }
        let begun = Instant::now();
        let _state = store.state(&tenant, path).await?;
        states.push(begun.elapsed());
    }
    let name = shape.name;
    print(figure(&format!("path of 5000, {name}: first time"), &mut cold, 50));
    print(figure(&format!("path of 5000, {name}: again"), &mut warm, 50));
    let states = figure(&format!("state of 5000, {name}"), &mut states, 50);
    let ratio = states.value / STATE;
    print(states.against(ratio, "of the limit of 5 ms"));
    Ok(())
}

/// The time to make as many bytes durable as a commit writes. Measured between commits, because a
/// shared disk changes from second to second.
struct Floor {
    log: PathBuf,
    logged: u64,
    bytes: Vec<u8>,
    file: File,
    times: Vec<Duration>,
}

impl Floor {
    fn new(database: &std::path::Path) -> Result<Self, Failure> {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        let file = File::create(database.with_extension("floor"))?;
        Ok(Self { log: log.into(), logged: 0, bytes: Vec::new(), file, times: Vec::new() })
    }

    /// Adds what the last commit wrote, as long as the log shows it.
    fn append(&mut self) -> Checked {
        let logged = self.log.metadata()?.len();
        if logged > self.logged {
            self.bytes.resize(usize::try_from(logged - self.logged)?, 7);
        }
        self.logged = logged;
        let begun = Instant::now();
        self.file.write_all(&self.bytes)?;
        self.file.sync_data()?;
        self.times.push(begun.elapsed());
        Ok(())
    }
}

/// Turns with reports of 30 verdicts and prompts that repeat the whole story.
async fn commits(database: &std::path::Path, print: &mut dyn FnMut(Figure)) -> Checked {
    let store = SqliteStore::open(database)?;
    let (tenant, chat) = (TenantId::local(), ChatId::from("commits"));
    store.open_chat(&tenant, &chat, "Commits", Timestamp(0)).await?;
    let mut floor = Floor::new(database)?;
    let mut path = Path::new(chat.clone());
    let (mut turns, mut replies) = (Vec::new(), Vec::new());
    let mut processor = Duration::ZERO;
    for number in 0..1000 {
        path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
        let turn = fixture::lively_turn(&path, number, 30);
        let (begun, busy) = (Instant::now(), ProcessTime::now());
        let id = store.commit_turn(&tenant, &path, &turn, None).await?.id;
        turns.push(begun.elapsed());
        processor += busy.elapsed();
        floor.append()?;
        path.push(fixture::said(Role::Assistant, &fixture::prose(number + 5000, 120)));
        let reply = fixture::reply(id, &path, 1).ok_or("a reply")?;
        let begun = Instant::now();
        store.commit_reply(&tenant, &chat, &reply).await?;
        replies.push(begun.elapsed());
    }
    let all: Duration = turns.iter().sum();
    let rate = 1000.0 / all.as_secs_f64();
    print(
        Figure::new("turns a second, one after the other", rate, "turns/s")
            .against(RATE / rate, "of the limit, 500 turns/s over ours"),
    );
    let bare = figure("bare append and sync, p50", &mut floor.times, 50);
    let typical = figure("turn commit, p50", &mut turns, 50);
    let ratio = typical.value / bare.value;
    print(typical.against(ratio, "of a bare append and sync of as many bytes"));
    let worst = figure("turn commit, p99", &mut turns, 99);
    let ratio = worst.value / COMMIT;
    print(worst.clone().against(ratio, "of the limit of 2 ms"));
    let bare_worst = figure("bare append and sync, p99", &mut floor.times, 99);
    let ratio = worst.value / bare_worst.value;
    print(bare);
    print(bare_worst.against(ratio, "turn commit, p99, over this"));
    print(Figure::new("bytes logged by a turn", floor.bytes.len() as f64, "bytes"));
    print(Figure::new("turn commit, CPU time", processor.as_secs_f64(), "ms"));
    print(figure("reply commit, p99", &mut replies, 99));
    drop(store);
    let size = database.metadata()?.len() as f64 / 1e6;
    let size = Figure::new("1000 turns and replies, on disk", size, "MB");
    let ratio = size.value / SIZE;
    print(size.against(ratio, "of the limit of 20 MB"));
    Ok(())
}

/// Chats that go on at the same time: their writes may reach the disk together.
async fn together(database: &std::path::Path, print: &mut dyn FnMut(Figure)) -> Checked {
    const CHATS: u64 = 8;
    const TURNS: u64 = 100;
    let store = Arc::new(SqliteStore::open(database)?);
    let mut chats = tokio::task::JoinSet::new();
    let begun = Instant::now();
    for number in 0..CHATS {
        let store = Arc::clone(&store);
        chats.spawn(async move {
            let (tenant, chat) = (TenantId::local(), ChatId(format!("chat {number}")));
            store.open_chat(&tenant, &chat, "Together", Timestamp(0)).await?;
            let mut path = Path::new(chat);
            for turn in 0..TURNS {
                path.push(fixture::said(Role::User, &fixture::prose(number * TURNS + turn, 40)));
                let turn = fixture::lively_turn(&path, turn, 30);
                store.commit_turn(&tenant, &path, &turn, None).await?;
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(done) = chats.join_next().await {
        done??;
    }
    let rate = (CHATS * TURNS) as f64 / begun.elapsed().as_secs_f64();
    print(
        Figure::new("turns a second, eight chats at once", rate, "turns/s")
            .against(RATE / rate, "of the limit, 500 turns/s over ours"),
    );
    Ok(())
}

fn figure(name: &str, times: &mut [Duration], percent: usize) -> Figure {
    times.sort_unstable();
    let at = times[(times.len() - 1) * percent / 100];
    Figure::new(name, at.as_secs_f64() * 1e3, "ms")
}
