//! Stories in the memory of this process: for tests and for trying things out.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use async_trait::async_trait;
use loreloom_core::{
    chat::{GenerationType, Path},
    ids::{ChatId, LibraryVersion, MessageId, PrefixHash, TenantId},
    library::Shelf,
    state::StoryState,
    units::Timestamp,
};
use loreloom_ports::{
    ChatRecord, ChatSummary, Node, Reply, Retained, Retention, StoreError, StoredTurn, StoryStore,
    TurnId, TurnRecord, TurnSummary, WriteId, WriteKind, WriteRecord,
};
use rustc_hash::FxHashMap;

use crate::{
    checks,
    codec::trim,
    fold::{Candidate, Choice},
    in_process::Remembered,
    memory_desk::Desks,
    undo::{self, Did},
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
    turns: Vec<KeptTurn>,
    writes: Vec<WriteRecord>,
}

#[derive(Debug)]
struct KeptTurn {
    record: TurnRecord,
    message: Option<MessageId>,
    reply: Option<PrefixHash>,
    undone: bool,
    trimmed: bool,
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
            writes: Vec::new(),
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
        Ok(self.finish(path.prefix(), Did::new(WriteKind::Path), now))
    }

    /// Moves the tip and writes the log.
    fn finish(&mut self, tip: PrefixHash, did: Did, now: Timestamp) -> ChatRecord {
        self.chat.updated = now;
        self.chat.version += 1;
        let before = std::mem::replace(&mut self.chat.tip, tip);
        let Did { kind, reply, undoes } = did;
        let id = self.chat.last_write();
        self.writes.push(WriteRecord { id, kind, undoes, tip: before, reply, created: now });
        self.chat.clone()
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
        Ok(self.finish(tip, Did::new(WriteKind::Tip), now))
    }

    fn undo(&mut self, write: WriteId, now: Timestamp) -> Result<ChatRecord, StoreError> {
        let undo = undo::plan(&self.chat.id, &self.writes, write)?;
        let (undone, write) = (undo.undone, undo.write.clone());
        let mut did = Did { undoes: Some(write.id), ..Did::new(write.kind) };
        match write.kind {
            WriteKind::Turn(turn) => {
                if let Some(turn) = self.turn_mut(turn) {
                    turn.undone = undone;
                }
            }
            WriteKind::Reply(turn) => {
                if let Some(turn) = self.turn_mut(turn) {
                    did.reply = std::mem::replace(&mut turn.reply, write.reply);
                }
            }
            WriteKind::Path | WriteKind::Tip => (),
        }
        Ok(self.finish(write.tip, did, now))
    }

    fn commit_turn(&mut self, path: &Path, turn: &TurnRecord, seen: Option<u64>) -> Commit {
        checks::version_was_seen(&self.chat, seen)?;
        self.add_path(path);
        let message = path.items().last().map(|item| item.id);
        let record = turn.clone();
        self.turns.push(KeptTurn { record, message, reply: None, undone: false, trimmed: false });
        let id = TurnId(self.turns.len() as u64);
        let stays = turn.generation == GenerationType::Edit;
        let tip = if stays { self.chat.tip } else { turn.at };
        let chat = self.finish(tip, Did::new(WriteKind::Turn(id)), turn.created);
        Ok(StoredTurn { id, write: chat.last_write() })
    }

    fn turn(&self, turn: TurnId) -> Option<&KeptTurn> {
        self.turns.get(place_of(turn)?)
    }

    fn turn_mut(&mut self, turn: TurnId) -> Option<&mut KeptTurn> {
        self.turns.get_mut(place_of(turn)?)
    }

    fn commit_reply(&mut self, reply: &Reply) -> Result<WriteId, StoreError> {
        let missing = || StoreError::NoTurn { chat: self.chat.id.clone(), turn: reply.turn };
        let place = place_of(reply.turn).filter(|&place| place < self.turns.len());
        let place = place.ok_or_else(missing)?;
        if reply.node.parent != PrefixHash::default() {
            self.node(reply.node.parent)?;
        }
        self.add(reply.node.clone());
        let before = self.turns[place].reply.replace(reply.node.prefix);
        let left = self.chat.tip == self.turns[place].record.at;
        let tip = if left { reply.node.prefix } else { self.chat.tip };
        let did = Did { reply: before, ..Did::new(WriteKind::Reply(reply.turn)) };
        Ok(self.finish(tip, did, reply.created).last_write())
    }

    fn state(&self, path: &Path) -> StoryState {
        let mut choice = Choice::on(path);
        for turn in self.turns.iter().rev().filter(|turn| !turn.undone) {
            let generation = turn.record.generation;
            let candidate = Candidate { at: turn.record.at, message: turn.message, generation };
            let Ok(()) = choice.offer(candidate, || Ok::<_, Infallible>(&turn.record.delta));
        }
        let mut state = StoryState::default();
        choice.chosen().for_each(|delta| state.apply(delta));
        state
    }
}

type Commit = Result<StoredTurn, StoreError>;

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
    ) -> Result<StoredTurn, StoreError> {
        checks::turn_belongs(path, turn)?;
        self.write(tenant, path.chat(), |story| story.commit_turn(path, turn, seen))
    }

    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<WriteId, StoreError> {
        checks::node_is_named_right(&reply.node)?;
        self.write(tenant, chat, |story| story.commit_reply(reply))
    }

    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError> {
        self.read(tenant, chat, |story| Ok(story.writes.clone()))
    }

    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.write(tenant, chat, |story| story.undo(write, now))
    }

    async fn retain(
        &self,
        tenant: &TenantId,
        retention: &Retention,
    ) -> Result<Retained, StoreError> {
        let mut stories = self.stories.write().unwrap_or_else(PoisonError::into_inner);
        let mut retained = Retained::default();
        let mut used = BTreeSet::new();
        for ((_, _), story) in stories.iter_mut().filter(|((owner, _), _)| owner == tenant) {
            for (later, turn) in (0..).zip(story.turns.iter_mut().rev()) {
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
        self.write(tenant, chat, |story| {
            let known = story.turns.len() as u64;
            if let Some(&turn) = turns.iter().find(|turn| turn.0 == 0 || turn.0 > known) {
                return Err(StoreError::NoTurn { chat: chat.clone(), turn });
            }
            for (number, turn) in (1..).zip(&mut story.turns) {
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
