//! Chats from files into the store.

use anyhow::Context as _;
use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_formats::chat::ImportedChat;
use loreloom_memory::ports::StoryStore;
use loreloom_store::archive::Archive;

use crate::stored::excerpt;

/// What a chat file had.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) messages: usize,
    pub(super) branches: usize,
    pub(super) left_out: usize,
}

/// The export in a file, unless it is something else.
pub(super) fn read_archive(bytes: &[u8]) -> anyhow::Result<Option<Archive>> {
    const MARK: &[u8] = b"loreloom-chat";
    if !bytes.windows(MARK.len()).any(|window| window == MARK) {
        return Ok(None);
    }
    let value: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
    match value {
        Ok(value) if value["format"] == "loreloom-chat" => {
            Ok(Some(serde_json::from_value(value).context("the chat is damaged")?))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Stores chats as branches of one.
pub(super) async fn store_all(
    store: &dyn StoryStore,
    id: &ChatId,
    chats: &[ImportedChat],
    add: bool,
    now: Timestamp,
) -> anyhow::Result<Counts> {
    let tenant = TenantId::local();
    let known = store.chat(&tenant, id).await?.is_some();
    anyhow::ensure!(
        !known || add,
        "chat `{id}` is there already: `--chat` names another, `--add` adds to it"
    );
    let first = chats.iter().flat_map(|chat| &chat.messages).next();
    let title = first.map_or(String::new(), |one| excerpt(&one.message.text, 60));
    store.open_chat(&tenant, id, &title, now).await?;
    let mut counts = Counts::default();
    let mut tips = Vec::new();
    for chat in chats {
        tips.push(store_one(store, id, chat, now, &mut counts).await?);
    }
    // The story is where the first file has it.
    if let Some(tip) = tips.first() {
        store.move_tip(&tenant, id, *tip, None, now).await?;
    }
    counts.messages = store.tree(&tenant, id).await?.len();
    Ok(counts)
}

/// Stores a file's path, and every version of a message that was not chosen as a branch.
async fn store_one(
    store: &dyn StoryStore,
    id: &ChatId,
    chat: &ImportedChat,
    now: Timestamp,
    counts: &mut Counts,
) -> anyhow::Result<loreloom_core::ids::PrefixHash> {
    let tenant = TenantId::local();
    let mut path = Path::new(id.clone());
    for one in &chat.messages {
        if one.message.role == Role::System {
            counts.left_out += 1;
            continue;
        }
        for swipe in one.swipes.iter().filter(|swipe| **swipe != one.message.text) {
            let mut side = path.clone();
            let mut message = one.message.clone();
            swipe.clone_into(&mut message.text);
            side.push(message);
            store.commit_path(&tenant, &side, None, now).await?;
            counts.branches += 1;
        }
        path.push(one.message.clone());
    }
    store.commit_path(&tenant, &path, None, now).await?;
    Ok(path.prefix())
}
