//! Changes that people make to memory. Each is one write, and each write can be undone.

mod records;
mod story_changes;

use std::sync::Arc;

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, MessageId, TenantId},
};
use loreloom_ports::{
    Author, Clock, MemoryChange, MemoryError, MemoryEventKind, MemoryId, MemoryLog, MemoryWriteId,
    NewMemoryEvent, Owner, OwnerEvents, RecordKey, RecordKind, Records, Write,
};
use serde_json::{Map, Value, json};

use super::{PathViews, Ports};
use crate::{
    event::{character_records, chat_records, fields_of, reverted, to_character, to_chat},
    record::{Memory, MemoryKind},
};

/// Why a change was refused. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// There is no such record.
    #[error("{owner} has no record `{id}`")]
    NoRecord {
        /// The owner.
        owner: Owner,
        /// The requested id.
        id: String,
    },
    /// A field cannot have that value.
    #[error("`{id}` cannot be changed that way: {reason}")]
    Field {
        /// The record.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// A memory needs a text.
    #[error("a memory must say something, found an empty text")]
    Empty,
    /// A merge needs two memories.
    #[error("a merge takes at least two memories, found {found}")]
    TooFew {
        /// How many there were.
        found: usize,
    },
    /// There is no such write.
    #[error("there is no write `{id}`")]
    NoWrite {
        /// The requested write.
        id: MemoryWriteId,
    },
    /// The write was undone.
    #[error("write `{id}` was undone already")]
    Undone {
        /// The requested write.
        id: MemoryWriteId,
    },
    /// The store failed, or somebody else wrote in between.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A memory that a person adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMemory {
    /// What it is about.
    pub kind: MemoryKind,
    /// The statement.
    pub content: String,
    /// 1 to 3.
    pub importance: Option<u8>,
    /// The messages it rests on. Without any it is active on every path.
    pub receipts: Vec<MessageId>,
}

/// The message from which on a change counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The chat.
    pub chat: ChatId,
    /// The message. The change counts on paths that contain it.
    pub message: MessageId,
}

/// The name of a write by a person, and where it comes from.
pub(super) struct HandWrite<'write> {
    id: MemoryWriteId,
    note: &'write str,
    chat: Option<ChatId>,
}

impl<'write> HandWrite<'write> {
    pub(super) fn new(id: MemoryWriteId, note: &'write str) -> Self {
        Self { id, note, chat: None }
    }

    fn in_chat(self, chat: Option<ChatId>) -> Self {
        Self { chat, ..self }
    }
}

/// An event that rests on no message.
pub(super) fn event(key: RecordKey, kind: MemoryEventKind, change: MemoryChange) -> NewMemoryEvent {
    NewMemoryEvent { record: Some(key), kind, receipts: Vec::new(), change }
}

/// Changes memory by hand.
pub struct MemoryEdits {
    log: Arc<dyn MemoryLog>,
    clock: Arc<dyn Clock>,
    views: Arc<PathViews>,
}

impl MemoryEdits {
    pub(super) fn new(ports: &Ports, views: &Arc<PathViews>) -> Self {
        Self {
            log: Arc::clone(&ports.log),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(views),
        }
    }

    /// Adds a memory. Returns its key and the write.
    pub async fn add(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        new: NewMemory,
    ) -> Result<(RecordKey, MemoryWriteId), EditError> {
        if new.content.trim().is_empty() {
            return Err(EditError::Empty);
        }
        let id = self.name(tenant, owner, &["add", &new.content]).await?;
        let key = RecordKey::new(memory_kind(owner), format!("h{id}"));
        let memory = Memory {
            id: MemoryId(key.id.clone()),
            kind: new.kind,
            content: new.content.trim().to_owned(),
            importance: new.importance,
            ts: Some(self.clock.now().0),
            confidence: Some(1.0),
            receipts: new.receipts,
            ..Memory::default()
        };
        let write = HandWrite::new(id, "added by hand").in_chat(chat_of(owner));
        let id = self.write(tenant, owner, write, vec![created(&key, &memory)]).await?;
        Ok((key, id))
    }

