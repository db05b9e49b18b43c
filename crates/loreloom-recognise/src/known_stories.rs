//! What the recogniser knows: the tree of every chat, and the habits of every client.
//!
//! Plain data that can be rebuilt: trees from the store's nodes, habits from new requests.
//! Texts of all chats are in one index. So finding the chats that a request may belong to
//! costs as much as the request is long, however many chats there are.

mod client;
mod forget;
mod learn;
mod restore;
mod story;

use rustc_hash::FxHashMap;

pub use self::forget::MESSAGE_COST;
pub(super) use self::{
    client::Client,
    story::{NodeAt, OpenJoint, Story, StoryNode},
};
use super::{few::Few, recent::Recent, responses::Responses, text::TextKey};
use loreloom_core::ids::ChatId;

/// A chat's place in [`KnownStories`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) usize);

/// The most chats remembered for one text: "Yes." is in all of them and proves nothing.
const CHATS_PER_TEXT: usize = 64;

/// The most clients whose habits are remembered. Bounded, because a user agent can be anything.
const CLIENTS: usize = 1024;

/// Everything the recogniser knows.
#[derive(Clone, Debug, Default)]
pub struct KnownStories {
    pub(super) chats: Vec<Story>,
    by_text: FxHashMap<TextKey, Few<Slot>>,
    /// Pieces of the preambles of all chats.
    preambles: Recent,
    /// Texts that were in some chat's prompts but are not story.
    foreign: Recent,
    /// Chats by the name that a front end gave them.
    bound: FxHashMap<String, Slot>,
    by_id: FxHashMap<String, Slot>,
    clients: FxHashMap<String, Client>,
    /// Counts changes: what was touched later has the higher number.
    clock: u64,
    /// Where responses with an id ended.
    pub(super) responses: Responses,
    /// What all messages cost in memory, in bytes.
    cost: usize,
    /// Places of chats that were forgotten.
    free: Vec<Slot>,
    /// The chat that another process wrote to last. Its client is unknown here.
    written_elsewhere: Option<Slot>,
}

impl KnownStories {
    /// No chats.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this client may have been in this chat last, here or in another process.
    pub(super) fn was_last_in(&self, client: &str, slot: Slot) -> bool {
        let last = self.client(client).and_then(|client| client.last);
        last == Some(slot) || self.written_elsewhere == Some(slot)
    }

    /// Notes that a client of this process has written to the chat.
    pub(super) fn written_here(&mut self, slot: Slot) {
        self.written_elsewhere = self.written_elsewhere.filter(|elsewhere| *elsewhere != slot);
    }

    /// The number of chats.
    pub fn len(&self) -> usize {
        self.chats.len() - self.free.len()
    }

    /// Whether there is no chat.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this chat is known, by its id or by the name a front end gave it.
    pub fn has_chat(&self, id: &str) -> bool {
        self.has_id(id) || self.bound.contains_key(id)
    }

    pub(super) fn has_id(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    pub(super) fn story(&self, slot: Slot) -> &Story {
        &self.chats[slot.0]
    }

    pub(super) fn story_mut(&mut self, slot: Slot) -> &mut Story {
        &mut self.chats[slot.0]
    }

    pub(super) fn client(&self, name: &str) -> Option<&Client> {
        self.clients.get(name)
    }

    pub(super) fn client_mut(&mut self, name: &str) -> &mut Client {
        if self.clients.len() >= CLIENTS && !self.clients.contains_key(name) {
            self.clients.clear();
        }
        self.clients.entry(name.to_owned()).or_default()
    }

    /// The chat with this name: the front end's own, or our id.
    pub(super) fn bound_to(&self, id: &str) -> Option<Slot> {
        self.bound.get(id).or_else(|| self.by_id.get(id)).copied()
    }

    /// The id of the chat that front ends call by this name.
    pub fn id_called(&self, name: &str) -> Option<ChatId> {
        self.bound_to(name).map(|slot| self.story(slot).id.clone())
    }

    /// Where a chat is, by its id.
    pub(super) fn slot_of(&self, chat: &ChatId) -> Option<Slot> {
        self.by_id.get(chat.as_str()).copied()
    }

    /// Whether a front end gave a chat this name.
    pub(super) fn is_bound(&self, id: &str) -> bool {
        self.bound.contains_key(id)
    }

    pub(super) fn bind(&mut self, slot: Slot, id: &str) {
        self.bound.insert(id.to_owned(), slot);
        self.chats[slot.0].bound = Some(id.to_owned());
    }

    pub(super) fn chats_with(&self, key: TextKey) -> &[Slot] {
        self.by_text.get(&key).map_or(&[], |found| found)
    }

    /// Adds an empty chat.
    pub(super) fn open(&mut self, id: ChatId, bound: Option<String>) -> Slot {
        let slot = self.free.pop().unwrap_or(Slot(self.chats.len()));
        self.by_id.insert(id.as_str().to_owned(), slot);
        let story = Story::new(id, self.tick());
        match self.chats.get_mut(slot.0) {
            Some(place) => *place = story,
            None => self.chats.push(story),
        }
        if let Some(id) = bound {
            self.bind(slot, &id);
        }
        slot
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub(super) fn is_in_a_chat(&self, key: TextKey) -> bool {
        self.by_text.contains_key(&key)
    }

    pub(super) fn has_preamble(&self, key: TextKey) -> bool {
        self.preambles.contains(key)
    }

    pub(super) fn is_foreign(&self, key: TextKey) -> bool {
        self.foreign.contains(key)
    }

    fn unindex(&mut self, key: TextKey, slot: Slot) {
        if let Some(slots) = self.by_text.get_mut(&key) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_text.remove(&key);
            }
        }
    }

    fn index(&mut self, key: TextKey, slot: Slot) {
        let slots = self.by_text.entry(key).or_default();
        if !slots.contains(&slot) {
            if slots.len() == CHATS_PER_TEXT {
                slots.remove_first();
            }
            slots.push(slot);
        }
    }
}
