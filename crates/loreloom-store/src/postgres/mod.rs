//! Stories in PostgreSQL, for when one machine is not enough.
//!
//! The layout is SQLite's. Writers of one chat wait for each other at the chat's row
//! (`SELECT … FOR UPDATE`), writers of different chats do not meet. Lookups and inserts go
//! in arrays, so that the number of round trips does not grow with the path.

mod connect;
mod desk;
mod jobs;
mod libraries;
mod memory_log;
mod read;
mod remembered;
mod retain;
mod rows;
mod tls;
mod write;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use deadpool_postgres::Pool;
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
    read::Snapshot,
    rows::{ChatRow, Doing, client},
};
use crate::{
    checks,
    codec::{
        Committed, Draft, KeptPath, RecentPaths, library_parts, not_json, state_of, take_apart,
    },
    fold::Choice,
    recent_states::{Recent, RecentStates},
};

/// Keeps stories in PostgreSQL. Clones share their connections.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pool: Pool,
    recent: Arc<Mutex<RecentPaths>>,
    states: Arc<RecentStates>,
}

impl PostgresStore {
    /// Connects to the database that `address` names, as libpq writes it
    /// (`postgresql://user@host/name` or `host=… dbname=…`), and creates the
    /// schema if it is empty.
    ///
    /// `sslmode=require` asks for encryption, `sslrootcert=FILE` names whom to trust.
    ///
    /// Fails with [`StoreError::Unreachable`] if the server does not let us in, and with
    /// [`StoreError::OtherVersion`] if the database has another schema.
    pub async fn connect(address: &str) -> Result<Self, StoreError> {
        let pool = connect::pool(address)?;
        connect::reach(&pool, address).await?;
        connect::prepare(&pool).await?;
        Ok(Self { pool, recent: Arc::default(), states: Arc::default() })
    }

    fn recent<T>(&self, look: impl FnOnce(&mut RecentPaths) -> T) -> T {
        look(&mut self.recent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn try_commit(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        draft: Draft,
        seen: Option<u64>,
    ) -> Result<Committed, StoreError> {
        let mut client = client(&self.pool).await?;
        let committed = write::commit_turn(&mut client, tenant, chat, draft, seen).await?;
        self.recent(|recent| recent.learn(tenant, chat, &committed));
        Ok(committed)
    }
}

#[async_trait]
impl StoryStore for PostgresStore {
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError> {
        read::chats(&client(&self.pool).await?, tenant).await
    }

    async fn chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ChatRecord>, StoreError> {
        let client = client(&self.pool).await?;
        let row = ChatRow::find(&client, tenant, chat).await.doing("reading a chat")?;
        row.map(|row| Ok(ChatRow::of(&row)?.record)).transpose()
    }

    async fn open_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        write::open_chat(&mut client(&self.pool).await?, tenant, chat, title, now).await
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
        let mut client = client(&self.pool).await?;
        let (write, number) = write::commit_reply(&mut client, tenant, chat, reply).await?;
        self.recent(|recent| recent.extend(tenant, chat, &reply.node, number));
        Ok(write)
    }

    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError> {
        let mut client = client(&self.pool).await?;
        Snapshot::of(&mut client, tenant, chat).await?.writes().await
    }

    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        write::undo(&mut client(&self.pool).await?, tenant, chat, write, now).await
    }

    async fn retain(
        &self,
        tenant: &TenantId,
        retention: &Retention,
    ) -> Result<Retained, StoreError> {
        retain::retain(&mut client(&self.pool).await?, tenant, retention).await
    }

    async fn trim(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turns: &[TurnId],
    ) -> Result<(), StoreError> {
        retain::trim(&mut client(&self.pool).await?, tenant, chat, turns).await
    }

    async fn commit_path(
        &self,
        tenant: &TenantId,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let mut client = client(&self.pool).await?;
        let draft = Draft::of_path(path, now);
        write::commit_path(&mut client, tenant, path.chat(), &draft, seen).await
    }

    async fn move_tip(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let mut client = client(&self.pool).await?;
        write::move_tip(&mut client, tenant, chat, tip, seen, now).await
    }

    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError> {
        let mut client = client(&self.pool).await?;
        Snapshot::of(&mut client, tenant, chat).await?.path(tip).await
    }

    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError> {
        let mut client = client(&self.pool).await?;
        Snapshot::of(&mut client, tenant, chat).await?.tree().await
    }

    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError> {
        let mut client = client(&self.pool).await?;
        let snapshot = Snapshot::of(&mut client, tenant, path.chat()).await?;
        let after = snapshot.last_write();
        let recent = self.states.get(tenant, path).filter(|recent| recent.after == after);
        if let Some(recent) = recent {
            return Ok(Arc::unwrap_or_clone(recent.state));
        }
        let chosen = snapshot.choose(Choice::on(path)).await?;
        let state = Arc::new(state_of(chosen, path.chat())?);
        self.states.put(tenant, path, Recent { after, state: Arc::clone(&state) });
        Ok(Arc::unwrap_or_clone(state))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        let mut client = client(&self.pool).await?;
        Snapshot::of(&mut client, tenant, chat).await?.turns().await
    }

    async fn turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<TurnRecord>, StoreError> {
        let mut client = client(&self.pool).await?;
        Snapshot::of(&mut client, tenant, chat).await?.turn(turn).await
    }

    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &Shelf,
    ) -> Result<(), StoreError> {
        let mut client = client(&self.pool).await?;
        if libraries::is_kept(&client, tenant, version).await? {
            return Ok(());
        }
        checks::library_is_named_right(version, library)?;
        let (body, pieces) = library_parts(library).map_err(|error| not_json(&error))?;
        libraries::keep(&mut client, tenant, version, &body, &pieces).await
    }

    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<Shelf>, StoreError> {
        libraries::library(&client(&self.pool).await?, tenant, version).await
    }
}

#[async_trait]
impl Desk for PostgresStore {
    async fn revision(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        desk::revision(&client(&self.pool).await?, tenant).await
    }

    async fn items(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<Item>, StoreError> {
        desk::items(&client(&self.pool).await?, tenant, prefix).await
    }

    async fn change(
        &self,
        tenant: &TenantId,
        changes: &[Change],
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        desk::change(&mut client(&self.pool).await?, tenant, changes, seen, now).await
    }

    async fn undo(
        &self,
        tenant: &TenantId,
        revision: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        desk::undo(&mut client(&self.pool).await?, tenant, revision, now).await
    }

    async fn revisions(
        &self,
        tenant: &TenantId,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Revision>, StoreError> {
        desk::revisions(&mut client(&self.pool).await?, tenant, before, most).await
    }

    async fn keep_book(&self, tenant: &TenantId, book: &Book) -> Result<BookVersion, StoreError> {
        let (version, pieces) = take_apart(book).map_err(|error| not_json(&error))?;
        desk::keep_pieces(&client(&self.pool).await?, tenant, &pieces).await?;
        Ok(version)
    }

    async fn book(
        &self,
        tenant: &TenantId,
        version: BookVersion,
    ) -> Result<Option<Book>, StoreError> {
        desk::book(&client(&self.pool).await?, tenant, version).await
    }
}
