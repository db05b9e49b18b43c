//! Settings of one character or one chat, each a stored document of its own.

use std::collections::BTreeMap;

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{DocumentStore, StoreError};
use loreloom_settings::{Changes, SettingScope};

use crate::runtime_settings::{SETTINGS, read_stored};

/// Whose settings they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SettingsOwner {
    /// Of all chats with a character.
    Character(String),
    /// Of a chat.
    Chat(String),
}

impl SettingsOwner {
    /// Where they are set.
    pub(crate) fn scope(&self) -> SettingScope {
        match self {
            Self::Character(_) => SettingScope::Character,
            Self::Chat(_) => SettingScope::Chat,
        }
    }

    /// The name of their document.
    pub(crate) fn key(&self) -> String {
        let (Self::Character(name) | Self::Chat(name)) = self;
        format!("{SETTINGS}/{}/{name}", self.scope().as_str())
    }

    /// Whose settings a document has.
    fn of_key(key: &str) -> Option<Self> {
        let (scope, name) = key.strip_prefix(SETTINGS)?.strip_prefix('/')?.split_once('/')?;
        match scope {
            "character" => Some(Self::Character(name.to_owned())),
            "chat" => Some(Self::Chat(name.to_owned())),
            _ => None,
        }
    }
}

/// Whether a document has the settings of a chat. They belong to its story: who may change the
/// story may change them.
pub(crate) fn is_chat_settings(key: &str) -> bool {
    matches!(SettingsOwner::of_key(key), Some(SettingsOwner::Chat(_)))
}

/// What characters and chats set themselves.
#[derive(Debug, Default)]
pub(crate) struct ScopedSettings(BTreeMap<SettingsOwner, Changes>);

impl ScopedSettings {
    /// Those of a tenant.
    pub(crate) async fn read(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<Self, StoreError> {
        let items = documents.items(tenant, &format!("{SETTINGS}/")).await?;
        let owned = items.iter().filter_map(|item| Some((SettingsOwner::of_key(&item.key)?, item)));
        let read = owned.map(|(owner, item)| Ok((owner, read_stored(item)?)));
        Ok(Self(read.collect::<Result<_, StoreError>>()?))
    }

    /// What one of them sets.
    pub(crate) fn get(&self, owner: &SettingsOwner) -> Changes {
        self.0.get(owner).cloned().unwrap_or_default()
    }

    /// What counts in a chat with a character: the chat's own wins.
    pub(crate) fn of(&self, chat: &ChatId, character: Option<&str>) -> Changes {
        if self.0.is_empty() {
            return Changes::default();
        }
        let character = character.map(|name| self.get(&SettingsOwner::Character(name.to_owned())));
        character.unwrap_or_default().then(self.get(&SettingsOwner::Chat(chat.to_string())))
    }
}
