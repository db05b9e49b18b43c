//! Imports and exports memory: our own archive, and Smart Memory's data.

mod groups;

use std::sync::Arc;

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Author, Clock, MemoryError, MemoryLog, MemoryWriteId, NewMemoryEvent, Owner, OwnerEvents,
    Records, Write, Written,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::groups::pinned_groups;
use super::{PathViews, Ports};
use crate::{
    event::{between, character_records, chat_records},
    ids::Ids,
    migrate::{self, MigrateError},
    record::{CharacterMemory, ChatMemory},
};

/// The format of the archive.
const FORMAT: &str = "loreloom-memory";
/// The version of the archive.
const VERSION: u32 = 1;

/// Everything a tenant remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryArchive {
    /// `loreloom-memory`.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// All writes, oldest first.
    pub writes: Vec<ArchivedWrite>,
}

/// A write with its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedWrite {
    /// Its id.
    pub id: MemoryWriteId,
    /// Who wrote.
    pub author: Author,
    /// What it was for.
    pub note: String,
    /// The chat it comes from.
    pub chat: Option<ChatId>,
    /// When.
    pub at: Timestamp,
    /// Whose memory it changed.
    pub owners: Vec<ArchivedOwner>,
}

/// Events of one owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedOwner {
    /// The owner.
    pub owner: Owner,
    /// The events.
    pub events: Vec<NewMemoryEvent>,
}

/// Why an import was refused.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// It is not an archive of memory.
    #[error("an archive of memory says `\"format\": \"loreloom-memory\"`, found `{found}`")]
    Format {
        /// The format in the file.
        found: String,
    },
    /// A newer program wrote it.
    #[error("the archive has version {found}, this version knows up to {VERSION}")]
    TooNew {
        /// Its version.
        found: u32,
    },
    /// Smart Memory's data cannot be migrated.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// Smart Memory's data cannot be read.
    #[error("the container cannot be read: {reason}")]
    Container {
        /// What is wrong.
        reason: String,
    },
    /// The document has no known format.
    #[error("this is no archive of memory, no settings of Smart Memory and no chat it worked on")]
    Unknown,
    /// The data of a chat need a chat.
    #[error("say which chat these data go to")]
    NoChat,
    /// There is no such group.
    #[error("these settings have no threads of a group `{group}`")]
    NoGroup {
        /// The requested group.
        group: String,
    },
    /// The store failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// An archive.
    Archive {
        /// How many of its writes are new.
        new: usize,
    },
    /// Characters of Smart Memory, each with whether anything was new.
    Characters(Vec<(String, bool)>),
    /// A chat of Smart Memory, with whether anything was new.
    Chat(bool),
}

impl Imported {
    /// How many writes are new.
    pub fn new_writes(&self) -> usize {
        match self {
            Self::Archive { new } => *new,
            Self::Characters(all) => all.iter().filter(|(_, new)| *new).count(),
            Self::Chat(new) => usize::from(*new),
        }
    }
}

/// Imports and exports memory.
pub struct MemoryExchange {
    log: Arc<dyn MemoryLog>,
    clock: Arc<dyn Clock>,
    views: Arc<PathViews>,
}

impl MemoryExchange {
    pub(super) fn new(ports: &Ports, views: &Arc<PathViews>) -> Self {
        Self {
            log: Arc::clone(&ports.log),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(views),
        }
    }

    /// Imports an archive, Smart Memory's settings (all characters), or a chat with Smart
    /// Memory's data. Known records stay unchanged.
    pub async fn import_any(
        &self,
        tenant: &TenantId,
        document: Value,
        chat: Option<&ChatId>,
    ) -> Result<Imported, ExchangeError> {
        if document.get("format").is_some() {
            let new = self.import(tenant, read(document)?).await?;
            return Ok(Imported::Archive { new });
        }
        if let Some(characters) = characters(&document) {
            let mut taken = Vec::new();
            for (name, container) in characters {
                let owner = Owner::Character(name.as_str().into());
                let new = self.import_character(tenant, &owner, container.clone()).await?;
                taken.push((name.clone(), new.is_some()));
            }
            return Ok(Imported::Characters(taken));
        }
        let container = chat_block(&document).ok_or(ExchangeError::Unknown)?;
        let chat = chat.ok_or(ExchangeError::NoChat)?;
        let new = self.import_chat(tenant, chat, container.clone()).await?;
        Ok(Imported::Chat(new.is_some()))
    }

