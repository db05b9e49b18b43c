//! Stories in SQLite, the default: one file, no server.
//!
//! Several processes may open the same file. Every write is one transaction that is on disk
//! when it returns (write-ahead log, `synchronous = FULL`).

mod checkpoint;
mod connect;
mod desk;
mod jobs;
mod libraries;
mod memory_log;
mod nodes;
mod pool;
mod read;
mod remembered;
mod retain;
mod rows;
mod salvage;
mod told;
mod unit;
mod upkeep;
mod write;
mod writer;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use loreloom_core::{
    book::Book,
    chat::Path,
    ids::{BookVersion, ChatId, LibraryVersion, PrefixHash, TenantId},
    library::Shelf,
    state::StoryState,
    units::Timestamp,
};
use loreloom_ports::{
    Change, ChatRecord, ChatSummary, Desk, Item, Node, Reply, Retained, Retention, Revision,
    StoreError, StoredTurn, StoryStore, TurnId, TurnRecord, TurnSummary, WriteId, WriteRecord,
};

use self::{
    connect::Location,
    pool::Pool,
    read::Snapshot,
    told::{Known, ToldNodes},
    unit::Unit,
};
use crate::{
    checks,
    codec::{
        BookPiece, Committed, Draft, KeptPath, RecentPaths, library_parts, not_json, state_of,
        take_apart,
    },
    fold::Choice,
    recent_states::{Recent, RecentStates},
};

pub use self::{salvage::Salvage, upkeep::Diagnosis};

/// Messages of a path whose state is read at a glance: about as many turns are looked at.
const SHORT: usize = 1_000;

/// Keeps stories in SQLite. Clones share their connections.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pool: Arc<Pool>,
    recent: Arc<Mutex<RecentPaths>>,
    told: Arc<Mutex<ToldNodes>>,
    states: Arc<RecentStates>,
}

