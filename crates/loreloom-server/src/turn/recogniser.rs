//! The recogniser of `loreloom-recognise`, shared by all requests and kept in step with the store.
//!
//! Several servers may use one store, and a load balancer may send each request of a story to
//! another one. So before a request is recognised, the store is asked which chats were written to
//! since the last request, and those that another process wrote to are read. A process that is
//! alone only pays for the question: it knows its own writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loreloom_core::{
    ids::{ChatId, PrefixHash},
    prompt::PromptMessage,
};
use loreloom_ports::{ChangeMark, ChatRecord, Node, StoreError, StoryStore, TurnRecord};
use loreloom_recognise::{
    Answer, Body, GivenNames, KnownStories, MESSAGE_COST, Recognition, Request, Ticket, WireMessage,
};
use rustc_hash::FxHashMap;

use super::Turns;
use super::recognise::in_time;

/// The most memory that stories may take. A long story takes some hundred kilobytes. Beyond this
/// limit the stories that were not used for longest are forgotten, until the server restarts or a
/// request names them.
const MOST_MEMORY: usize = 16 << 20;

/// Prefixes of ids that no front end gave.
const FOUND: [&str; 2] = ["chat-", "auto-"];

/// The most chats that are read before one request is recognised. The newest come first; the
/// others wait for the next request.
const MOST_READ: usize = 16;

/// How often a new id is looked up in the store before it is taken.
const LOOKUPS: usize = 64;

/// All stories seen so far.
#[derive(Default)]
pub(crate) struct Recogniser {
    stories: Mutex<KnownStories>,
    /// The version of each chat up to which its messages are known here.
    versions: Mutex<FxHashMap<ChatId, u64>>,
    /// Locked while changes are read, so that a second request waits for them.
    unread: Arc<tokio::sync::Mutex<UnreadChanges>>,
}

/// What other processes wrote and this one has not read yet.
#[derive(Default)]
struct UnreadChanges {
    mark: ChangeMark,
    /// The newest last.
    chats: Vec<ChatId>,
}

/// What became of a request.
enum Seen {
    Recorded(Box<(Recognition, Ticket)>),
    /// It begins a chat. Whether the store has one of this id must be known first.
    Begins(ChatId),
}

impl Recogniser {
    fn lock(&self) -> MutexGuard<'_, KnownStories> {
        // A panic leaves the stories usable: at most one message is missing.
        self.stories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn versions(&self) -> MutexGuard<'_, FxHashMap<ChatId, u64>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recognises a request and records it, with nothing in between. A new chat is recorded if its
    /// id is `free`.
    fn see(&self, request: &Request, free: Option<&ChatId>) -> Seen {
        let mut memory = self.lock();
        let found = memory.recognise(request);
        if let Some(chat) = found.chat.as_ref().filter(|chat| found.is_new && free != Some(*chat)) {
            return Seen::Begins(chat.clone());
        }
        let ticket = memory.record(request, &found);
        if memory.forget_beyond(MOST_MEMORY) {
            // A chat that is read again gets its version again.
            self.versions().retain(|chat, _| memory.has_chat(chat.as_str()));
        }
        Seen::Recorded(Box::new((found, ticket)))
    }

    /// The id of the chat that requests call by this name. A story that began without a name has
    /// another id than the name it got later.
    pub(crate) fn id_called(&self, name: &str) -> Option<ChatId> {
        self.lock().id_called(name)
    }

    /// Records the reply to a request. Returns the parts that are story.
    pub(super) fn reply(
        &self,
        ticket: &Ticket,
        texts: &[String],
        response: Option<&str>,
    ) -> Vec<Answer> {
        let (mut memory, texts) = (self.lock(), texts.iter().map(String::as_str));
        match response {
            Some(id) => memory.response(ticket, texts, id),
            None => memory.reply(ticket, texts),
        }
    }

    /// Records that a request got no reply.
    pub(super) fn unanswered(&self, ticket: &Ticket) {
        self.lock().unanswered(ticket);
    }

    /// Records the names that a front end gave a chat.
    pub(super) fn take_up_names(&self, chat: &ChatId, given: GivenNames) {
        self.lock().take_up_names(chat, given);
    }

