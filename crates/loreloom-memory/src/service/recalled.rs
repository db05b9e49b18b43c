//! The recall index of each chat, kept as the story goes on.
//!
//! A new message is one more passage. Where the path differs from the last one (a swipe, an
//! edit, another branch), the passages from there on are taken out and put in again; what
//! was worked out of a message is kept, so that this costs no embedding.

use std::sync::{Arc, PoisonError, RwLock};

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, PrefixHash, TenantId},
};
use rustc_hash::FxHashMap;

use crate::recall::{Index, Passage, Prepared};
use loreloom_ports::Vector;

/// One chat's passages, in the order of the last path.
#[derive(Debug, Default)]
pub(super) struct Story {
    index: Index,
    ids: Vec<MessageId>,
    /// The node the passages end at: equal nodes have equal paths.
    tip: PrefixHash,
    prepared: FxHashMap<MessageId, Prepared>,
}

/// A chat's passages, shared: turns that ask about the same path look at once, and no chat
/// waits for another.
type Shared = Arc<RwLock<Story>>;

#[derive(Debug, Default)]
struct Kept {
    story: Shared,
    used: u64,
    /// How many passages it has, or is about to have.
    size: usize,
}

/// The passages of all chats.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    stories: FxHashMap<(TenantId, ChatId), Kept>,
    clock: u64,
}

impl Indexes {
    /// The passages of a chat that has so many messages.
    pub(super) fn of(
        &mut self,
        tenant: &TenantId,
        chat: &ChatId,
        length: usize,
        most: usize,
    ) -> Shared {
        self.clock += 1;
        let key = (tenant.clone(), chat.clone());
        self.make_room(&key, length, most);
        let kept = self.stories.entry(key).or_default();
        (kept.used, kept.size) = (self.clock, kept.size.max(length));
        Arc::clone(&kept.story)
    }

    /// Lets go of the chats that were not used for longest.
    fn make_room(&mut self, keep: &(TenantId, ChatId), wanted: usize, most: usize) {
        loop {
            let others = self.stories.iter().filter(|(key, _)| *key != keep);
            let held: usize = others.clone().map(|(_, kept)| kept.size).sum();
            if held == 0 || held + wanted <= most {
                return;
            }
            let Some(oldest) = others.min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone())
            else {
                return;
            };
            self.stories.remove(&oldest);
        }
    }
}

/// Looks something up in the index over exactly this path.
pub(super) fn on<T>(
    story: &RwLock<Story>,
    path: &[PathItem],
    embed: Option<&dyn Fn(&str) -> Vector>,
    look: impl Fn(&Index) -> T,
) -> T {
    // A panic in between leaves passages that no path has: they are taken out again.
    let known = story.read().unwrap_or_else(PoisonError::into_inner);
    if known.is_on(path) {
        return look(&known.index);
    }
    drop(known);
    let mut story = story.write().unwrap_or_else(PoisonError::into_inner);
    story.follow(path, embed);
    look(&story.index)
}

/// Whether looking something up on this path takes in a few new messages at the most.
pub(super) fn is_near(story: &RwLock<Story>, path: &[PathItem]) -> bool {
    // Whoever is taking in messages right now may take a while.
    story.try_read().is_ok_and(|story| path.len() - story.same_as(path) <= A_FEW)
}

/// New messages that take less time than it takes to wake another thread for them.
const A_FEW: usize = 8;

impl Story {
    fn is_on(&self, path: &[PathItem]) -> bool {
        self.ids.len() == path.len()
            && self.index.len() == path.len()
            && path.last().is_none_or(|last| last.prefix == self.tip)
    }

    /// How many messages a path begins with that are here in that order.
    fn same_as(&self, path: &[PathItem]) -> usize {
        let known = self.ids.len();
        // Mostly the story went on, and nothing needs to be compared.
        let goes_on = known.checked_sub(1).and_then(|last| path.get(last));
        if goes_on.is_some_and(|last| last.prefix == self.tip) {
            return known;
        }
        self.ids.iter().zip(path).take_while(|(known, item)| **known == item.id).count()
    }

    fn follow(&mut self, path: &[PathItem], embed: Option<&dyn Fn(&str) -> Vector>) {
        let same = self.same_as(path);
        // A panic in between must leave no node that the passages do not end at.
        self.tip = PrefixHash::default();
        self.index.truncate(same);
        self.ids.truncate(same);
        // What was said on many branches is worked out again when it is told again.
        if self.prepared.len() > 4 * path.len() + 64 {
            self.prepared.clear();
        }
        for item in &path[same..] {
            let text = item.message.text.as_str();
            let prepared =
                self.prepared.entry(item.id).or_insert_with(|| Prepared::of(text, embed));
            let speaker = item.message.name.as_deref();
            let passage = Passage { speaker, text, stretch: 0 };
            self.index.push_prepared(passage, prepared, embed);
            self.ids.push(item.id);
        }
        self.tip = path.last().map_or_else(PrefixHash::default, |last| last.prefix);
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Path, Role};

    use super::*;
    use crate::recall::Weights;

    fn path(texts: &[&str]) -> Path {
        let message = |text: &&str| Message::new(Role::User, Some("Mara"), *text);
        Path::of(ChatId::from("c"), texts.iter().map(message))
    }

    fn fresh(path: &Path) -> Index {
        let mut index = Index::new([]);
        for item in path.items() {
            let (speaker, text) = (item.message.name.as_deref(), item.message.text.as_str());
            index.push(Passage { speaker, text, stretch: 0 }, None);
        }
        index
    }

    #[test]
    fn an_index_that_followed_many_paths_answers_as_one_made_for_the_last() {
        let mut indexes = Indexes::default();
        let tenant = TenantId::local();
        for texts in [
            &["The bell rang.", "Odo sold the boat.", "Gulls."][..],
            &["The bell rang.", "Odo sold the boat.", "Rain on the boat."],
            &["The bell cracked.", "Odo sold the boat.", "Rain on the boat.", "The bell again."],
            &["The bell cracked."],
            &["The bell rang.", "Odo sold the boat.", "Gulls.", "Fog over the bell."],
        ] {
            let path = path(texts);
            let chat = ChatId::from("c");
            let kept = indexes.of(&tenant, &chat, path.items().len(), 100);
            for question in ["Where is the boat?", "the bell", "gulls"] {
                let weights = Weights::default();
                let search = |index: &Index| index.search(question, &[], 5, &weights, None);
                let (old, new) = (on(&kept, path.items(), None, search), search(&fresh(&path)));
                assert_eq!(old, new, "{texts:?} {question}");
            }
        }
    }

    #[test]
    fn the_chat_that_was_not_used_for_longest_goes_first() {
        let mut indexes = Indexes::default();
        let tenant = TenantId::local();
        for chat in ["a", "b", "a", "c"] {
            indexes.of(&tenant, &ChatId::from(chat), 2, 5);
        }
        let mut kept: Vec<&str> = indexes.stories.keys().map(|(_, chat)| chat.as_str()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["a", "c"]);
    }
}
