//! What happened to memories, scenes and arcs at each message of a path: created, replaced,
//! retired, ended.
//!
//! Only events of the path count, as everywhere in memory. Events that rest on no message, such
//! as most changes by hand, have no place in the story.

mod arcs;

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, TenantId},
};
use loreloom_ports::{
    MemoryChange, MemoryError, MemoryEventKind, NewMemoryEvent, Owner, RecordKey, RecordKind,
    Records,
};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value};

use self::arcs::EndedArcs;
use super::{PathViews, Who};
use crate::{event::Live, presence::characters};

/// The most characters of a text that is shown.
const SHORT: usize = 160;

/// What something happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoryEventSubject {
    /// A memory.
    Memory,
    /// A scene, which is created when it ends.
    Scene,
    /// An arc.
    Thread,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoryEventKind {
    /// It was created.
    Created,
    /// Another one replaced it.
    Superseded,
    /// It was retired and not replaced; an arc was dropped.
    Retired,
    /// The arc ended.
    Ended,
}

/// Something that happened at a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StoryEvent {
    /// What it happened to.
    pub of: StoryEventSubject,
    /// What happened.
    pub kind: StoryEventKind,
    /// Whose memory it is.
    pub owner: Owner,
    /// The record.
    pub id: String,
    /// The start of its text.
    pub text: String,
    /// The starts of the texts it replaced.
    pub replaces: Vec<String>,
    /// The start of the text that replaced it.
    pub replaced_by: Option<String>,
    /// The start of the summary of how the arc ended.
    pub ending: Option<String>,
}

/// What happened on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryEvents {
    /// The events of each message.
    pub at: FxHashMap<MessageId, Vec<StoryEvent>>,
    /// How many events were read. Every write increases it.
    pub seen: usize,
}

impl StoryEvents {
    /// What happened to the memory of a chat and of its characters on a path.
    pub async fn on_path(
        views: &PathViews,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<Self, MemoryError> {
        let places: FxHashMap<MessageId, usize> =
            path.iter().enumerate().map(|(at, item)| (item.id, at)).collect();
        let speakers = characters(path).into_iter().map(|name| Who::named(name).owner());
        let owners: Vec<Owner> =
            std::iter::once(Owner::Chat(chat.clone())).chain(speakers).collect();
        let mut all = Self::default();
        for (owner, log) in owners.iter().zip(views.logs(tenant, owners.clone()).await?) {
            let mut live = Live::of(&log.events, |_, message| places.contains_key(message));
            live.only(&log.events, |event| {
                let mut receipts = event.event.receipts.iter();
                let is_here = event.chat.as_ref().is_none_or(|of| of == chat);
                is_here && receipts.all(|message| places.contains_key(message))
            });
            all.seen += log.events.len();
            let records = live.records(&log.events);
            let replaced = Replaced::of(&records);
            let ended = EndedArcs::of(live.events(&log.events).map(|event| &event.event));
            for event in live.events(&log.events) {
                let last = event.event.receipts.iter().max_by_key(|message| places.get(*message));
                let (Some(message), Some(key)) = (last, &event.event.record) else { continue };
                let here = all.at.entry(*message).or_default();
                here.extend(memory_events(owner, kind_of(&event.event), key, &records, &replaced));
                here.extend(scene_event(owner, &event.event, key, &records));
                // A pinned arc has a record in the chat and one for each character that pinned it.
                if let Some(of_arc) = ended.event(owner, &event.event, key)
                    && !here.iter().any(|other| of_arc.repeats(other))
                {
                    here.push(of_arc);
                }
            }
        }
        all.at.retain(|_, events| !events.is_empty());
        Ok(all)
    }
}

/// The memories that were replaced, by what replaced them.
struct Replaced<'records>(FxHashMap<(RecordKind, &'records str), Vec<&'records RecordKey>>);

impl<'records> Replaced<'records> {
    fn of(records: &'records Records) -> Self {
        let mut by: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for (key, fields) in records.iter() {
            if let Some(new) = fields.get("superseded_by").and_then(Value::as_str) {
                by.entry((key.kind, new)).or_default().push(key);
            }
        }
        Self(by)
    }
}