    /// Records a write of this process, whose messages are known. If others wrote before it, the
    /// chat is read again.
    pub(super) fn wrote(&self, chat: &ChatId, version: u64) {
        let mut versions = self.versions();
        match versions.get_mut(chat) {
            Some(known) if *known + 1 == version => *known = version,
            None if version == 1 => drop(versions.insert(chat.clone(), version)),
            Some(_) | None => {}
        }
    }

    fn knows_version(&self, chat: &ChatId, version: u64) -> bool {
        self.versions().get(chat).is_some_and(|known| *known >= version)
    }

    fn knows(&self, chat: &str) -> bool {
        self.lock().has_chat(chat)
    }
}

impl Turns {
    /// Recognises a request, after the changes of other processes are read.
    pub(super) async fn see(&self, request: &Request) -> Result<(Recognition, Ticket), StoreError> {
        in_time(self, self.read_changes()).await?;
        if let Some(name) = &request.explicit.chat
            && !self.recogniser.knows(name)
        {
            let chat = ChatId::from(name.as_str());
            in_time(self, self.read_chat(&chat)).await?;
        }
        if let Some(id) = &request.explicit.follows
            && !self.recogniser.lock().knows_response(id)
        {
            in_time(self, self.read_response(id)).await?;
        }
        let mut free = None;
        for _ in 0..LOOKUPS {
            match self.recogniser.see(request, free.as_ref()) {
                Seen::Recorded(seen) => return Ok(*seen),
                Seen::Begins(chat) => {
                    // A chat that was forgotten here, or that another process just made.
                    in_time(self, self.read_chat(&chat)).await?;
                    free = Some(chat);
                }
            }
        }
        Err(StoreError::Contradiction {
            rule: "a new chat needs an id that no other chat has",
            found: format!("{LOOKUPS} ids that are in use"),
        })
    }

    /// Reads the newest stories, so that they are recognised after a restart. Returns how many.
    pub(crate) async fn restore(&self) -> Result<usize, StoreError> {
        let mut unread = self.recogniser.unread.lock().await;
        unread.mark = self.store.changed_chats(&self.tenant, ChangeMark::default()).await?.mark;
        let (mut trees, mut size) = (Vec::new(), 0);
        for summary in self.store.chats(&self.tenant).await? {
            let nodes = self.store.tree(&self.tenant, &summary.chat.id).await?;
            size += nodes.iter().map(|node| MESSAGE_COST + node.message.text.len()).sum::<usize>();
            if size > MOST_MEMORY {
                break;
            }
            trees.push((summary.chat, nodes));
        }
        let mut memory = self.recogniser.lock();
        let mut versions = self.recogniser.versions();
        // The last one restored counts as the newest.
        for (chat, nodes) in trees.iter().rev() {
            memory.restore_tree(chat.id.clone(), name_of(&chat.id), named(nodes), chat.tip);
            versions.insert(chat.id.clone(), chat.version);
        }
        Ok(trees.len())
    }

    /// Reads what other processes wrote since the last request.
    async fn read_changes(&self) -> Result<(), StoreError> {
        let mut unread = Arc::clone(&self.recogniser.unread).lock_owned().await;
        let changed = self.store.changed_chats(&self.tenant, unread.mark).await?;
        unread.mark = changed.mark;
        for (chat, version) in changed.chats {
            if version > 0 && !self.recogniser.knows_version(&chat, version) {
                unread.chats.retain(|other| *other != chat);
                unread.chats.push(chat);
            }
        }
        if unread.chats.is_empty() {
            return Ok(());
        }
        // A request that stops waiting does not stop the reading, so that a chat that takes
        // longer than a turn may is read once, not tried anew by each request.
        let turns = self.clone();
        let reading = self.tasks.spawn(async move { turns.read_chats(&mut unread.chats).await });
        reading.await.map_err(|error| StoreError::Database {
            doing: "reading changed stories",
            source: error.into(),
        })?
    }