    /// Changes fields of a record. Unknown fields and impossible values are refused.
    pub async fn edit(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        changed: Map<String, Value>,
    ) -> Result<MemoryWriteId, EditError> {
        self.edit_from(tenant, owner, id, changed, None).await
    }

    /// The same on paths that contain a message, or on all paths.
    async fn edit_from(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        changed: Map<String, Value>,
        from: Option<&Since>,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
        let key = find(&records, owner, id)?;
        let mut after = records.get(&key).cloned().unwrap_or_default();
        for (name, value) in &changed {
            if value.is_null() {
                after.remove(name);
            } else {
                after.insert(name.clone(), value.clone());
            }
        }
        check(&key, &after, |name| changed.contains_key(name))?;
        let shown = Value::Object(changed.clone()).to_string();
        let name = self.name(tenant, owner, &["edit", id, &shown]).await?;
        let event = event(key, MemoryEventKind::Edited, MemoryChange::Fields(changed));
        self.write_from(tenant, owner, HandWrite::new(name, "edited by hand"), event, from).await
    }

    /// Pins a memory or an arc, so that it does not fade and is not dropped; or unpins it.
    pub async fn pin(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        pinned: bool,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
        let kind = find(&records, owner, id)?.kind;
        let is_arc = matches!(kind, RecordKind::Arc | RecordKind::PinnedArc);
        let field = if is_arc { "persistent" } else { "pinned" };
        self.edit(tenant, owner, id, one(field, json!(pinned))).await
    }

    /// Replaces several memories by one. The old ones are kept and linked.
    pub async fn merge(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        ids: &[String],
        content: &str,
    ) -> Result<(RecordKey, MemoryWriteId), EditError> {
        if ids.len() < 2 {
            return Err(EditError::TooFew { found: ids.len() });
        }
        if content.trim().is_empty() {
            return Err(EditError::Empty);
        }
        let records = self.views.records(tenant, owner).await?;
        let mut parents: Vec<(RecordKey, Memory)> = Vec::new();
        for id in ids {
            let key = find(&records, owner, id)?;
            let memory = records.get(&key).and_then(read);
            let missing = || EditError::NoRecord { owner: owner.clone(), id: id.clone() };
            parents.push((key, memory.ok_or_else(missing)?));
        }
        let name = self.name(tenant, owner, &["merge", content]).await?;
        let key = RecordKey::new(parents[0].0.kind, format!("h{name}"));
        let memory = merged(&parents, &key, content, self.clock.now().0);
        let replaced = one("superseded_by", json!(key.id));
        let mut events = vec![created(&key, &memory)];
        events.extend(parents.into_iter().map(|(parent, _)| NewMemoryEvent {
            record: Some(parent),
            kind: MemoryEventKind::Superseded,
            receipts: memory.receipts.clone(),
            change: MemoryChange::Fields(replaced.clone()),
        }));
        let chat = chat_of(owner).or_else(|| origin(&memory));
        let write = HandWrite::new(name, "merged by hand").in_chat(chat);
        let id = self.write(tenant, owner, write, events).await?;
        Ok((key, id))
    }

