//! Records, and what can happen to them.

use std::fmt;

use loreloom_core::{
    ids::{ChatId, MessageId},
    units::Timestamp,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A long-term memory.
    Memory,
    /// Somebody or something that long-term memories name.
    Entity,
    /// What one person feels for another.
    Relationship,
    /// What somebody knows, believes or hides.
    Insight,
    /// A thread that outlives its chat.
    PinnedArc,
    /// History as prose.
    Canon,
    /// A session memory.
    SessionMemory,
    /// Somebody or something that session memories name.
    SessionEntity,
    /// A scene that is over.
    Scene,
    /// A thread of the story.
    Arc,
    /// How a thread ended.
    ArcSummary,
    /// A character's standing.
    Profile,
    /// The state of somebody or something.
    StateCard,
    /// The story so far.
    Summary,
    /// Where passes stopped reading, and what is pending.
    Marks,
    /// A session that leaves no trace.
    ReadOnly,
    /// A reply that does not fit what is known.
    Contradiction,
}

impl RecordKind {
    /// Whether chats keep it; else characters and worlds do.
    pub fn is_chats(self) -> bool {
        match self {
            Self::Memory
            | Self::Entity
            | Self::Relationship
            | Self::Insight
            | Self::PinnedArc
            | Self::Canon => false,
            Self::SessionMemory
            | Self::SessionEntity
            | Self::Scene
            | Self::Arc
            | Self::ArcSummary
            | Self::Profile
            | Self::StateCard
            | Self::Summary
            | Self::Marks
            | Self::ReadOnly
            | Self::Contradiction => true,
        }
    }

    /// Whether it is a statement that can be pinned, retired and merged.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Memory | Self::SessionMemory)
    }

    /// What the record is called of which an owner has only one.
    fn only_name(self) -> Option<&'static str> {
        match self {
            Self::Summary => Some("summary"),
            Self::Marks => Some("marks"),
            Self::ReadOnly => Some("read_only"),
            Self::Memory
            | Self::Entity
            | Self::Relationship
            | Self::Insight
            | Self::PinnedArc
            | Self::Canon
            | Self::SessionMemory
            | Self::SessionEntity
            | Self::Scene
            | Self::Arc
            | Self::ArcSummary
            | Self::Profile
            | Self::StateCard
            | Self::Contradiction => None,
        }
    }
}

/// Names a record of an owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordKey {
    /// What it is.
    pub kind: RecordKind,
    /// Which one; empty where there is only one.
    pub id: String,
}

impl RecordKey {
    /// A key.
    pub fn new(kind: RecordKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }

    /// The key of a record by what people call it: its id, or its kind where there is only
    /// one.
    pub fn named(kind: RecordKind, name: &str) -> Self {
        Self::new(kind, if kind.only_name() == Some(name) { "" } else { name })
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        match self.kind.only_name() {
            Some(name) if self.id.is_empty() => name,
            _ => &self.id,
        }
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}", self.kind, self.id)
    }
}

/// Names one write: all its events were stored together and are undone together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct MemoryWriteId(pub String);

impl fmt::Display for MemoryWriteId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What happened, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = EventKind))]
#[serde(rename_all = "snake_case")]
pub enum MemoryEventKind {
    /// It was noted.
    Created,
    /// It was shown again.
    Confirmed,
    /// A pass went by without it.
    Faded,
    /// Another memory took its place.
    Superseded,
    /// It was retired without being replaced.
    Retired,
    /// It came back.
    Restored,
    /// Its text or tags changed.
    Edited,
    /// It is not kept any more.
    Removed,
    /// A write was undone, or an undo was.
    Reverted,
    /// Everything before was forgotten.
    Forgotten,
    /// Somebody learned what was kept from them.
    Revealed,
    /// It was never so.
    Retconned,
}

/// What an event does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryChange {
    /// The record is new.
    New(Map<String, Value>),
    /// These fields changed; `null` removes a field. A record that was never created on a path is
    /// not created there by later changes.
    Fields(Map<String, Value>),
    /// The record is gone.
    Gone,
    /// This write does not count.
    Revert(MemoryWriteId),
    /// What came before from the event's chat does not count; without a chat, nothing
    /// before does.
    Forget,
}

/// Something that is about to be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewMemoryEvent {
    /// The record; none for what concerns writes or chats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordKey>,
    /// What happened.
    pub kind: MemoryEventKind,
    /// The messages it rests on; none for what a person did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<MessageId>,
    /// What it does.
    pub change: MemoryChange,
}

/// Something that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryEvent {
    /// Its number among its owner's events, from 1.
    pub number: u64,
    /// The write it belongs to.
    pub write: MemoryWriteId,
    /// The chat it comes from; none for what belongs to no chat.
    pub chat: Option<ChatId>,
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: NewMemoryEvent,
}

/// Records in the order they came into being.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    list: Vec<(RecordKey, Option<Map<String, Value>>)>,
    places: FxHashMap<RecordKey, usize>,
}

impl Records {
    /// The fields of a record.
    pub fn get(&self, key: &RecordKey) -> Option<&Map<String, Value>> {
        self.list.get(*self.places.get(key)?)?.1.as_ref()
    }

    /// The fields of a record, to be changed.
    pub fn get_mut(&mut self, key: &RecordKey) -> Option<&mut Map<String, Value>> {
        self.list.get_mut(*self.places.get(key)?)?.1.as_mut()
    }

    /// All records, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&RecordKey, &Map<String, Value>)> {
        self.list.iter().filter_map(|(key, fields)| Some((key, fields.as_ref()?)))
    }

    /// Sets a record; one that is known keeps its place.
    pub fn insert(&mut self, key: RecordKey, fields: Map<String, Value>) {
        if let Some(place) = self.places.get(&key) {
            self.list[*place].1 = Some(fields);
        } else {
            self.places.insert(key.clone(), self.list.len());
            self.list.push((key, Some(fields)));
        }
    }

    /// Takes a record away.
    pub fn remove(&mut self, key: &RecordKey) {
        if let Some(place) = self.places.remove(key) {
            self.list[place].1 = None;
        }
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
