//! Vaults that were registered through the API.
//!
//! A registration is a document: a revision that can be undone, survives a restart, and reaches
//! other servers on the same store. The host reads folders and asks Obsidian: it gives the server
//! a [`VaultKeeper`].

use async_trait::async_trait;
use loreloom_core::{dialects::vault::NoteSource, ids::TenantId, report::Warning};
use loreloom_ports::{Change, DocumentStore, StoreError};
use serde::{Deserialize, Serialize};

use crate::connection_settings::KeySource;

/// Documents of vaults begin with this.
pub(crate) const VAULTS: &str = "vault/";

/// A vault that was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredVault {
    /// Its name.
    pub name: String,
    /// Its folder, or the address of Obsidian's REST API.
    pub place: String,
    /// Where the key of that address comes from.
    pub key: Option<KeySource>,
    /// The certificate that Obsidian made itself, as PEM text.
    pub certificate: Option<String>,
    /// Which of its notes are lore, where it does not follow the setting `vault.notes`.
    pub notes: Option<String>,
    /// The revision that registered it.
    pub revision: u64,
}

/// A vault that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenVault {
    /// Its name; empty where there is only one.
    pub name: String,
    /// Where it is.
    pub place: String,
    /// Whether it was registered and not named at start.
    pub registered: bool,
}

/// Why a place cannot be a vault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultRefusal {
    /// It lies where callers from elsewhere may not point to.
    #[error("a vault that is registered with a key lies inside `vault_roots`, `{folder}` does not")]
    Outside {
        /// The folder.
        folder: String,
    },
    /// Notes of it would be woven twice.
    #[error("notes of `{place}` are open already, as vault `{name}`")]
    Open {
        /// The place.
        place: String,
        /// The vault that is open.
        name: String,
    },
    /// It cannot be opened.
    #[error("{reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
}

/// Where a note is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NotePlace {
    /// Its vault.
    pub vault: String,
    /// Its file inside the vault, with `/` between folders.
    pub path: String,
}

/// The file of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteFile {
    /// All that it says.
    pub text: String,
    /// Whether it can be changed.
    pub writable: bool,
}

/// Why the file of a note cannot be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteRefusal {
    /// Its vault is no folder of this machine.
    #[error(
        "only notes in folders of this machine can be changed here: change this one in Obsidian"
    )]
    Elsewhere,
    /// It says something else than the writer has seen.
    #[error("the note's file was changed meanwhile: read it again")]
    Changed,
    /// It cannot be read.
    #[error("the note's file cannot be read: {reason}")]
    Unreadable {
        /// Why.
        reason: String,
    },
    /// It cannot be written.
    #[error("the note's file cannot be written: {reason}")]
    Unwritable {
        /// Why.
        reason: String,
    },
}

/// Opens folders of notes, and vaults behind Obsidian's REST API, and keeps the lore in step with them.
#[async_trait]
pub trait VaultKeeper: Send + Sync {
    /// The vaults that are open, those that were named at start first.
    fn open(&self) -> Vec<OpenVault>;

    /// A folder's real name, if it may be a vault: anywhere, or only inside the roots that the
    /// configuration allows.
    async fn check(&self, folder: &str, anywhere: bool) -> Result<String, VaultRefusal>;

    /// Opens one more, besides those that are open. If that fails, all stays as it was.
    async fn add(&self, vault: RegisteredVault) -> Result<(), VaultRefusal>;

    /// Begins the turn of this number with `begin`. If notes that cannot be watched are old by
    /// then, it waits a little until they are read, and warns of those that are not.
    async fn begin_turn(&self, turn: u64, begin: &(dyn Fn() + Send + Sync)) -> Vec<Warning>;

    /// How each was read last.
    fn sources(&self) -> Vec<NoteSource>;

    /// Opens those that are registered besides those that were named at start, and no others.
    async fn keep(&self) -> Result<(), String>;

    /// Reads all of them again.
    async fn refresh(&self) -> Result<(), String>;

    /// The file of a note.
    async fn note(&self, _place: &NotePlace) -> Result<NoteFile, NoteRefusal> {
        Err(NoteRefusal::Elsewhere)
    }

    /// Replaces the text of a note's file with `text`, if it is still `was`.
    async fn write_note(
        &self,
        _place: &NotePlace,
        _was: &str,
        _text: &str,
    ) -> Result<(), NoteRefusal> {
        Err(NoteRefusal::Elsewhere)
    }
}

/// The document: a folder, or an address with the source of its key.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredVault {
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeySource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
}

impl RegisteredVault {
    /// The vaults that are registered, by name.
    pub async fn all(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<Vec<Self>, StoreError> {
        let items = documents.items(tenant, VAULTS).await?;
        let read = |item: &loreloom_ports::Item| {
            let damaged = |reason: String| StoreError::Damaged {
                what: format!("document `{}`", item.key),
                reason,
            };
            let StoredVault { folder, url, key, certificate, notes } =
                StoredVault::deserialize(&item.value)
                    .map_err(|error| damaged(error.to_string()))?;
            let nowhere = || damaged("it has neither `folder` nor `url`".to_owned());
            let name = item.key.strip_prefix(VAULTS).unwrap_or(&item.key).to_owned();
            let place = folder.or(url).ok_or_else(nowhere)?;
            Ok(Self { name, place, key, certificate, notes, revision: item.revision })
        };
        items.iter().map(read).collect()
    }

    /// Whether a place is the address of Obsidian's REST API.
    pub fn is_address(place: &str) -> bool {
        place.starts_with("http://") || place.starts_with("https://")
    }

    pub(crate) fn registering(&self) -> Change {
        let is_address = Self::is_address(&self.place);
        let place = || Some(self.place.clone());
        let kept = StoredVault {
            folder: place().filter(|_| !is_address),
            url: place().filter(|_| is_address),
            key: self.key.clone(),
            certificate: self.certificate.clone(),
            notes: self.notes.clone(),
        };
        // Texts have no form that JSON lacks.
        Change { value: serde_json::to_value(kept).ok(), ..Self::removing(&self.name) }
    }

    /// The change that takes a vault out.
    pub(crate) fn removing(name: &str) -> Change {
        Change { key: format!("{VAULTS}{name}"), value: None }
    }
}
