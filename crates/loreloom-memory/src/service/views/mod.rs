//! What is remembered on a path.

mod log_cache;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use loreloom_core::{
    chat::PathItem,
    ids::{CharacterId, ChatId, MessageId, PrefixHash, TenantId},
};
use loreloom_ports::{
    ChatRecord, MemoryError, MemoryEvent, MemoryLog, Node, Owner, Policy, Records, StoryStore,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub(super) use self::log_cache::OwnerLog;
use self::log_cache::{LogCache, MessageSet};
use super::{Options, Ports};
use crate::{
    event::{Live, fold, positioned, to_character, unplaced},
    record::{CharacterMemory, ChatMemory},
};

/// Whose memory it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Who {
    /// The same in every chat. The name, if the front end has no id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The card as text.
    pub card: String,
    /// The world, if there is one.
    pub world: Option<String>,
    /// How the memory is used.
    pub policy: Policy,
}

impl Who {
    /// A character of which only the name is known.
    pub fn named(name: &str) -> Self {
        Self { id: name.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// The owner of its memory.
    pub fn owner(&self) -> Owner {
        Owner::Character(CharacterId(self.id.clone()))
    }
}

/// What is remembered on a path, and how much of the logs was read.
#[derive(Clone, Debug, Default)]
pub struct MemoryView {
    /// What the character remembers in every chat.
    pub character: Arc<CharacterMemory>,
    /// What everybody of the world knows.
    pub world: Arc<CharacterMemory>,
    /// What the chat remembers.
    pub chat: ChatMemory,
    /// The last event of the character's log.
    pub character_seen: u64,
    /// The last event of the chat's log.
    pub chat_seen: u64,
}

#[derive(Clone, Copy)]
pub(super) struct ChatPath<'path> {
    pub(super) tenant: &'path TenantId,
    pub(super) chat: &'path ChatId,
    pub(super) path: &'path [PathItem],
}

/// The logs of a character, of the chat, and of the character's world.
pub(super) struct ViewLogs {
    own: OwnerLog,
    chat: OwnerLog,
    world: OwnerLog,
}

impl ViewLogs {
    /// Whether nothing was ever remembered.
    pub(super) fn are_empty(&self) -> bool {
        [&self.own, &self.chat, &self.world].into_iter().all(|log| log.events.is_empty())
    }
}

/// The messages that count, by chat: those of the path here, and the current path elsewhere.
struct CurrentMessages {
    here: ChatId,
    path: Arc<MessageSet>,
    others: FxHashMap<ChatId, Arc<MessageSet>>,
    /// Whether only memories of this chat count.
    is_local: bool,
}

impl CurrentMessages {
    fn contain(&self, chat: &ChatId, message: &MessageId) -> bool {
        if *chat == self.here {
            return self.path.contains(message);
        }
        let is_current = || self.others.get(chat).is_some_and(|path| path.contains(message));
        !self.is_local && is_current()
    }

    fn live(&self, events: &[MemoryEvent]) -> Live {
        let mut live = Live::of(events, |chat, message| self.contain(chat, message));
        if self.is_local {
            live.only(events, |event| event.chat.as_ref().is_none_or(|chat| *chat == self.here));
        }
        live
    }
}

/// Reads what is remembered on a path.
pub struct PathViews {
    story: Arc<dyn StoryStore>,
    log: Arc<dyn MemoryLog>,
    policies: BTreeMap<String, Policy>,
    cache: Mutex<LogCache>,
}

impl PathViews {
    pub(super) fn new(ports: &Ports, options: &Options) -> Self {
        Self {
            story: Arc::clone(&ports.story),
            log: Arc::clone(&ports.log),
            policies: options.policies.clone(),
            cache: Mutex::default(),
        }
    }

    fn cache(&self) -> MutexGuard<'_, LogCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered on a path. Other branches of the chat do not change it.
    pub async fn view(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
    ) -> Result<MemoryView, MemoryError> {
        let at = ChatPath { tenant, chat, path };
        let logs = self.logs_for(at, who).await?;
        self.view_of(at, who, logs).await
    }

    /// The logs that a character's view of a chat consists of.
    pub(super) async fn logs_for(
        &self,
        at: ChatPath<'_>,
        who: &Who,
    ) -> Result<ViewLogs, MemoryError> {
        let mut owners = vec![who.owner(), Owner::Chat(at.chat.clone())];
        owners.extend(who.world.clone().map(Owner::World));
        let mut logs = self.logs(at.tenant, owners).await?.into_iter();
        let mut next = || logs.next().unwrap_or_default();
        Ok(ViewLogs { own: next(), chat: next(), world: next() })
    }

    /// What these logs hold on a path.
    pub(super) async fn view_of(
        &self,
        at: ChatPath<'_>,
        who: &Who,
        logs: ViewLogs,
    ) -> Result<MemoryView, MemoryError> {
        let mut current = self.only_here(at);
        current.is_local = who.policy == Policy::Local;
        if !current.is_local {
            let events = logs.own.events.iter().chain(logs.world.events.iter());
            current.others = self.other_chats(at, events).await?;
        }
        let world = Owner::World(who.world.clone().unwrap_or_default());
        let (chat, chat_seen) = self.chat_memory(at, &current, logs.chat);
        Ok(MemoryView {
            character_seen: logs.own.events.len() as u64,
            character: self.character_memory(at.tenant, &who.owner(), logs.own, &current),
            world: self.character_memory(at.tenant, &world, logs.world, &current),
            chat,
            chat_seen,
        })
    }