impl SqliteStore {
    /// Opens the database in a file, which is made if it is not there.
    ///
    /// Fails with [`StoreError::OtherVersion`] if it has another schema.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::at(Location::File(path.into()))
    }

    /// A database in memory, gone with its last clone.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::at(Location::Memory)
    }

    fn at(location: Location) -> Result<Self, StoreError> {
        let pool = Arc::new(Pool::open(location)?);
        Ok(Self { pool, recent: Arc::default(), told: Arc::default(), states: Arc::default() })
    }

    fn recent<T>(&self, look: impl FnOnce(&mut RecentPaths) -> T) -> T {
        look(&mut lock(&self.recent))
    }

    /// The path to `tip`, if all of it was read before.
    fn path_told(&self, tenant: &TenantId, chat: &ChatId, tip: PrefixHash) -> Known {
        lock(&self.told).walk(tenant, chat, tip)
    }

    /// Reads the part of a path before `tip` that was not read before.
    async fn read_path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<(), StoreError> {
        let (told, owner, id) = (Arc::clone(&self.told), tenant.clone(), chat.clone());
        let read = move |snapshot: &Snapshot<'_>| {
            let is_known = |node| lock(&told).contains(&owner, &id, node);
            let some = lock(&told).knows(&owner, &id);
            let since = if some { nodes::since(snapshot, tip, is_known)? } else { None };
            let nodes = since.map_or_else(|| nodes::path(snapshot, tip), Ok)?;
            let nodes: Vec<_> = nodes.into_iter().map(Arc::new).collect();
            lock(&told).learn(&owner, &id, &nodes);
            Ok(())
        };
        self.snapshot(tenant, chat, read).await
    }

    async fn try_commit(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        draft: Draft,
        seen: Option<u64>,
    ) -> Result<Committed, StoreError> {
        let (owner, id) = (tenant.clone(), chat.clone());
        let write =
            move |transaction: Unit<'_>| write::commit_turn(transaction, &owner, &id, draft, seen);
        let committed = self.pool.write(write).await?;
        self.recent(|recent| recent.learn(tenant, chat, &committed));
        Ok(committed)
    }

    /// Packs the pieces that are not kept yet, here and not while others wait to write.
    async fn packed(
        &self,
        tenant: &TenantId,
        pieces: Vec<BookPiece>,
    ) -> Result<Vec<BookPiece>, StoreError> {
        let tenant = tenant.clone();
        let read = move |connection: &mut rusqlite::Connection| {
            desk::missing(connection, &tenant, &pieces)?.into_iter().for_each(|piece| {
                piece.body();
            });
            Ok(pieces)
        };
        self.pool.read(read).await
    }

    /// Reads one chat in one snapshot.
    async fn snapshot<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        read: impl FnOnce(&Snapshot<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        let read = move |connection: &mut _| read(&Snapshot::of(connection, &tenant, &chat)?);
        self.pool.read(read).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl StoryStore for SqliteStore {
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| read::chats(connection, &tenant)).await
    }

    async fn chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ChatRecord>, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        self.pool.glance(move |connection| read::chat(connection, &tenant, &chat)).await
    }

    async fn open_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let (tenant, chat, title) = (tenant.clone(), chat.clone(), title.to_owned());
        let write =
            move |transaction: Unit<'_>| write::open_chat(transaction, &tenant, &chat, &title, now);
        self.pool.write(write).await
    }

    async fn commit_turn(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        seen: Option<u64>,
    ) -> Result<StoredTurn, StoreError> {
        checks::turn_belongs(path, turn)?;
        let kept = self.recent(|recent| recent.get(tenant, path.chat()));
        let draft = Draft::of(path, turn, &kept)?;
        match self.try_commit(tenant, path.chat(), draft, seen).await? {
            Committed::Stored(turn, _) => return Ok(turn),
            Committed::Stale => (),
        }
        let draft = Draft::of(path, turn, &KeptPath::default())?;
        match self.try_commit(tenant, path.chat(), draft, seen).await? {
            Committed::Stored(turn, _) => Ok(turn),
            // The empty path is always there.
            Committed::Stale => Err(StoreError::NoChat { chat: path.chat().clone() }),
        }
    }

    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<WriteId, StoreError> {
        checks::node_is_named_right(&reply.node)?;
        let (owner, id, given) = (tenant.clone(), chat.clone(), reply.clone());
        let write =
            move |transaction: Unit<'_>| write::commit_reply(transaction, &owner, &id, &given);
        let (write, number) = self.pool.write(write).await?;
        self.recent(|recent| recent.extend(tenant, chat, &reply.node, number));
        Ok(write)
    }

    async fn commit_answered(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        reply: &Node,
        created: Timestamp,
    ) -> Result<(StoredTurn, WriteId), StoreError> {
        checks::turn_belongs(path, turn)?;
        checks::node_is_named_right(reply)?;
        let kept = self.recent(|recent| recent.get(tenant, path.chat()));
        for kept in [kept, KeptPath::default()] {
            let draft = Draft::of(path, turn, &kept)?;
            let (owner, id, node) = (tenant.clone(), path.chat().clone(), reply.clone());
            let write = move |transaction: Unit<'_>| {
                write::commit_answered(transaction, &owner, &id, draft, (node, created))
            };
            let (committed, replied) = self.pool.write(write).await?;
            self.recent(|recent| recent.learn(tenant, path.chat(), &committed));
            if let (Committed::Stored(stored, _), Some((write, number))) = (committed, replied) {
                self.recent(|recent| recent.extend(tenant, path.chat(), reply, number));
                return Ok((stored, write));
            }
        }
        // The empty path is always there.
        Err(StoreError::NoChat { chat: path.chat().clone() })
    }

    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError> {
        let read = |snapshot: &Snapshot<'_>| {
            write::writes(&snapshot.transaction, snapshot.tenant, &snapshot.row)
        };
        self.snapshot(tenant, chat, read).await
    }

    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        let undo =
            move |transaction: Unit<'_>| write::undo(transaction, &tenant, &chat, write, now);
        self.pool.write(undo).await
    }

    async fn retain(
        &self,
        tenant: &TenantId,
        retention: &Retention,
    ) -> Result<Retained, StoreError> {
        let (tenant, retention) = (tenant.clone(), *retention);
        let work = move |transaction: Unit<'_>| retain::retain(transaction, &tenant, &retention);
        self.pool.write(work).await
    }

    async fn trim(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turns: &[TurnId],
    ) -> Result<(), StoreError> {
        let (tenant, chat, turns) = (tenant.clone(), chat.clone(), turns.to_vec());
        let work = move |transaction: Unit<'_>| retain::trim(transaction, &tenant, &chat, &turns);
        self.pool.write(work).await
    }

    async fn commit_path(
        &self,
        tenant: &TenantId,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let (tenant, chat) = (tenant.clone(), path.chat().clone());
        let draft = Draft::of_path(path, now);
        let write = move |transaction: Unit<'_>| {
            write::commit_path(transaction, &tenant, &chat, &draft, seen)
        };
        self.pool.write(write).await
    }

    async fn move_tip(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        let write = move |transaction: Unit<'_>| {
            write::move_tip(transaction, &tenant, &chat, tip, seen, now)
        };
        self.pool.write(write).await
    }

    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError> {
        let mut known = self.path_told(tenant, chat, tip);
        if known.before != PrefixHash::default() {
            self.read_path(tenant, chat, known.before).await?;
            known = self.path_told(tenant, chat, tip);
        }
        if known.nodes.is_empty() || known.before != PrefixHash::default() {
            // Nothing is said yet, or others made us forget in between.
            return self.snapshot(tenant, chat, move |snapshot| nodes::path(snapshot, tip)).await;
        }
        Ok(known.nodes.iter().rev().map(|node| Node::clone(node)).collect())
    }

    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError> {
        self.snapshot(tenant, chat, nodes::tree).await
    }

    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError> {
        if let Some(recent) = self.states.get(tenant, path) {
            let (owner, chat) = (tenant.clone(), path.chat().clone());
            let look = move |connection: &mut _| read::last_write(connection, &owner, &chat);
            if self.pool.glance(look).await? == Some(recent.after) {
                return Ok(Arc::unwrap_or_clone(recent.state));
            }
        }
        let (owner, chat) = (tenant.clone(), path.chat().clone());
        let choice = Choice::on(path);
        let choose = move |connection: &mut rusqlite::Connection| {
            read::choose(connection, &owner, &chat, choice)
        };
        let (after, chosen) = if path.items().len() > SHORT {
            self.pool.read(choose).await?
        } else {
            self.pool.glance(choose).await?
        };
        let state = Arc::new(state_of(chosen, path.chat())?);
        self.states.put(tenant, path, Recent { after, state: Arc::clone(&state) });
        Ok(Arc::unwrap_or_clone(state))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        self.snapshot(tenant, chat, read::turns).await
    }

    async fn turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<TurnRecord>, StoreError> {
        self.snapshot(tenant, chat, move |snapshot| snapshot.turn(turn)).await
    }

    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &Shelf,
    ) -> Result<(), StoreError> {
        let owner = tenant.clone();
        let look = move |connection: &mut _| libraries::is_kept(connection, &owner, version);
        if self.pool.read(look).await? {
            return Ok(());
        }
        checks::library_is_named_right(version, library)?;
        let (body, pieces) = library_parts(library).map_err(|error| not_json(&error))?;
        let pieces = self.packed(tenant, pieces).await?;
        let owner = tenant.clone();
        let write = move |transaction: Unit<'_>| {
            libraries::keep(transaction, &owner, version, &body, &pieces)
        };
        self.pool.write(write).await
    }

    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<Shelf>, StoreError> {
        let tenant = tenant.clone();
        let read = move |connection: &mut _| libraries::library(connection, &tenant, version);
        self.pool.read(read).await
    }
}

