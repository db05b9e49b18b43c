//! The recall index of each chat, updated as the story goes on.
//!
//! A new message adds one passage. If the path differs from the last one (a swipe, an edit,
//! another branch), the passages from there on are replaced. What was computed for a message
//! is cached, so this costs no embedding.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use loreloom_core::{
    chat::{PathItem, Role},
    ids::{ChatId, MessageId, PrefixHash, TenantId},
};
use loreloom_ports::{Embedder, MemoryLog};
use rustc_hash::FxHashMap;
use tokio::sync::Notify;

use super::embedding_server::{EmbeddingServer, ServerVectors};
use crate::{
    recall::{MissingVector, PackedVector, Passage, PassageIndex, Prepared, StoryVectors},
    service::{
        TableVectors,
        jobs::{Stop, stopped},
        views::ChatPath,
    },
};

/// The vectors of a story.
pub(in crate::service) type Embed<'embed> = Option<&'embed dyn StoryVectors>;

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

/// The recall indexes of all chats, with the vectors of one embedder.
struct PassageSource {
    table: Option<TableVectors>,
    server: Option<EmbeddingServer>,
    /// How many passages are held at once, over all chats.
    most: usize,
    cache: Mutex<PassageCache>,
}

impl PassageSource {
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

    /// Reads the index over exactly this path, with all vectors that are there.
    fn read<T>(
        &self,
        at: ChatPath<'_>,
        question: Option<&PackedVector>,
        read: impl Fn(&PassageIndex, Embed<'_>) -> T,
    ) -> T {
        let passages = self.of(at);
        let table = self.table.as_ref().map(|table| table as &dyn StoryVectors);
        let server = self.server.as_ref().map(|server| ServerVectors { server, table, question });
        let embed = server.as_ref().map(|server| server as &dyn StoryVectors).or(table);
        // After a panic in `follow` the passages match no path, and the next call replaces them.
        let known = passages.read().unwrap_or_else(PoisonError::into_inner);
        let lacks_none = self.server.is_none() || known.index.missing_vectors().next().is_none();
        if known.is_on(at.path) && lacks_none {
            return read(&known.index, embed);
        }
        drop(known);
        let mut passages = passages.write().unwrap_or_else(PoisonError::into_inner);
        passages.follow(at.path, embed);
        if let Some(server) = &self.server {
            passages.fill(at.path, server);
        }
        read(&passages.index, embed)
    }
}

/// The recall indexes of all chats.
pub(in crate::service) struct PassageIndexes {
    source: RwLock<Arc<PassageSource>>,
    log: Arc<dyn MemoryLog>,
    /// Signalled when the server has texts to embed in the background.
    waiting: Notify,
}

/// What a search needs besides the index.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct AskedVector {
    /// The vector of the question, if a server made one.
    vector: Option<PackedVector>,
    /// Why it did not.
    pub(in crate::service) problem: Option<String>,
}

impl PassageIndexes {
    pub(in crate::service) fn new(
        table: Option<TableVectors>,
        log: Arc<dyn MemoryLog>,
        most: usize,
    ) -> Self {
        let source = PassageSource { table, server: None, most, cache: Mutex::default() };
        Self { source: RwLock::new(Arc::new(source)), log, waiting: Notify::new() }
    }

