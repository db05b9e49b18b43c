//! Chats that are read from the store, and chats that another process wrote to.

use rustc_hash::FxHashMap;

use super::{KnownStories, NodeAt, Slot};
use crate::{
    GivenNames, Request, Speakers,
    following::Following,
    window::{PartReader, Window},
};
use loreloom_core::{
    chat::{Message, Role},
    ids::{ChatId, PrefixHash},
};

impl KnownStories {
    /// Adds a stored chat from its paths, each oldest first. The current path comes last.
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

    /// Adds a stored chat from its nodes as (name, parent, message), parents first. `tip` is the
    /// newest node of the current path.
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
        // Most stored stories are not played again while the server runs.
        story.nodes.shrink_to_fit();
        story.tip = places.get(&tip).copied();
    }

    /// Adds what another process wrote to a chat. Unlike [`KnownStories::restore_tree`] it keeps what
    /// is already known of the chat. Returns whether anything is new.
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
            self.written_elsewhere = Some(slot);
        }
        is_new
    }

    /// Makes `tip` the newest message, and the user's message before it the last question.
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

    /// Sets the names that a front end gave a chat, as the store has them.
    pub fn take_up_names(&mut self, chat: &ChatId, given: GivenNames) {
        if let Some(slot) = self.by_id.get(chat.as_str()).copied() {
            self.story_mut(slot).given = given;
        }
    }
}
