//! The metadata of a chat: its title, which messages are hidden, and whether it is deleted.
//!
//! The tree of a chat never changes: front ends continue it, and past turns are decided from it
//! again. So metadata is a document, and every change is a revision that can be undone. A chat
//! counts as deleted only at the version it was deleted at: if a front end continues it, it is
//! back.

use std::collections::BTreeMap;

use loreloom_core::{
    chat::Message,
    ids::{ChatId, MessageId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Change, ChatRecord, DocumentStore, Item, Node, StoreError};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Documents of chat metadata begin with this.
const CHATS: &str = "chat/";

/// What was said about a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatMetadata {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether it is put away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Messages that are hidden from the model, or shown to it again.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hidden: BTreeMap<String, bool>,
    /// The version of the chat that was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<u64>,
    /// The revision that said so.
    #[serde(skip)]
    pub revision: u64,
}

/// What was said about all chats of a tenant.
#[derive(Clone, Debug, Default)]
pub struct AllChatMetadata(FxHashMap<ChatId, ChatMetadata>);

impl ChatMetadata {
    /// What is said about one chat.
    pub async fn read(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let key = key(chat);
        let items = documents.items(tenant, &key).await?;
        items.iter().find(|item| item.key == key).map_or_else(|| Ok(Self::default()), of)
    }

    /// Stores it. Returns the revision of the documents, which does not change if nothing is new.
    ///
    /// Fails with [`StoreError::Outdated`] if `seen` is not the last revision.
    pub async fn write(
        &self,
        documents: &dyn DocumentStore,
        (tenant, chat): (&TenantId, &ChatId),
        seen: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let says_something = *self != Self { revision: self.revision, ..Self::default() };
        let value = says_something.then(|| serde_json::to_value(self)).transpose();
        let value = value.map_err(|error| StoreError::Contradiction {
            rule: "what is said about a chat has a JSON form",
            found: error.to_string(),
        })?;
        documents.change(tenant, &[Change { key: key(chat), value }], Some(seen), now).await
    }

    /// Whether the chat was deleted and not continued since.
    pub fn is_deleted(&self, chat: &ChatRecord) -> bool {
        self.deleted.is_some_and(|version| chat.version <= version)
    }

    /// The chat under the name it was given.
    pub fn name(&self, chat: &mut ChatRecord) {
        if let Some(title) = &self.title {
            chat.title.clone_from(title);
        }
    }

    /// The message, hidden or not as was said.
    pub fn show(&self, id: MessageId, message: &mut Message) {
        if let Some(hidden) = self.hidden.get(&id.to_string()) {
            message.hidden = *hidden;
        }
    }

    /// The same for nodes of its tree.
    pub fn show_all(&self, nodes: &mut [Node]) {
        for node in nodes {
            self.show(node.message_id, &mut node.message);
        }
    }

    /// Hides a message, or shows it again.
    pub fn set_hidden(&mut self, id: MessageId, stored: bool, hidden: bool) {
        if stored == hidden {
            self.hidden.remove(&id.to_string());
        } else {
            self.hidden.insert(id.to_string(), hidden);
        }
    }

    /// The version of the chat and its metadata.
    pub(crate) fn tag(&self, version: u64) -> String {
        match self.revision {
            0 => version.to_string(),
            revision => format!("{version}.{revision}"),
        }
    }
}

impl AllChatMetadata {
    /// What is said about all chats.
    pub async fn read(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<Self, StoreError> {
        let items = documents.items(tenant, CHATS).await?;
        let all = items.iter().map(|item| {
            let chat = item.key.strip_prefix(CHATS).unwrap_or(&item.key);
            Ok((ChatId::from(chat), of(item)?))
        });
        all.collect::<Result<_, StoreError>>().map(Self)
    }

    /// What is said about one chat.
    pub fn of(&self, chat: &ChatId) -> Option<&ChatMetadata> {
        self.0.get(chat)
    }

    /// Gives a chat its name. Returns whether it is deleted.
    pub fn apply(&self, chat: &mut ChatRecord) -> bool {
        let Some(metadata) = self.0.get(&chat.id) else { return false };
        metadata.name(chat);
        metadata.is_deleted(chat)
    }
}

fn key(chat: &ChatId) -> String {
    format!("{CHATS}{chat}")
}

fn of(item: &Item) -> Result<ChatMetadata, StoreError> {
    let metadata = ChatMetadata::deserialize(&item.value).map_err(|error| StoreError::Damaged {
        what: format!("document `{}`", item.key),
        reason: error.to_string(),
    })?;
    Ok(ChatMetadata { revision: item.revision, ..metadata })
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::PrefixHash;
    use loreloom_store::SqliteStore;

    use super::*;

    fn record(version: u64) -> ChatRecord {
        let (id, title, tip) =
            (ChatId::from("inn"), "At the inn".to_owned(), PrefixHash::default());
        ChatRecord { id, title, tip, created: Timestamp(1), updated: Timestamp(1), version }
    }

    #[tokio::test]
    async fn what_is_said_about_a_chat_is_kept_and_taken_back() {
        let (documents, tenant, chat) =
            (SqliteStore::in_memory().unwrap(), TenantId::local(), ChatId::from("inn"));
        let mut metadata = ChatMetadata::read(&documents, &tenant, &chat).await.unwrap();
        assert_eq!((metadata.clone(), metadata.tag(3)), (ChatMetadata::default(), "3".to_owned()));
        metadata.title = Some("The flood".to_owned());
        metadata.deleted = Some(3);
        let revision = metadata.write(&documents, (&tenant, &chat), 0, Timestamp(2)).await.unwrap();
        // Another chat's name may begin with this one's.
        let other = ChatMetadata::read(&documents, &tenant, &"in".into()).await.unwrap();
        assert_eq!(other, ChatMetadata::default());
        let all = AllChatMetadata::read(&documents, &tenant).await.unwrap();
        for (version, deleted) in [(2, true), (3, true), (4, false)] {
            let mut chat = record(version);
            assert_eq!(all.apply(&mut chat), deleted, "{version}");
            assert_eq!(chat.title, "The flood");
        }
        let read = ChatMetadata::read(&documents, &tenant, &chat).await.unwrap();
        assert_eq!(read.tag(3), "3.1");
        let stale = metadata.write(&documents, (&tenant, &chat), 0, Timestamp(3)).await;
        assert!(matches!(stale, Err(StoreError::Outdated { .. })));
        documents.undo(&tenant, revision, Timestamp(4)).await.unwrap();
        assert_eq!(
            ChatMetadata::read(&documents, &tenant, &chat).await.unwrap(),
            ChatMetadata::default()
        );
    }

    #[test]
    fn a_message_is_hidden_and_shown_again() {
        let mut metadata = ChatMetadata::default();
        let mut message = Message::new(loreloom_core::chat::Role::User, None, "psst");
        let id = MessageId::default();
        metadata.set_hidden(id, false, true);
        metadata.show(id, &mut message);
        assert!(message.hidden);
        metadata.set_hidden(id, false, false);
        assert_eq!(metadata, ChatMetadata::default(), "nothing changed, so nothing is stored");
        metadata.set_hidden(id, true, false);
        metadata.show(id, &mut message);
        assert!(!message.hidden);
    }
}
