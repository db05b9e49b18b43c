//! Converts records to the containers of passes and slots, and back.

use loreloom_core::{chat::PathItem, digest::Hasher, ids::MessageId};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::record::{CharacterMemory, ChatMemory, Ordered, Scene};
use loreloom_ports::{RecordKey, RecordKind, Records};

/// The records of a character's memory.
pub fn character_records(memory: &CharacterMemory) -> Records {
    let mut records = Records::default();
    list(&mut records, RecordKind::Memory, &memory.memories, |one| one.id.0.clone());
    list(&mut records, RecordKind::Entity, &memory.entities, |one| one.id.0.clone());
    named(&mut records, RecordKind::Relationship, &memory.relationship_history);
    list(&mut records, RecordKind::Insight, &memory.epistemic_knowledge, |one| one.id.clone());
    list(&mut records, RecordKind::PinnedArc, &memory.persistent_arcs, |one| one.content.clone());
    list(&mut records, RecordKind::Canon, memory.canon.as_slice(), |_| String::new());
    records
}

/// The records of a chat's memory.
pub fn chat_records(memory: &ChatMemory) -> Records {
    let mut records = Records::default();
    list(&mut records, RecordKind::SessionMemory, &memory.session_memories, |one| one.id.0.clone());
    list(&mut records, RecordKind::SessionEntity, &memory.session_entities, |one| one.id.0.clone());
    list(&mut records, RecordKind::Scene, &memory.older_scenes, scene_id);
    list(&mut records, RecordKind::Scene, &memory.scene_history, scene_id);
    list(&mut records, RecordKind::Arc, &memory.story_arcs, |one| one.content.clone());
    list(&mut records, RecordKind::ArcSummary, &memory.arc_summaries, |one| one.arc.clone());
    list(&mut records, RecordKind::Contradiction, &memory.contradictions, |one| one.id.clone());
    named(&mut records, RecordKind::Profile, &memory.profiles);
    named(&mut records, RecordKind::StateCard, &memory.ledger);
    if let Some(summary) = &memory.summary {
        let fields = present([
            ("summary", json!(summary)),
            ("summaryEnd", json!(memory.summary_end)),
            ("summaryReceipt", json!(memory.summary_receipt)),
            ("summaryUpdated", json!(memory.summary_updated)),
        ]);
        records.insert(RecordKey::new(RecordKind::Summary, ""), fields);
    }
    if let Some(read_only) = &memory.read_only {
        let fields = present([("readOnly", json!(read_only))]);
        records.insert(RecordKey::new(RecordKind::ReadOnly, ""), fields);
    }
    let marks = present([
        ("lastActive", json!(memory.last_active)),
        ("pendingRepair", json!(memory.pending_repair)),
        ("lastExtractCutoff", json!(memory.last_extract_cutoff)),
        ("extractReceipt", json!(memory.extract_receipt)),
        ("epistemicBudgetOverride", json!(memory.epistemic_budget_override)),
    ]);
    if !marks.is_empty() {
        records.insert(RecordKey::new(RecordKind::Marks, ""), marks);
    }
    records
}

/// A character's memory from its records. An unreadable record is left out.
pub fn to_character(records: &Records) -> CharacterMemory {
    let mut memory = CharacterMemory::default();
    for (key, fields) in records.iter() {
        match key.kind {
            RecordKind::Memory => memory.memories.extend(read(fields)),
            RecordKind::Entity => memory.entities.extend(read(fields)),
            RecordKind::Relationship => {
                if let Some(relationship) = read(fields) {
                    memory.relationship_history.insert(key.id.clone(), relationship);
                }
            }
            RecordKind::Insight => memory.epistemic_knowledge.extend(read(fields)),
            RecordKind::PinnedArc => memory.persistent_arcs.extend(read(fields)),
            RecordKind::Canon => memory.canon = read(fields),
            RecordKind::SessionMemory
            | RecordKind::SessionEntity
            | RecordKind::Scene
            | RecordKind::Arc
            | RecordKind::ArcSummary
            | RecordKind::Profile
            | RecordKind::StateCard
            | RecordKind::Summary
            | RecordKind::Marks
            | RecordKind::ReadOnly
            | RecordKind::Contradiction => {}
        }
    }
    memory
}

/// A chat's memory from its records, with positions on this path. An unreadable record is left out.
pub fn to_chat(records: &Records, path: &[PathItem]) -> ChatMemory {
    positioned(unplaced(records), path)
}

