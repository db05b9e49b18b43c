//! What is remembered on a path.

use std::sync::Arc;

use loreloom_core::{
    chat::PathItem,
    ids::{CharacterId, ChatId, MessageId, TenantId},
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{
    MemoryService, Policy,
    cache::{OwnerLog, Told},
};
use crate::{
    event::{Live, positioned, to_character, unplaced},
    record::{CharacterMemory, ChatMemory},
};
use loreloom_ports::MemoryEvent;
use loreloom_ports::{MemoryError, Owner};

/// Whose memory it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Who {
    /// Stable over chats; where the host knows none, the name.
    pub id: String,
    /// The name.
    pub name: String,
    /// The card as text.
    pub card: String,
    /// The world, where it has one.
    pub world: Option<String>,
    /// What its memory is used for.
    pub policy: Policy,
}

impl Who {
    /// Somebody of whom only the name is known.
    pub fn named(name: &str) -> Self {
        Self { id: name.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// The owner of its memory.
    pub fn owner(&self) -> Owner {
        Owner::Character(CharacterId(self.id.clone()))
    }
}

/// What is remembered on a path, and how far the logs had been read.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What outlives the chat.
    pub character: Arc<CharacterMemory>,
    /// What everybody of the world knows.
    pub world: Arc<CharacterMemory>,
    /// What belongs to the chat.
    pub chat: ChatMemory,
    /// The last event of the character's log.
    pub character_seen: u64,
    /// The last event of the chat's log.
    pub chat_seen: u64,
}

/// The logs of a character, of the chat, and of the character's world.
pub(super) struct Logs {
    own: OwnerLog,
    chat: OwnerLog,
    shared: OwnerLog,
}

impl Logs {
    /// Whether nothing has ever been remembered.
    pub(super) fn are_empty(&self) -> bool {
        [&self.own, &self.chat, &self.shared].into_iter().all(|log| log.events.is_empty())
    }
}

/// Which messages are told, by chat.
pub(super) struct Telling {
    pub(super) here: ChatId,
    pub(super) path: Arc<Told>,
    others: FxHashMap<ChatId, Arc<Told>>,
    is_local: bool,
}

impl Telling {
    fn tells(&self, chat: &ChatId, message: &MessageId) -> bool {
        if *chat == self.here {
            return self.path.contains(message);
        }
        let told = || self.others.get(chat).is_some_and(|told| told.contains(message));
        !self.is_local && told()
    }

    fn live(&self, events: &[MemoryEvent]) -> Live {
        let mut live = Live::of(events, |chat, message| self.tells(chat, message));
        if self.is_local {
            live.only(events, |event| event.chat.as_ref().is_none_or(|chat| *chat == self.here));
        }
        live
    }
}

impl MemoryService {
    /// What is remembered on a path: it depends on that path and on who remembers, and on
    /// nothing that was told elsewhere in the chat.
    pub async fn view(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
    ) -> Result<View, MemoryError> {
        let logs = self.logs_for(tenant, chat, who).await?;
        self.view_of(tenant, chat, path, who, logs).await
    }

    /// The logs that a character's view of a chat is made of.
    pub(super) async fn logs_for(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        who: &Who,
    ) -> Result<Logs, MemoryError> {
        let mut owners = vec![who.owner(), Owner::Chat(chat.clone())];
        owners.extend(who.world.clone().map(Owner::World));
        let mut logs = self.logs(tenant, owners).await?.into_iter();
        let mut next = || logs.next().unwrap_or_default();
        Ok(Logs { own: next(), chat: next(), shared: next() })
    }

    /// What these logs say on a path.
    pub(super) async fn view_of(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
        Logs { own, chat: told_here, shared }: Logs,
    ) -> Result<View, MemoryError> {
        let mut telling = Telling {
            here: chat.clone(),
            path: self.caches().path_told(tenant, chat, path),
            others: FxHashMap::default(),
            is_local: who.policy == Policy::Local,
        };
        if !telling.is_local {
            let events = own.events.iter().chain(shared.events.iter());
            telling.others = self.other_chats(tenant, chat, events).await?;
        }
        let world = Owner::World(who.world.clone().unwrap_or_default());
        let (chat_memory, chat_seen) = self.chat_memory(tenant, &telling, path, told_here);
        Ok(View {
            character_seen: own.events.len() as u64,
            character: self.folded(tenant, &who.owner(), own, &telling),
            world: self.folded(tenant, &world, shared, &telling),
            chat: chat_memory,
            chat_seen,
        })
    }

