//! The recogniser of `loreloom-recognise`, shared by all requests and rebuilt from the store.

use std::sync::{Mutex, MutexGuard, PoisonError};

use loreloom_core::ids::ChatId;
use loreloom_ports::{StoreError, StoryStore};
use loreloom_recognise::{Answer, KnownStories, MESSAGE_COST, Recognition, Request, Ticket};

use super::Turns;
use super::recognise::in_time;

/// The most memory that stories may take. A long story takes some hundred kilobytes. Beyond this
/// limit the stories that were not used for longest are forgotten, until the server restarts or a
/// request names them.
const MOST_MEMORY: usize = 16 << 20;

/// Prefixes of ids that no front end gave.
const FOUND: [&str; 2] = ["chat-", "auto-"];

/// All stories seen so far.
#[derive(Default)]
pub(crate) struct Recogniser(Mutex<KnownStories>);

impl Recogniser {
    fn lock(&self) -> MutexGuard<'_, KnownStories> {
        // A panic leaves the stories usable: at most one message is missing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recognises a request and records it, with nothing in between.
    fn see(&self, request: &Request) -> (Recognition, Ticket) {
        let mut memory = self.lock();
        let found = memory.recognise(request);
        let ticket = memory.record(request, &found);
        memory.forget_beyond(MOST_MEMORY);
        (found, ticket)
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

    fn knows(&self, chat: &str) -> bool {
        self.lock().has_chat(chat)
    }
}

impl Turns {
    /// Recognises a request. A chat that the request names is read from the store if it was
    /// forgotten.
    pub(super) async fn see(&self, request: &Request) -> Result<(Recognition, Ticket), StoreError> {
        if let Some(name) = &request.explicit.chat
            && !self.recogniser.knows(name)
        {
            let chat = ChatId::from(name.as_str());
            in_time(self, self.restore_chat(&chat)).await?;
        }
        Ok(self.recogniser.see(request))
    }

    /// Reads the newest stories, so that they are recognised after a restart. Returns how many.
    pub(crate) async fn restore(&self) -> Result<usize, StoreError> {
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
        // The last one restored counts as the newest.
        for (chat, nodes) in trees.iter().rev() {
            let nodes = nodes.iter().map(|node| (node.prefix, node.parent, &node.message));
            memory.restore_tree(chat.id.clone(), name_of(&chat.id), nodes, chat.tip);
        }
        Ok(trees.len())
    }

    /// Reads one stored story, if there is one.
    async fn restore_chat(&self, id: &ChatId) -> Result<(), StoreError> {
        let store: &dyn StoryStore = self.store.as_ref();
        let Some(chat) = store.chat(&self.tenant, id).await? else { return Ok(()) };
        let nodes = store.tree(&self.tenant, id).await?;
        let mut memory = self.recogniser.lock();
        if !memory.has_chat(id.as_str()) {
            let nodes = nodes.iter().map(|node| (node.prefix, node.parent, &node.message));
            memory.restore_tree(id.clone(), Some(id.as_str().to_owned()), nodes, chat.tip);
        }
        Ok(())
    }
}

/// The name that a front end gave a chat.
fn name_of(id: &ChatId) -> Option<String> {
    let found = FOUND.iter().any(|prefix| id.as_str().starts_with(prefix));
    (!found).then(|| id.as_str().to_owned())
}