    /// Reads chats that changed, the newest first. A chat stays in the list until it is read.
    async fn read_chats(&self, chats: &mut Vec<ChatId>) -> Result<(), StoreError> {
        for _ in 0..MOST_READ {
            let Some(chat) = chats.last().cloned() else { break };
            match self.read_chat(&chat).await {
                // No wait cures it. The other stories of the tenant go on.
                Err(StoreError::Damaged { .. }) => tracing::warn!(
                    chat = chat.as_str(),
                    "a chat cannot be read, so it is not recognised"
                ),
                read => read?,
            }
            chats.pop();
        }
        Ok(())
    }

    /// Reads one stored story, if there is one, and adds what is new of it.
    async fn read_chat(&self, id: &ChatId) -> Result<(), StoreError> {
        let store: &dyn StoryStore = self.store.as_ref();
        // Without a write it has no message yet: another process is just making it.
        let chat = store.chat(&self.tenant, id).await?.filter(|chat| chat.version > 0);
        let Some(chat) = chat else { return Ok(()) };
        let nodes = store.tree(&self.tenant, id).await?;
        let is_known = self.recogniser.knows(id.as_str());
        let request = if is_known { None } else { self.last_request(&chat).await? };
        let mut memory = self.recogniser.lock();
        memory.take_up_tree(id, name_of(id), named(&nodes), chat.tip);
        if let Some(request) = request {
            memory.take_up_card(id, &request);
        }
        self.recogniser.versions().insert(id.clone(), chat.version);
        Ok(())
    }

    /// Reads where a response ended, if it is stored, and its story.
    async fn read_response(&self, id: &str) -> Result<(), StoreError> {
        let store: &dyn StoryStore = self.store.as_ref();
        let Some(ended) = store.response(&self.tenant, id).await? else { return Ok(()) };
        self.read_chat(&ended.chat).await?;
        let path = store.path(&self.tenant, &ended.chat, ended.at).await?;
        let messages = path.iter().map(|node| &node.message);
        self.recogniser.lock().take_up_response(id, &ended.chat, messages);
        Ok(())
    }

    /// The newest request of a chat, as its front end sent it.
    async fn last_request(&self, chat: &ChatRecord) -> Result<Option<Request>, StoreError> {
        let turns = self.store.turns(&self.tenant, &chat.id).await?;
        for turn in turns.iter().rev().filter(|turn| !turn.trimmed) {
            let record = self.store.turn(&self.tenant, &chat.id, turn.id).await?;
            if let Some(record) = record.filter(|record| !record.prompt.is_empty()) {
                return Ok(Some(request_of(&record)));
            }
        }
        Ok(None)
    }
}

fn named(
    nodes: &[Node],
) -> impl Iterator<Item = (PrefixHash, PrefixHash, &loreloom_core::chat::Message)> {
    nodes.iter().map(|node| (node.prefix, node.parent, &node.message))
}

/// The request of a turn: its prompt without what Loreloom put in.
fn request_of(turn: &TurnRecord) -> Request {
    let mut prompt = turn.prompt.clone();
    let mut spans: Vec<_> = turn.report.spans.iter().collect();
    // From the end on, so that the places of the others stay.
    spans.sort_by_key(|span| std::cmp::Reverse((span.message, span.start)));
    for span in spans {
        let Some(message) = prompt.get_mut(span.message) else { continue };
        let text = message.content.as_str();
        if let (Some(before), Some(after)) = (text.get(..span.start), text.get(span.end..)) {
            message.content = format!("{before}{after}").into();
        }
    }
    let is_text = turn.input.as_ref().is_some_and(|input| input.text_completion);
    let body = match prompt.as_slice() {
        [PromptMessage { content, .. }] if is_text => Body::Prompt(content.to_string()),
        messages => Body::Messages(messages.iter().filter_map(wire_message).collect()),
    };
    Request { body, ..Request::default() }
}

fn wire_message(message: &PromptMessage) -> Option<WireMessage> {
    let PromptMessage { role, name, content } = message;
    let is_empty = content.trim().is_empty();
    (!is_empty).then(|| WireMessage {
        role: *role,
        name: name.clone(),
        text: content.clone(),
        ..WireMessage::default()
    })
}

/// The name that a front end gave a chat.
fn name_of(id: &ChatId) -> Option<String> {
    let found = FOUND.iter().any(|prefix| id.as_str().starts_with(prefix));
    (!found).then(|| id.as_str().to_owned())
}
