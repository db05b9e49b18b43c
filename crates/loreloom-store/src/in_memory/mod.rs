//! A store in the memory of this process, for tests and experiments.

mod chat;
mod documents;
mod jobs;
mod memory_log;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

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

use self::{chat::ChatInMemory, documents::DocumentTables, memory_log::MemoryTables};
use crate::{checks, codec::trim, rows};

/// Stores stories in memory. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct InMemoryStore {
    chats: Arc<RwLock<BTreeMap<(TenantId, ChatId), ChatInMemory>>>,
    libraries: Arc<RwLock<BTreeMap<(TenantId, LibraryVersion), LibrarySource>>>,
    responses: Arc<RwLock<BTreeMap<(TenantId, String), EndedResponse>>>,
    documents: Arc<Mutex<DocumentTables>>,
    memory: Arc<Mutex<MemoryTables>>,
    /// Counts writes to chats. It changes only while `chats` is locked.
    changes: Arc<AtomicU64>,
}

impl InMemoryStore {
    fn read<T>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        read: impl FnOnce(&ChatInMemory) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let chats = self.chats.read().unwrap_or_else(PoisonError::into_inner);
        let found = chats.get(&(tenant.clone(), chat.clone()));
        read(found.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })?)
    }

    fn write<T>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: impl FnOnce(&mut ChatInMemory) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut chats = self.chats.write().unwrap_or_else(PoisonError::into_inner);
        let found = chats.get_mut(&(tenant.clone(), chat.clone()));
        let chat = found.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })?;
        let (version, written) = (chat.chat.version, write(chat));
        if chat.chat.version != version {
            chat.changed = self.changes.fetch_add(1, Ordering::Relaxed) + 1;
        }
        written
    }
}

