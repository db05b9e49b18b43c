//! Stories in the memory of this process: for tests and for trying things out.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use async_trait::async_trait;
use loreloom_core::{
    chat::Path,
    ids::{ChatId, LibraryVersion, MessageId, PrefixHash, TenantId},
    library::Shelf,
    state::StoryState,
    units::Timestamp,
};
use loreloom_memory::ports::{
    ChatRecord, ChatSummary, Node, Reply, StoreError, StoryStore, TurnId, TurnRecord, TurnSummary,
};
use rustc_hash::FxHashMap;

use crate::{
    checks,
    fold::{self, Candidate},
    in_process::Remembered,
    memory_desk::Desks,
};

/// Keeps stories in memory. Clones share what they keep.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    stories: Arc<RwLock<BTreeMap<(TenantId, ChatId), Story>>>,
    libraries: Arc<RwLock<BTreeMap<(TenantId, LibraryVersion), Shelf>>>,
    pub(crate) desks: Arc<Mutex<Desks>>,
    pub(crate) remembered: Arc<Mutex<Remembered>>,
}

#[derive(Debug)]
struct Story {
    chat: ChatRecord,
    nodes: Vec<Node>,
    /// Positions in `nodes`.
    places: FxHashMap<PrefixHash, usize>,
    turns: Vec<StoredTurn>,
}

#[derive(Debug)]
struct StoredTurn {
    record: TurnRecord,
    message: Option<MessageId>,
    reply: Option<PrefixHash>,
}

impl MemoryStore {
    fn read<T>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        read: impl FnOnce(&Story) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let stories = self.stories.read().unwrap_or_else(PoisonError::into_inner);
        let story = stories.get(&(tenant.clone(), chat.clone()));
        read(story.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })?)
    }

    fn write<T>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: impl FnOnce(&mut Story) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut stories = self.stories.write().unwrap_or_else(PoisonError::into_inner);
        let story = stories.get_mut(&(tenant.clone(), chat.clone()));
        write(story.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })?)
    }
}

impl Story {
    fn new(id: ChatId, title: &str, now: Timestamp) -> Self {
        let tip = PrefixHash::default();
        let title = title.to_owned();
        Self {
            chat: ChatRecord { id, title, tip, created: now, updated: now, version: 0 },
            nodes: Vec::new(),
            places: FxHashMap::default(),
            turns: Vec::new(),
        }
    }

    fn add(&mut self, node: Node) {
        if !self.places.contains_key(&node.prefix) {
            self.places.insert(node.prefix, self.nodes.len());
            self.nodes.push(node);
        }
    }

    fn add_path(&mut self, path: &Path) {
        let mut parent = PrefixHash::default();
        for item in path.items() {
            let message = item.message.clone();
            self.add(Node { prefix: item.prefix, parent, message_id: item.id, message });
            parent = item.prefix;
        }
    }

    fn commit_path(
        &mut self,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        checks::version_was_seen(&self.chat, seen)?;
        self.add_path(path);
        self.move_tip(path.prefix(), None, now)
    }

    fn touch(&mut self, now: Timestamp) {
        self.chat.updated = now;
        self.chat.version += 1;
    }

    fn node(&self, prefix: PrefixHash) -> Result<&Node, StoreError> {
        let place = self.places.get(&prefix);
        let node = place.and_then(|&place| self.nodes.get(place));
        node.ok_or_else(|| StoreError::NoNode { chat: self.chat.id.clone(), node: prefix })
    }

    fn path(&self, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
        let mut nodes = Vec::new();
        let mut at = tip;
        while at != PrefixHash::default() {
            let node = self.node(at)?;
            at = node.parent;
            nodes.push(node.clone());
        }
        nodes.reverse();
        Ok(nodes)
    }

    fn move_tip(
        &mut self,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        checks::version_was_seen(&self.chat, seen)?;
        if tip != PrefixHash::default() {
            self.node(tip)?;
        }
        self.chat.tip = tip;
        self.touch(now);
        Ok(self.chat.clone())
    }

    fn commit_turn(&mut self, path: &Path, turn: &TurnRecord, seen: Option<u64>) -> Commit {
        checks::version_was_seen(&self.chat, seen)?;
        self.add_path(path);
        let message = path.items().last().map(|item| item.id);
        self.turns.push(StoredTurn { record: turn.clone(), message, reply: None });
        self.chat.tip = turn.at;
        self.touch(turn.created);
        Ok(TurnId(self.turns.len() as u64))
    }

