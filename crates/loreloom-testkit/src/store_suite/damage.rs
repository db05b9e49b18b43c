//! Damaging what a killed process left, and looking for what it acknowledged.
//!
//! In turn the write-ahead log and the database itself are damaged. The damage must be named, and
//! a repair must save each commit or name a loss.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    process::Command,
    time::Duration,
};

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, TenantId},
};
use loreloom_store::SqliteStore;

use super::{
    Failure,
    crash::{self, SqliteAt},
};

const PAGE: u64 = 4096;
const FRAME: u64 = PAGE + 24;

/// The result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamageTally {
    /// Files that were damaged.
    pub cycles: u64,
    /// Commits that were acknowledged before.
    pub acknowledged: u64,
    /// Those of them that a repair did not save and did not name.
    pub lost: u64,
    /// Those of them that a repair did not save, and said so.
    pub named: u64,
    /// Damage that was said: the doctor found it, and a damaged log was not opened.
    pub said: u64,
    /// Damage that was not noticed, and cost a commit.
    pub silent: u64,
}

impl fmt::Display for DamageTally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycles, acknowledged, lost, named, said, silent } = self;
        write!(
            formatter,
            "{cycles} cycles, {acknowledged} acknowledged, {lost} lost, {said} said ({named} \
             commits named as lost), {silent} silent"
        )
    }
}

/// Damages the log or the database of a killed child, `cycles` times. `command` starts the child
/// that commits to a file, in a chat.
pub async fn run(
    command: impl Fn(&Path, &ChatId) -> Command,
    (cycles, seed): (u64, u64),
) -> Result<DamageTally, Failure> {
    let mut tally = DamageTally::default();
    for cycle in 0..cycles {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("stories.sqlite");
        let (tenant, chat) = (TenantId::local(), crash::chat_of(cycle));
        let dice = Hasher::new("damage").number(seed).number(cycle).finish_u64();
        let lines = crash::kill(command(&file, &chat), 20 + dice % 40, Duration::ZERO, None)?;
        let is_log = cycle % 2 == 0;
        if is_log {
            damage_log(&file, dice / 64)?;
        } else {
            // Closing moves the log into the database.
            drop(SqliteStore::open(&file)?);
            damage_database(&file, dice / 64)?;
        }
        tally.cycles += 1;
        tally.acknowledged += lines.len() as u64;
        let found = !SqliteStore::diagnose(&file, &tenant).await?.findings.is_empty();
        let is_said = found && !(is_log && SqliteStore::open(&file).is_ok());
        let new = folder.path().join("new.sqlite");
        let salvage = SqliteStore::repair(&file, &new)?;
        let missing = crash::missing(&SqliteAt(new), &chat, &lines).await?;
        tally.said += u64::from(is_said);
        if is_said && !salvage.lost.is_empty() {
            tally.named += missing;
        } else {
            tally.lost += missing;
            tally.silent += u64::from(missing > 0);
        }
    }
    Ok(tally)
}

/// Changes bytes of a frame in the first half of the log.
fn damage_log(database: &Path, dice: u64) -> Result<(), Failure> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let frames = Path::new(&log).metadata()?.len().saturating_sub(32) / FRAME;
    let frame = dice % (frames / 2).max(1);
    invert(Path::new(&log), 32 + frame * FRAME + dice / 7 % FRAME, 1)
}

/// Inverts a page of the database.
fn damage_database(database: &Path, dice: u64) -> Result<(), Failure> {
    let pages = database.metadata()?.len() / PAGE;
    invert(database, dice % pages.max(1) * PAGE, PAGE)
}

fn invert(file: &Path, at: u64, count: u64) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let mut source = File::open(file)?;
    source.seek(SeekFrom::Start(at))?;
    source.take(count).read_to_end(&mut bytes)?;
    for byte in &mut bytes {
        *byte ^= 0xFF;
    }
    let mut target = OpenOptions::new().write(true).open(file)?;
    target.seek(SeekFrom::Start(at))?;
    Ok(target.write_all(&bytes)?)
}