#[async_trait]
impl StoryStore for InMemoryStore {
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError> {
        let chats = self.chats.read().unwrap_or_else(PoisonError::into_inner);
        let mut chats = chats
            .iter()
            .filter(|((owner, _), _)| owner == tenant)
            .map(|(_, found)| {
                Ok(ChatSummary {
                    chat: found.chat.clone(),
                    messages: found.path(found.chat.tip)?.len() as u64,
                    turns: found.turns.len() as u64,
                })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        rows::chat::sort(&mut chats);
        Ok(chats)
    }

    async fn changed_chats(
        &self,
        tenant: &TenantId,
        mark: ChangeMark,
    ) -> Result<ChangedChats, StoreError> {
        let chats = self.chats.read().unwrap_or_else(PoisonError::into_inner);
        let new = chats.iter().filter(|((of, _), chat)| of == tenant && chat.changed > mark.0);
        let chats = new.map(|((_, id), chat)| (id.clone(), chat.chat.version)).collect();
        Ok(ChangedChats { chats, mark: ChangeMark(self.changes.load(Ordering::Relaxed)) })
    }

    async fn chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ChatRecord>, StoreError> {
        let chats = self.chats.read().unwrap_or_else(PoisonError::into_inner);
        Ok(chats.get(&(tenant.clone(), chat.clone())).map(|chat| chat.chat.clone()))
    }

    async fn open_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let mut chats = self.chats.write().unwrap_or_else(PoisonError::into_inner);
        let found = chats.entry((tenant.clone(), chat.clone()));
        Ok(found.or_insert_with(|| ChatInMemory::new(chat.clone(), title, now)).chat.clone())
    }

    async fn commit_turn(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        seen: Option<u64>,
    ) -> Result<StoredTurn, StoreError> {
        checks::turn_belongs(path, turn)?;
        self.write(tenant, path.chat(), |chat| chat.commit_turn(path, turn, seen))
    }

    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<WriteId, StoreError> {
        checks::node_is_named_right(&reply.node)?;
        self.write(tenant, chat, |chat| chat.commit_reply(reply))
    }

    async fn keep_response(
        &self,
        tenant: &TenantId,
        id: &str,
        ended: &EndedResponse,
    ) -> Result<(), StoreError> {
        self.read(tenant, &ended.chat, |_| Ok(()))?;
        let mut responses = self.responses.write().unwrap_or_else(PoisonError::into_inner);
        responses.insert((tenant.clone(), id.to_owned()), ended.clone());
        Ok(())
    }

    async fn response(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<EndedResponse>, StoreError> {
        let responses = self.responses.read().unwrap_or_else(PoisonError::into_inner);
        Ok(responses.get(&(tenant.clone(), id.to_owned())).cloned())
    }

    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError> {
        self.read(tenant, chat, |chat| Ok(chat.writes.clone()))
    }

    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write(tenant, chat, |chat| chat.undo(write, now))
    }

    async fn retain(
        &self,
        tenant: &TenantId,
        retention: &Retention,
    ) -> Result<Retained, StoreError> {
        let mut chats = self.chats.write().unwrap_or_else(PoisonError::into_inner);
        let mut retained = Retained::default();
        let mut used = BTreeSet::new();
        for ((_, _), found) in chats.iter_mut().filter(|((owner, _), _)| owner == tenant) {
            for (later, turn) in (0..).zip(found.turns.iter_mut().rev()) {
                used.insert(turn.record.library);
                if turn.trimmed || retention.keeps(later, turn.record.created) {
                    continue;
                }
                retained.turns += 1;
                if !retention.dry_run {
                    trim::record(&mut turn.record);
                    turn.trimmed = true;
                }
            }
        }
        let mut libraries = self.libraries.write().unwrap_or_else(PoisonError::into_inner);
        let unused = |owner: &TenantId, version: &LibraryVersion| {
            retention.unused_libraries && owner == tenant && !used.contains(version)
        };
        retained.libraries =
            libraries.keys().filter(|(owner, version)| unused(owner, version)).count() as u64;
        if !retention.dry_run {
            libraries.retain(|(owner, version), _| !unused(owner, version));
        }
        Ok(retained)
    }

    async fn trim(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turns: &[TurnId],
    ) -> Result<(), StoreError> {
        self.write(tenant, chat, |found| {
            let known = found.turns.len() as u64;
            if let Some(&turn) = turns.iter().find(|turn| turn.0 == 0 || turn.0 > known) {
                return Err(StoreError::NoTurn { chat: chat.clone(), turn });
            }
            for (number, turn) in (1..).zip(&mut found.turns) {
                if turns.contains(&TurnId(number)) {
                    trim::record(&mut turn.record);
                    turn.trimmed = true;
                }
            }
            Ok(())
        })
    }

    async fn commit_path(
        &self,
        tenant: &TenantId,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write(tenant, path.chat(), |chat| chat.commit_path(path, seen, now))
    }

    async fn move_tip(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write(tenant, chat, |chat| chat.move_tip(tip, seen, now))
    }

    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError> {
        self.read(tenant, chat, |chat| chat.path(tip))
    }

    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError> {
        self.read(tenant, chat, |chat| Ok(chat.nodes.clone()))
    }

    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError> {
        self.read(tenant, path.chat(), |chat| Ok(chat.state(path)))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        self.read(tenant, chat, |found| {
            Ok((1..)
                .zip(&found.turns)
                .map(|(number, turn)| TurnSummary {
                    id: TurnId(number),
                    at: turn.record.at,
                    generation: turn.record.generation,
                    created: turn.record.created,
                    reply: turn.reply,
                    undone: turn.undone,
                    trimmed: turn.trimmed,
                })
                .collect())
        })
    }

    async fn turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<TurnRecord>, StoreError> {
        self.read(tenant, chat, |chat| Ok(chat.turn(turn).map(|turn| turn.record.clone())))
    }

    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &LibrarySource,
    ) -> Result<(), StoreError> {
        checks::library_is_named_right(version, library)?;
        let mut libraries = self.libraries.write().unwrap_or_else(PoisonError::into_inner);
        libraries.entry((tenant.clone(), version)).or_insert_with(|| library.clone());
        Ok(())
    }

    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<LibrarySource>, StoreError> {
        let libraries = self.libraries.read().unwrap_or_else(PoisonError::into_inner);
        Ok(libraries.get(&(tenant.clone(), version)).cloned())
    }
}
