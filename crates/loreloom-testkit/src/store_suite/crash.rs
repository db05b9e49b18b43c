//! Killing a process that commits, and looking for what it acknowledged.
//!
//! A child process writes a story and prints a line for every commit that has returned. The
//! parent kills it (SIGKILL) after a random time, opens the store and looks for every line. A
//! line whose commit is not stored is a loss. The same check serves a child that runs out of
//! disk space.

use std::{
    fmt,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use loreloom_core::{
    chat::{Path, Role},
    digest::Hasher,
    ids::{ChatId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Store, StoreError, StoryStore, TurnId, TurnRecord};
use loreloom_store::SqliteStore;

use super::{Checked, Failure, Opener, fixture};
use crate::postgres::Cluster;

/// After this many cycles another chat begins.
const CYCLES_OF_A_CHAT: u64 = 20;

/// The result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Times the child was killed.
    pub cycles: u64,
    /// Commits it had acknowledged.
    pub acknowledged: u64,
    /// Acknowledged commits that are not stored.
    pub lost: u64,
    /// The longest that opening the store took afterwards.
    pub slowest: Duration,
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycles, acknowledged, lost, slowest: _ } = self;
        write!(formatter, "{cycles} cycles, {acknowledged} acknowledged, {lost} lost")
    }
}

/// The chat of a cycle.
pub fn chat_of(cycle: u64) -> ChatId {
    ChatId(format!("crash {}", cycle / CYCLES_OF_A_CHAT))
}

/// A commit that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledged {
    Turn(TurnId, PrefixHash),
    Reply(TurnId, PrefixHash),
}

impl fmt::Display for Acknowledged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn(turn, at) => write!(formatter, "turn {} {at}", turn.0),
            Self::Reply(turn, node) => write!(formatter, "reply {} {node}", turn.0),
        }
    }
}

impl Acknowledged {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let turn = TurnId(words.next()?.parse().ok()?);
        let node = words.next()?.parse().ok()?;
        match kind {
            "turn" => Some(Self::Turn(turn, node)),
            "reply" => Some(Self::Reply(turn, node)),
            _ => None,
        }
    }
}

/// The next turn on this path. The child writes it, and the parent expects it.
pub(super) fn turn_on(path: &Path) -> TurnRecord {
    let number = path.items().len() as u64;
    let mut turn = fixture::lively_turn(path, number, 20);
    // Only the last messages, as front ends send them.
    let skipped = turn.prompt.len().saturating_sub(40);
    turn.prompt.drain(..skipped);
    turn
}

/// The child: continues the chat until it is killed.
pub async fn write_until_killed(
    store: &dyn StoryStore,
    chat: &ChatId,
    mut out: impl Write,
) -> Checked {
    let tenant = TenantId::local();
    let record = store.open_chat(&tenant, chat, "Crash", Timestamp(0)).await?;
    let nodes = store.path(&tenant, chat, record.tip).await?;
    let mut path = Path::of(chat.clone(), nodes.into_iter().map(|node| node.message));
    loop {
        let number = path.items().len() as u64;
        path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
        let turn = store.commit_turn(&tenant, &path, &turn_on(&path), None).await?.id;
        writeln!(out, "{}", Acknowledged::Turn(turn, path.prefix()))?;
        out.flush()?;
        path.push(fixture::said(Role::Assistant, &fixture::prose(number + 1, 120)));
        let reply = fixture::reply(turn, &path, 1).ok_or("a reply")?;
        store.commit_reply(&tenant, chat, &reply).await?;
        writeln!(out, "{}", Acknowledged::Reply(turn, path.prefix()))?;
        out.flush()?;
    }
}

/// The parent: kills the child that `command` starts for a cycle's chat, `cycles` times, and
/// in every second cycle the `server` first, if there is one. `progress` is called after each
/// cycle.
pub async fn run(
    opener: &dyn Opener,
    command: impl Fn(&ChatId) -> Command,
    server: Option<&Cluster>,
    (cycles, seed): (u64, u64),
    mut progress: impl FnMut(&Tally),
) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    for cycle in 0..cycles {
        let chat = chat_of(cycle);
        let dice = Hasher::new("crash").number(seed).number(cycle).finish_u64();
        // After some commits, often none, and then in the middle of the next.
        let (commits, after) = (dice % 64, Duration::from_micros(dice / 64 % 5000));
        let server = server.filter(|_| cycle % 2 == 1);
        let lines = kill(command(&chat), commits, after, server)?;
        if let Some(server) = server {
            server.restart()?;
        }
        let begun = Instant::now();
        drop(opener.open().await?);
        tally.slowest = tally.slowest.max(begun.elapsed());
        tally.lost += missing(opener, &chat, &lines).await?;
        tally.acknowledged += lines.len() as u64;
        tally.cycles += 1;
        progress(&tally);
    }
    Ok(tally)
}

