//! Turns that the store did not take. They wait here, in order, until it takes them.
//!
//! A full disk or a database that restarts must not cost a turn whose reply somebody has read.
//! Each turn waits in memory and, if the machine allows it, in a spill that survives a restart.
//! All tenants share one queue: they share one store. Everybody is warned meanwhile: the answers
//! of the proxy, `/ready`, the page, the log and the metrics.

mod space;
mod turn;

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use loreloom_core::{
    ids::{ChatId, LibraryVersion, TenantId},
    library::LibrarySource,
};
use loreloom_memory::service::{MemoryServices, NewReply};
use loreloom_ports::{Store, StoreError, TurnSpill};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    space::Space,
    turn::{TurnPart, WaitingReply, WaitingTurn},
};
use crate::{announcements::Announcements, events, notices::Happened};

/// How long to wait between two tries to write.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the free space is measured.
const MEASURE: Duration = Duration::from_secs(30);

/// The turns that wait. Clones share them.
#[derive(Clone, Default)]
pub struct WaitingTurns(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Only one task writes, so that the order stays.
    writing: tokio::sync::Mutex<()>,
    added: Notify,
    spill: Option<Arc<dyn TurnSpill>>,
    space: Space,
    watched: AtomicBool,
}

#[derive(Default)]
struct Queue {
    turns: VecDeque<Entry>,
    /// The libraries that the spill has.
    spilled: Vec<(TenantId, LibraryVersion)>,
}

#[derive(Clone)]
struct Entry {
    turn: Arc<WaitingTurn>,
    is_spilled: bool,
    /// Where to announce it; `None` if it waited since before the start.
    announcements: Option<Announcements>,
}

/// A line of the spill.
#[derive(Serialize, Deserialize)]
enum SpillRecord<'record> {
    Library { tenant: TenantId, version: LibraryVersion, source: Box<Cow<'record, LibrarySource>> },
    Turn(Box<Cow<'record, WaitingTurn>>),
}

/// What is needed to write turns.
pub(crate) struct WaitingWriter<'app> {
    pub(crate) store: &'app dyn Store,
    pub(crate) memory: Option<&'app MemoryServices>,
}

/// Whether a turn is stored by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is stored.
    Stored,
    /// It waits, and survives a restart.
    OnDisk,
    /// It waits in memory only.
    InMemory,
}

impl WaitingTurns {
    /// Turns that also wait in this spill. Reads what it has from an earlier run.
    pub fn with_spill(spill: Arc<dyn TurnSpill>) -> Self {
        let queue = match spill.records() {
            Ok(records) => Queue { turns: read(&records), spilled: Vec::new() },
            Err(error) => {
                tracing::error!(%error, "turns that wait from an earlier run cannot be read");
                Queue::default()
            }
        };
        if !queue.turns.is_empty() {
            tracing::warn!(turns = queue.turns.len(), "turns of an earlier run wait to be stored");
        }
        Self(Arc::new(Shared { queue: Mutex::new(queue), spill: Some(spill), ..Shared::default() }))
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.queue().turns.len()
    }

    /// How many of a tenant wait.
    pub(crate) fn count_of(&self, tenant: &TenantId) -> usize {
        self.queue().turns.iter().filter(|entry| entry.turn.tenant == *tenant).count()
    }

    /// The warning for answers to a tenant, while turns of it wait.
    pub(crate) fn warning(&self, tenant: &TenantId) -> Option<String> {
        let turns = match self.count_of(tenant) {
            0 => return None,
            1 => "1 earlier turn is".to_owned(),
            many => format!("{many} earlier turns are"),
        };
        Some(format!("{turns} not stored yet: the store does not work"))
    }

    /// Whether turns of a chat wait. Later ones must wait behind them.
    pub(crate) fn has(&self, tenant: &TenantId, chat: &ChatId) -> bool {
        let is_of = |turn: &WaitingTurn| turn.tenant == *tenant && turn.chat() == chat;
        self.queue().turns.iter().any(|entry| is_of(&entry.turn))
    }

    /// Whether little space is left on the disk of the data.
    pub(crate) fn is_space_low(&self) -> bool {
        self.0.space.is_low()
    }

