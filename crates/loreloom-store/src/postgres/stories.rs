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

use super::{
    PostgresStore, books,
    read::{self, ChatSnapshot},
    retain,
    statement::{Parameters, client, decode_all, execute, query, query_first},
    write::{self, ChatWriter},
};
use crate::{
    checks,
    codec::{TurnDraft, split_library, state_of},
    errors::{DecodeResult as _, not_json},
    fold::Choice,
    rows::{chat, response},
};

#[async_trait]
impl StoryStore for PostgresStore {
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError> {
        let doing = "listing chats";
        let client = client(&self.pool).await?;
        let rows = query(&client, doing, chat::LIST, &[&tenant.as_str()]).await?;
        let mut chats = decode_all(&rows, doing, chat::summary)?;
        chat::sort(&mut chats);
        Ok(chats)
    }

    async fn changed_chats(
        &self,
        tenant: &TenantId,
        mark: ChangeMark,
    ) -> Result<ChangedChats, StoreError> {
        read::changed_chats(&client(&self.pool).await?, tenant, mark).await
    }

    async fn chat(&self, tenant: &TenantId, id: &ChatId) -> Result<Option<ChatRecord>, StoreError> {
        let client = client(&self.pool).await?;
        let row = read::find_chat_if_any(&client, chat::FIND, tenant, id).await?;
        Ok(row.map(|row| row.record))
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
        let mut client = client(&self.pool).await?;
        // A stale draft clears the path it was based on, so the second one is complete.
        for _ in 0..2 {
            let draft = self.paths.draft(tenant, path, turn)?;
            let writer = ChatWriter::begin(&mut client, tenant, path.chat(), seen).await?;
            let outcome = writer.commit_turn(draft).await?;
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
        let mut client = client(&self.pool).await?;
        let writer = ChatWriter::begin(&mut client, tenant, chat, None).await?;
        let (write, number) = writer.commit_reply(reply).await?;
        self.paths.extend(tenant, chat, &reply.node, number);
        Ok(write)
    }

    async fn keep_response(
        &self,
        tenant: &TenantId,
        id: &str,
        ended: &EndedResponse,
    ) -> Result<(), StoreError> {
        let row: &Parameters<'_> =
            &[&tenant.as_str(), &id.as_bytes(), &ended.chat.as_str(), &ended.at.0.0.as_slice()];
        let doing = "keeping where a response ended";
        match execute(&client(&self.pool).await?, doing, response::KEEP, row).await? {
            0 => Err(StoreError::NoChat { chat: ended.chat.clone() }),
            _ => Ok(()),
        }
    }

    async fn response(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<EndedResponse>, StoreError> {
        let (doing, client) = ("looking for a response", client(&self.pool).await?);
        let key: &Parameters<'_> = &[&tenant.as_str(), &id.as_bytes()];
        let row = query_first(&client, doing, response::FIND, key).await?;
        row.map(|row| response::ended(&row).row_while(doing)).transpose()
    }

    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError> {
        let mut client = client(&self.pool).await?;
        ChatSnapshot::begin(&mut client, tenant, chat).await?.writes().await
    }

    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let mut client = client(&self.pool).await?;
        ChatWriter::begin(&mut client, tenant, chat, None).await?.undo(write, now).await
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
        let writer = ChatWriter::begin(&mut client, tenant, path.chat(), seen).await?;
        writer.commit_path(&TurnDraft::of_path(path, now)).await
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
        ChatWriter::begin(&mut client, tenant, chat, seen).await?.move_tip(tip, now).await
    }

    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError> {
        let mut client = client(&self.pool).await?;
        ChatSnapshot::begin(&mut client, tenant, chat).await?.path(tip).await
    }

    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError> {
        let mut client = client(&self.pool).await?;
        ChatSnapshot::begin(&mut client, tenant, chat).await?.tree().await
    }

    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError> {
        let client = client(&self.pool).await?;
        if let Some(recent) = self.states.get(tenant, path)
            && read::last_write(&client, tenant, path.chat()).await? == Some(recent.after)
        {
            return Ok(recent.into_state());
        }
        let choice = Choice::on(path);
        let (after, chosen) = read::choose_deltas(&client, tenant, path.chat(), choice).await?;
        Ok(self.states.put(tenant, path, after, state_of(chosen, path.chat())?))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        let mut client = client(&self.pool).await?;
        ChatSnapshot::begin(&mut client, tenant, chat).await?.turns().await
    }

    async fn turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<TurnRecord>, StoreError> {
        let mut client = client(&self.pool).await?;
        ChatSnapshot::begin(&mut client, tenant, chat).await?.turn(turn).await
    }

    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &LibrarySource,
    ) -> Result<(), StoreError> {
        let mut client = client(&self.pool).await?;
        if books::has_library(&client, tenant, version).await? {
            return Ok(());
        }
        checks::library_is_named_right(version, library)?;
        let (body, pieces) = split_library(library).map_err(|error| not_json(&error))?;
        books::store_library(&mut client, tenant, version, &body, &pieces).await
    }

    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<LibrarySource>, StoreError> {
        books::find_library(&client(&self.pool).await?, tenant, version).await
    }
}