    fn turn(&self, turn: TurnId) -> Option<&StoredTurn> {
        self.turns.get(place_of(turn)?)
    }

    fn commit_reply(&mut self, reply: &Reply) -> Result<(), StoreError> {
        let missing = || StoreError::NoTurn { chat: self.chat.id.clone(), turn: reply.turn };
        let place = place_of(reply.turn).filter(|&place| place < self.turns.len());
        let place = place.ok_or_else(missing)?;
        if reply.node.parent != PrefixHash::default() {
            self.node(reply.node.parent)?;
        }
        self.add(reply.node.clone());
        self.turns[place].reply = Some(reply.node.prefix);
        if self.chat.tip == self.turns[place].record.at {
            self.chat.tip = reply.node.prefix;
        }
        self.touch(reply.created);
        Ok(())
    }

    fn state(&self, path: &Path) -> StoryState {
        let candidates = self.turns.iter().map(|turn| Candidate {
            at: turn.record.at,
            message: turn.message,
            generation: turn.record.generation,
            delta: &turn.record.delta,
        });
        let mut state = StoryState::default();
        for delta in fold::choose(path, candidates) {
            state.apply(delta);
        }
        state
    }
}

type Commit = Result<TurnId, StoreError>;

fn place_of(turn: TurnId) -> Option<usize> {
    usize::try_from(turn.0).ok()?.checked_sub(1)
}

#[async_trait]
impl StoryStore for MemoryStore {
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError> {
        let stories = self.stories.read().unwrap_or_else(PoisonError::into_inner);
        let mut chats = stories
            .iter()
            .filter(|((owner, _), _)| owner == tenant)
            .map(|(_, story)| {
                Ok(ChatSummary {
                    chat: story.chat.clone(),
                    messages: story.path(story.chat.tip)?.len() as u64,
                    turns: story.turns.len() as u64,
                })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        chats.sort_by(|a, b| b.chat.updated.cmp(&a.chat.updated).then(a.chat.id.cmp(&b.chat.id)));
        Ok(chats)
    }

    async fn chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ChatRecord>, StoreError> {
        let stories = self.stories.read().unwrap_or_else(PoisonError::into_inner);
        Ok(stories.get(&(tenant.clone(), chat.clone())).map(|story| story.chat.clone()))
    }

    async fn open_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let mut stories = self.stories.write().unwrap_or_else(PoisonError::into_inner);
        let story = stories.entry((tenant.clone(), chat.clone()));
        Ok(story.or_insert_with(|| Story::new(chat.clone(), title, now)).chat.clone())
    }

    async fn commit_turn(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        seen: Option<u64>,
    ) -> Result<TurnId, StoreError> {
        checks::turn_belongs(path, turn)?;
        self.write(tenant, path.chat(), |story| story.commit_turn(path, turn, seen))
    }

    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<(), StoreError> {
        checks::node_is_named_right(&reply.node)?;
        self.write(tenant, chat, |story| story.commit_reply(reply))
    }

    async fn commit_path(
        &self,
        tenant: &TenantId,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write(tenant, path.chat(), |story| story.commit_path(path, seen, now))
    }

    async fn move_tip(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write(tenant, chat, |story| story.move_tip(tip, seen, now))
    }

    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError> {
        self.read(tenant, chat, |story| story.path(tip))
    }

    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError> {
        self.read(tenant, chat, |story| Ok(story.nodes.clone()))
    }

    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError> {
        self.read(tenant, path.chat(), |story| Ok(story.state(path)))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        self.read(tenant, chat, |story| {
            Ok((1..)
                .zip(&story.turns)
                .map(|(number, turn)| TurnSummary {
                    id: TurnId(number),
                    at: turn.record.at,
                    generation: turn.record.generation,
                    created: turn.record.created,
                    reply: turn.reply,
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
        self.read(tenant, chat, |story| Ok(story.turn(turn).map(|turn| turn.record.clone())))
    }

    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &Shelf,
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
    ) -> Result<Option<Shelf>, StoreError> {
        let libraries = self.libraries.read().unwrap_or_else(PoisonError::into_inner);
        Ok(libraries.get(&(tenant.clone(), version)).cloned())
    }
}
