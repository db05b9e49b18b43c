//! What people do to memory: every deed is one write, and every write can be undone.

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, MessageId, TenantId},
};
use serde_json::{Map, Value, json};

use super::MemoryService;
use crate::{
    event::{fold, reverted, to_character, to_chat},
    record::{Kind, Memory},
};
use loreloom_ports::{Author, MemoryError, Owner, OwnerEvents, Write, Written};
use loreloom_ports::{MemoryChange, MemoryEventKind, MemoryWriteId, NewMemoryEvent};
use loreloom_ports::{MemoryId, RecordKey, RecordKind, Records};

/// Why a deed was refused. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    /// There is no such record.
    #[error("{owner} has no record `{id}`")]
    NoRecord {
        /// The owner.
        owner: Owner,
        /// The id asked for.
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
    /// A memory says something.
    #[error("a memory must say something, found an empty text")]
    Empty,
    /// Merging takes two.
    #[error("a merge takes at least two memories, found {found}")]
    TooFew {
        /// How many were given.
        found: usize,
    },
    /// There is no such write.
    #[error("there is no write `{id}`")]
    NoWrite {
        /// The write asked for.
        id: MemoryWriteId,
    },
    /// It does not count any more.
    #[error("write `{id}` was undone already")]
    Undone {
        /// The write asked for.
        id: MemoryWriteId,
    },
    /// The store failed or somebody else wrote in between.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A memory that a person notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMemory {
    /// What it is about.
    pub kind: Kind,
    /// The statement.
    pub content: String,
    /// 1 to 3.
    pub importance: Option<u8>,
    /// The messages it rests on; none for something that holds on every path.
    pub receipts: Vec<MessageId>,
}

/// From where in a story on something is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The chat.
    pub chat: ChatId,
    /// Its message: paths that have told it are those on which it is so.
    pub message: MessageId,
}

impl MemoryService {
    /// All records of an owner, on whatever path they hold.
    pub async fn records(&self, tenant: &TenantId, owner: &Owner) -> Result<Records, MemoryError> {
        let log = self.log(tenant, owner).await?;
        Ok(fold(&log.events, |_, _| true))
    }

    /// Notes a memory. Returns its id and the write.
    pub async fn add(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        new: NewMemory,
    ) -> Result<(RecordKey, MemoryWriteId), ByHandError> {
        if new.content.trim().is_empty() {
            return Err(ByHandError::Empty);
        }
        let id = self.name(tenant, owner, &["add", &new.content]).await?;
        let key = RecordKey::new(memory_kind(owner), format!("h{id}"));
        let memory = Memory {
            id: MemoryId(key.id.clone()),
            kind: new.kind,
            content: new.content.trim().to_owned(),
            importance: new.importance,
            ts: Some(self.ports.clock.now().0),
            confidence: Some(1.0),
            receipts: new.receipts.clone(),
            ..Memory::default()
        };
        let event = NewMemoryEvent {
            record: Some(key.clone()),
            kind: MemoryEventKind::Created,
            receipts: new.receipts,
            change: MemoryChange::New(fields(&memory)),
        };
        let chat = chat_of(owner);
        self.deed(tenant, owner, &id, "added by hand", chat, vec![event]).await?;
        Ok((key, MemoryWriteId(id)))
    }

    /// Changes fields of a record. Unknown fields and values that make no sense are refused.
    pub async fn edit(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        changed: Map<String, Value>,
    ) -> Result<MemoryWriteId, ByHandError> {
        self.edit_from(tenant, owner, id, changed, None).await
    }

    /// The same, on paths that have told a message; on all of them without one.
    pub(super) async fn edit_from(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        changed: Map<String, Value>,
        from: Option<&Since>,
    ) -> Result<MemoryWriteId, ByHandError> {
        let records = self.records(tenant, owner).await?;
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
        let write = self.name(tenant, owner, &["edit", id, &shown]).await?;
        let event = NewMemoryEvent {
            record: Some(key),
            kind: MemoryEventKind::Edited,
            receipts: from.map(|from| from.message).into_iter().collect(),
            change: MemoryChange::Fields(changed),
        };
        let chat = from.map(|from| from.chat.clone());
        self.deed(tenant, owner, &write, "edited by hand", chat, vec![event]).await?;
        Ok(MemoryWriteId(write))
    }

