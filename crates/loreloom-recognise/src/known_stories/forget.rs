//! Bounded memory: the chats not touched for longest are forgotten.

use super::{KnownStories, Slot, Story};
use loreloom_core::{chat::Message, ids::ChatId};

/// What a message costs in memory besides its text, in bytes, roughly.
pub const MESSAGE_COST: usize = 512;

impl KnownStories {
    /// What all messages cost in memory, in bytes, roughly.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Forgets the chats that were not touched for longest, until the messages cost at most
    /// `most` bytes. A later request of such a chat begins a new one, unless the chat is restored
    /// first. Returns whether it forgot any.
    pub fn forget_beyond(&mut self, most: usize) -> bool {
        if self.cost <= most {
            return false;
        }
        let known = self.by_id.len();
        let mut oldest: Vec<Slot> = (0..self.chats.len()).map(Slot).collect();
        oldest.sort_unstable_by_key(|slot| self.story(*slot).touched);
        // The newest stays, however long it is.
        oldest.pop();
        // Somewhat more than needed, so that not every request has to do this.
        let target = most - most / 8;
        for slot in oldest {
            if self.cost <= target {
                break;
            }
            self.forget(slot);
        }
        self.by_id.len() < known
    }

    fn forget(&mut self, slot: Slot) {
        if self.chats[slot.0].born == 0 {
            return;
        }
        let empty = Story::new(ChatId::from(""), 0);
        let gone = std::mem::replace(&mut self.chats[slot.0], empty);
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
        self.written_here(slot);
    }
}

pub(super) fn cost_of(message: &Message) -> usize {
    MESSAGE_COST + message.text.len()
}