#[async_trait]
impl Desk for SqliteStore {
    async fn revision(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| desk::revision(connection, &tenant)).await
    }

    async fn items(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<Item>, StoreError> {
        let (tenant, prefix) = (tenant.clone(), prefix.to_owned());
        self.pool.read(move |connection| desk::items(connection, &tenant, &prefix)).await
    }

    async fn change(
        &self,
        tenant: &TenantId,
        changes: &[Change],
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let (tenant, changes) = (tenant.clone(), changes.to_vec());
        let write =
            move |transaction: Unit<'_>| desk::change(transaction, &tenant, &changes, seen, now);
        self.pool.write(write).await
    }

    async fn undo(
        &self,
        tenant: &TenantId,
        revision: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.pool.write(move |transaction| desk::undo(transaction, &tenant, revision, now)).await
    }

    async fn revisions(
        &self,
        tenant: &TenantId,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Revision>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| desk::revisions(connection, &tenant, before, most)).await
    }

    async fn keep_book(&self, tenant: &TenantId, book: &Book) -> Result<BookVersion, StoreError> {
        let (version, pieces) = take_apart(book).map_err(|error| not_json(&error))?;
        let pieces = self.packed(tenant, pieces).await?;
        let tenant = tenant.clone();
        self.pool.write(move |transaction| desk::keep_book(transaction, &tenant, &pieces)).await?;
        Ok(version)
    }

    async fn book(
        &self,
        tenant: &TenantId,
        version: BookVersion,
    ) -> Result<Option<Book>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| desk::book(connection, &tenant, version)).await
    }
}