    /// Pins a memory or a thread: it does not fade and is not pushed out. Or lets it go.
    pub async fn pin(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        pinned: bool,
    ) -> Result<MemoryWriteId, ByHandError> {
        let records = self.records(tenant, owner).await?;
        let kind = find(&records, owner, id)?.kind;
        let is_thread = matches!(kind, RecordKind::Arc | RecordKind::PinnedArc);
        let field = if is_thread { "persistent" } else { "pinned" };
        self.edit(tenant, owner, id, one(field, json!(pinned))).await
    }

    /// Puts one memory in the place of several. The old ones are kept and linked.
    pub async fn merge(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        ids: &[String],
        content: &str,
    ) -> Result<(RecordKey, MemoryWriteId), ByHandError> {
        if ids.len() < 2 {
            return Err(ByHandError::TooFew { found: ids.len() });
        }
        if content.trim().is_empty() {
            return Err(ByHandError::Empty);
        }
        let records = self.records(tenant, owner).await?;
        let mut parents: Vec<(RecordKey, Memory)> = Vec::new();
        for id in ids {
            let key = find(&records, owner, id)?;
            let memory = records.get(&key).and_then(read);
            let missing = || ByHandError::NoRecord { owner: owner.clone(), id: id.clone() };
            parents.push((key, memory.ok_or_else(missing)?));
        }
        let write = self.name(tenant, owner, &["merge", content]).await?;
        let key = RecordKey::new(parents[0].0.kind, format!("h{write}"));
        let memory = merged(&parents, &key, content, self.ports.clock.now().0);
        let receipts = memory.receipts.clone();
        let mut events = vec![NewMemoryEvent {
            record: Some(key.clone()),
            kind: MemoryEventKind::Created,
            receipts: receipts.clone(),
            change: MemoryChange::New(fields(&memory)),
        }];
        events.extend(parents.into_iter().map(|(parent, _)| NewMemoryEvent {
            record: Some(parent),
            kind: MemoryEventKind::Superseded,
            receipts: receipts.clone(),
            change: MemoryChange::Fields(one("superseded_by", json!(key.id))),
        }));
        let chat = chat_of(owner).or_else(|| origin(&memory));
        self.deed(tenant, owner, &write, "merged by hand", chat, events).await?;
        Ok((key, MemoryWriteId(write)))
    }

