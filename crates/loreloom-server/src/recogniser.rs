//! Which story a request belongs to: the recogniser of `loreloom-core`, shared by all
//! requests and rebuilt from the store.

use std::sync::{Mutex, MutexGuard, PoisonError};

use loreloom_core::ids::ChatId;
use loreloom_ports::{StoreError, StoryStore};
use loreloom_recognise::{Answer, KnownStories, MESSAGE_COST, Recognition, Request, Ticket};

use crate::app::App;

/// The most memory that stories may take. A long story is some hundred kilobytes; of more
/// than this the stories not touched for longest are forgotten, until the server starts
/// again or a request names them.
const MOST_MEMORY: usize = 16 << 20;

/// What ids begin with that were not given by a front end.
const FOUND: [&str; 2] = ["chat-", "auto-"];

/// Everything seen so far.
#[derive(Default)]
pub struct Recogniser(Mutex<KnownStories>);

/// A request that was recognised and taken up.
pub(crate) struct Seen {
    pub(crate) found: Recognition,
    pub(crate) ticket: Ticket,
}

impl Recogniser {
    fn lock(&self) -> MutexGuard<'_, KnownStories> {
        // What a panic leaves behind is still a memory: a message more or less.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recognises a request and takes it up, nothing else coming between.
    fn see(&self, request: &Request) -> Seen {
        let mut memory = self.lock();
        let found = memory.recognise(request);
        let ticket = memory.record(request, &found);
        memory.forget_beyond(MOST_MEMORY);
        Seen { found, ticket }
    }

    /// Takes up the reply to a request. Says what of it is story.
    pub(crate) fn reply(
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

    /// Takes up that a request got no reply.
    pub(crate) fn unanswered(&self, ticket: &Ticket) {
        self.lock().unanswered(ticket);
    }

    fn knows(&self, chat: &str) -> bool {
        self.lock().has_chat(chat)
    }
}

impl App {
    /// Recognises a request. A chat that is named and stored is known again, however long
    /// ago it was told.
    pub(crate) async fn see(&self, request: &Request) -> Result<Seen, StoreError> {
        if let Some(name) = &request.explicit.chat
            && !self.recogniser.knows(name)
        {
            self.ask_store(self.recall(&ChatId::from(name.as_str()))).await?;
        }
        Ok(self.recogniser.see(request))
    }

    /// Takes up the stories that were told last, so that they are recognised again after a
    /// restart. Returns how many.
    pub async fn restore(&self) -> Result<usize, StoreError> {
        self.take_up_settings(&self.tenant).await?;
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
        // The last one touched is the last one told.
        for (chat, nodes) in trees.iter().rev() {
            let nodes = nodes.iter().map(|node| (node.prefix, node.parent, &node.message));
            memory.restore_tree(chat.id.clone(), name_of(&chat.id), nodes, chat.tip);
        }
        Ok(trees.len())
    }

    /// Takes up one stored story, if it is there.
    async fn recall(&self, id: &ChatId) -> Result<(), StoreError> {
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
