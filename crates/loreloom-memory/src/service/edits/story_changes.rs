//! Changes of the story itself: a secret is revealed, or something was never so.

use loreloom_core::ids::TenantId;
use loreloom_ports::{
    MemoryChange, MemoryEventKind, MemoryId, MemoryWriteId, NewMemoryEvent, Owner, RecordKey,
    RecordKind,
};
use serde_json::json;

use super::{EditError, HandWrite, MemoryEdits, Since, check, event, find, one, read};
use crate::{
    event::fields_of,
    record::{Insight, InsightKind, Memory},
    service::Who,
};

impl MemoryEdits {
    /// Lets a character learn, from a message on, what an insight keeps from it. The insight stays
    /// for others; it ends if it was only about this character.
    pub async fn reveal(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        to: &str,
        from: &Since,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
        let key = find(&records, owner, id)?;
        let wrong = |reason: &str| EditError::Field {
            id: key.name().to_owned(),
            reason: reason.to_owned(),
        };
        if to.trim().is_empty() {
            return Err(wrong("say who learns it"));
        }
        let fields = records.get(&key).cloned().unwrap_or_default();
        let insight = serde_json::from_value::<Insight>(fields.into()).ok();
        let insight = insight.filter(|_| key.kind == RecordKind::Insight);
        let insight = insight.ok_or_else(|| wrong("only knowledge can be revealed"))?;
        let name = self.name(tenant, owner, &["reveal", &key.id, to]).await?;
        let known = Insight {
            id: format!("h{name}"),
            kind: InsightKind::Knows,
            subject: to.trim().to_owned(),
            target: None,
            ts: Some(self.clock.now().0),
            receipts: vec![from.message],
            ..insight.clone()
        };
        let new = RecordKey::new(RecordKind::Insight, known.id.clone());
        let (learner, since) = (Who::named(to.trim()).owner(), vec![from.message]);
        let knows = NewMemoryEvent {
            record: Some(new),
            kind: MemoryEventKind::Revealed,
            receipts: since.clone(),
            change: MemoryChange::New(fields_of(&known)),
        };
        // The one who had the note sees who knows it now.
        let mut events = vec![(learner.clone(), vec![knows.clone()])];
        if learner != *owner {
            events.push((owner.clone(), vec![knows]));
        }
        if is_only_about(&insight, to) {
            let over = NewMemoryEvent {
                record: Some(key),
                kind: MemoryEventKind::Revealed,
                receipts: since,
                change: MemoryChange::Fields(one("retired", json!(self.clock.now().0))),
            };
            // The one who hides it and the one it is hidden from both have the note.
            for holder in [owner, &learner] {
                let has_it = holder == owner || {
                    let records = self.views.records(tenant, holder).await?;
                    over.record.as_ref().is_some_and(|key| records.get(key).is_some())
                };
                if has_it {
                    match events.iter_mut().find(|(known, _)| known == holder) {
                        Some((_, list)) => list.push(over.clone()),
                        None => events.push((holder.clone(), vec![over.clone()])),
                    }
                }
            }
        }
        let write = HandWrite::new(name.clone(), "revealed").in_chat(Some(from.chat.clone()));
        self.write_all(tenant, write, events).await?;
        Ok(name)
    }

    /// Makes a record never have been so, on every path: nothing shows or recalls it any more.
    /// With a text, that is how it always was.
    pub async fn retcon(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        id: &str,
        instead: Option<&str>,
    ) -> Result<MemoryWriteId, EditError> {
        let records = self.views.records(tenant, owner).await?;
        let key = find(&records, owner, id)?;
        let instead = instead.map(str::trim).filter(|text| !text.is_empty());
        let name = self.name(tenant, owner, &["retcon", &key.id, instead.unwrap_or("")]).await?;
        let changed =
            |fields| event(key.clone(), MemoryEventKind::Retconned, MemoryChange::Fields(fields));
        let events = match (key.kind, instead) {
            (RecordKind::Memory | RecordKind::SessionMemory, None) => {
                vec![changed(one("retired", json!("retconned")))]
            }
            (RecordKind::Memory | RecordKind::SessionMemory, Some(text)) => {
                let old = records.get(&key).and_then(read);
                let missing = || EditError::NoRecord { owner: owner.clone(), id: id.to_owned() };
                let old: Memory = old.ok_or_else(missing)?;
                let new = RecordKey::new(key.kind, format!("h{name}"));
                // It rests on no message: those tell what was never so.
                let memory = Memory {
                    id: MemoryId(new.id.clone()),
                    content: text.to_owned(),
                    confidence: Some(1.0),
                    ts: Some(self.clock.now().0),
                    supersedes: vec![old.id.clone()],
                    receipts: Vec::new(),
                    source_messages: Vec::new(),
                    ungrounded: Vec::new(),
                    retired: None,
                    superseded_by: None,
                    triggers: Vec::new(),
                    ..old
                };
                let change = MemoryChange::New(fields_of(&memory));
                let mut replaced = one("superseded_by", json!(new.id));
                replaced.insert("retired".to_owned(), json!("retconned"));
                vec![event(new, MemoryEventKind::Created, change), changed(replaced)]
            }
            (RecordKind::Insight, None) => {
                vec![changed(one("retired", json!(self.clock.now().0)))]
            }
            (RecordKind::Insight | RecordKind::Arc | RecordKind::PinnedArc, Some(text)) => {
                let field = one("content", json!(text));
                let mut after = records.get(&key).cloned().unwrap_or_default();
                after.extend(field.clone());
                check(&key, &after, |name| name == "content")?;
                vec![changed(field)]
            }
            (_, None) => {
                vec![event(key.clone(), MemoryEventKind::Retconned, MemoryChange::Gone)]
            }
            (_, Some(_)) => {
                let reason = "only memories, knowledge and arcs can have been otherwise".to_owned();
                return Err(EditError::Field { id: key.name().to_owned(), reason });
            }
        };
        self.write(tenant, owner, HandWrite::new(name, "retconned"), events).await
    }
}

/// Whether an insight keeps something from this person alone.
fn is_only_about(insight: &Insight, to: &str) -> bool {
    let is_same = |name: &str| name.trim().eq_ignore_ascii_case(to.trim());
    match insight.kind {
        InsightKind::Hiding => insight.target.as_deref().is_some_and(is_same),
        InsightKind::Unaware | InsightKind::Believes | InsightKind::Suspects => {
            is_same(&insight.subject)
        }
        InsightKind::Knows => false,
    }
}
