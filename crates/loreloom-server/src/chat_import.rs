//! Chats from files into the store.

use loreloom_core::{
    chat::{GenerationType, Message, Path, Role},
    ids::{ChatId, LibraryVersion, PrefixHash, TenantId},
    report::{Report, TurnFacts},
    state::{StateDelta, StoryState},
    units::Timestamp,
};
use loreloom_formats::chat::{ImportedChat, carried_state_by_name};
use loreloom_ports::{StoreError, StoryStore, TurnRecord, history::archive::Archive};

use crate::chat_title::title_of;

/// What chat files had.
#[derive(Debug, Default)]
pub struct ChatCounts {
    /// Messages of the chat, in all branches.
    pub messages: usize,
    /// Versions of messages that became branches.
    pub branches: usize,
    /// Texts of the system that are no part of the story.
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
    #[error("chat `{chat}` exists already")]
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
        // Read from bytes, as turns are everywhere: the compiler makes a reader for each source.
        Ok(value) if value["format"] == "loreloom-chat" => {
            serde_json::from_slice(bytes).map(Some).map_err(ChatImportError::Damaged)
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

/// The chat that files are imported into.
#[derive(Clone, Copy)]
pub struct ChatImport<'a> {
    /// The store.
    pub store: &'a dyn StoryStore,
    /// The tenant of the chat.
    pub tenant: &'a TenantId,
    /// The chat.
    pub chat: &'a ChatId,
    /// When it is imported.
    pub now: Timestamp,
}

impl ChatImport<'_> {
    /// Stores files as branches of the chat. A chat that exists is only added to if `add` is set.
    pub async fn run(
        self,
        files: &[ImportedChat],
        add: bool,
    ) -> Result<ChatCounts, ChatImportError> {
        let Self { store, tenant, chat, now } = self;
        if !add && store.chat(tenant, chat).await?.is_some() {
            return Err(ChatImportError::Known { chat: chat.clone() });
        }
        let story = |message: &&Message| message.role != Role::System;
        let messages = files.first().into_iter().flat_map(|file| &file.messages);
        let title = title_of(messages.map(|one| &one.message).filter(story));
        store.open_chat(tenant, chat, &title, now).await?;
        let mut counts = ChatCounts::default();
        let mut tips = Vec::new();
        for file in files {
            tips.push(self.store_file(file, &mut counts).await?);
        }
        // The chat ends where the first file does.
        if let Some(tip) = tips.first() {
            store.move_tip(tenant, chat, *tip, None, now).await?;
        }
        counts.messages = store.tree(tenant, chat).await?.len();
        Ok(counts)
    }

    /// Stores the path of a file, and each unused version of a message as a branch.
    async fn store_file(
        self,
        file: &ImportedChat,
        counts: &mut ChatCounts,
    ) -> Result<PrefixHash, StoreError> {
        let Self { store, tenant, chat, now } = self;
        let mut path = Path::new(chat.clone());
        for one in &file.messages {
            if one.message.role == Role::System {
                counts.left_out += 1;
                continue;
            }
            let mut message = one.message.clone();
            if let Some(sent) = &one.sent {
                message.extensions.insert("send_date".to_owned(), sent.as_str().into());
            }
            // The chosen one, too: the order of the versions is that of their storing.
            for swipe in &one.swipes {
                let mut side = path.clone();
                let mut version = message.clone();
                version.text = swipe.into();
                side.push(version);
                store.commit_path(tenant, &side, None, now).await?;
                counts.branches += usize::from(message.text != *swipe);
            }
            path.push(message);
        }
        let delta = StateDelta::between(&StoryState::default(), &carried_state_by_name(file));
        self.store_state(&path, delta, counts).await?;
        store.commit_path(tenant, &path, None, now).await?;
        Ok(path.prefix())
    }

    /// Stores the state that a file carries, as a turn before the last user message: so it also
    /// counts for another reply to that message.
    async fn store_state(
        self,
        path: &Path,
        delta: StateDelta,
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
        let turn = TurnRecord { delta, ..silent_turn(&at, self.now) };
        self.store.commit_turn(self.tenant, &at, &turn, None).await?;
        Ok(())
    }
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
