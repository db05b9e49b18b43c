//! What is known of the chats: their trees, and the habits of those who send them.
//!
//! Plain data that can be rebuilt: the trees from the store's nodes, the habits by
//! watching. Texts are indexed by key over all chats, so that finding the chats a request
//! may belong to costs as much as the request is long, however many chats there are.

use rustc_hash::FxHashMap;

use super::{
    Request, Speakers,
    following::Following,
    recent::Recent,
    responses::Responses,
    text::TextKey,
    window::{PartReader, Window},
};
use loreloom_core::{
    chat::{Message, Role, Text},
    ids::{ChatId, PrefixHash},
};

/// A chat's place in the stories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) usize);

/// A message's place in its chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeAt(pub(super) usize);

/// The most chats remembered for one text: "Yes." is in all of them and proves nothing.
const CHATS_PER_TEXT: usize = 64;

/// What a message costs in stories besides its text, in bytes, roughly.
pub const MESSAGE_COST: usize = 512;

/// The most clients whose habits are remembered: anybody can be a new one.
const CLIENTS: usize = 1024;

/// The user's names remembered of one client.
const NAMES: usize = 16;

/// The instructions remembered of one chat.
const INSTRUCTIONS: usize = 16;

/// Everything the recogniser knows.
#[derive(Clone, Debug, Default)]
pub struct KnownStories {
    pub(super) chats: Vec<Story>,
    by_text: FxHashMap<TextKey, Vec<Slot>>,
    preambles: Recent,
    /// Texts that some chat's prompts had without being story.
    foreign: Recent,
    bound: FxHashMap<String, Slot>,
    by_id: FxHashMap<String, Slot>,
    clients: FxHashMap<String, Client>,
    clock: u64,
    /// Where responses with an id ended.
    pub(super) responses: Responses,
    /// What all messages cost.
    cost: usize,
    /// Places of chats that were forgotten.
    free: Vec<Slot>,
    /// The chat that another process wrote to last. Which client was there is not known here.
    elsewhere: Option<Slot>,
}

/// What one client has shown of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    /// Whether its story prompts carry a card: then a bare question is not story.
    pub(super) has_cards: bool,
    /// The chat it was last in.
    pub(super) last: Option<Slot>,
    /// Names that its user had, the newest last.
    pub(super) users: Vec<String>,
}

impl Client {
    /// Remembers a name of the user.
    pub(super) fn learn_user(&mut self, name: &str) {
        if self.users.last().is_some_and(|last| last == name) {
            return;
        }
        self.users.retain(|other| other != name);
        if self.users.len() == NAMES {
            self.users.remove(0);
        }
        self.users.push(name.to_owned());
    }
}

/// One chat.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) id: ChatId,
    /// When it was made; 0 for the empty place of one that was forgotten.
    pub(super) born: u64,
    /// The id its front end knows it by.
    pub(super) bound: Option<String>,
    pub(super) nodes: Vec<StoryNode>,
    by_text: FxHashMap<TextKey, Vec<NodeAt>>,
    /// The newest message, the reply to the last request included.
    pub(super) tip: Option<NodeAt>,
    /// The message that the last request ended with.
    pub(super) asked: Option<NodeAt>,
    /// Texts that were in its prompts without being story.
    pub(super) injected: Recent,
    /// Pieces of its preambles; none before its first request is seen.
    pub(super) preamble: Option<Recent>,
    /// The last instructions that its prompts ended with.
    pub(super) instructions: Vec<String>,
    /// Whether text was once taken for a narrator's and proved not to be story.
    pub(super) doubts_narrators: bool,
    /// Replies of background generations; a narrator may speak them later.
    pub(super) background: Recent,
    /// What its front end puts between a message and its continuation.
    pub(super) joint: String,
    /// Whether its story requests are streamed.
    pub(super) streams: Option<bool>,
    /// The most pieces of examples seen.
    pub(super) examples: usize,
    /// When it was last written to.
    pub(super) touched: u64,
}

/// One message of a chat's tree.
#[derive(Clone, Debug)]
pub(super) struct StoryNode {
    pub(super) parent: Option<NodeAt>,
    pub(super) key: TextKey,
    pub(super) message: Message,
    /// For a continued message that has not come back yet: where its first part ends. How
    /// the front end joins the two is not known before.
    pub(super) joined_at: Option<usize>,
    pub(super) children: Vec<NodeAt>,
    pub(super) touched: u64,
}

