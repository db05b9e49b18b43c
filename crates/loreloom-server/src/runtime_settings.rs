//! Settings that can be changed while the server runs.
//!
//! They are a stored document beside books: every change is a revision that can be undone, other
//! processes take it up, and a restart keeps it. What is not stored is as the server was started.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use loreloom_core::{
    ids::{ChatId, TenantId},
    room::RoomRules,
    turn::Speaker,
    units::Tokens,
};
use loreloom_memory::settings::Settings as MemorySettings;
use loreloom_ports::{Change, DocumentStore, Item, Store, StoreError};
use loreloom_settings::{Changes, Settings, StartSettings};

use crate::{
    app::{Defaults, Weaving},
    scoped_settings::ScopedSettings,
};

/// The name of the stored document.
pub(crate) const SETTINGS: &str = "settings";

/// The settings that a tenant has stored.
pub async fn stored_settings(
    documents: &dyn DocumentStore,
    tenant: &TenantId,
) -> Result<Changes, StoreError> {
    let items = documents.items(tenant, SETTINGS).await?;
    let found = items.into_iter().find(|item| item.key == SETTINGS);
    found.map_or_else(|| Ok(Changes::default()), |item| read_stored(&item))
}

/// Reads the stored document.
pub(crate) fn read_stored(item: &Item) -> Result<Changes, StoreError> {
    serde_json::from_value(item.value.clone()).map_err(|error| StoreError::Damaged {
        what: format!("the document `{SETTINGS}`"),
        reason: error.to_string(),
    })
}

/// The change that stores the settings of the server.
pub(crate) fn settings_change(stored: &Changes) -> Result<Change, StoreError> {
    stored_change(SETTINGS.to_owned(), stored)
}

/// The change that stores settings in a document.
pub(crate) fn stored_change(key: String, stored: &Changes) -> Result<Change, StoreError> {
    let value = (!stored.is_empty()).then(|| serde_json::to_value(stored)).transpose();
    let value = value.map_err(|error| StoreError::Contradiction {
        rule: "settings have a JSON form",
        found: error.to_string(),
    })?;
    Ok(Change { key, value })
}

/// What a server was started with.
pub(crate) struct StartParts {
    pub(crate) settings: StartSettings,
    pub(crate) weaving: Weaving,
    pub(crate) defaults: Defaults,
}

impl StartParts {
    /// The same with one truth: the settings say what the parts do. Settings that are read only
    /// at the start stay as they are, because the parts may have been made with stored ones.
    pub(crate) fn agreeing(mut self, lore: &StartSettings) -> Self {
        let settings = &mut self.settings.settings;
        settings.set_rules(&lore.settings.rules());
        settings.profiles = lore.settings.profiles;
        settings.weaving.on = self.weaving.on;
        settings.weaving.deadline_ms =
            u64::try_from(self.weaving.deadline.as_millis()).unwrap_or(u64::MAX);
        settings.weaving.queue_seconds = self.weaving.longest_queued.as_secs();
        let (story, defaults) = (&mut settings.story, &self.defaults);
        story.user.clone_from(&defaults.user);
        story.character = defaults.speaker.as_ref().map(|speaker| speaker.name.clone());
        story.context = defaults.context.0;
        story.seed = defaults.seed;
        self
    }
}

/// The settings that work now.
#[derive(Clone, Debug)]
pub(crate) struct CurrentSettings {
    pub(crate) weaving: Weaving,
    pub(crate) defaults: Defaults,
    /// What decides memory's part of a prompt.
    pub(crate) memory: Arc<MemorySettings>,
    /// The budget over everything.
    pub(crate) budget: Arc<RoomRules>,
    /// What is stored.
    pub(crate) stored: Arc<Changes>,
}

/// The settings of a tenant: those that the server was started with, and the changes in the
/// store.
pub(crate) struct RuntimeSettings {
    tenant: TenantId,
    store: Arc<dyn Store>,
    settings: StartSettings,
    typed: (Weaving, Defaults),
    now: RwLock<Arc<CurrentSettings>>,
    scoped: RwLock<Arc<ScopedSettings>>,
}

impl RuntimeSettings {
    /// The settings that the server was started with.
    pub(crate) fn new(tenant: TenantId, store: Arc<dyn Store>, started: StartParts) -> Self {
        let StartParts { settings, weaving, defaults } = started;
        let typed = (weaving, defaults);
        let live = live(&settings.settings, &typed, Changes::default());
        let (now, scoped) = (RwLock::new(Arc::new(live)), RwLock::default());
        Self { tenant, store, settings, typed, now, scoped }
    }

    /// The settings that the server was started with.
    pub(crate) fn started(&self) -> &StartSettings {
        &self.settings
    }

    /// The parts that the server was started with.
    pub(crate) fn typed(&self) -> &(Weaving, Defaults) {
        &self.typed
    }

    pub(crate) fn now(&self) -> Arc<CurrentSettings> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What characters and chats set themselves.
    pub(crate) fn scoped(&self) -> Arc<ScopedSettings> {
        Arc::clone(&self.scoped.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings of one story. What its chat sets wins over what its character sets.
    pub(crate) fn for_story(&self, chat: &ChatId, character: Option<&str>) -> Arc<CurrentSettings> {
        let now = self.now();
        let own = self.scoped().of(chat, character);
        if own.is_empty() {
            return now;
        }
        let stored = Changes::clone(&now.stored).then(own);
        match self.settings.with(&stored) {
            Ok(settings) => Arc::new(live(&settings, &self.typed, stored)),
            Err(error) => {
                tracing::warn!(%error, %chat, "the settings of the chat do not count");
                now
            }
        }
    }

    /// Reads the changes in the store.
    pub(crate) async fn take_up(&self) -> Result<(), StoreError> {
        let stored = stored_settings(self.store.as_ref(), &self.tenant).await?;
        let settings = self.settings.with(&stored).map_err(|error| StoreError::Damaged {
            what: format!("the document `{SETTINGS}`"),
            reason: error.to_string(),
        })?;
        let scoped = Arc::new(ScopedSettings::read(self.store.as_ref(), &self.tenant).await?);
        *self.scoped.write().unwrap_or_else(PoisonError::into_inner) = scoped;
        let live = Arc::new(live(&settings, &self.typed, stored));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = live;
        Ok(())
    }
}

fn live(
    settings: &Settings,
    (weaving, defaults): &(Weaving, Defaults),
    stored: Changes,
) -> CurrentSettings {
    let (mut weaving, mut defaults) = (weaving.clone(), defaults.clone());
    weaving.on = settings.weaving.on;
    weaving.deadline = Duration::from_millis(settings.weaving.deadline_ms);
    weaving.longest_queued = Duration::from_secs(settings.weaving.queue_seconds);
    let story = &settings.story;
    defaults.user.clone_from(&story.user);
    defaults.context = Tokens(story.context);
    defaults.context_stated |= stored.get("story.context").is_some();
    defaults.seed = story.seed;
    let name = story.character.as_ref();
    if name != defaults.speaker.as_ref().map(|speaker| &speaker.name) {
        defaults.speaker = name.map(|name| Speaker::named(name.as_str()));
    }
    let memory = Arc::new(settings.memory.settings.clone());
    let budget = Arc::new(settings.budget.clone());
    CurrentSettings { weaving, defaults, memory, budget, stored: Arc::new(stored) }
}
