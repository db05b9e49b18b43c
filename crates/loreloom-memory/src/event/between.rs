//! The events between two states.

use loreloom_core::ids::MessageId;
use serde_json::{Map, Value};

use loreloom_ports::{MemoryChange, MemoryEventKind, NewMemoryEvent, RecordKey, Records};

/// The events between two states, in the order of `after`, removals last.
///
/// A new record rests on its own receipts, and the replacement of a memory rests on those of the
/// new one. Everything else rests on `anchor`, the last message that a pass read; `None` means a
/// change by a person.
pub fn between(
    before: &Records,
    after: &Records,
    anchor: Option<MessageId>,
) -> Vec<NewMemoryEvent> {
    let changed = after.iter().filter_map(|(key, new)| {
        let Some(old) = before.get(key) else {
            return Some(NewMemoryEvent {
                record: Some(key.clone()),
                kind: MemoryEventKind::Created,
                receipts: own_receipts(new).unwrap_or_else(|| anchor.into_iter().collect()),
                change: MemoryChange::New(new.clone()),
            });
        };
        let fields = changed_fields(old, new);
        if fields.is_empty() {
            return None;
        }
        let kind = kind_of(old, new);
        let replacing =
            superseding(key, new, after).filter(|_| kind == MemoryEventKind::Superseded);
        // The end of a pass is stored as the message it stopped at.
        let marked = own_mark(&fields);
        let against = contradicting(key, &fields, after);
        let receipts =
            replacing.or(against).or(marked).unwrap_or_else(|| anchor.into_iter().collect());
        Some(NewMemoryEvent {
            record: Some(key.clone()),
            kind,
            receipts,
            change: MemoryChange::Fields(fields),
        })
    });
    let gone =
        before.iter().filter(|(key, _)| after.get(key).is_none()).map(|(key, _)| NewMemoryEvent {
            record: Some(key.clone()),
            kind: MemoryEventKind::Removed,
            receipts: anchor.into_iter().collect(),
            change: MemoryChange::Gone,
        });
    changed.chain(gone).collect()
}

/// The receipts of a record.
fn own_receipts(fields: &Map<String, Value>) -> Option<Vec<MessageId>> {
    let listed = fields.get("receipts").and_then(Value::as_array).into_iter().flatten();
    let found: Vec<MessageId> = listed.filter_map(message).collect();
    if found.is_empty() { own_mark(fields) } else { Some(found) }
}

/// The last message that a summary or an extraction read.
fn own_mark(fields: &Map<String, Value>) -> Option<Vec<MessageId>> {
    let mark = fields.get("summaryReceipt").or_else(|| fields.get("extractReceipt"));
    Some(vec![mark.and_then(message)?])
}

fn message(value: &Value) -> Option<MessageId> {
    value.as_str()?.parse().ok()
}

/// The receipts of the memory that replaced this one.
fn superseding(
    key: &RecordKey,
    fields: &Map<String, Value>,
    after: &Records,
) -> Option<Vec<MessageId>> {
    let id = fields.get("superseded_by")?.as_str()?;
    own_receipts(after.get(&RecordKey::new(key.kind, id))?)
}

/// The receipts of the memory that contradicts this one, if nothing else changed.
fn contradicting(
    key: &RecordKey,
    changed: &Map<String, Value>,
    after: &Records,
) -> Option<Vec<MessageId>> {
    let by = changed.get("contradicts").filter(|_| changed.len() == 1)?;
    let newest = by.as_array()?.last()?.as_str()?;
    own_receipts(after.get(&RecordKey::new(key.kind, newest))?)
}

/// The fields of `new` that differ, and `null` for removed fields.
fn changed_fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let differs = |(name, value): &(&String, &Value)| old.get(*name) != Some(*value);
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let changed = new.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone()));
    changed.chain(gone.map(|name| (name.clone(), Value::Null))).collect()
}

