//! The port of stories.

use async_trait::async_trait;
use loreloom_core::{
    chat::Path,
    ids::{ChatId, LibraryVersion, PrefixHash, TenantId},
    library::LibrarySource,
    state::StoryState,
    units::Timestamp,
};
use loreloom_ports::{
    ChangeMark, ChangedChats, ChatRecord, ChatSummary, EndedResponse, Node, Reply, Retained,
    Retention, StoreError, StoredTurn, StoryStore, TurnId, TurnRecord, TurnSummary, WriteId,
    WriteRecord,
};
use rusqlite::{Connection, params};

use super::{
    SqliteStore, books, nodes, read, retain,
    statement::{execute, query, query_first},
    write,
};
use crate::{
    checks,
    codec::{TurnDraft, split_library, state_of},
    errors::{DatabaseResult as _, not_json},
    fold::Choice,
    rows::{chat, response, turn, write_log},
};

/// The longest path whose state is read on the thread of the caller.
const SHORT: usize = 1_000;

#[async_trait]
impl StoryStore for SqliteStore {
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError> {
        let tenant = tenant.clone();
        let read = move |connection: &mut Connection| {
            let key = [tenant.as_str()];
            query(connection, "listing chats", chat::LIST, key, |row| chat::summary(row))
        };
        let mut chats = self.pool.read(read).await?;
        chat::sort(&mut chats);
        Ok(chats)
    }

    async fn changed_chats(
        &self,
        tenant: &TenantId,
        mark: ChangeMark,
    ) -> Result<ChangedChats, StoreError> {
        let tenant = tenant.clone();
        let read =
            move |connection: &mut Connection| read::changed_chats(connection, &tenant, mark);
        self.pool.read_inline(read).await
    }

