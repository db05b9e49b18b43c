//! How fast the SQLite store reads long paths and commits turns; run it in release:
//! `store_speed`, or `store_speed commits` for the commits alone.
//!
//! Numbers are of this machine and its disk; nothing is asserted. On a busy machine the
//! processor time says more than the clock.

use std::{
    io::{Write, stdout},
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;
use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    state::StateDelta,
    units::Timestamp,
};
use loreloom_memory::ports::StoryStore;
use loreloom_store::SqliteStore;
use loreloom_testkit::store_suite::{Checked, Failure, fixture};

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

#[tokio::main]
async fn main() -> Checked {
    let directory = tempfile::tempdir()?;
    let commits_alone = std::env::args().nth(1).is_some_and(|part| part == "commits");
    for shape in SHAPES.into_iter().filter(|_| !commits_alone) {
        let file = directory.path().join(format!("{} {}.sqlite", shape.name, shape.messages));
        let store = SqliteStore::open(&file)?;
        let path = build(&store, shape).await?;
        drop(store);
        reads(&file, shape, &path).await?;
    }
    commits(&SqliteStore::open(directory.path().join("commits.sqlite"))?).await
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
            let id = store.commit_turn(&tenant, &asked, &turn, None).await?;
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

async fn reads(file: &std::path::Path, shape: Shape, path: &Path) -> Checked {
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
    let Shape { name, messages, .. } = shape;
    say(&format!("{name}, {messages} messages: path, first time"), &mut cold)?;
    say(&format!("{name}, {messages} messages: path, again"), &mut warm)?;
    say(&format!("{name}, {messages} messages: state"), &mut states)
}

/// Turns with reports of 30 verdicts and prompts that repeat the whole story.
async fn commits(store: &SqliteStore) -> Checked {
    let (tenant, chat) = (TenantId::local(), ChatId::from("commits"));
    store.open_chat(&tenant, &chat, "Commits", Timestamp(0)).await?;
    let mut path = Path::new(chat.clone());
    let (mut turns, mut replies) = (Vec::new(), Vec::new());
    let mut processor = Duration::ZERO;
    for number in 0..1000 {
        path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
        let turn = fixture::lively_turn(&path, number, 30);
        let (begun, busy) = (Instant::now(), ProcessTime::now());
        let id = store.commit_turn(&tenant, &path, &turn, None).await?;
        turns.push(begun.elapsed());
        processor += busy.elapsed();
        path.push(fixture::said(Role::Assistant, &fixture::prose(number + 5000, 120)));
        let reply = fixture::reply(id, &path, 1).ok_or("a reply")?;
        let begun = Instant::now();
        store.commit_reply(&tenant, &chat, &reply).await?;
        replies.push(begun.elapsed());
    }
    say("1000 turns, whole story in each prompt: commit", &mut turns)?;
    writeln!(stdout(), "their processor time: {:.2?} each", processor / 1000)?;
    say("their replies: commit", &mut replies)
}

fn say(what: &str, times: &mut [Duration]) -> Checked {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let first = times.first().copied().unwrap_or_default();
    let (half, most, last) = (at(50), at(99), at(100));
    writeln!(stdout(), "{what}: best {first:.2?}, p50 {half:.2?}, p99 {most:.2?}, max {last:.2?}")?;
    Ok(())
}
