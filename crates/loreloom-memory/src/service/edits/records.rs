//! Changes to records of every kind: arcs, relationships, insights, state cards, entities.

use loreloom_core::{
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    MemoryChange, MemoryEventKind, MemoryWriteId, NewMemoryEvent, Owner, RecordKey, RecordKind,
};
use serde_json::{Map, Value, json};

use super::{EditError, HandWrite, MemoryEdits, Since, check, event, find, one};
use crate::{
    entities,
    event::{between, character_records, chat_records, to_character, to_chat},
};

impl MemoryEdits {
    /// Adds a record of any kind, or replaces the one with that id.
    pub async fn put(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        key: RecordKey,
        fields: Map<String, Value>,
    ) -> Result<MemoryWriteId, EditError> {
        if key.kind.is_chats() != matches!(owner, Owner::Chat(_)) {
            let reason = format!("{owner} keeps no such records");
            return Err(EditError::Field { id: key.id, reason });
        }
        check(&key, &fields, |_| true)?;
        let shown = Value::Object(fields.clone()).to_string();
        let name = self.name(tenant, owner, &["put", &key.to_string(), &shown]).await?;
        let event = event(key, MemoryEventKind::Created, MemoryChange::New(fields));
        self.write(tenant, owner, HandWrite::new(name, "noted by hand"), vec![event]).await
    }

    /// Retires a record: a memory or an insight is retired, an arc ends, anything else is
    /// removed. Undoing the write brings it back.
    pub async fn retire(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
    ) -> Result<MemoryWriteId, EditError> {
        self.retire_from(tenant, owner, id, None).await
    }

    /// The same from a message on. On paths without the message nothing changes.
    pub async fn retire_from(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        from: Option<&Since>,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
        let key = find(&records, owner, id)?;
        let Timestamp(now) = self.clock.now();
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
    ) -> Result<MemoryWriteId, EditError> {
        let name = self.name(tenant, owner, &["remove", &key.to_string()]).await?;
        let event = event(key, MemoryEventKind::Removed, MemoryChange::Gone);
        self.write_from(tenant, owner, HandWrite::new(name, "removed by hand"), event, from).await
    }

    /// Restores a retired, replaced or held memory, an ended arc, or a retired insight.
    pub async fn restore(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
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

    /// Pins an arc of a chat to a character, so that its other chats have it too; or unpins it.
    /// One write changes both.
    pub async fn pin_thread(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        character: &Owner,
        id: &str,
        pinned: bool,
    ) -> Result<MemoryWriteId, EditError> {
        let owner = Owner::Chat(chat.clone());
        let records = self.views.records(tenant, &owner).await?;
        let key = find(&records, &owner, id)?;
        if key.kind != RecordKind::Arc {
            let reason = "only threads can be pinned to a character".to_owned();
            return Err(EditError::Field { id: key.id, reason });
        }
        let mut fields = records.get(&key).cloned().unwrap_or_default();
        fields.insert("persistent".to_owned(), json!(true));
        let followed = RecordKey::new(RecordKind::PinnedArc, key.id.clone());
        let (kind, change) = if pinned {
            (MemoryEventKind::Created, MemoryChange::New(fields))
        } else {
            (MemoryEventKind::Removed, MemoryChange::Gone)
        };
        let marked = MemoryChange::Fields(one("persistent", json!(pinned)));
        let name = self.name(tenant, &owner, &["pin", &key.id, &pinned.to_string()]).await?;
        let events = vec![
            (owner, vec![event(key, MemoryEventKind::Edited, marked)]),
            (character.clone(), vec![event(followed, kind, change)]),
        ];
        let note = if pinned { "pinned a thread" } else { "let a thread go" };
        self.write_all(tenant, HandWrite::new(name.clone(), note), events).await?;
        Ok(name)
    }

    /// Merges two entities of an owner: `source` becomes an alias of `target`, and memories that
    /// named it name `target`. If there is no `target`, it is the new name.
    pub async fn merge_entities(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        source: &str,
        target: &str,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
        let missing = || EditError::NoRecord { owner: owner.clone(), id: source.to_owned() };
        if target.trim().is_empty() {
            return Err(EditError::Empty);
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
        // A change by hand counts on every path, so it rests on no message.
        let events: Vec<NewMemoryEvent> = events
            .into_iter()
            .map(|event| NewMemoryEvent { receipts: Vec::new(), ..event })
            .collect();
        let name = self.name(tenant, owner, &["merge entities", source, target]).await?;
        self.write(tenant, owner, HandWrite::new(name, "merged two entities"), events).await
    }
}
