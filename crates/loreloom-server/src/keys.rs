//! Keys of the API, each with its scopes and its tenant.
//!
//! A key is long and random, so only its plain SHA-256 is stored: a reader of the store cannot
//! use it. Keys are documents of a tenant of their own, so that undoing a change of books never
//! restores a revoked key.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    str::FromStr,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_ports::{Change, DocumentStore, Item, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use crate::page_origin::PageOrigin;

/// Keys begin so: what else begins so is taken for one.
pub(crate) const PREFIX: &str = "ll_";
/// The tenant that keys are kept under. Tenants' own names have no colon.
const KEEPER: &str = "loreloom:keys";
/// Documents of keys begin with this.
const KEYS: &str = "key/";

/// What a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Looking at everything of its tenant.
    Read,
    /// Changing it.
    Write,
    /// Passing requests on to models.
    Proxy,
    /// Settings of the server, its connections and keys.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Proxy, Self::Admin];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Proxy => "proxy",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| KeyError::Scope { found: text.to_owned() })
    }
}

/// A key as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The SHA-256 of the key, in hexadecimal digits.
    pub hash: String,
    /// What it is for.
    pub name: String,
    /// Whose data it sees.
    pub tenant: TenantId,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// Since when.
    pub created: Timestamp,
    /// Pages that may use the server from a browser as long as the key is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageOrigin>,
}

/// A key to be created.
#[derive(Clone, Debug)]
pub struct KeyDraft {
    /// What it is for.
    pub name: String,
    /// Whose data it sees.
    pub tenant: TenantId,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// Pages that may use the server with it from a browser.
    pub pages: Vec<PageOrigin>,
}

impl KeyDraft {
    /// A key without a name and for no page.
    pub fn new(tenant: impl Into<TenantId>, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let scopes = scopes.into_iter().collect();
        Self { name: String::new(), tenant: tenant.into(), scopes, pages: Vec::new() }
    }
}

impl KeyRecord {
    /// What a key is called: not the key, and not enough of its hash to find it.
    pub fn id(&self) -> &str {
        &self.hash[..self.hash.len().min(10)]
    }
}

/// Why a key is not made or not found.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is no such scope.
    #[error("a scope is `read`, `write`, `proxy` or `admin`, found `{found}`")]
    Scope {
        /// What was found.
        found: String,
    },
    /// It would allow nothing.
    #[error("a key needs a scope, found none")]
    NoScope,
    /// The tenant's name cannot be one.
    #[error("a tenant's name has 1 to 64 letters, digits, `-` or `_`, found `{found}`")]
    Tenant {
        /// What was found.
        found: String,
    },
    /// Nobody could administer the tenant's data any more.
    #[error(
        "the last key of tenant `{tenant}` with the scopes `write` and `admin` is not revoked \
         here: make another one first, or use `loreloom keys revoke`"
    )]
    LastAdmin {
        /// The tenant.
        tenant: TenantId,
    },
    /// There is no such key.
    #[error("there is no key `{id}`; keys are named by their ids, which the list shows")]
    NoKey {
        /// The id.
        id: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The keys in a store.
#[derive(Clone, Copy)]
pub struct KeyCabinet<'a> {
    /// Where they are.
    pub documents: &'a dyn DocumentStore,
}

impl KeyCabinet<'_> {
    /// All keys, by id.
    pub async fn list(&self) -> Result<Vec<KeyRecord>, StoreError> {
        let items = self.documents.items(&keeper(), KEYS).await?;
        items.iter().map(read).collect()
    }

    /// Creates a key from random bytes. The key is returned and not stored.
    pub async fn add(
        &self,
        draft: KeyDraft,
        random: [u8; 32],
        now: Timestamp,
    ) -> Result<(String, KeyRecord), KeyError> {
        let KeyDraft { name, tenant, scopes, pages } = draft;
        check_tenant(&tenant)?;
        if scopes.is_empty() {
            return Err(KeyError::NoScope);
        }
        let key = format!("{PREFIX}{}", hex(&random));
        let record = KeyRecord { hash: hash(&key), name, tenant, scopes, created: now, pages };
        let value = serde_json::to_value(&record).map_err(|error| StoreError::Contradiction {
            rule: "what is kept has a JSON form",
            found: error.to_string(),
        })?;
        let change = Change { key: format!("{KEYS}{}", record.id()), value: Some(value) };
        self.documents.change(&keeper(), &[change], None, now).await?;
        Ok((key, record))
    }

    /// Revokes a key. Running servers notice within a second.
    pub async fn revoke(&self, id: &str, now: Timestamp) -> Result<KeyRecord, KeyError> {
        self.revoke_one(id, |_record| true, false, now).await
    }

    /// Revokes a key that `seen` accepts; with `keeps_last`, not the tenant's last key that may
    /// administer.
    pub(crate) async fn revoke_one(
        &self,
        id: &str,
        seen: impl Fn(&KeyRecord) -> bool,
        keeps_last: bool,
        now: Timestamp,
    ) -> Result<KeyRecord, KeyError> {
        loop {
            let revision = self.documents.revision(&keeper()).await?;
            let all = self.list().await?;
            let found = all.iter().find(|record| record.id() == id && seen(record));
            let record = found.ok_or_else(|| KeyError::NoKey { id: id.to_owned() })?;
            // Keys are made with a call that writes: `admin` alone makes none.
            let administers = |one: &KeyRecord| {
                let has = |scope| one.scopes.contains(&scope);
                one.tenant == record.tenant && has(Scope::Admin) && has(Scope::Write)
            };
            let is_last =
                administers(record) && all.iter().filter(|one| administers(one)).count() == 1;
            if keeps_last && is_last {
                return Err(KeyError::LastAdmin { tenant: record.tenant.clone() });
            }
            let change = Change { key: format!("{KEYS}{id}"), value: None };
            // Two who revoke at once must not each take the other's for the last.
            match self.documents.change(&keeper(), &[change], Some(revision), now).await {
                Err(StoreError::Outdated { .. }) => {}
                changed => return changed.map(|_revision| record.clone()).map_err(Into::into),
            }
        }
    }
}