/// Starts a child, kills it a while `after` it has acknowledged `commits` commits, and
/// returns all that it acknowledged.
pub(super) fn kill(
    mut command: Command,
    commits: u64,
    after: Duration,
    server: Option<&Cluster>,
) -> Result<Vec<Acknowledged>, Failure> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().ok_or("the child's output")?);
    let mut lines = Vec::new();
    for _ in 0..commits {
        if !read_line(&mut output, &mut lines)? {
            return Err(format!("the child ended by itself: {}", child.wait()?).into());
        }
    }
    thread::sleep(after);
    if let Some(server) = server {
        server.kill()?;
    }
    child.kill()?;
    child.wait()?;
    while read_line(&mut output, &mut lines)? {}
    Ok(lines)
}

/// Starts a child that ends with an error, and returns all that it acknowledged.
fn outlive(mut command: Command) -> Result<Vec<Acknowledged>, Failure> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().ok_or("the child's output")?);
    let mut lines = Vec::new();
    while read_line(&mut output, &mut lines)? {}
    if child.wait()?.success() {
        return Err("the child ended without an error".into());
    }
    Ok(lines)
}

/// Reads one line; `false` at the end. A line that is cut off was not acknowledged.
fn read_line(output: &mut impl BufRead, lines: &mut Vec<Acknowledged>) -> Result<bool, Failure> {
    let mut line = String::new();
    output.read_line(&mut line)?;
    let Some(line) = line.strip_suffix('\n') else { return Ok(false) };
    let known = Acknowledged::parse(line).ok_or_else(|| format!("the child said `{line}`"))?;
    lines.push(known);
    Ok(true)
}

/// Lets writes of the child fail: `command` limits the size of its files, and each cycle allows
/// some more bytes.
pub async fn run_out_of_space(
    opener: &dyn Opener,
    command: impl Fn(&ChatId, u64) -> Command,
    cycles: u64,
    step: u64,
) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    for cycle in 0..cycles {
        let chat = chat_of(cycle);
        let lines = outlive(command(&chat, (cycle + 1) * step))?;
        tally.lost += missing(opener, &chat, &lines).await?;
        tally.acknowledged += lines.len() as u64;
        tally.cycles += 1;
    }
    Ok(tally)
}

/// How many acknowledged commits are not stored completely. Opens the store again.
pub(super) async fn missing(
    opener: &dyn Opener,
    chat: &ChatId,
    lines: &[Acknowledged],
) -> Result<u64, Failure> {
    let tenant = TenantId::local();
    let store = opener.open().await?;
    let Some(record) = store.chat(&tenant, chat).await? else { return Ok(lines.len() as u64) };
    let turns = store.turns(&tenant, chat).await?;
    let nodes = store.path(&tenant, chat, record.tip).await?;
    let known = |id: TurnId| turns.iter().find(|turn| turn.id == id);
    let mut lost = 0;
    for line in lines {
        let there = match *line {
            Acknowledged::Turn(id, at) => {
                let end = nodes.iter().position(|node| node.prefix == at).map_or(0, |at| at + 1);
                let messages = nodes[..end].iter().map(|node| node.message.clone());
                let expected = turn_on(&Path::of(chat.clone(), messages));
                known(id).is_some_and(|turn| turn.at == at)
                    && store.turn(&tenant, chat, id).await?.as_ref() == Some(&expected)
            }
            Acknowledged::Reply(id, reply) => {
                known(id).is_some_and(|turn| turn.reply == Some(reply))
                    && nodes.iter().any(|node| node.prefix == reply)
            }
        };
        lost += u64::from(!there);
    }
    Ok(lost)
}

/// An opener of a database file.
#[derive(Clone, Debug)]
pub struct SqliteAt(pub PathBuf);

#[async_trait]
impl Opener for SqliteAt {
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(SqliteStore::open(&self.0)?))
    }
}

/// An opener of a PostgreSQL database, by its address.
#[derive(Clone, Debug)]
pub struct PostgresAt(pub String);

#[async_trait]
impl Opener for PostgresAt {
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(loreloom_store::PostgresStore::connect(&self.0).await?))
    }
}