    /// Undoes a write, or an undo. What was undone already is refused.
    pub async fn undo(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<MemoryWriteId, ByHandError> {
        let known = self.ports.log.written(tenant, write).await?;
        let known = known.ok_or_else(|| ByHandError::NoWrite { id: write.clone() })?;
        for owner in &known.owners {
            if reverted(&self.log(tenant, owner).await?.events).contains(write) {
                return Err(ByHandError::Undone { id: write.clone() });
            }
        }
        let now = self.ports.clock.now();
        let hasher = Hasher::new("undo").field(write.0.as_bytes()).number(now.0.unsigned_abs());
        let id = hasher.finish().to_string()[..16].to_owned();
        let event = NewMemoryEvent {
            record: None,
            kind: MemoryEventKind::Reverted,
            receipts: Vec::new(),
            change: MemoryChange::Revert(write.clone()),
        };
        let owners = known.owners.into_iter();
        let owners =
            owners.map(|owner| OwnerEvents { owner, seen: None, events: vec![event.clone()] });
        self.person_writes(tenant, &id, &format!("undid {write}"), None, owners.collect()).await?;
        Ok(MemoryWriteId(id))
    }

    /// Forgets what a chat remembers. What characters remember of it stays.
    pub async fn forget_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<MemoryWriteId, ByHandError> {
        self.forget(tenant, vec![Owner::Chat(chat.clone())], "forgot a chat").await
    }

    /// Forgets what a character remembers, from all chats. What chats remember stays.
    pub async fn forget_character(
        &self,
        tenant: &TenantId,
        character: &Owner,
    ) -> Result<MemoryWriteId, ByHandError> {
        self.forget(tenant, vec![character.clone()], "forgot a character").await
    }

    /// Forgets what a character remembers, and what a chat of it does.
    pub async fn fresh_start(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        character: &Owner,
    ) -> Result<MemoryWriteId, ByHandError> {
        let owners = vec![character.clone(), Owner::Chat(chat.clone())];
        self.forget(tenant, owners, "a fresh start").await
    }

    async fn forget(
        &self,
        tenant: &TenantId,
        owners: Vec<Owner>,
        note: &str,
    ) -> Result<MemoryWriteId, ByHandError> {
        let event = NewMemoryEvent {
            record: None,
            kind: MemoryEventKind::Forgotten,
            receipts: Vec::new(),
            change: MemoryChange::Forget,
        };
        let id = self.name(tenant, &owners[0], &["forget"]).await?;
        let owners = owners.into_iter();
        let owners =
            owners.map(|owner| OwnerEvents { owner, seen: None, events: vec![event.clone()] });
        self.person_writes(tenant, &id, note, None, owners.collect()).await?;
        Ok(MemoryWriteId(id))
    }

    pub(super) async fn deed(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        note: &str,
        chat: Option<ChatId>,
        events: Vec<NewMemoryEvent>,
    ) -> Result<(), ByHandError> {
        let seen = Some(self.log(tenant, owner).await?.events.len() as u64);
        let owners = vec![OwnerEvents { owner: owner.clone(), seen, events }];
        self.person_writes(tenant, id, note, chat, owners).await
    }

    pub(super) async fn person_writes(
        &self,
        tenant: &TenantId,
        id: &str,
        note: &str,
        chat: Option<ChatId>,
        owners: Vec<OwnerEvents>,
    ) -> Result<(), ByHandError> {
        let write = Write {
            id: MemoryWriteId(id.to_owned()),
            author: Author::Person,
            note: note.to_owned(),
            chat,
            at: self.ports.clock.now(),
            story: None,
            job: None,
            owners,
        };
        match self.ports.log.write(tenant, &write).await? {
            Written::Stored | Written::Before => Ok(()),
        }
    }

    /// A name for a deed that no other has: what was done, to which state.
    pub(super) async fn name(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        deed: &[&str],
    ) -> Result<String, MemoryError> {
        let seen = self.log(tenant, owner).await?.events.len() as u64;
        let hasher = Hasher::new("deed").field(owner.to_string().as_bytes()).number(seen);
        let hasher = deed.iter().fold(hasher, |hasher, part| hasher.field(part.as_bytes()));
        Ok(hasher.finish().to_string()[..16].to_owned())
    }
}

/// The kind of memory an owner has.
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
        // Messages of several chats cannot be looked up together: such a memory holds anywhere.
        receipts: if same_chat { receipts } else { Vec::new() },
        source_chat_id: first.source_chat_id.clone().filter(|_| same_chat),
        supersedes: parents.iter().map(|(parent, _)| MemoryId(parent.id.clone())).collect(),
        ..Memory::default()
    }
}

pub(super) fn one(name: &str, value: Value) -> Map<String, Value> {
    std::iter::once((name.to_owned(), value)).collect()
}

fn fields(memory: &Memory) -> Map<String, Value> {
    crate::event::fields_of(memory)
}

fn read(fields: &Map<String, Value>) -> Option<Memory> {
    serde_json::from_value(Value::Object(fields.clone())).ok()
}

/// The record of that id, or the only one whose id begins so.
pub(super) fn find(records: &Records, owner: &Owner, id: &str) -> Result<RecordKey, ByHandError> {
    let exact = records.iter().find(|(key, _)| key.name() == id).map(|(key, _)| key.clone());
    let mut begin = records.iter().filter(|(key, _)| !id.is_empty() && key.id.starts_with(id));
    let only = begin.next().filter(|_| begin.next().is_none()).map(|(key, _)| key.clone());
    exact.or(only).ok_or_else(|| ByHandError::NoRecord { owner: owner.clone(), id: id.to_owned() })
}

/// A record must read back as it was given, as far as a person `gave` its fields: of the
/// others some are known only where the story's messages are.
pub(super) fn check(
    key: &RecordKey,
    fields: &Map<String, Value>,
    gave: impl Fn(&str) -> bool,
) -> Result<(), ByHandError> {
    let wrong =
        |reason: &str| ByHandError::Field { id: key.name().to_owned(), reason: reason.to_owned() };
    let content = fields.get("content").and_then(Value::as_str);
    if key.kind.is_memory() && content.is_none_or(|text| text.trim().is_empty()) {
        return Err(wrong("`content` must be a text that says something"));
    }
    let mut records = Records::default();
    records.insert(key.clone(), fields.clone());
    let again = [
        crate::event::character_records(&to_character(&records)),
        crate::event::chat_records(&to_chat(&records, &[])),
    ];
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