    /// Adds a turn, and tries at once to write all that wait: the store may have made room.
    pub(crate) async fn put(
        &self,
        turn: WaitingTurn,
        announcements: &Announcements,
        writer: &WaitingWriter<'_>,
    ) -> Fate {
        let turn = Arc::new(turn);
        {
            let mut queue = self.queue();
            let is_spilled = self.spill(&turn, &mut queue.spilled);
            let announcements = Some(announcements.clone());
            queue.turns.push_back(Entry { turn: Arc::clone(&turn), is_spilled, announcements });
        }
        // Both the store and the spill can use it.
        if self.0.spill.as_ref().is_some_and(|spill| spill.make_room()) {
            tracing::warn!("the store failed: the reserve of disk space is given back");
        }
        self.write_all(writer).await;
        let queue = self.queue();
        let waits = queue.turns.iter().find(|entry| Arc::ptr_eq(&entry.turn, &turn));
        let fate = match waits {
            None => Fate::Stored,
            Some(entry) if entry.is_spilled => Fate::OnDisk,
            Some(_) => Fate::InMemory,
        };
        drop(queue);
        self.0.added.notify_one();
        fate
    }

    /// Writes turns in order until none waits or the store fails again.
    pub(crate) async fn write_all(&self, writer: &WaitingWriter<'_>) {
        let _one_at_a_time = self.0.writing.lock().await;
        loop {
            let first = self.queue().turns.front().cloned();
            let Some(entry) = first else { return };
            let turn = &entry.turn;
            match turn.write(writer.store).await {
                Ok(written) => {
                    self.pop();
                    tracing::info!(chat = %turn.chat(), turn = written.turn.0, "a turn that waited is stored");
                    if let Some(announcements) = &entry.announcements {
                        announce(announcements, turn, written);
                    }
                    remember(writer, turn).await;
                }
                Err(error) if is_outage(&error) => {
                    tracing::debug!(%error, "turns still wait");
                    return;
                }
                Err(error) => {
                    self.pop();
                    tracing::error!(%error, chat = %turn.chat(), "a turn that waited was refused");
                    if let Some(announcements) = &entry.announcements {
                        let (chat, reason) = (turn.chat().clone(), error.to_string());
                        announcements.notice(Happened::NotStored { chat, reason });
                    }
                }
            }
        }
    }