    /// What a chat alone remembers on a path, and the last event of its log.
    pub(super) async fn chat_view(
        &self,
        at: ChatPath<'_>,
    ) -> Result<(ChatMemory, u64), MemoryError> {
        let current = self.only_here(at);
        let log = self.log(at.tenant, &Owner::Chat(at.chat.clone())).await?;
        Ok(self.chat_memory(at, &current, log))
    }

    fn only_here(&self, at: ChatPath<'_>) -> CurrentMessages {
        CurrentMessages {
            here: at.chat.clone(),
            path: self.cache().messages(at),
            others: FxHashMap::default(),
            is_local: false,
        }
    }

    fn chat_memory(
        &self,
        at: ChatPath<'_>,
        current: &CurrentMessages,
        mut log: OwnerLog,
    ) -> (ChatMemory, u64) {
        let seen = log.events.len() as u64;
        let live = Arc::new(current.live(&log.events));
        if let Some((known, memory)) = &log.chat
            && *known == live
        {
            return (positioned(ChatMemory::clone(memory), at.path), seen);
        }
        let memory = unplaced(&live.records(&log.events));
        log.chat = Some((live, Arc::new(memory.clone())));
        self.cache().put_log(at.tenant, &Owner::Chat(at.chat.clone()), log);
        (positioned(memory, at.path), seen)
    }

    fn character_memory(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        mut log: OwnerLog,
        current: &CurrentMessages,
    ) -> Arc<CharacterMemory> {
        if log.events.is_empty() {
            return Arc::default();
        }
        let live = Arc::new(current.live(&log.events));
        if let Some((known, memory)) = &log.character
            && *known == live
        {
            return Arc::clone(memory);
        }
        let memory = Arc::new(to_character(&live.records(&log.events)));
        log.character = Some((live, Arc::clone(&memory)));
        self.cache().put_log(tenant, owner, log);
        memory
    }

    /// All records of an owner, on every path.
    pub async fn records(&self, tenant: &TenantId, owner: &Owner) -> Result<Records, MemoryError> {
        Ok(fold(&self.log(tenant, owner).await?.events, |_, _| true))
    }

    /// The log of an owner, up to date.
    pub(super) async fn log(
        &self,
        tenant: &TenantId,
        owner: &Owner,
    ) -> Result<OwnerLog, MemoryError> {
        Ok(self.logs(tenant, vec![owner.clone()]).await?.pop().unwrap_or_default())
    }

    /// The logs of owners, in their order, with one request: every turn does this.
    pub(super) async fn logs(
        &self,
        tenant: &TenantId,
        owners: Vec<Owner>,
    ) -> Result<Vec<OwnerLog>, MemoryError> {
        let mut logs: Vec<OwnerLog> = {
            let cache = self.cache();
            owners.iter().map(|owner| cache.log(tenant, owner)).collect()
        };
        let ends = logs.iter().map(|log| log.events.len() as u64);
        let known: Vec<(Owner, u64)> = owners.into_iter().zip(ends).collect();
        let news = self.log.news(tenant, &known).await?;
        for ((log, (owner, _)), news) in logs.iter_mut().zip(&known).zip(news) {
            if !news.is_empty() {
                Arc::make_mut(&mut log.events).extend(news);
                self.cache().put_log(tenant, owner, log.clone());
            }
        }
        Ok(logs)
    }

    /// The current messages of the other chats that these events come from.
    async fn other_chats(
        &self,
        at: ChatPath<'_>,
        events: impl Iterator<Item = &MemoryEvent>,
    ) -> Result<FxHashMap<ChatId, Arc<MessageSet>>, MemoryError> {
        let mut others: FxHashMap<ChatId, Arc<MessageSet>> = FxHashMap::default();
        let has_receipts = |event: &&MemoryEvent| !event.event.receipts.is_empty();
        for chat in events.filter(has_receipts).filter_map(|event| event.chat.as_ref()) {
            if chat == at.chat || others.contains_key(chat) {
                continue;
            }
            let messages = self.current_messages(at.tenant, chat).await?;
            others.insert(chat.clone(), messages);
        }
        Ok(others)
    }

    async fn current_messages(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Arc<MessageSet>, MemoryError> {
        let Some(record) = self.story.chat(tenant, chat).await? else {
            return Ok(Arc::default());
        };
        if let Some(messages) = self.cache().messages_at(tenant, chat, record.tip) {
            return Ok(messages);
        }
        let nodes = self.story.path(tenant, chat, record.tip).await?;
        let ids = nodes.iter().map(|node| node.message_id);
        Ok(self.cache().put_messages(tenant, chat, record.tip, ids))
    }

    /// A chat and the messages of its current path.
    pub(super) async fn current_path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<(ChatRecord, Vec<PathItem>)>, MemoryError> {
        let Some(record) = self.story.chat(tenant, chat).await? else { return Ok(None) };
        let path = self.path_to(tenant, chat, record.tip).await?;
        Ok(Some((record, path)))
    }

    /// The messages up to a node.
    async fn path_to(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<PathItem>, MemoryError> {
        let nodes = self.story.path(tenant, chat, tip).await?;
        let item = |node: Node| PathItem {
            id: node.message_id,
            prefix: node.prefix,
            message: node.message,
        };
        Ok(nodes.into_iter().map(item).collect())
    }

    /// A character with the policy that is set for it.
    pub(super) fn with_policy(&self, mut who: Who) -> Who {
        let set = self.policies.get(&who.id).or_else(|| self.policies.get(&who.name));
        if let Some(policy) = set.filter(|_| who.policy == Policy::Full) {
            who.policy = *policy;
        }
        who
    }
}