fn kind_of(old: &Map<String, Value>, new: &Map<String, Value>) -> MemoryEventKind {
    let has = |fields: &Map<String, Value>, name: &str| fields.contains_key(name);
    let is_active =
        |fields: &Map<String, Value>| !has(fields, "superseded_by") && !has(fields, "retired");
    let grew = |name: &str| {
        let count = |fields: &Map<String, Value>| fields.get(name).and_then(Value::as_u64);
        count(new).unwrap_or(0) > count(old).unwrap_or(0)
    };
    match (is_active(old), is_active(new)) {
        (true, false) if has(new, "superseded_by") => MemoryEventKind::Superseded,
        (true, false) => MemoryEventKind::Retired,
        (false, true) => MemoryEventKind::Restored,
        _ if grew("confirmations") => MemoryEventKind::Confirmed,
        _ if old.get("content") == new.get("content") && grew("unconfirmed_since") => {
            MemoryEventKind::Faded
        }
        _ => MemoryEventKind::Edited,
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::Digest;

    use super::*;
    use crate::{
        event::{character_records, fold, to_character},
        record::{
            Canon, CharacterMemory, Descriptor, Entity, EntityId, Insight, InsightKind, Magnitude,
            Memory, Retirement, StoryArc,
        },
    };
    use loreloom_ports::{MemoryEvent, MemoryWriteId};

    fn message(number: u8) -> MessageId {
        MessageId(Digest([number; 16]))
    }

    fn memory(id: &str, content: &str, receipt: u8) -> Memory {
        Memory {
            id: id.into(),
            content: content.into(),
            receipts: vec![message(receipt)],
            ..Memory::default()
        }
    }

    fn container(memories: Vec<Memory>) -> Records {
        character_records(&CharacterMemory { memories, ..CharacterMemory::default() })
    }

    fn numbered(writes: &[Vec<NewMemoryEvent>]) -> Vec<MemoryEvent> {
        let named = |(at, events): (usize, &Vec<NewMemoryEvent>)| {
            events.iter().cloned().map(move |event| (format!("w{at}"), event)).collect::<Vec<_>>()
        };
        let all = writes.iter().enumerate().flat_map(named);
        (1..)
            .zip(all)
            .map(|(number, (write, event))| MemoryEvent {
                number,
                write: MemoryWriteId(write),
                chat: Some("c".into()),
                at: loreloom_core::units::Timestamp(0),
                event,
            })
            .collect()
    }

    fn on(log: &[MemoryEvent], path: &[u8]) -> CharacterMemory {
        to_character(&fold(log, |_, id| path.iter().any(|number| message(*number) == *id)))
    }

    fn active(log: &[MemoryEvent], path: &[u8]) -> Vec<String> {
        let all = on(log, path).memories.into_iter().filter(Memory::is_active);
        all.map(|memory| memory.content).collect()
    }

    #[test]
    fn what_a_swiped_reply_replaced_is_back() {
        let first = vec![memory("a", "they quarrel", 1)];
        let old = Memory { superseded_by: Some("b".into()), ..first[0].clone() };
        let second = vec![memory("b", "they no longer quarrel", 2), old];
        let third: Vec<Memory> =
            second.iter().map(|one| Memory { retrieval_count: 4, ..one.clone() }).collect();
        let log = numbered(&[
            between(&Records::default(), &container(first.clone()), Some(message(1))),
            between(&container(first), &container(second.clone()), Some(message(3))),
            between(&container(second), &container(third), Some(message(1))),
        ]);
        let kinds: Vec<MemoryEventKind> = log.iter().map(|event| event.event.kind).collect();
        assert_eq!(
            kinds[..3],
            [MemoryEventKind::Created, MemoryEventKind::Created, MemoryEventKind::Superseded]
        );
        assert_eq!(active(&log, &[1, 2]), ["they no longer quarrel"]);
        assert_eq!(active(&log, &[1]), ["they quarrel"]);
        assert_eq!(on(&log, &[1]).memories[0].retrieval_count, 4);
        assert_eq!(active(&log, &[2]), ["they no longer quarrel"]);
        assert!(active(&log, &[]).is_empty());
    }

    #[test]
    fn what_was_never_noted_on_a_path_cannot_fade_into_it() {
        let noted = vec![memory("a", "x", 1)];
        let faded = vec![Memory { unconfirmed_since: 1, ..noted[0].clone() }];
        let log = numbered(&[
            between(&Records::default(), &container(noted.clone()), Some(message(1))),
            between(&container(noted), &container(faded), Some(message(2))),
        ]);
        assert!(on(&log, &[2]).memories.is_empty());
        assert_eq!(on(&log, &[1]).memories[0].unconfirmed_since, 0);
        assert_eq!(on(&log, &[1, 2]).memories[0].unconfirmed_since, 1);
    }

    #[test]
    fn each_change_has_its_name_and_no_change_has_none() {
        let base = memory("a", "x", 1);
        for (after, expected) in [
            (base.clone(), None),
            (Memory { confirmations: 1, ..base.clone() }, Some(MemoryEventKind::Confirmed)),
            (Memory { unconfirmed_since: 1, ..base.clone() }, Some(MemoryEventKind::Faded)),
            (memory("a", "y", 1), Some(MemoryEventKind::Edited)),
            (
                Memory { retired: Some(Retirement::Evicted), ..base.clone() },
                Some(MemoryEventKind::Retired),
            ),
        ] {
            let found = between(&container(vec![base.clone()]), &container(vec![after]), None);
            assert_eq!(found.first().map(|event| event.kind), expected);
        }
        let gone = between(&container(vec![base]), &Records::default(), None);
        assert_eq!(
            (gone[0].kind, &gone[0].change),
            (MemoryEventKind::Removed, &MemoryChange::Gone)
        );
    }

    fn everything() -> CharacterMemory {
        let mut state = CharacterMemory {
            memories: vec![memory("m", "x", 1)],
            entities: vec![Entity {
                id: EntityId("e".into()),
                name: "Odo".into(),
                ..Entity::default()
            }],
            epistemic_knowledge: vec![Insight {
                id: "i".into(),
                kind: InsightKind::Knows,
                subject: "Lis".into(),
                target: None,
                content: "the vault is empty".into(),
                ts: None,
                source_messages: None,
                receipts: vec![message(1)],
                retired: None,
                ungrounded: vec![],
            }],
            persistent_arcs: vec![StoryArc {
                content: "Find the bell".into(),
                ..StoryArc::default()
            }],
            canon: Some(Canon { text: "Mara kept the light.".into(), ts: None }),
            ..CharacterMemory::default()
        };
        let feeling = Descriptor { word: "fond".into(), magnitude: Magnitude::High };
        state.relationship_history.entry("Mara→Odo").descriptors.push(feeling);
        state
    }

    #[test]
    fn folding_all_events_gives_the_last_state() {
        let one = everything();
        let mut two = one.clone();
        two.entities.clear();
        two.persistent_arcs[0].resolved = true;
        two.epistemic_knowledge[0].retired = Some(2);
        two.relationship_history.remove("Mara→Odo");
        two.canon = None;
        let (first, second) = (character_records(&one), character_records(&two));
        let log = numbered(&[
            between(&Records::default(), &first, Some(message(1))),
            between(&first, &second, Some(message(2))),
        ]);
        assert_eq!(on(&log, &[1, 2]), two);
        assert_eq!(on(&log, &[1]), one);
        assert_eq!(on(&log, &[2]), CharacterMemory::default());
        assert!(between(&second, &second, None).is_empty());
    }

    #[test]
    fn an_undone_write_is_as_if_it_had_not_been_and_an_undone_undo_is_no_undo() {
        let first = vec![memory("a", "the boat is red", 1)];
        let edited = vec![memory("a", "the boat is blue", 1)];
        let counted = vec![Memory { retrieval_count: 2, ..edited[0].clone() }];
        let revert = |write: &str| {
            vec![NewMemoryEvent {
                record: None,
                kind: MemoryEventKind::Reverted,
                receipts: vec![],
                change: MemoryChange::Revert(MemoryWriteId(write.into())),
            }]
        };
        let mut writes = vec![
            between(&Records::default(), &container(first.clone()), Some(message(1))),
            between(&container(first), &container(edited.clone()), None),
            between(&container(edited), &container(counted), Some(message(1))),
            revert("w1"),
        ];
        let undone = on(&numbered(&writes), &[1]).memories[0].clone();
        assert_eq!((undone.content.as_str(), undone.retrieval_count), ("the boat is red", 2));
        writes.push(revert("w3"));
        assert_eq!(on(&numbered(&writes), &[1]).memories[0].content, "the boat is blue");
    }
}