/// The keys as a running server knows them.
#[derive(Default)]
pub struct Keys {
    by_hash: RwLock<HashMap<String, Arc<KeyRecord>>>,
    /// Their revision of the documents plus one, so that 0 means none.
    revision: AtomicU64,
    /// One at a time takes them up: a slower one must not bring a revoked key back.
    changing: Mutex<()>,
}

impl Keys {
    /// Takes up what changed.
    pub async fn refresh(&self, documents: &dyn DocumentStore) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        let revision = documents.revision(&keeper()).await?.saturating_add(1);
        if self.revision.load(Ordering::Acquire) == revision {
            return Ok(());
        }
        let records = KeyCabinet { documents }.list().await?;
        let records = records.into_iter().map(|record| (record.hash.clone(), Arc::new(record)));
        let records = records.collect();
        *self.by_hash.write().unwrap_or_else(PoisonError::into_inner) = records;
        self.revision.store(revision, Ordering::Release);
        Ok(())
    }

    /// Whose key this is. It is looked up by its hash, so that how long that takes says
    /// nothing about any key.
    pub fn find(&self, key: &str) -> Option<Arc<KeyRecord>> {
        let known = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&hash(key)).cloned()
    }

    /// Whether a key was made for the page with this origin.
    pub(crate) fn has_page(&self, origin: &str) -> bool {
        let known = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        known.values().any(|record| record.pages.iter().any(|page| page.is(origin)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_hash.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

fn keeper() -> TenantId {
    TenantId::from(KEEPER)
}

fn read(item: &Item) -> Result<KeyRecord, StoreError> {
    KeyRecord::deserialize(&item.value).map_err(|error| StoreError::Damaged {
        what: format!("document `{}`", item.key),
        reason: error.to_string(),
    })
}

/// Names must never be mistaken for one another, nor for the keeper of keys.
fn check_tenant(tenant: &TenantId) -> Result<(), KeyError> {
    let name = tenant.as_str();
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if fits && (1..=64).contains(&name.len()) {
        Ok(())
    } else {
        Err(KeyError::Tenant { found: name.to_owned() })
    }
}

fn hash(key: &str) -> String {
    hex(&Sha256::digest(key.trim().as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).collect()
}

#[cfg(test)]
mod tests {
    use loreloom_store::SqliteStore;

    use super::*;

    #[tokio::test]
    async fn a_key_is_made_known_and_revoked_and_the_store_never_has_it() {
        let store = SqliteStore::in_memory().unwrap();
        let cabinet = KeyCabinet { documents: &store };
        let draft = KeyDraft {
            name: "phone".to_owned(),
            pages: vec!["http://localhost:8000".parse().unwrap()],
            ..KeyDraft::new("ann", [Scope::Proxy])
        };
        let made = cabinet.add(draft, [7; 32], Timestamp(1)).await;
        let (key, record) = made.unwrap();
        assert_eq!(key, format!("ll_{}", "07".repeat(32)));
        let keys = Keys::default();
        keys.refresh(&store).await.unwrap();
        assert_eq!(keys.find(&key).as_deref(), Some(&record));
        assert_eq!(keys.find("ll_other"), None);
        assert!(keys.has_page("http://127.0.0.1:8000"));
        assert!(!keys.has_page("http://127.0.0.1:8001"));
        let kept = serde_json::to_string(&store.items(&keeper(), "").await.unwrap()).unwrap();
        assert!(!kept.contains(&key[3..]), "{kept}");
        cabinet.revoke(record.id(), Timestamp(2)).await.unwrap();
        keys.refresh(&store).await.unwrap();
        assert_eq!(keys.find(&key), None);
        assert!(!keys.has_page("http://127.0.0.1:8000"), "revoking a key closes its page out");
        let gone = cabinet.revoke(record.id(), Timestamp(3)).await.unwrap_err();
        assert_eq!(
            gone.to_string(),
            format!(
                "there is no key `{}`; keys are named by their ids, which the list shows",
                record.id()
            )
        );
    }

    #[tokio::test]
    async fn nobody_can_be_the_keeper_of_keys() {
        let store = SqliteStore::in_memory().unwrap();
        let cabinet = KeyCabinet { documents: &store };
        for name in [KEEPER, "", "a b", "a/b", "ä"] {
            let made = cabinet.add(KeyDraft::new(name, [Scope::Read]), [0; 32], Timestamp(1)).await;
            assert!(matches!(made, Err(KeyError::Tenant { .. })), "{name}");
        }
        let none = cabinet.add(KeyDraft::new("a", []), [0; 32], Timestamp(1)).await;
        assert!(matches!(none, Err(KeyError::NoScope)));
    }
}
