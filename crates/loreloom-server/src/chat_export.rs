//! Chats from the store as files of other programs.

use loreloom_core::{
    chat::Role,
    ids::{ChatId, TenantId},
};
use loreloom_formats::chat::{ChatFormat, ImportedChat, ImportedMessage};
use loreloom_ports::{
    Node, Store, StoreError,
    history::archive::{self, Archive},
};
use serde_json::{Map, Value, json};

use crate::{chat_metadata::ChatMetadata, past::stored::StoredChat};

/// The current path of a chat with all versions of its messages, and its title.
pub async fn exported_chat(
    store: &dyn Store,
    tenant: &TenantId,
    chat: &ChatId,
) -> Result<(String, ImportedChat), StoreError> {
    let mut stored = StoredChat::read(store, tenant, chat).await?;
    let metadata = ChatMetadata::read(store, tenant, chat).await?;
    metadata.show_all(&mut stored.nodes);
    metadata.name(&mut stored.record);
    let tree = store.tree(tenant, chat).await?;
    let messages: Vec<ImportedMessage> =
        stored.nodes.iter().map(|node| message(node, &stored, &tree)).collect();
    let name_of = |role: Role| {
        let named = stored.nodes.iter().rev().map(|node| &node.message);
        named.filter(|message| message.role == role).find_map(|message| message.name.clone())
    };
    let file = ImportedChat {
        format: ChatFormat::Sillytavern,
        user_name: name_of(Role::User),
        character_name: name_of(Role::Assistant),
        messages,
        metadata: chat_metadata(store, tenant, &stored).await?,
        notes: Vec::new(),
    };
    Ok((stored.record.title, file))
}

/// A chat with every branch, turn, report and prompt, as it is shown: with its title, and with
/// messages hidden or not as was said.
pub async fn exported_archive(
    store: &dyn Store,
    tenant: &TenantId,
    chat: &ChatId,
) -> Result<Archive, StoreError> {
    let mut archive = archive::export(store, tenant, chat).await?;
    let metadata = ChatMetadata::read(store, tenant, chat).await?;
    metadata.name(&mut archive.chat);
    metadata.show_all(&mut archive.nodes);
    Ok(archive)
}

/// A message with its versions: the messages that follow the same one and have its role.
fn message(node: &Node, stored: &StoredChat, tree: &[Node]) -> ImportedMessage {
    let siblings = tree
        .iter()
        .filter(|other| other.parent == node.parent && other.message.role == node.message.role);
    let versions: Vec<&Node> = siblings.collect();
    let mut exported = ImportedMessage::new(node.message.clone());
    if versions.len() > 1 {
        exported.chosen =
            versions.iter().position(|other| other.prefix == node.prefix).unwrap_or_default();
        exported.swipes = versions.iter().map(|other| other.message.text.to_string()).collect();
    }
    let sent = exported.message.extensions.get("send_date");
    let sent = sent.and_then(Value::as_str).map(str::to_owned);
    exported.sent = sent.or_else(|| stored.turn_of(node).map(|turn| turn.created.0.to_string()));
    exported
}

/// What holds for the whole chat: variables and the author's note.
async fn chat_metadata(
    store: &dyn Store,
    tenant: &TenantId,
    stored: &StoredChat,
) -> Result<Map<String, Value>, StoreError> {
    let messages = stored.nodes.iter().map(|node| node.message.clone());
    let path = loreloom_core::chat::Path::of(stored.record.id.clone(), messages);
    let state = store.state(tenant, &path).await?;
    let mut about = Map::new();
    if !state.variables.local.is_empty() {
        about.insert("variables".to_owned(), json!(state.variables.local));
    }
    if let Some(note) = &state.context.note {
        let role = match note.role {
            Role::System | Role::Tool => 0,
            Role::User => 1,
            Role::Assistant => 2,
        };
        about.insert("note_prompt".to_owned(), json!(note.text));
        about.insert("note_interval".to_owned(), json!(note.interval));
        about.insert("note_depth".to_owned(), json!(note.depth));
        about.insert("note_position".to_owned(), json!(1));
        about.insert("note_role".to_owned(), json!(role));
    }
    let created = stored.record.created.0.to_string();
    let whole = [("create_date", json!(created)), ("chat_metadata", Value::Object(about))];
    Ok(whole.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
}
