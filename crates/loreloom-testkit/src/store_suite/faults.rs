//! Writing a story to a disk that fails, at each write in turn.
//!
//! The first story fails at its first write, the second at its second, and so on until a story
//! meets no fault. Each is then opened on a sound disk: everything acknowledged is stored,
//! everything refused is stored completely or not at all, and the doctor finds nothing.

use std::{fmt, path::Path as FilePath};

use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{StoreError, StoryStore};
use loreloom_store::{SqliteStore, doctor};

use super::{
    Failure,
    crash::{self, Acknowledged, SqliteAt},
    fixture,
};
use crate::faults::{Faults, Trouble};

/// The result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultTally {
    /// Stories, including the one without a fault.
    pub stories: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Commits that returned.
    pub acknowledged: u64,
    /// Acknowledged commits that are not stored.
    pub lost: u64,
    /// What the doctor found.
    pub findings: u64,
}

impl fmt::Display for FaultTally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stories, refused, acknowledged, lost, findings } = self;
        write!(
            formatter,
            "{stories} stories with a fault at each write, {refused} calls refused, \
             {acknowledged} acknowledged, {lost} lost, {findings} findings"
        )
    }
}

/// Writes stories of `turns` turns, with a fault at write 1, 2, … until one meets none.
pub async fn run(trouble: Trouble, turns: u64) -> Result<FaultTally, Failure> {
    let mut tally = FaultTally::default();
    for at in 1.. {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("stories.sqlite");
        let faults = Faults::begin(directory.path(), at, trouble)?;
        let mut writer = FaultyWriter { lines: Vec::new(), refused: 0 };
        writer.write_story(&file, turns).await;
        let met = faults.writes() >= at;
        drop(faults);
        tally.stories += 1;
        tally.refused += writer.refused;
        tally.acknowledged += writer.lines.len() as u64;
        tally.lost += crash::missing(&SqliteAt(file.clone()), &chat(), &writer.lines).await?;
        tally.findings += findings(&file).await?;
        if !met {
            return Ok(tally);
        }
    }
    Ok(tally)
}

fn chat() -> ChatId {
    ChatId::from("faults")
}

async fn findings(file: &FilePath) -> Result<u64, Failure> {
    let store = SqliteStore::open(file)?;
    let mut findings = store.examine().await?;
    findings.extend(doctor::examine(&store, &TenantId::local()).await?);
    let tenant = TenantId::local();
    for turn in store.turns(&tenant, &chat()).await.unwrap_or_default() {
        let nodes = store.path(&tenant, &chat(), turn.at).await?;
        let path = Path::of(chat(), nodes.into_iter().map(|node| node.message));
        let stored = store.turn(&tenant, &chat(), turn.id).await?;
        if stored.as_ref() != Some(&crash::turn_on(&path)) {
            return Err(format!("turn {} differs from what was written", turn.id.0).into());
        }
    }
    Ok(findings.len() as u64)
}

/// Writes a story and counts what fails.
struct FaultyWriter {
    lines: Vec<Acknowledged>,
    refused: u64,
}

impl FaultyWriter {
    /// Writes a story and closes the store after each turn, so that closing can fail as well.
    async fn write_story(&mut self, file: &FilePath, turns: u64) {
        for _ in 0..turns {
            // As a person would, try again.
            for _ in 0..2 {
                let Ok(store) = SqliteStore::open(file) else {
                    self.refused += 1;
                    continue;
                };
                match self.turn(&store).await {
                    Ok(()) => break,
                    Err(_) => self.refused += 1,
                }
            }
        }
    }

    async fn turn(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        let (tenant, chat) = (TenantId::local(), chat());
        let record = store.open_chat(&tenant, &chat, "Faults", Timestamp(0)).await?;
        let nodes = store.path(&tenant, &chat, record.tip).await?;
        let mut path = Path::of(chat.clone(), nodes.into_iter().map(|node| node.message));
        let number = path.items().len() as u64;
        path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
        let turn = store.commit_turn(&tenant, &path, &crash::turn_on(&path), None).await?.id;
        self.lines.push(Acknowledged::Turn(turn, path.prefix()));
        path.push(fixture::said(Role::Assistant, &fixture::prose(number + 1, 120)));
        if let Some(reply) = fixture::reply(turn, &path, 1) {
            store.commit_reply(&tenant, &chat, &reply).await?;
            self.lines.push(Acknowledged::Reply(turn, path.prefix()));
        }
        Ok(())
    }
}