impl KnownStories {
    /// No chats.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes up a stored chat: each path oldest first, the path the story is at last.
    pub fn restore<'a>(
        &mut self,
        id: ChatId,
        bound: Option<String>,
        paths: impl IntoIterator<Item = &'a [Message]>,
    ) {
        let slot = self.open(id, bound);
        for path in paths {
            let tip = self.walk(slot, None, path);
            let story = &mut self.chats[slot.0];
            (story.tip, story.asked) = (tip, None);
        }
    }

    /// Takes up a stored chat: its nodes as (name, parent, message), parents first, and the
    /// node the story is at.
    pub fn restore_tree<'a>(
        &mut self,
        id: ChatId,
        bound: Option<String>,
        nodes: impl IntoIterator<Item = (PrefixHash, PrefixHash, &'a Message)>,
        tip: PrefixHash,
    ) {
        let slot = self.open(id, bound);
        let mut places: FxHashMap<PrefixHash, NodeAt> = FxHashMap::default();
        for (name, parent, message) in nodes {
            let parent = places.get(&parent).copied();
            let at = self.step(slot, parent, message);
            places.insert(name, at);
        }
        let story = self.story_mut(slot);
        story.tip = places.get(&tip).copied();
    }

    /// Takes up a chat that another process has written to: as [`KnownStories::restore_tree`], but
    /// what is known of it stays. Returns whether something is new.
    pub fn take_up_tree<'a>(
        &mut self,
        id: &ChatId,
        bound: Option<String>,
        nodes: impl IntoIterator<Item = (PrefixHash, PrefixHash, &'a Message)>,
        tip: PrefixHash,
    ) -> bool {
        let known = self.by_id.get(id.as_str()).copied();
        let slot = known.unwrap_or_else(|| self.open(id.clone(), bound));
        let before = self.story(slot).nodes.len();
        let mut places: FxHashMap<PrefixHash, NodeAt> = FxHashMap::default();
        for (name, parent, message) in nodes {
            let parent = places.get(&parent).copied();
            let there = self.story(slot).find_child(parent, message);
            let at = there.unwrap_or_else(|| self.step(slot, parent, message));
            places.insert(name, at);
        }
        let is_new = self.story(slot).nodes.len() > before;
        if let Some(tip) = places.get(&tip).copied().filter(|_| is_new) {
            self.move_tip(slot, tip);
            self.elsewhere = Some(slot);
        }
        is_new
    }

    /// The story is at this message, and what was asked last is the user's message before it.
    fn move_tip(&mut self, slot: Slot, tip: NodeAt) {
        let mut now = self.clock;
        let story = &mut self.chats[slot.0];
        let path = story.path_to(Some(tip));
        for at in &path {
            now += 1;
            story.nodes[at.0].touched = now;
        }
        let asked = path.iter().rev().find(|at| story.node(**at).message.role == Role::User);
        (story.tip, story.asked, story.touched) = (Some(tip), asked.copied(), now);
        self.clock = now;
    }

    /// Learns the card of a chat from a request that another process saw.
    pub fn take_up_card(&mut self, chat: &ChatId, request: &Request) {
        let Some(slot) = self.by_id.get(chat.as_str()).copied() else { return };
        let speakers = Speakers::of(request);
        let following = Following::new(self, Some(self.story(slot)));
        let window = Window::of(request, PartReader { speakers: &speakers, known: &following });
        self.learn_preamble(slot, window.preamble.iter().map(|part| part.key));
    }

    /// Whether this client may have been in this chat last, here or at another process.
    pub(super) fn was_last_in(&self, client: &str, slot: Slot) -> bool {
        let last = self.client(client).and_then(|client| client.last);
        last == Some(slot) || self.elsewhere == Some(slot)
    }

    /// A client of this process is in the chat now.
    pub(super) fn came_here(&mut self, slot: Slot) {
        self.elsewhere = self.elsewhere.filter(|elsewhere| *elsewhere != slot);
    }

    /// The number of chats.
    pub fn len(&self) -> usize {
        self.chats.len() - self.free.len()
    }

    /// Whether there is no chat.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the messages cost in stories, in bytes, roughly.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Forgets the chats that were not touched for longest, until the messages cost at most
    /// `most` bytes. Their requests are then those of new chats, unless they are restored.
    pub fn forget_beyond(&mut self, most: usize) {
        if self.cost <= most {
            return;
        }
        let mut oldest: Vec<Slot> = (0..self.chats.len()).map(Slot).collect();
        oldest.sort_unstable_by_key(|slot| self.story(*slot).touched);
        // The newest stays, however long it is.
        oldest.pop();
        // Somewhat more than asked for, so that not every request has to.
        let target = most - most / 8;
        for slot in oldest {
            if self.cost <= target {
                break;
            }
            self.forget(slot);
        }
    }

    fn forget(&mut self, slot: Slot) {
        if self.chats[slot.0].born == 0 {
            return;
        }
        let nobody = Story::new(ChatId::from(""), 0);
        let gone = std::mem::replace(&mut self.chats[slot.0], nobody);
        self.free.push(slot);
        let injected = gone.injected.iter();
        for key in gone.nodes.iter().map(|node| node.key).chain(injected) {
            self.unindex(key, slot);
        }
        self.cost -= gone.nodes.iter().map(|node| cost_of(&node.message)).sum::<usize>();
        self.bound.retain(|_, other| *other != slot);
        self.clients.values_mut().for_each(|client| {
            client.last = client.last.filter(|last| *last != slot);
        });
        self.by_id.remove(gone.id.as_str());
        self.elsewhere = self.elsewhere.filter(|elsewhere| *elsewhere != slot);
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

    /// The chat of this name, which the front end gave it or got from us.
    pub(super) fn bound_to(&self, id: &str) -> Option<Slot> {
        self.bound.get(id).or_else(|| self.by_id.get(id)).copied()
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
        self.by_text.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Makes an empty chat.
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

    pub(super) fn learn_preamble(&mut self, slot: Slot, keys: impl Iterator<Item = TextKey>) {
        let own = self.chats[slot.0].preamble.get_or_insert_default();
        for key in keys {
            self.preambles.insert(key);
            own.insert(key);
        }
    }

    pub(super) fn learn_injected(&mut self, slot: Slot, key: TextKey) {
        self.foreign.insert(key);
        let story = &mut self.chats[slot.0];
        let is_narrator = |at: &NodeAt| story.nodes[at.0].message.role == Role::System;
        story.doubts_narrators |= story.nodes_with(key).iter().any(is_narrator);
        let gone = story.injected.insert(key);
        self.index(key, slot);
        for key in gone {
            if self.chats[slot.0].nodes_with(key).is_empty() {
                self.unindex(key, slot);
            }
        }
    }

    pub(super) fn learn_background(&mut self, slot: Slot, key: TextKey) {
        self.chats[slot.0].background.insert(key);
    }

    pub(super) fn learn_instruction(&mut self, slot: Slot, text: &str) {
        let known = &mut self.chats[slot.0].instructions;
        if !known.iter().any(|other| other == text) {
            if known.len() == INSTRUCTIONS {
                known.remove(0);
            }
            known.push(text.to_owned());
        }
    }

    /// Follows a path from a message on, or from the root, making the messages that are missing.
    pub(super) fn walk(
        &mut self,
        slot: Slot,
        from: Option<NodeAt>,
        path: &[Message],
    ) -> Option<NodeAt> {
        path.iter().fold(from, |at, message| Some(self.step(slot, at, message)))
    }

    /// Goes once more along messages that are stored as they are, from the root to the last:
    /// what [`KnownStories::walk`] does, without looking for them.
    pub(super) fn revisit(&mut self, slot: Slot, last: NodeAt, messages: &[Message]) -> NodeAt {
        let (story, mut at) = (&mut self.chats[slot.0], Some(last));
        self.clock += messages.len() as u64;
        story.touched = self.clock;
        for (since, message) in (0..).zip(messages.iter().rev()) {
            let Some(node) = at.map(|at| &mut story.nodes[at.0]) else { break };
            node.touched = self.clock - since;
            // What the next request is compared with.
            node.message.text.share(&message.text);
            at = node.parent;
        }
        last
    }

    /// The child of `parent` with this message, made if it is missing.
    pub(super) fn step(&mut self, slot: Slot, parent: Option<NodeAt>, message: &Message) -> NodeAt {
        let now = self.tick();
        let story = &mut self.chats[slot.0];
        story.touched = now;
        let as_told = |parent| story.child_as_told(parent, message.role, &message.text);
        if let Some(found) = parent.and_then(as_told) {
            let node = &mut story.nodes[found.0];
            node.touched = now;
            // What the next request is compared with.
            node.message.text.share(&message.text);
            return found;
        }
        let key = TextKey::of(&message.text);
        if let Some(found) = story.child(parent, key, message.role) {
            let node = &mut story.nodes[found.0];
            node.touched = now;
            if let Some(at) = node.joined_at.take() {
                let rest = message.text.get(at..).unwrap_or_default();
                rest[..rest.len() - rest.trim_start().len()].clone_into(&mut story.joint);
                node.message.text.clone_from(&message.text);
            }
            return found;
        }
        let at = NodeAt(story.nodes.len());
        self.cost += cost_of(message);
        story.nodes.push(StoryNode {
            parent,
            key,
            message: message.clone(),
            joined_at: None,
            children: Vec::new(),
            touched: now,
        });
        story.by_text.entry(key).or_default().push(at);
        if let Some(parent) = parent {
            story.nodes[parent.0].children.push(at);
        }
        self.index(key, slot);
        at
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
                slots.remove(0);
            }
            slots.push(slot);
        }
    }
}