    async fn chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ChatRecord>, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        let read =
            move |connection: &mut Connection| read::find_chat_if_any(connection, &tenant, &chat);
        Ok(self.pool.read_inline(read).await?.map(|row| row.record))
    }

    async fn open_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let (tenant, chat, title) = (tenant.clone(), chat.clone(), title.to_owned());
        self.pool.write(move |unit| write::open_chat(unit, &tenant, &chat, &title, now)).await
    }

    async fn commit_turn(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        seen: Option<u64>,
    ) -> Result<StoredTurn, StoreError> {
        checks::turn_belongs(path, turn)?;
        // A stale draft clears the path it was based on, so the second one is complete.
        for _ in 0..2 {
            let draft = self.paths.draft(tenant, path, turn)?;
            let write = |writer: write::ChatWriter<'_>| writer.commit_turn(draft);
            let outcome = self.write_chat(tenant, path.chat(), seen, write).await?;
            if let Some(stored) = self.paths.learn(tenant, path.chat(), outcome) {
                return Ok(stored);
            }
        }
        Err(StoreError::NoChat { chat: path.chat().clone() })
    }

    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<WriteId, StoreError> {
        checks::node_is_named_right(&reply.node)?;
        let given = reply.clone();
        let write = move |writer: write::ChatWriter<'_>| writer.commit_reply(&given);
        let (write, number) = self.write_chat(tenant, chat, None, write).await?;
        self.paths.extend(tenant, chat, &reply.node, number);
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
        for _ in 0..2 {
            let (draft, node) = (self.paths.draft(tenant, path, turn)?, reply.clone());
            let write =
                move |writer: write::ChatWriter<'_>| writer.commit_answered(draft, node, created);
            let (outcome, replied) = self.write_chat(tenant, path.chat(), None, write).await?;
            let stored = self.paths.learn(tenant, path.chat(), outcome);
            if let (Some(stored), Some((write, number))) = (stored, replied) {
                self.paths.extend(tenant, path.chat(), reply, number);
                return Ok((stored, write));
            }
        }
        Err(StoreError::NoChat { chat: path.chat().clone() })
    }

    async fn keep_response(
        &self,
        tenant: &TenantId,
        id: &str,
        ended: &EndedResponse,
    ) -> Result<(), StoreError> {
        let (tenant, id, ended) = (tenant.clone(), id.to_owned(), ended.clone());
        let write = move |unit: super::UnitOfWork<'_>| {
            let doing = "keeping where a response ended";
            let EndedResponse { chat, at } = ended;
            let row = params![tenant.as_str(), id, chat.as_str(), at.0.0];
            if execute(&unit, doing, response::KEEP, row)? == 0 {
                return Err(StoreError::NoChat { chat });
            }
            unit.commit().doing(doing)
        };
        self.pool.write(write).await
    }

    async fn response(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<EndedResponse>, StoreError> {
        let (tenant, id) = (tenant.clone(), id.to_owned());
        let read = move |connection: &mut Connection| {
            let (doing, key) = ("looking for a response", (tenant.as_str(), id.as_str()));
            query_first(connection, doing, response::FIND, key, |row| response::ended(row))
        };
        self.pool.read_inline(read).await
    }

    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError> {
        let doing = "reading the log of writes";
        self.read_chat(tenant, chat, move |snapshot| {
            query(&snapshot.transaction, doing, write_log::LIST, snapshot.key(), |row| {
                write_log::record(row)
            })
        })
        .await
    }

    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write_chat(tenant, chat, None, move |writer| writer.undo(write, now)).await
    }

    async fn retain(
        &self,
        tenant: &TenantId,
        retention: &Retention,
    ) -> Result<Retained, StoreError> {
        let (tenant, retention) = (tenant.clone(), *retention);
        self.pool.write(move |unit| retain::retain(unit, &tenant, &retention)).await
    }

    async fn trim(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turns: &[TurnId],
    ) -> Result<(), StoreError> {
        let (tenant, chat, turns) = (tenant.clone(), chat.clone(), turns.to_vec());
        self.pool.write(move |unit| retain::trim(unit, &tenant, &chat, &turns)).await
    }

    async fn commit_path(
        &self,
        tenant: &TenantId,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let draft = TurnDraft::of_path(path, now);
        let write = move |writer: write::ChatWriter<'_>| writer.commit_path(&draft);
        self.write_chat(tenant, path.chat(), seen, write).await
    }

    async fn move_tip(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write_chat(tenant, chat, seen, move |writer| writer.move_tip(tip, now)).await
    }

    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError> {
        self.read_chat(tenant, chat, move |snapshot| nodes::path(snapshot, tip)).await
    }

    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError> {
        self.read_chat(tenant, chat, nodes::tree).await
    }

    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError> {
        let (of, chat) = (tenant.clone(), path.chat().clone());
        if let Some(recent) = self.states.get(tenant, path) {
            let (of, chat) = (of.clone(), chat.clone());
            let find = move |connection: &mut Connection| read::last_write(connection, &of, &chat);
            if self.pool.read_inline(find).await? == Some(recent.after) {
                return Ok(recent.into_state());
            }
        }
        let choice = Choice::on(path);
        let choose =
            move |connection: &mut Connection| read::choose_deltas(connection, &of, &chat, choice);
        let (after, chosen) = if path.items().len() > SHORT {
            self.pool.read(choose).await?
        } else {
            self.pool.read_inline(choose).await?
        };
        Ok(self.states.put(tenant, path, after, state_of(chosen, path.chat())?))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        self.read_chat(tenant, chat, |snapshot| {
            query(&snapshot.transaction, "listing turns", turn::LIST, snapshot.key(), |row| {
                turn::summary(row)
            })
        })
        .await
    }

    async fn turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<TurnRecord>, StoreError> {
        self.read_chat(tenant, chat, move |snapshot| snapshot.turn(turn)).await
    }

    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &LibrarySource,
    ) -> Result<(), StoreError> {
        let of = tenant.clone();
        let find = move |connection: &mut Connection| books::has_library(connection, &of, version);
        if self.pool.read(find).await? {
            return Ok(());
        }
        checks::library_is_named_right(version, library)?;
        let (body, pieces) = split_library(library).map_err(|error| not_json(&error))?;
        let pieces = self.compressed(tenant, pieces).await?;
        let of = tenant.clone();
        let write = move |unit: super::UnitOfWork<'_>| {
            books::store_library(unit, &of, version, &body, &pieces)
        };
        self.pool.write(write).await
    }

    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<LibrarySource>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| books::find_library(connection, &tenant, version)).await
    }
}