    /// Writes what waits as soon as the store works again, until the server stops. Turns that no
    /// spill has are tried for as long as the host allows.
    pub(crate) async fn watch(
        &self,
        writer: WaitingWriter<'_>,
        announcements: &Announcements,
        stopping: CancellationToken,
    ) {
        if self.0.watched.swap(true, Ordering::Relaxed) {
            return;
        }
        loop {
            self.measure(announcements);
            let waits = self.count() > 0;
            let pause = if waits { PAUSE } else { MEASURE };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.0.added.notified(), if !waits => {}
                () = stopping.cancelled() => break,
            }
            self.write_all(&writer).await;
        }
        self.write_all(&writer).await;
        while self.queue().turns.iter().any(|entry| !entry.is_spilled) {
            tokio::time::sleep(PAUSE).await;
            self.write_all(&writer).await;
        }
    }

    fn measure(&self, announcements: &Announcements) {
        let Some(spill) = &self.0.spill else { return };
        let free = spill.free_bytes();
        if free.is_some_and(|free| !Space::is_little(free)) && self.count() == 0 {
            spill.keep_room();
        }
        if let Some(warning) = free.and_then(|free| self.0.space.measured(free)) {
            tracing::warn!("{warning}");
            announcements.tell(events::ServerEvent::Warning { reason: warning });
        }
    }

    /// Writes a turn to the spill. Returns whether it is there.
    fn spill(&self, turn: &WaitingTurn, spilled: &mut Vec<(TenantId, LibraryVersion)>) -> bool {
        let Some(spill) = &self.0.spill else { return false };
        let written = records(turn, spilled)
            .and_then(|records| records.iter().try_for_each(|record| spill.append(record)));
        match (written, &turn.turn) {
            (Ok(()), TurnPart::Unstored(record)) => {
                spilled.push((turn.tenant.clone(), record.library));
                true
            }
            (Ok(()), TurnPart::Stored(_)) => true,
            (Err(error), _) => {
                tracing::error!(%error, "a turn waits in memory only: it is lost if the server stops");
                false
            }
        }
    }

    /// Removes the first turn; the spill too, if it was the last one.
    fn pop(&self) {
        let mut queue = self.queue();
        queue.turns.pop_front();
        if !queue.turns.is_empty() {
            return;
        }
        queue.spilled.clear();
        if let Some(spill) = &self.0.spill
            && let Err(error) = spill.clear()
        {
            // Turns that are read again are found in the store, so nothing is stored twice.
            tracing::warn!(%error, "the spill of stored turns cannot be removed");
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the store fails at everything, and not at this write.
pub(crate) fn is_outage(error: &StoreError) -> bool {
    use StoreError::{Damaged, Database, Full, Replaced, Unreachable};
    matches!(error, Full { .. } | Database { .. } | Unreachable { .. } | Damaged { .. } | Replaced)
}

/// The records of a turn for the spill: its library if the spill does not have it, and the turn.
fn records(
    turn: &WaitingTurn,
    spilled: &[(TenantId, LibraryVersion)],
) -> std::io::Result<Vec<Vec<u8>>> {
    let mut records = Vec::new();
    if let (Some(library), TurnPart::Unstored(record)) = (&turn.library, &turn.turn) {
        let (tenant, version) = (turn.tenant.clone(), record.library);
        if !spilled.iter().any(|one| *one == (tenant.clone(), version)) {
            let source = Box::new(Cow::Borrowed(library.as_ref()));
            records.push(serde_json::to_vec(&SpillRecord::Library { tenant, version, source })?);
        }
    }
    records.push(serde_json::to_vec(&SpillRecord::Turn(Box::new(Cow::Borrowed(turn))))?);
    Ok(records)
}

/// The turns of a spill. A record that cannot be read is left out.
fn read(records: &[Vec<u8>]) -> VecDeque<Entry> {
    let mut libraries: Vec<(TenantId, LibraryVersion, Arc<LibrarySource>)> = Vec::new();
    let mut turns = VecDeque::new();
    for record in records {
        match serde_json::from_slice(record) {
            Ok(SpillRecord::Library { tenant, version, source }) => {
                libraries.push((tenant, version, Arc::new(source.into_owned())));
            }
            Ok(SpillRecord::Turn(turn)) => {
                let mut turn = turn.into_owned();
                if let TurnPart::Unstored(record) = &turn.turn {
                    let version = record.library;
                    let is_its = |one: &&(TenantId, LibraryVersion, _)| {
                        one.0 == turn.tenant && one.1 == version
                    };
                    turn.library = libraries.iter().find(is_its).map(|one| Arc::clone(&one.2));
                }
                let turn = Arc::new(turn);
                turns.push_back(Entry { turn, is_spilled: true, announcements: None });
            }
            Err(error) => tracing::error!(%error, "a turn that waits cannot be read"),
        }
    }
    turns
}

fn announce(announcements: &Announcements, turn: &WaitingTurn, written: turn::WrittenTurn) {
    let chat = turn.chat().clone();
    if let Some(write) = written.write {
        announcements.tell(events::ServerEvent::Chat { chat: chat.to_string(), version: write.0 });
    }
    announcements.notice(Happened::TurnStored { chat: chat.clone(), turn: written.turn });
    if !turn.replies.is_empty() {
        announcements.notice(Happened::ReplyStored { chat, turn: written.turn });
    }
}

/// Hands the reply to memory, as for a turn that never waited.
async fn remember(writer: &WaitingWriter<'_>, turn: &WaitingTurn) {
    let (Some(memory), Some(path)) = (writer.memory, turn.answered()) else { return };
    let speakers = [turn.who.clone()];
    let reply = NewReply {
        tenant: &turn.tenant,
        chat: path.chat(),
        path: path.items(),
        speakers: &speakers,
    };
    if let Err(error) = memory.planner.after_reply(&reply).await {
        tracing::warn!(%error, "memory did not take the reply");
    }
}