    fn source(&self) -> Arc<PassageSource> {
        Arc::clone(&self.source.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Uses the vectors of a server from now on, or those of the table.
    pub(in crate::service) fn embed_with(&self, server: Option<(Arc<dyn Embedder>, Duration)>) {
        let mut source = self.source.write().unwrap_or_else(PoisonError::into_inner);
        let most = source.most;
        let server = server.map(|(embedder, patience)| {
            EmbeddingServer::new(embedder, Arc::clone(&self.log), patience, most)
        });
        // Vectors of two models must not meet, so all indexes are built again.
        let (table, cache) = (source.table.clone(), Mutex::default());
        *source = Arc::new(PassageSource { table, server, most, cache });
    }

    /// Asks the server for the vector of a question and for those of a few new messages, and has
    /// the others made in the background. Waits no longer than `within`.
    pub(in crate::service) async fn ask(
        &self,
        at: ChatPath<'_>,
        question: &str,
        within: Duration,
    ) -> AskedVector {
        let source = self.source();
        let Some(server) = &source.server else { return AskedVector::default() };
        let mut texts = source.read(at, None, |index, _| missing(index, at.path));
        let mut problem = None;
        if texts.len() > A_FEW {
            let waits = server.wait_for((at.tenant, at.chat), std::mem::take(&mut texts));
            problem = waits.err();
            self.waiting.notify_one();
        }
        let mut asked: Vec<&str> = texts.iter().map(String::as_str).collect();
        if !question.trim().is_empty() && server.known(question).is_none() {
            asked.push(question);
        }
        if !asked.is_empty() && !server.rests() {
            let within = within.min(server.patience);
            let answer = tokio::time::timeout(within, server.ask(at.tenant, &asked)).await;
            let late = |_| {
                server.rest();
                Err(format!("no vector within {} ms", within.as_millis()))
            };
            problem = answer.unwrap_or_else(late).err().or(problem);
        }
        AskedVector { vector: server.known(question), problem }
    }

    /// Reads the index over exactly this path.
    pub(in crate::service) fn read<T>(
        &self,
        at: ChatPath<'_>,
        asked: &AskedVector,
        read: impl Fn(&PassageIndex, Embed<'_>) -> T,
    ) -> T {
        self.source().read(at, asked.vector.as_ref(), read)
    }

    /// Whether reading this path adds only a few new messages.
    pub(super) fn is_near(&self, at: ChatPath<'_>) -> bool {
        // A caller that adds messages right now may take a while.
        let passages = self.source().of(at);
        passages.try_read().is_ok_and(|known| at.path.len() - known.same_as(at.path) <= A_FEW)
    }

    /// Embeds waiting texts of stories until it is stopped.
    pub(in crate::service) async fn work_until(&self, stop: &mut Stop) {
        loop {
            let work = async {
                self.waiting.notified().await;
                if let Some(server) = &self.source().server {
                    server.work().await;
                }
            };
            tokio::select! {
                () = work => {}
                () = stopped(stop) => return,
            }
        }
    }
}

/// The texts that have no vector, newest first.
fn missing(index: &PassageIndex, path: &[PathItem]) -> Vec<String> {
    let text = |missing: MissingVector| path.get(missing.at)?.message.text.get(missing.range);
    let texts = index.missing_vectors().filter_map(text).filter(|text| !text.trim().is_empty());
    texts.map(str::to_owned).collect()
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

    /// Takes up the vectors that the server made since.
    fn fill(&mut self, path: &[PathItem], server: &EmbeddingServer) {
        let missing: Vec<MissingVector> = self.index.missing_vectors().collect();
        for missing in missing {
            let text =
                path.get(missing.at).and_then(|item| item.message.text.get(missing.range.clone()));
            if let Some(vector) = text.and_then(|text| server.known(text)) {
                self.index.fill_vector(&missing, &vector);
            }
        }
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
            let by_player = item.message.role == Role::User;
            let passage = Passage { speaker, text, stretch: 0, by_player };
            self.index.push_prepared(passage, prepared, embed);
            self.ids.push(item.id);
        }
        self.tip = path.last().map_or_else(PrefixHash::default, |last| last.prefix);
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Path};

    use super::*;
    use crate::recall::{PassageQuery, Weights};

    fn path(texts: &[&str]) -> Path {
        let message = |text: &&str| Message::new(Role::User, Some("Mara"), *text);
        Path::of(ChatId::from("c"), texts.iter().map(message))
    }

    fn source(most: usize) -> PassageSource {
        PassageSource { table: None, server: None, most, cache: Mutex::default() }
    }

    fn fresh(path: &Path) -> PassageIndex {
        let mut index = PassageIndex::new([]);
        for item in path.items() {
            let (speaker, text) = (item.message.name.as_deref(), item.message.text.as_str());
            index.push(Passage { speaker, text, stretch: 0, by_player: true }, None);
        }
        index
    }

    #[test]
    fn an_index_that_followed_many_paths_answers_as_one_made_for_the_last() {
        let indexes = source(100);
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
                    (indexes.read(at, None, |index, _| search(index)), search(&fresh(&path)));
                assert_eq!(old, new, "{texts:?} {question}");
            }
        }
    }

    #[test]
    fn the_chat_that_was_not_used_for_longest_goes_first() {
        let indexes = source(5);
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
