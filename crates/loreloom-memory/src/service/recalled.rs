//! The recall index of each chat, kept as the story goes on.
//!
//! A new message is one more passage. Where the path differs from the last one (a swipe, an
//! edit, another branch), the passages from there on are taken out and put in again; what
//! was worked out of a message is kept, so that this costs no embedding.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, TenantId},
};
use rustc_hash::FxHashMap;

use crate::{
    ports::Vector,
    recall::{Index, Passage, Prepared},
};

/// One chat's passages, in the order of the last path.
#[derive(Debug, Default)]
struct Story {
    index: Index,
    ids: Vec<MessageId>,
    prepared: FxHashMap<MessageId, Prepared>,
    used: u64,
}

/// The passages of all chats.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    stories: FxHashMap<(TenantId, ChatId), Story>,
    clock: u64,
}

impl Indexes {
    /// The index over exactly this path.
    pub(super) fn on(
        &mut self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        embed: Option<&dyn Fn(&str) -> Vector>,
        most: usize,
    ) -> &Index {
        self.clock += 1;
        let key = (tenant.clone(), chat.clone());
        self.make_room(&key, path.len(), most);
        let story = self.stories.entry(key).or_default();
        story.used = self.clock;
        story.follow(path, embed);
        &story.index
    }

    /// Lets go of the chats that were not used for longest.
    fn make_room(&mut self, keep: &(TenantId, ChatId), wanted: usize, most: usize) {
        loop {
            let others = self.stories.iter().filter(|(key, _)| *key != keep);
            let held: usize = others.clone().map(|(_, story)| story.prepared.len()).sum();
            if held == 0 || held + wanted <= most {
                return;
            }
            let Some(oldest) =
                others.min_by_key(|(_, story)| story.used).map(|(key, _)| key.clone())
            else {
                return;
            };
            self.stories.remove(&oldest);
        }
    }
}

impl Story {
    fn follow(&mut self, path: &[PathItem], embed: Option<&dyn Fn(&str) -> Vector>) {
        let same = self.ids.iter().zip(path).take_while(|(known, item)| **known == item.id).count();
        if same < self.ids.len() {
            self.index.truncate(same);
            self.ids.truncate(same);
        }
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
            let kept = indexes.on(&tenant, &chat, path.items(), None, 100);
            for question in ["Where is the boat?", "the bell", "gulls"] {
                let weights = Weights::default();
                let (old, new) = (
                    kept.search(question, &[], 5, &weights, None),
                    fresh(&path).search(question, &[], 5, &weights, None),
                );
                assert_eq!(old, new, "{texts:?} {question}");
            }
        }
    }

    #[test]
    fn the_chat_that_was_not_used_for_longest_goes_first() {
        let mut indexes = Indexes::default();
        let tenant = TenantId::local();
        for chat in ["a", "b", "a", "c"] {
            indexes.on(&tenant, &ChatId::from(chat), path(&["x", "y"]).items(), None, 5);
        }
        let mut kept: Vec<&str> = indexes.stories.keys().map(|(_, chat)| chat.as_str()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["a", "c"]);
    }
}
