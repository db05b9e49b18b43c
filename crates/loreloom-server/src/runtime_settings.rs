//! Settings that can be changed while the server runs.
//!
//! They stand on the desk beside books and rules: every change is a revision that can be
//! undone, another process takes it up, and a restart keeps it. What is not set there is as
//! the server was started.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use loreloom_core::{ids::TenantId, turn::Speaker, units::Tokens};
use loreloom_memory::inject::SlotChanges;
use loreloom_ports::{Change, DocumentStore, Item, Store, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::{Defaults, Weaving};

/// The name of the settings on the desk.
const SETTINGS: &str = "settings";

/// Settings that were changed; what is not set is as the server was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Overrides {
    /// Whether lore is woven into requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weaving: Option<bool>,
    /// The longest a request waits for its lore, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 600_000)]
    pub(crate) deadline_ms: Option<u64>,
    /// The model's context size, where neither its connection nor its server tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub(crate) context: Option<u32>,
    /// The user's name, where requests do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The character's name, where requests do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) character: Option<String>,
    /// The seed of all rolls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    /// Slots of memory that stand elsewhere or take another budget: `budgets` and `places` by
    /// the slots' names, the `cap` of all, and whether they are `unified` into one block.
    #[serde(skip_serializing_if = "is_default")]
    #[schema(value_type = Object)]
    pub(crate) memory: SlotChanges,
}

fn is_default(changes: &SlotChanges) -> bool {
    *changes == SlotChanges::default()
}

/// The settings as they are now.
#[derive(Clone, Debug)]
pub(crate) struct CurrentSettings {
    pub(crate) weaving: Weaving,
    pub(crate) defaults: Defaults,
    /// What differs of memory's slots.
    pub(crate) slots: Arc<SlotChanges>,
}

impl Overrides {
    /// The overrides that stand on a desk, with the revision that put them there.
    pub(crate) async fn read(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<(Self, u64), StoreError> {
        let items = documents.items(tenant, SETTINGS).await?;
        let Some(Item { value, revision, .. }) =
            items.into_iter().find(|item| item.key == SETTINGS)
        else {
            return Ok((Self::default(), 0));
        };
        let read = serde_json::from_value(value).map_err(|error| StoreError::Damaged {
            what: "`settings` on the desk".to_owned(),
            reason: error.to_string(),
        })?;
        Ok((read, revision))
    }

    /// The change that puts them on a desk.
    pub(crate) fn change(&self) -> Result<Change, StoreError> {
        let value = (*self != Self::default()).then(|| serde_json::to_value(self)).transpose();
        let value = value.map_err(|error| StoreError::Contradiction {
            rule: "settings have a JSON form",
            found: error.to_string(),
        })?;
        Ok(Change { key: SETTINGS.to_owned(), value })
    }

    /// The settings with these in place of those the server was started with.
    fn over(&self, weaving: &Weaving, defaults: &Defaults) -> CurrentSettings {
        let (mut weaving, mut defaults) = (weaving.clone(), defaults.clone());
        weaving.on = self.weaving.unwrap_or(weaving.on);
        if let Some(deadline) = self.deadline_ms {
            weaving.deadline = Duration::from_millis(deadline);
        }
        defaults.context = self.context.map_or(defaults.context, Tokens);
        defaults.context_stated |= self.context.is_some();
        defaults.seed = self.seed.unwrap_or(defaults.seed);
        if let Some(user) = &self.user {
            defaults.user.clone_from(user);
        }
        if let Some(character) = &self.character {
            defaults.speaker = Some(Speaker::named(character.as_str()));
        }
        CurrentSettings { weaving, defaults, slots: Arc::new(self.memory.clone()) }
    }
}

/// The settings of a tenant: those that the server was started with, and the changes in the
/// store.
pub(crate) struct RuntimeSettings {
    tenant: TenantId,
    store: Arc<dyn Store>,
    started: (Weaving, Defaults),
    now: RwLock<Arc<CurrentSettings>>,
}

impl RuntimeSettings {
    /// The settings that the server was started with.
    pub(crate) fn new(
        tenant: TenantId,
        store: Arc<dyn Store>,
        weaving: Weaving,
        defaults: Defaults,
    ) -> Self {
        let now = RwLock::new(Arc::new(Overrides::default().over(&weaving, &defaults)));
        Self { tenant, store, started: (weaving, defaults), now }
    }

    /// The settings that the server was started with.
    pub(crate) fn started(&self) -> &(Weaving, Defaults) {
        &self.started
    }

    pub(crate) fn now(&self) -> Arc<CurrentSettings> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the changes in the store.
    pub(crate) async fn take_up(&self) -> Result<(), StoreError> {
        let (overrides, _) = Overrides::read(self.store.as_ref(), &self.tenant).await?;
        let (weaving, defaults) = &self.started;
        let live = Arc::new(overrides.over(weaving, defaults));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = live;
        Ok(())
    }
}