fn cost_of(message: &Message) -> usize {
    MESSAGE_COST + message.text.len()
}

impl StoryNode {
    /// Whether this is that message. User and model never swap; a narrator may wear any
    /// role after merging.
    pub(super) fn is(&self, key: TextKey, role: Role) -> bool {
        let swapped = matches!(
            (self.message.role, role),
            (Role::User, Role::Assistant) | (Role::Assistant, Role::User)
        );
        self.key == key && !swapped
    }
}

impl Story {
    fn new(id: ChatId, born: u64) -> Self {
        Self {
            id,
            born,
            bound: None,
            nodes: Vec::new(),
            by_text: FxHashMap::default(),
            tip: None,
            asked: None,
            injected: Recent::default(),
            preamble: None,
            instructions: Vec::new(),
            doubts_narrators: false,
            background: Recent::default(),
            joint: " ".to_owned(),
            streams: None,
            examples: 0,
            touched: 0,
        }
    }

    pub(super) fn node(&self, at: NodeAt) -> &StoryNode {
        &self.nodes[at.0]
    }

    pub(super) fn nodes_with(&self, key: TextKey) -> &[NodeAt] {
        self.by_text.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The child of `parent` with exactly this message, which is the usual case. It needs no key
    /// of the text.
    pub(super) fn child_as_told(&self, parent: NodeAt, role: Role, text: &Text) -> Option<NodeAt> {
        let fits = |node: &StoryNode| {
            node.joined_at.is_none() && node.message.role == role && node.message.text == *text
        };
        // Messages that came one after the other are neighbours, so most have their child next to
        // them.
        let beside = NodeAt(parent.0 + 1);
        let is_child = |node: &StoryNode| node.parent == Some(parent) && fits(node);
        if self.nodes.get(beside.0).is_some_and(is_child) {
            return Some(beside);
        }
        let children = self.nodes[parent.0].children.iter().copied();
        children.into_iter().find(|at| fits(self.node(*at)))
    }

    /// The child of `parent` that is this text, in whatever dress.
    pub(super) fn child(&self, parent: Option<NodeAt>, key: TextKey, role: Role) -> Option<NodeAt> {
        let (found, under) = match parent {
            Some(parent) => (self.nodes[parent.0].children.as_slice(), Some(parent)),
            None => (self.nodes_with(key), None),
        };
        let fits = |at: &NodeAt| {
            let node = &self.nodes[at.0];
            node.parent == under && node.is(key, role)
        };
        found.iter().copied().find(fits)
    }

    /// The child of `parent` with this message.
    fn find_child(&self, parent: Option<NodeAt>, message: &Message) -> Option<NodeAt> {
        let as_told = |parent| self.child_as_told(parent, message.role, &message.text);
        let known = parent.and_then(as_told);
        known.or_else(|| self.child(parent, TextKey::of(&message.text), message.role))
    }

    /// The path to a message, oldest first.
    pub(super) fn path_to(&self, at: Option<NodeAt>) -> Vec<NodeAt> {
        let mut path = Vec::new();
        let mut next = at;
        while let Some(at) = next {
            path.push(at);
            next = self.nodes[at.0].parent;
        }
        path.reverse();
        path
    }

    /// Whether the story went on after this message with something the user said.
    pub(super) fn went_on_after(&self, at: NodeAt) -> bool {
        let mut left: Vec<NodeAt> = self.nodes[at.0].children.clone();
        while let Some(next) = left.pop() {
            let node = &self.nodes[next.0];
            if node.message.role == Role::User {
                return true;
            }
            left.extend(&node.children);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{Assistant, User};

    #[test]
    fn going_along_known_messages_is_walking_them_from_the_root() {
        let messages = |texts: &[(Role, &str)]| -> Vec<Message> {
            texts.iter().map(|(role, text)| Message::new(*role, None, *text)).collect()
        };
        let first = messages(&[(User, "Who rang?"), (Assistant, "Orla."), (User, "Why?")]);
        let other = messages(&[(User, "Who rang?"), (Assistant, "Nobody."), (User, "Why?")]);
        let mut walked = KnownStories::new();
        walked.restore(ChatId::from("a"), None, [&first[..], &other]);
        let (slot, branch) = (Slot(0), walked.story(Slot(0)).path_to(Some(NodeAt(2))));
        for known in 1..=first.len() {
            let mut path = first.clone();
            path.push(Message::new(Assistant, None, format!("Number {known}.")));
            let mut revisited = walked.clone();
            let end = walked.walk(slot, None, &path);
            let (passed, rest) = path.split_at(known);
            let last = revisited.revisit(slot, branch[known - 1], passed);
            assert_eq!(revisited.walk(slot, Some(last), rest), end, "{known}");
            assert_eq!(format!("{revisited:?}"), format!("{walked:?}"), "{known}");
        }
    }
}
