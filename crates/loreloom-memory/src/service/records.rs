//! What people do to records of every kind: threads, feelings, knowledge, state cards,
//! entities. As with memories, every deed is one write that can be undone.

use loreloom_core::{
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use serde_json::{Map, Value, json};

use super::{
    ByHandError, MemoryService,
    by_hand::{Since, check, find, one},
};
use crate::{
    entities,
    event::{between, character_records, chat_records, to_character, to_chat},
};
use loreloom_ports::{MemoryChange, MemoryEventKind, MemoryWriteId, NewMemoryEvent};
use loreloom_ports::{Owner, OwnerEvents};
use loreloom_ports::{RecordKey, RecordKind};

impl MemoryService {
    /// Adds a record of any kind, or writes over the one of that id.
    pub async fn put(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        key: RecordKey,
        fields: Map<String, Value>,
    ) -> Result<MemoryWriteId, ByHandError> {
        if key.kind.is_chats() != matches!(owner, Owner::Chat(_)) {
            let reason = format!("{owner} keeps no such records");
            return Err(ByHandError::Field { id: key.id, reason });
        }
        check(&key, &fields, |_| true)?;
        let shown = Value::Object(fields.clone()).to_string();
        let write = self.name(tenant, owner, &["put", &key.to_string(), &shown]).await?;
        let event = NewMemoryEvent {
            record: Some(key),
            kind: MemoryEventKind::Created,
            receipts: Vec::new(),
            change: MemoryChange::New(fields),
        };
        self.deed(tenant, owner, &write, "noted by hand", None, vec![event]).await?;
        Ok(MemoryWriteId(write))
    }

    /// Takes a record out of use: a memory is retired, a thread ends, knowledge no longer
    /// holds; anything else is gone. Undoing the write brings it back.
    pub async fn retire(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
    ) -> Result<MemoryWriteId, ByHandError> {
        self.retire_from(tenant, owner, id, None).await
    }

    /// The same from a message on: as of any earlier one, and on paths without it, it holds as
    /// before.
    pub async fn retire_from(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        from: Option<&Since>,
    ) -> Result<MemoryWriteId, ByHandError> {
        let records = self.records(tenant, owner).await?;
        let key = find(&records, owner, id)?;
        let Timestamp(now) = self.ports.clock.now();
        let change = match key.kind {
            RecordKind::Memory | RecordKind::SessionMemory => one("retired", json!("by_hand")),
            RecordKind::Insight => one("retired", json!(now)),
            RecordKind::Arc | RecordKind::PinnedArc => one("resolved", json!(true)),
            RecordKind::Entity
            | RecordKind::Relationship
            | RecordKind::Canon
            | RecordKind::SessionEntity
            | RecordKind::Scene
            | RecordKind::ArcSummary
            | RecordKind::Profile
            | RecordKind::StateCard
            | RecordKind::Summary
            | RecordKind::Marks
            | RecordKind::ReadOnly
            | RecordKind::Contradiction => return self.remove(tenant, owner, key, from).await,
        };
        self.edit_from(tenant, owner, key.name(), change, from).await
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        key: RecordKey,
        from: Option<&Since>,
    ) -> Result<MemoryWriteId, ByHandError> {
        let write = self.name(tenant, owner, &["remove", &key.to_string()]).await?;
        let event = NewMemoryEvent {
            record: Some(key),
            kind: MemoryEventKind::Removed,
            receipts: from.map(|from| from.message).into_iter().collect(),
            change: MemoryChange::Gone,
        };
        let chat = from.map(|from| from.chat.clone());
        self.deed(tenant, owner, &write, "removed by hand", chat, vec![event]).await?;
        Ok(MemoryWriteId(write))
    }

    /// Takes a retired, replaced or held memory, an ended thread or knowledge that no longer
    /// held into use again.
    pub async fn restore(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
    ) -> Result<MemoryWriteId, ByHandError> {
        let records = self.records(tenant, owner).await?;
        let key = find(&records, owner, id)?;
        let back = if matches!(key.kind, RecordKind::Arc | RecordKind::PinnedArc) {
            let mut back = one("resolved", json!(false));
            back.insert("ungrounded".to_owned(), Value::Null);
            back
        } else {
            let fields = ["retired", "superseded_by", "ungrounded"];
            fields.map(|name| (name.to_owned(), Value::Null)).into_iter().collect()
        };
        self.edit(tenant, owner, key.name(), back).await
    }

    /// Pins a thread of a chat to a character, so that it is in its other chats too, or lets
    /// it go: one write to both.
    pub async fn pin_thread(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        character: &Owner,
        id: &str,
        pinned: bool,
    ) -> Result<MemoryWriteId, ByHandError> {
        let told = Owner::Chat(chat.clone());
        let records = self.records(tenant, &told).await?;
        let key = find(&records, &told, id)?;
        if key.kind != RecordKind::Arc {
            let reason = "only threads can be pinned to a character".to_owned();
            return Err(ByHandError::Field { id: key.id, reason });
        }
        let mut fields = records.get(&key).cloned().unwrap_or_default();
        fields.insert("persistent".to_owned(), json!(true));
        let followed = RecordKey::new(RecordKind::PinnedArc, key.id.clone());
        let (kind, change) = if pinned {
            (MemoryEventKind::Created, MemoryChange::New(fields))
        } else {
            (MemoryEventKind::Removed, MemoryChange::Gone)
        };
        let event = |record: RecordKey, kind: MemoryEventKind, change: MemoryChange| {
            NewMemoryEvent { record: Some(record), kind, receipts: Vec::new(), change }
        };
        let marked = MemoryChange::Fields(one("persistent", json!(pinned)));
        let write = self.name(tenant, &told, &["pin", &key.id, &pinned.to_string()]).await?;
        let owners = vec![
            OwnerEvents {
                owner: told,
                seen: None,
                events: vec![event(key, MemoryEventKind::Edited, marked)],
            },
            OwnerEvents {
                owner: character.clone(),
                seen: None,
                events: vec![event(followed, kind, change)],
            },
        ];
        let note = if pinned { "pinned a thread" } else { "let a thread go" };
        self.person_writes(tenant, &write, note, None, owners).await?;
        Ok(MemoryWriteId(write))
    }

    /// Makes two entities of an owner one: `source` becomes an alias of `target`, and what
    /// named it names `target`. A `target` that is not there is the new name.
    pub async fn merge_entities(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        source: &str,
        target: &str,
    ) -> Result<MemoryWriteId, ByHandError> {
        let records = self.records(tenant, owner).await?;
        let missing = || ByHandError::NoRecord { owner: owner.clone(), id: source.to_owned() };
        if target.trim().is_empty() {
            return Err(ByHandError::Empty);
        }
        let events = if matches!(owner, Owner::Chat(_)) {
            let before = to_chat(&records, &[]);
            let mut after = before.clone();
            entities::find(&after.session_entities, source).ok_or_else(missing)?;
            let memories = &mut after.session_memories;
            entities::merge(&mut after.session_entities, memories, source, target);
            between(&chat_records(&before), &chat_records(&after), None)
        } else {
            let before = to_character(&records);
            let mut after = before.clone();
            entities::find(&after.entities, source).ok_or_else(missing)?;
            entities::merge(&mut after.entities, &mut after.memories, source, target);
            between(&character_records(&before), &character_records(&after), None)
        };
        // People speak for every path: what they do rests on no message.
        let events: Vec<NewMemoryEvent> = events
            .into_iter()
            .map(|event| NewMemoryEvent { receipts: Vec::new(), ..event })
            .collect();
        let write = self.name(tenant, owner, &["merge entities", source, target]).await?;
        self.deed(tenant, owner, &write, "merged two entities", None, events).await?;
        Ok(MemoryWriteId(write))
    }
}
