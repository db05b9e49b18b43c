//! Chats from files into the store.

use anyhow::Context as _;
use loreloom_core::{
    chat::{GenerationType, Path, Role},
    ids::{ChatId, LibraryVersion, PrefixHash, TenantId},
    report::{Report, TurnFacts},
    state::{StateDelta, StoryState},
    units::{MessageCount, Timestamp, Tokens},
};
use loreloom_formats::chat::{ImportedChat, carried_state_by_name};
use loreloom_memory::ports::{StoryStore, TurnRecord};
use loreloom_store::archive::Archive;

use crate::stored::excerpt;

/// What a chat file had.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) messages: usize,
    pub(super) branches: usize,
    pub(super) left_out: usize,
    pub(super) effects: usize,
    pub(super) variables: usize,
    /// Where the state of a file was stored: files may share their beginning.
    states: Vec<PrefixHash>,
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
) -> anyhow::Result<PrefixHash> {
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
    let delta = StateDelta::between(&StoryState::default(), &carried_state_by_name(chat));
    store_state(store, &path, delta, now, counts).await?;
    store.commit_path(&tenant, &path, None, now).await?;
    Ok(path.prefix())
}

/// Stores what a chat carries on, as a turn before its last user message: that way it also
/// counts if the last reply is asked for again.
async fn store_state(
    store: &dyn StoryStore,
    path: &Path,
    delta: StateDelta,
    now: Timestamp,
    counts: &mut Counts,
) -> anyhow::Result<()> {
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
    store.commit_turn(&TenantId::local(), &at, &turn, None).await?;
    Ok(())
}

/// A turn of which nothing is known.
fn silent_turn(path: &Path, now: Timestamp) -> TurnRecord {
    let facts = TurnFacts {
        chat: path.chat().clone(),
        prefix: path.prefix(),
        answers: path.last_user(),
        chat_length: MessageCount(u32::try_from(path.items().len()).unwrap_or(u32::MAX)),
        generation: GenerationType::Normal,
        speaker: None,
        persona: None,
        tokenizer: String::new(),
        context: Tokens(0),
        seed: 0,
        library: LibraryVersion::default(),
        at: None,
    };
    TurnRecord {
        chat: path.chat().clone(),
        at: path.prefix(),
        answers: path.last_user(),
        generation: GenerationType::Normal,
        library: LibraryVersion::default(),
        delta: StateDelta::default(),
        injections: Vec::new(),
        prompt: Vec::new(),
        report: Report {
            selection: None,
            facts,
            budgets: Vec::new(),
            verdicts: Vec::new(),
            untouched: 0,
            spans: Vec::new(),
            warnings: Vec::new(),
            cache: None,
        },
        created: now,
        given: None,
    }
}
