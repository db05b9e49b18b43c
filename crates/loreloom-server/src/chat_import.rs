//! Chats from files into the store.

use loreloom_core::{
    chat::{GenerationType, Path, Role},
    ids::{ChatId, LibraryVersion, PrefixHash, TenantId},
    report::{Report, TurnFacts},
    state::{StateDelta, StoryState},
    units::Timestamp,
};
use loreloom_formats::chat::{ImportedChat, carried_state_by_name};
use loreloom_ports::{StoreError, StoryStore, TurnRecord, history::archive::Archive};

/// How long a title is that is made of a message.
const TITLE: usize = 60;

/// What chat files had.
#[derive(Debug, Default)]
pub struct ChatCounts {
    /// Messages of the chat, in all branches.
    pub messages: usize,
    /// Versions of messages that became branches.
    pub branches: usize,
    /// Narrator messages that are no part of the story.
    pub left_out: usize,
    /// Timed effects that were taken over.
    pub effects: usize,
    /// Variables that were taken over.
    pub variables: usize,
    /// Where the state of a file was stored: files may share their beginning.
    states: Vec<PrefixHash>,
}

impl ChatCounts {
    /// What an export of that many messages had.
    pub(crate) fn of(messages: usize) -> Self {
        Self { messages, ..Self::default() }
    }
}

/// Why a chat was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ChatImportError {
    /// A chat is only added to if that was asked for.
    #[error("chat `{chat}` is there already")]
    Known {
        /// The chat.
        chat: ChatId,
    },
    /// The file says that it is a chat of ours, and is not.
    #[error("the chat is damaged: {0}")]
    Damaged(#[source] serde_json::Error),
    /// The store failed, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The export in a file, unless it is something else.
pub fn read_archive(bytes: &[u8]) -> Result<Option<Archive>, ChatImportError> {
    const MARK: &[u8] = b"loreloom-chat";
    if !bytes.windows(MARK.len()).any(|window| window == MARK) {
        return Ok(None);
    }
    let value: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
    match value {
        Ok(value) if value["format"] == "loreloom-chat" => {
            serde_json::from_value(value).map(Some).map_err(ChatImportError::Damaged)
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Stores chats as branches of one.
pub async fn import_chats(
    store: &dyn StoryStore,
    tenant: &TenantId,
    id: &ChatId,
    chats: &[ImportedChat],
    add: bool,
    now: Timestamp,
) -> Result<ChatCounts, ChatImportError> {
    if !add && store.chat(tenant, id).await?.is_some() {
        return Err(ChatImportError::Known { chat: id.clone() });
    }
    let first = chats.iter().flat_map(|chat| &chat.messages).next();
    let title = first.map_or(String::new(), |one| title_of(&one.message.text));
    store.open_chat(tenant, id, &title, now).await?;
    let mut counts = ChatCounts::default();
    let mut tips = Vec::new();
    for chat in chats {
        tips.push(store_one(store, tenant, id, chat, now, &mut counts).await?);
    }
    // The story is where the first file has it.
    if let Some(tip) = tips.first() {
        store.move_tip(tenant, id, *tip, None, now).await?;
    }
    counts.messages = store.tree(tenant, id).await?.len();
    Ok(counts)
}

/// Stores a file's path, and every version of a message that was not chosen as a branch.
async fn store_one(
    store: &dyn StoryStore,
    tenant: &TenantId,
    id: &ChatId,
    chat: &ImportedChat,
    now: Timestamp,
    counts: &mut ChatCounts,
) -> Result<PrefixHash, StoreError> {
    let mut path = Path::new(id.clone());
    for one in &chat.messages {
        if one.message.role == Role::System {
            counts.left_out += 1;
            continue;
        }
        for swipe in one.swipes.iter().filter(|swipe| one.message.text != **swipe) {
            let mut side = path.clone();
            let mut message = one.message.clone();
            message.text = swipe.into();
            side.push(message);
            store.commit_path(tenant, &side, None, now).await?;
            counts.branches += 1;
        }
        path.push(one.message.clone());
    }
    let delta = StateDelta::between(&StoryState::default(), &carried_state_by_name(chat));
    store_state(store, tenant, &path, delta, now, counts).await?;
    store.commit_path(tenant, &path, None, now).await?;
    Ok(path.prefix())
}

/// Stores what a chat carries on, as a turn before its last user message: that way it also
/// counts if the last reply is asked for again.
async fn store_state(
    store: &dyn StoryStore,
    tenant: &TenantId,
    path: &Path,
    delta: StateDelta,
    now: Timestamp,
    counts: &mut ChatCounts,
) -> Result<(), StoreError> {
    let items = path.items();
    let last_user = items.iter().rposition(|item| item.message.role == Role::User).unwrap_or(0);
    let before = items[..last_user].iter().map(|item| item.message.clone());
    let at = Path::of(path.chat().clone(), before);
    if delta.is_empty() || counts.states.contains(&at.prefix()) {
        return Ok(());
    }
    counts.states.push(at.prefix());
    counts.effects += delta.sticky.len() + delta.cooldown.len();
    counts.variables += delta.variables.local.len();
    let turn = TurnRecord { delta, ..silent_turn(&at, now) };
    store.commit_turn(tenant, &at, &turn, None).await?;
    Ok(())
}

/// The beginning of a text, on one line.
fn title_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE {
        return line;
    }
    line.chars().take(TITLE - 1).chain(['…']).collect()
}

/// A turn of which nothing is known.
fn silent_turn(path: &Path, now: Timestamp) -> TurnRecord {
    let facts = TurnFacts::undecided(path, GenerationType::Normal);
    TurnRecord {
        chat: path.chat().clone(),
        at: path.prefix(),
        answers: path.last_user(),
        generation: GenerationType::Normal,
        library: LibraryVersion::default(),
        delta: StateDelta::default(),
        injections: Vec::new(),
        prompt: Vec::new(),
        report: Report::undecided(facts),
        created: now,
        input: None,
    }
}
