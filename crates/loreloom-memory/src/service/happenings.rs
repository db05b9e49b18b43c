//! What happened to memories, scenes and threads at each message of a path: noted, replaced,
//! retired, ended.
//!
//! Read from what holds on the path, as all of memory is: what another branch noted is not
//! told, and a memory that was replaced there still holds here. What rests on no message, as most
//! that a person does, has no place in the story.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, TenantId},
};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{MemoryService, Who, threads::Threads};
use crate::{event::Live, presence::characters};
use loreloom_ports::{MemoryChange, MemoryEventKind, NewMemoryEvent};
use loreloom_ports::{MemoryError, Owner};
use loreloom_ports::{RecordKey, RecordKind, Records};

/// The most letters of a text that is told.
const SHORT: usize = 160;

/// What something happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HappeningOf {
    /// A memory.
    Memory,
    /// A scene: it is noted when it is over.
    Scene,
    /// A thread of the story.
    Thread,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HappeningKind {
    /// It was noted.
    Created,
    /// Another one took its place.
    Superseded,
    /// It was retired without being replaced; a thread is not followed any more.
    Retired,
    /// The thread came to its end.
    Ended,
}

/// Something that happened at a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Happening {
    /// To what.
    pub of: HappeningOf,
    /// What.
    pub kind: HappeningKind,
    /// Whose memory it is.
    pub owner: Owner,
    /// The record.
    pub id: String,
    /// How it begins.
    pub text: String,
    /// How those begin that it took the place of.
    pub replaces: Vec<String>,
    /// How the one begins that took its place.
    pub replaced_by: Option<String>,
    /// How the thread ended, where that was told: its beginning.
    pub ending: Option<String>,
}

/// What happened at messages, and how many events it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happenings {
    /// By message.
    pub at: FxHashMap<MessageId, Vec<Happening>>,
    /// Grows with every write to these memories.
    pub seen: usize,
}

impl MemoryService {
    /// What happened to what a chat, and all who speak in it, remember at each message of a path.
    pub async fn happenings(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<Happenings, MemoryError> {
        let places: FxHashMap<MessageId, usize> =
            path.iter().enumerate().map(|(at, item)| (item.id, at)).collect();
        let speakers = characters(path).into_iter().map(|name| Who::named(name).owner());
        let owners: Vec<Owner> =
            std::iter::once(Owner::Chat(chat.clone())).chain(speakers).collect();
        let mut all = Happenings::default();
        for (owner, log) in owners.iter().zip(self.logs(tenant, owners.clone()).await?) {
            let mut live = Live::of(&log.events, |_, message| places.contains_key(message));
            live.only(&log.events, |event| {
                let mut receipts = event.event.receipts.iter();
                let is_here = event.chat.as_ref().is_none_or(|of| of == chat);
                is_here && receipts.all(|message| places.contains_key(message))
            });
            all.seen += log.events.len();
            let records = live.records(&log.events);
            let replaced = Replaced::of(&records);
            let threads = Threads::of(live.events(&log.events).map(|event| &event.event));
            for event in live.events(&log.events) {
                let last = event.event.receipts.iter().max_by_key(|message| places.get(*message));
                let (Some(message), Some(key)) = (last, &event.event.record) else { continue };
                let here = all.at.entry(*message).or_default();
                here.extend(happened(owner, kind_of(&event.event), key, &records, &replaced));
                here.extend(told(owner, &event.event, key, &records));
                // A pinned thread has a record in the chat and one with each who pinned it.
                if let Some(of_thread) = threads.told(owner, &event.event, key)
                    && !here.iter().any(|other| of_thread.repeats(other))
                {
                    here.push(of_thread);
                }
            }
        }
        all.at.retain(|_, happenings| !happenings.is_empty());
        Ok(all)
    }
}

/// The memories that others took the place of, by those.
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

/// What happened, of what is told. Who retires a memory by hand edits it.
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

/// What an event tells of a memory.
fn happened(
    owner: &Owner,
    kind: MemoryEventKind,
    key: &RecordKey,
    records: &Records,
    replaced: &Replaced<'_>,
) -> Vec<Happening> {
    let text = |key: &RecordKey| records.get(key).map(short).unwrap_or_default();
    let of =
        |kind, key: &RecordKey| Happening::new((HappeningOf::Memory, kind), owner, key, text(key));
    if !key.kind.is_memory() || records.get(key).is_none() {
        return Vec::new();
    }
    match kind {
        // An import notes at once what was replaced and by what, so this is read from what
        // holds and not from the event that replaced it.
        MemoryEventKind::Created => {
            let old = replaced.0.get(&(key.kind, key.id.as_str())).map_or(&[][..], Vec::as_slice);
            let gone = old.iter().map(|old| Happening {
                replaced_by: Some(text(key)),
                ..of(HappeningKind::Superseded, old)
            });
            let mut all: Vec<Happening> = gone.collect();
            let replaces = old.iter().map(|old| text(old)).collect();
            all.push(Happening { replaces, ..of(HappeningKind::Created, key) });
            all
        }
        MemoryEventKind::Retired => vec![of(HappeningKind::Retired, key)],
        MemoryEventKind::Superseded
        | MemoryEventKind::Confirmed
        | MemoryEventKind::Faded
        | MemoryEventKind::Restored
        | MemoryEventKind::Edited
        | MemoryEventKind::Removed
        | MemoryEventKind::Reverted
        | MemoryEventKind::Forgotten => Vec::new(),
    }
}

/// What an event tells of a scene that still counts.
fn told(
    owner: &Owner,
    event: &NewMemoryEvent,
    key: &RecordKey,
    records: &Records,
) -> Option<Happening> {
    let fields = records.get(key).filter(|_| key.kind == RecordKind::Scene)?;
    let is_new = event.kind == MemoryEventKind::Created;
    let what = (HappeningOf::Scene, HappeningKind::Created);
    is_new.then(|| Happening::new(what, owner, key, beginning(said(fields, "summary"))))
}

impl Happening {
    pub(super) fn new(
        (of, kind): (HappeningOf, HappeningKind),
        owner: &Owner,
        key: &RecordKey,
        text: String,
    ) -> Self {
        let (owner, id) = (owner.clone(), key.id.clone());
        Self { of, kind, owner, id, text, replaces: Vec::new(), replaced_by: None, ending: None }
    }

    /// Whether another one tells the same.
    fn repeats(&self, other: &Self) -> bool {
        (self.of, self.kind, &self.text) == (other.of, other.kind, &other.text)
    }
}

/// How a record begins.
fn short(fields: &Map<String, Value>) -> String {
    beginning(said(fields, "content"))
}

/// How a text of a record begins.
pub(super) fn beginning(text: &str) -> String {
    let mut short: String = text.chars().take(SHORT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// A text of a record.
pub(super) fn said<'fields>(fields: &'fields Map<String, Value>, name: &str) -> &'fields str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}