/// The kind of an event. A memory retired by hand is stored as edited.
fn kind_of(event: &NewMemoryEvent) -> MemoryEventKind {
    let retires = |change: &MemoryChange| match change {
        MemoryChange::Fields(fields) => fields.get("retired").is_some_and(|value| !value.is_null()),
        MemoryChange::New(_)
        | MemoryChange::Gone
        | MemoryChange::Revert(_)
        | MemoryChange::Forget => false,
    };
    let is_edit = event.kind == MemoryEventKind::Edited;
    if is_edit && retires(&event.change) { MemoryEventKind::Retired } else { event.kind }
}

/// What an event does to a memory.
fn memory_events(
    owner: &Owner,
    kind: MemoryEventKind,
    key: &RecordKey,
    records: &Records,
    replaced: &Replaced<'_>,
) -> Vec<StoryEvent> {
    let text = |key: &RecordKey| records.get(key).map(short).unwrap_or_default();
    let of = |kind, key: &RecordKey| {
        StoryEvent::new((StoryEventSubject::Memory, kind), owner, key, text(key))
    };
    if !key.kind.is_memory() || records.get(key).is_none() {
        return Vec::new();
    }
    match kind {
        // An import stores replaced memories and their replacements at once, so this reads the
        // records and not the event that replaced them.
        MemoryEventKind::Created => {
            let old = replaced.0.get(&(key.kind, key.id.as_str())).map_or(&[][..], Vec::as_slice);
            let gone = old.iter().map(|old| StoryEvent {
                replaced_by: Some(text(key)),
                ..of(StoryEventKind::Superseded, old)
            });
            let mut all: Vec<StoryEvent> = gone.collect();
            let replaces = old.iter().map(|old| text(old)).collect();
            all.push(StoryEvent { replaces, ..of(StoryEventKind::Created, key) });
            all
        }
        MemoryEventKind::Retired | MemoryEventKind::Retconned => {
            vec![of(StoryEventKind::Retired, key)]
        }
        MemoryEventKind::Superseded
        | MemoryEventKind::Confirmed
        | MemoryEventKind::Faded
        | MemoryEventKind::Restored
        | MemoryEventKind::Edited
        | MemoryEventKind::Removed
        | MemoryEventKind::Reverted
        | MemoryEventKind::Revealed
        | MemoryEventKind::Forgotten => Vec::new(),
    }
}

/// What an event does to a scene.
fn scene_event(
    owner: &Owner,
    event: &NewMemoryEvent,
    key: &RecordKey,
    records: &Records,
) -> Option<StoryEvent> {
    let fields = records.get(key).filter(|_| key.kind == RecordKind::Scene)?;
    let is_new = event.kind == MemoryEventKind::Created;
    let what = (StoryEventSubject::Scene, StoryEventKind::Created);
    is_new.then(|| StoryEvent::new(what, owner, key, beginning(text_field(fields, "summary"))))
}

impl StoryEvent {
    fn new(
        (of, kind): (StoryEventSubject, StoryEventKind),
        owner: &Owner,
        key: &RecordKey,
        text: String,
    ) -> Self {
        let (owner, id) = (owner.clone(), key.id.clone());
        Self { of, kind, owner, id, text, replaces: Vec::new(), replaced_by: None, ending: None }
    }

    /// Whether another event is the same.
    fn repeats(&self, other: &Self) -> bool {
        (self.of, self.kind, &self.text) == (other.of, other.kind, &other.text)
    }
}

/// The start of a record's text.
fn short(fields: &Map<String, Value>) -> String {
    beginning(text_field(fields, "content"))
}

/// The start of a text.
fn beginning(text: &str) -> String {
    let mut short: String = text.chars().take(SHORT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// A text field of a record.
fn text_field<'fields>(fields: &'fields Map<String, Value>, name: &str) -> &'fields str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}