    /// What a chat alone remembers on a path.
    pub(super) async fn chat_view(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<(ChatMemory, u64), MemoryError> {
        let telling = Telling {
            here: chat.clone(),
            path: self.caches().path_told(tenant, chat, path),
            others: FxHashMap::default(),
            is_local: false,
        };
        let log = self.log(tenant, &Owner::Chat(chat.clone())).await?;
        Ok(self.chat_memory(tenant, &telling, path, log))
    }

    fn chat_memory(
        &self,
        tenant: &TenantId,
        telling: &Telling,
        path: &[PathItem],
        mut log: OwnerLog,
    ) -> (ChatMemory, u64) {
        let seen = log.events.len() as u64;
        let live = Arc::new(telling.live(&log.events));
        if let Some((known, memory)) = &log.chat
            && *known == live
        {
            return (positioned(ChatMemory::clone(memory), path), seen);
        }
        let memory = unplaced(&live.records(&log.events));
        log.chat = Some((live, Arc::new(memory.clone())));
        self.caches().keep_log(tenant, &Owner::Chat(telling.here.clone()), log);
        (positioned(memory, path), seen)
    }

    fn folded(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        mut log: OwnerLog,
        telling: &Telling,
    ) -> Arc<CharacterMemory> {
        if log.events.is_empty() {
            return Arc::default();
        }
        let live = Arc::new(telling.live(&log.events));
        if let Some((known, memory)) = &log.character
            && *known == live
        {
            return Arc::clone(memory);
        }
        let memory = Arc::new(to_character(&live.records(&log.events)));
        log.character = Some((live, Arc::clone(&memory)));
        self.caches().keep_log(tenant, owner, log);
        memory
    }

    /// The log of an owner, with what was added since it was last read.
    pub(super) async fn log(
        &self,
        tenant: &TenantId,
        owner: &Owner,
    ) -> Result<OwnerLog, MemoryError> {
        Ok(self.logs(tenant, vec![owner.clone()]).await?.pop().unwrap_or_default())
    }

    /// The logs of owners, in their order, looked up at once: every turn does this.
    pub(super) async fn logs(
        &self,
        tenant: &TenantId,
        owners: Vec<Owner>,
    ) -> Result<Vec<OwnerLog>, MemoryError> {
        let mut logs: Vec<OwnerLog> = {
            let caches = self.caches();
            owners.iter().map(|owner| caches.log(tenant, owner)).collect()
        };
        let ends = logs.iter().map(|log| log.events.len() as u64);
        let known: Vec<(Owner, u64)> = owners.into_iter().zip(ends).collect();
        let news = self.ports.log.news(tenant, &known).await?;
        for ((log, (owner, _)), news) in logs.iter_mut().zip(&known).zip(news) {
            if !news.is_empty() {
                Arc::make_mut(&mut log.events).extend(news);
                self.caches().keep_log(tenant, owner, log.clone());
            }
        }
        Ok(logs)
    }

    /// The current messages of the other chats these events come from.
    async fn other_chats(
        &self,
        tenant: &TenantId,
        here: &ChatId,
        events: impl Iterator<Item = &MemoryEvent>,
    ) -> Result<FxHashMap<ChatId, Arc<Told>>, MemoryError> {
        let mut others: FxHashMap<ChatId, Arc<Told>> = FxHashMap::default();
        let rests = |event: &&MemoryEvent| !event.event.receipts.is_empty();
        for chat in events.filter(rests).filter_map(|event| event.chat.as_ref()) {
            if chat == here || others.contains_key(chat) {
                continue;
            }
            let told = self.current(tenant, chat).await?;
            others.insert(chat.clone(), told);
        }
        Ok(others)
    }

    /// The messages of a chat's current path.
    async fn current(&self, tenant: &TenantId, chat: &ChatId) -> Result<Arc<Told>, MemoryError> {
        let Some(record) = self.ports.story.chat(tenant, chat).await? else {
            return Ok(Arc::default());
        };
        if let Some(told) = self.caches().told(tenant, chat, record.tip) {
            return Ok(told);
        }
        let nodes = self.ports.story.path(tenant, chat, record.tip).await?;
        let told: Arc<Told> = Arc::new(nodes.iter().map(|node| node.message_id).collect());
        self.caches().keep_told(tenant, chat, record.tip, nodes.len(), Arc::clone(&told));
        Ok(told)
    }
}