    /// Everything a tenant remembers.
    pub async fn export(&self, tenant: &TenantId) -> Result<MemoryArchive, MemoryError> {
        let mut summaries = self.log.memory_writes(tenant, u32::MAX).await?;
        summaries.reverse();
        let mut writes: Vec<ArchivedWrite> = summaries
            .into_iter()
            .map(|write| ArchivedWrite {
                id: write.id,
                author: write.author,
                note: write.note,
                chat: write.chat,
                at: write.at,
                owners: Vec::new(),
            })
            .collect();
        let places: rustc_hash::FxHashMap<MemoryWriteId, usize> =
            writes.iter().enumerate().map(|(at, write)| (write.id.clone(), at)).collect();
        for (owner, _) in self.log.owners(tenant).await? {
            for event in self.log.events(tenant, &owner, 0).await? {
                let Some(place) = places.get(&event.write) else { continue };
                let owners = &mut writes[*place].owners;
                if let Some(last) = owners.last_mut().filter(|last| last.owner == owner) {
                    last.events.push(event.event);
                } else {
                    let owner = owner.clone();
                    owners.push(ArchivedOwner { owner, events: vec![event.event] });
                }
            }
        }
        Ok(MemoryArchive { format: FORMAT.to_owned(), version: VERSION, writes })
    }

    /// Imports an archive. Known writes change nothing. Returns how many were new.
    pub async fn import(
        &self,
        tenant: &TenantId,
        archive: MemoryArchive,
    ) -> Result<usize, ExchangeError> {
        if archive.format != FORMAT {
            return Err(ExchangeError::Format { found: archive.format });
        }
        if archive.version > VERSION {
            return Err(ExchangeError::TooNew { found: archive.version });
        }
        let mut new = 0;
        for write in archive.writes {
            let owners = write.owners.into_iter();
            let owners =
                owners.map(|one| OwnerEvents { owner: one.owner, seen: None, events: one.events });
            let write = Write {
                id: write.id,
                author: write.author,
                note: write.note,
                chat: write.chat,
                at: write.at,
                story: None,
                job: None,
                owners: owners.collect(),
            };
            new += usize::from(self.log.write(tenant, &write).await? == Written::Stored);
        }
        Ok(new)
    }

    /// Imports Smart Memory's data of a character, of any schema.
    pub async fn import_character(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        container: Value,
    ) -> Result<Option<MemoryWriteId>, ExchangeError> {
        let seed = seed(owner, &container);
        let container = migrate::character(container, &mut Ids::new(seed.clone()))?;
        let memory: CharacterMemory = read(container)?;
        self.store_new(tenant, owner, seed, &character_records(&memory)).await
    }

    /// Imports Smart Memory's data of a chat, of any schema.
    pub async fn import_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        container: Value,
    ) -> Result<Option<MemoryWriteId>, ExchangeError> {
        let owner = Owner::Chat(chat.clone());
        let seed = seed(&owner, &container);
        let container = migrate::chat(container, &mut Ids::new(seed.clone()))?;
        let memory: ChatMemory = read(container)?;
        self.store_new(tenant, &owner, seed, &chat_records(&memory)).await
    }

    /// Stores the records that are new. Known records stay unchanged.
    async fn store_new(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        seed: String,
        records: &Records,
    ) -> Result<Option<MemoryWriteId>, ExchangeError> {
        let known = self.views.records(tenant, owner).await?;
        let is_new = |event: &NewMemoryEvent| {
            event.record.as_ref().is_some_and(|key| known.get(key).is_none())
        };
        let events: Vec<NewMemoryEvent> =
            between(&Records::default(), records, None).into_iter().filter(is_new).collect();
        if events.is_empty() {
            return Ok(None);
        }
        let id = MemoryWriteId(seed);
        let write = Write {
            id: id.clone(),
            author: Author::Import,
            note: "import".to_owned(),
            chat: None,
            at: self.clock.now(),
            story: None,
            job: None,
            owners: vec![OwnerEvents { owner: owner.clone(), seen: None, events }],
        };
        let written = self.log.write(tenant, &write).await?;
        Ok((written == Written::Stored).then_some(id))
    }
}

/// Equal data give an equal name, so that a second import changes nothing.
fn seed(owner: &Owner, container: &Value) -> String {
    let hasher = Hasher::new("import").field(owner.to_string().as_bytes());
    hasher.field(container.to_string().as_bytes()).finish().to_string()[..16].to_owned()
}

fn read<T: serde::de::DeserializeOwned>(container: Value) -> Result<T, ExchangeError> {
    let wrong = |error: serde_json::Error| ExchangeError::Container { reason: error.to_string() };
    serde_json::from_value(container).map_err(wrong)
}

/// Smart Memory's characters, anywhere in a settings file.
fn characters(value: &Value) -> Option<&Map<String, Value>> {
    smart_memory(value, "characters")?.as_object()
}

/// An object of Smart Memory's settings, anywhere in a settings file.
fn smart_memory<'value>(value: &'value Value, part: &str) -> Option<&'value Value> {
    let places = ["", "/smart_memory", "/smartMemory", "/extension_settings/smart_memory"];
    let places = places.into_iter().chain(["/extension_settings/smartMemory"]);
    let found = places.into_iter().filter_map(|place| value.pointer(place)?.get(part));
    found.into_iter().find(|part| part.is_object())
}

/// Smart Memory's block in the first line of a chat.
fn chat_block(value: &Value) -> Option<&Value> {
    let places = ["/chat_metadata/smartMemory", "/metadata/smartMemory", "/smartMemory"];
    let found = places.into_iter().find_map(|place| value.pointer(place));
    found.or_else(|| value.get("sessionMemories").map(|_| value))
}
