//! The recall index of each chat, updated as the story goes on.
//!
//! A new message adds one passage. If the path differs from the last one (a swipe, an edit,
//! another branch), the passages from there on are replaced. What was computed for a message
//! is cached, so this costs no embedding.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, PrefixHash, TenantId},
};
use loreloom_ports::Vector;
use rustc_hash::FxHashMap;

use crate::{
    recall::{Passage, PassageIndex, Prepared},
    service::{EmbedOne, views::ChatPath},
};

/// Embeds a text in the process.
pub(in crate::service) type Embed<'embed> = Option<&'embed dyn Fn(&str) -> Vector>;

/// One chat's passages, in the order of the last path.
#[derive(Debug, Default)]
struct ChatPassages {
    index: PassageIndex,
    ids: Vec<MessageId>,
    /// The node where the passages end. Equal nodes have equal paths.
    tip: PrefixHash,
    prepared: FxHashMap<MessageId, Prepared>,
}

/// A chat's passages, shared: turns on the same path read at once, and no chat waits for
/// another.
type SharedPassages = Arc<RwLock<ChatPassages>>;

#[derive(Debug, Default)]
struct CachedPassages {
    passages: SharedPassages,
    used: u64,
    /// How many passages it has, or is about to have.
    size: usize,
}

#[derive(Debug, Default)]
struct PassageCache {
    chats: FxHashMap<(TenantId, ChatId), CachedPassages>,
    clock: u64,
}

impl PassageCache {
    /// Drops the chats that were not used for longest.
    fn make_room(&mut self, keep: &(TenantId, ChatId), wanted: usize, most: usize) {
        loop {
            let others = self.chats.iter().filter(|(key, _)| *key != keep);
            let held: usize = others.clone().map(|(_, cached)| cached.size).sum();
            if held == 0 || held + wanted <= most {
                return;
            }
            let oldest = others.min_by_key(|(_, cached)| cached.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.chats.remove(&oldest);
        }
    }
}

/// The recall indexes of all chats.
pub(in crate::service) struct PassageIndexes {
    embed: Option<EmbedOne>,
    /// How many passages are held at once, over all chats.
    most: usize,
    cache: Mutex<PassageCache>,
}

impl PassageIndexes {
    pub(in crate::service) fn new(embed: Option<EmbedOne>, most: usize) -> Self {
        Self { embed, most, cache: Mutex::default() }
    }

    fn cache(&self) -> MutexGuard<'_, PassageCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, at: ChatPath<'_>) -> SharedPassages {
        let mut cache = self.cache();
        cache.clock += 1;
        let (now, length) = (cache.clock, at.path.len());
        let key = (at.tenant.clone(), at.chat.clone());
        cache.make_room(&key, length, self.most);
        let cached = cache.chats.entry(key).or_default();
        (cached.used, cached.size) = (now, cached.size.max(length));
        Arc::clone(&cached.passages)
    }

    /// Reads the index over exactly this path.
    pub(in crate::service) fn read<T>(
        &self,
        at: ChatPath<'_>,
        read: impl Fn(&PassageIndex, Embed<'_>) -> T,
    ) -> T {
        let passages = self.of(at);
        let embed = self.embed.as_deref().map(|embed| embed as &dyn Fn(&str) -> Vector);
        // After a panic in `follow` the passages match no path, and the next call replaces them.
        let known = passages.read().unwrap_or_else(PoisonError::into_inner);
        if known.is_on(at.path) {
            return read(&known.index, embed);
        }
        drop(known);
        let mut passages = passages.write().unwrap_or_else(PoisonError::into_inner);
        passages.follow(at.path, embed);
        read(&passages.index, embed)
    }

    /// Whether reading this path adds only a few new messages.
    pub(super) fn is_near(&self, at: ChatPath<'_>) -> bool {
        // A caller that adds messages right now may take a while.
        let passages = self.of(at);
        passages.try_read().is_ok_and(|known| at.path.len() - known.same_as(at.path) <= A_FEW)
    }
}

/// So many new messages take less time than it takes to wake another thread for them.
const A_FEW: usize = 8;

impl ChatPassages {
    fn is_on(&self, path: &[PathItem]) -> bool {
        self.ids.len() == path.len()
            && self.index.len() == path.len()
            && path.last().is_none_or(|last| last.prefix == self.tip)
    }

    /// How many messages at the start of a path are indexed in that order.
    fn same_as(&self, path: &[PathItem]) -> usize {
        let known = self.ids.len();
        // Usually the story went on, and nothing needs to be compared.
        let goes_on = known.checked_sub(1).and_then(|last| path.get(last));
        if goes_on.is_some_and(|last| last.prefix == self.tip) {
            return known;
        }
        self.ids.iter().zip(path).take_while(|(known, item)| **known == item.id).count()
    }

    fn follow(&mut self, path: &[PathItem], embed: Embed<'_>) {
        let same = self.same_as(path);
        // After a panic below, the tip must not name a node that the passages do not reach.
        self.tip = PrefixHash::default();
        self.index.truncate(same);
        self.ids.truncate(same);
        // Messages of many branches are dropped; those still in use are prepared again.
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
    use crate::recall::{PassageQuery, Weights};

    fn path(texts: &[&str]) -> Path {
        let message = |text: &&str| Message::new(Role::User, Some("Mara"), *text);
        Path::of(ChatId::from("c"), texts.iter().map(message))
    }

    fn fresh(path: &Path) -> PassageIndex {
        let mut index = PassageIndex::new([]);
        for item in path.items() {
            let (speaker, text) = (item.message.name.as_deref(), item.message.text.as_str());
            index.push(Passage { speaker, text, stretch: 0 }, None);
        }
        index
    }

    #[test]
    fn an_index_that_followed_many_paths_answers_as_one_made_for_the_last() {
        let indexes = PassageIndexes::new(None, 100);
        let (tenant, chat) = (TenantId::local(), ChatId::from("c"));
        for texts in [
            &["The bell rang.", "Odo sold the boat.", "Gulls."][..],
            &["The bell rang.", "Odo sold the boat.", "Rain on the boat."],
            &["The bell cracked.", "Odo sold the boat.", "Rain on the boat.", "The bell again."],
            &["The bell cracked."],
            &["The bell rang.", "Odo sold the boat.", "Gulls.", "Fog over the bell."],
        ] {
            let path = path(texts);
            let at = ChatPath { tenant: &tenant, chat: &chat, path: path.items() };
            for question in ["Where is the boat?", "the bell", "gulls"] {
                let weights = Weights::default();
                let query = PassageQuery::new(question, 5);
                let search = |index: &PassageIndex| index.search(query, &weights, None);
                let (old, new) =
                    (indexes.read(at, |index, _| search(index)), search(&fresh(&path)));
                assert_eq!(old, new, "{texts:?} {question}");
            }
        }
    }

    #[test]
    fn the_chat_that_was_not_used_for_longest_goes_first() {
        let indexes = PassageIndexes::new(None, 5);
        let (tenant, path) = (TenantId::local(), path(&["The bell rang.", "Gulls."]));
        for chat in ["a", "b", "a", "c"] {
            let chat = &ChatId::from(chat);
            indexes.of(ChatPath { tenant: &tenant, chat, path: path.items() });
        }
        let cache = indexes.cache();
        let mut kept: Vec<&str> = cache.chats.keys().map(|(_, chat)| chat.as_str()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["a", "c"]);
    }
}