    /// Undoes a write, or an undo. A write that is already undone is refused.
    pub async fn undo(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<MemoryWriteId, EditError> {
        let known = self.log.written(tenant, write).await?;
        let known = known.ok_or_else(|| EditError::NoWrite { id: write.clone() })?;
        for owner in &known.owners {
            if reverted(&self.views.log(tenant, owner).await?.events).contains(write) {
                return Err(EditError::Undone { id: write.clone() });
            }
        }
        let now = self.clock.now();
        let hasher = Hasher::new("undo").field(write.0.as_bytes()).number(now.0.unsigned_abs());
        let id = MemoryWriteId(hasher.finish().to_string()[..16].to_owned());
        let change = MemoryChange::Revert(write.clone());
        let owners = for_each(known.owners, MemoryEventKind::Reverted, &change);
        let note = format!("undid {write}");
        self.write_all(tenant, HandWrite::new(id.clone(), &note), owners).await?;
        Ok(id)
    }

    /// Forgets what a chat remembers. The memory of its characters stays.
    pub async fn forget_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<MemoryWriteId, EditError> {
        self.forget(tenant, vec![Owner::Chat(chat.clone())], "forgot a chat").await
    }

    /// Forgets what a character remembers, from all chats. The memory of the chats stays.
    pub async fn forget_character(
        &self,
        tenant: &TenantId,
        character: &Owner,
    ) -> Result<MemoryWriteId, EditError> {
        self.forget(tenant, vec![character.clone()], "forgot a character").await
    }

    /// Forgets what a character and one of its chats remember.
    pub async fn fresh_start(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        character: &Owner,
    ) -> Result<MemoryWriteId, EditError> {
        let owners = vec![character.clone(), Owner::Chat(chat.clone())];
        self.forget(tenant, owners, "a fresh start").await
    }

    async fn forget(
        &self,
        tenant: &TenantId,
        owners: Vec<Owner>,
        note: &str,
    ) -> Result<MemoryWriteId, EditError> {
        let id = self.name(tenant, &owners[0], &["forget"]).await?;
        let owners = for_each(owners, MemoryEventKind::Forgotten, &MemoryChange::Forget);
        self.write_all(tenant, HandWrite::new(id.clone(), note), owners).await?;
        Ok(id)
    }

    /// Writes one event that counts from a message on, or on all paths.
    async fn write_from(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        write: HandWrite<'_>,
        mut event: NewMemoryEvent,
        from: Option<&Since>,
    ) -> Result<MemoryWriteId, EditError> {
        event.receipts = from.map(|from| from.message).into_iter().collect();
        let write = write.in_chat(from.map(|from| from.chat.clone()));
        self.write(tenant, owner, write, vec![event]).await
    }

    /// Writes events for one owner. Fails if somebody else wrote in between.
    async fn write(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        write: HandWrite<'_>,
        events: Vec<NewMemoryEvent>,
    ) -> Result<MemoryWriteId, EditError> {
        let seen = Some(self.views.log(tenant, owner).await?.events.len() as u64);
        let id = write.id.clone();
        self.store(tenant, write, vec![OwnerEvents { owner: owner.clone(), seen, events }]).await?;
        Ok(id)
    }

    /// Writes events for several owners, whatever others wrote in between.
    pub(super) async fn write_all(
        &self,
        tenant: &TenantId,
        write: HandWrite<'_>,
        events: Vec<(Owner, Vec<NewMemoryEvent>)>,
    ) -> Result<(), EditError> {
        let owners = events.into_iter();
        let owners = owners.map(|(owner, events)| OwnerEvents { owner, seen: None, events });
        self.store(tenant, write, owners.collect()).await
    }

    async fn store(
        &self,
        tenant: &TenantId,
        write: HandWrite<'_>,
        owners: Vec<OwnerEvents>,
    ) -> Result<(), EditError> {
        let write = Write {
            id: write.id,
            author: Author::Person,
            note: write.note.to_owned(),
            chat: write.chat,
            at: self.clock.now(),
            story: None,
            job: None,
            owners,
        };
        // The same write again changes nothing.
        self.log.write(tenant, &write).await?;
        Ok(())
    }

    /// A unique name for a write, from what is done to which state.
    pub(super) async fn name(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        parts: &[&str],
    ) -> Result<MemoryWriteId, MemoryError> {
        let seen = self.views.log(tenant, owner).await?.events.len() as u64;
        let hasher = Hasher::new("deed").field(owner.to_string().as_bytes()).number(seen);
        let hasher = parts.iter().fold(hasher, |hasher, part| hasher.field(part.as_bytes()));
        Ok(MemoryWriteId(hasher.finish().to_string()[..16].to_owned()))
    }
}

/// The same event for each owner.
fn for_each(
    owners: Vec<Owner>,
    kind: MemoryEventKind,
    change: &MemoryChange,
) -> Vec<(Owner, Vec<NewMemoryEvent>)> {
    let event = NewMemoryEvent { record: None, kind, receipts: Vec::new(), change: change.clone() };
    owners.into_iter().map(|owner| (owner, vec![event.clone()])).collect()
}

/// The event that adds a memory.
fn created(key: &RecordKey, memory: &Memory) -> NewMemoryEvent {
    NewMemoryEvent {
        receipts: memory.receipts.clone(),
        ..event(key.clone(), MemoryEventKind::Created, MemoryChange::New(fields_of(memory)))
    }
}

fn memory_kind(owner: &Owner) -> RecordKind {
    match owner {
        Owner::Chat(_) => RecordKind::SessionMemory,
        Owner::World(_) | Owner::Character(_) => RecordKind::Memory,
    }
}

fn chat_of(owner: &Owner) -> Option<ChatId> {
    match owner {
        Owner::Chat(chat) => Some(chat.clone()),
        Owner::World(_) | Owner::Character(_) => None,
    }
}

fn origin(memory: &Memory) -> Option<ChatId> {
    memory.source_chat_id.as_deref().map(ChatId::from)
}

fn merged(parents: &[(RecordKey, Memory)], key: &RecordKey, content: &str, now: i64) -> Memory {
    let first = &parents[0].1;
    let mut receipts: Vec<MessageId> = Vec::new();
    for id in parents.iter().flat_map(|(_, parent)| &parent.receipts) {
        if !receipts.contains(id) {
            receipts.push(*id);
        }
    }
    let same_chat = parents.iter().all(|(_, one)| one.source_chat_id == first.source_chat_id);
    Memory {
        id: MemoryId(key.id.clone()),
        kind: first.kind,
        content: content.trim().to_owned(),
        importance: parents.iter().filter_map(|(_, parent)| parent.importance).max(),
        ts: Some(now),
        confidence: Some(1.0),
        consolidated: true,
        // A memory from several chats has no single path, so it is active on all of them.
        receipts: if same_chat { receipts } else { Vec::new() },
        source_chat_id: first.source_chat_id.clone().filter(|_| same_chat),
        supersedes: parents.iter().map(|(parent, _)| MemoryId(parent.id.clone())).collect(),
        ..Memory::default()
    }
}

pub(super) fn one(name: &str, value: Value) -> Map<String, Value> {
    std::iter::once((name.to_owned(), value)).collect()
}

fn read(fields: &Map<String, Value>) -> Option<Memory> {
    serde_json::from_value(Value::Object(fields.clone())).ok()
}

/// The record with that id, or the only one whose id starts with it.
pub(super) fn find(records: &Records, owner: &Owner, id: &str) -> Result<RecordKey, EditError> {
    let exact = records.iter().find(|(key, _)| key.name() == id).map(|(key, _)| key.clone());
    let mut begin = records.iter().filter(|(key, _)| !id.is_empty() && key.id.starts_with(id));
    let only = begin.next().filter(|_| begin.next().is_none()).map(|(key, _)| key.clone());
    exact.or(only).ok_or_else(|| EditError::NoRecord { owner: owner.clone(), id: id.to_owned() })
}

/// A record must read back unchanged, in the fields that a person `gave`. Some of the others
/// depend on the messages of the story.
pub(super) fn check(
    key: &RecordKey,
    fields: &Map<String, Value>,
    gave: impl Fn(&str) -> bool,
) -> Result<(), EditError> {
    let wrong =
        |reason: &str| EditError::Field { id: key.name().to_owned(), reason: reason.to_owned() };
    let content = fields.get("content").and_then(Value::as_str);
    if key.kind.is_memory() && content.is_none_or(|text| text.trim().is_empty()) {
        return Err(wrong("`content` must be a text that says something"));
    }
    let mut records = Records::default();
    records.insert(key.clone(), fields.clone());
    let again = [character_records(&to_character(&records)), chat_records(&to_chat(&records, &[]))];
    let kept = again.iter().flat_map(Records::iter).find(|(known, _)| known.kind == key.kind);
    let Some((_, kept)) = kept else { return Err(wrong("its fields do not fit together")) };
    for (name, value) in fields.iter().filter(|(name, _)| gave(name)) {
        if kept.get(name) != Some(value) && !is_nothing(value) {
            return Err(wrong(&format!("`{name}` cannot be {value}")));
        }
    }
    Ok(())
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty) || *value == json!(false)
}