/// The same with the stored positions.
pub(crate) fn unplaced(records: &Records) -> ChatMemory {
    let (mut memory, mut loose) = (ChatMemory::default(), Map::new());
    for (key, fields) in records.iter() {
        match key.kind {
            RecordKind::SessionMemory => memory.session_memories.extend(read(fields)),
            RecordKind::SessionEntity => memory.session_entities.extend(read(fields)),
            RecordKind::Scene => {
                let scene: Option<Scene> = read(fields);
                let is_older = scene.as_ref().is_some_and(Scene::has_no_summary);
                let list =
                    if is_older { &mut memory.older_scenes } else { &mut memory.scene_history };
                list.extend(scene);
            }
            RecordKind::Arc => memory.story_arcs.extend(read(fields)),
            RecordKind::ArcSummary => memory.arc_summaries.extend(read(fields)),
            RecordKind::Contradiction => memory.contradictions.extend(read(fields)),
            RecordKind::Profile => named_value(&mut memory.profiles, key, fields),
            RecordKind::StateCard => named_value(&mut memory.ledger, key, fields),
            RecordKind::Summary | RecordKind::Marks | RecordKind::ReadOnly => {
                loose.extend(fields.clone());
            }
            RecordKind::Memory
            | RecordKind::Entity
            | RecordKind::Relationship
            | RecordKind::Insight
            | RecordKind::PinnedArc
            | RecordKind::Canon => {}
        }
    }
    let rest: ChatMemory = read(&loose).unwrap_or_default();
    ChatMemory {
        session_memories: memory.session_memories,
        session_entities: memory.session_entities,
        scene_history: memory.scene_history,
        older_scenes: memory.older_scenes,
        story_arcs: memory.story_arcs,
        arc_summaries: memory.arc_summaries,
        contradictions: memory.contradictions,
        profiles: memory.profiles,
        ledger: memory.ledger,
        ..rest
    }
}

/// Sets positions to where their messages are on this path.
pub(crate) fn positioned(mut memory: ChatMemory, path: &[PathItem]) -> ChatMemory {
    let after =
        |receipt: MessageId| path.iter().rposition(|item| item.id == receipt).map(|at| at + 1);
    memory.summary_end = match memory.summary_receipt {
        Some(receipt) => after(receipt).unwrap_or(0),
        None => memory.summary_end.min(path.len()),
    };
    memory.last_extract_cutoff = match memory.extract_receipt {
        Some(receipt) => after(receipt),
        None => memory.last_extract_cutoff.filter(|cutoff| *cutoff <= path.len()),
    };
    memory
}

/// A scene is identified by its messages, because its summary may change.
fn scene_id(scene: &Scene) -> String {
    let hasher = Hasher::new("scene");
    let hash = if scene.receipts.is_empty() {
        hasher.field(scene.summary.as_bytes()).number(scene.ts.unwrap_or(0).unsigned_abs())
    } else {
        scene.receipts.iter().fold(hasher, |hasher, id| hasher.field(&id.0.0))
    };
    hash.finish().to_string()
}

fn list<T: Serialize>(
    records: &mut Records,
    kind: RecordKind,
    values: &[T],
    id: impl Fn(&T) -> String,
) {
    for value in values {
        records.insert(RecordKey::new(kind, id(value)), fields_of(value));
    }
}

fn named<T: Serialize>(records: &mut Records, kind: RecordKind, values: &Ordered<T>) {
    for (name, value) in values.iter() {
        records.insert(RecordKey::new(kind, name), fields_of(value));
    }
}

fn named_value<T: DeserializeOwned>(
    into: &mut Ordered<T>,
    key: &RecordKey,
    fields: &Map<String, Value>,
) {
    if let Some(value) = read(fields) {
        into.insert(key.id.clone(), value);
    }
}

/// The fields of a record that are not empty.
pub(crate) fn fields_of<T: Serialize>(value: &T) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => present(fields),
        // Every record is a struct with named fields.
        Ok(_) | Err(_) => Map::new(),
    }
}

fn present<K: Into<String>>(fields: impl IntoIterator<Item = (K, Value)>) -> Map<String, Value> {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    };
    fields
        .into_iter()
        .filter(|(_, value)| says(value))
        .map(|(key, value)| (key.into(), value))
        .collect()
}

fn read<T: DeserializeOwned>(fields: &Map<String, Value>) -> Option<T> {
    T::deserialize(Value::Object(fields.clone())).ok()
}
