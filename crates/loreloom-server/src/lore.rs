//! The books the server weaves from, compiled.

use std::{
    hash::{Hash as _, Hasher as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::lore_vectors::LoreVectors;
use loreloom_core::{
    chat::Path,
    dialects::vault::Note,
    engine::{self, Decision, EngineInput, PreparedTurn},
    explain::{Case, FixCandidate, candidates},
    ids::{BookId, EntryId, TenantId},
    library::{ActiveEntries, Attachment, Binding, Cast, Library, LibrarySource, Volume},
    report::{KeyCost, Verdict, Warning},
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::{Instruments, Near, Transcript, Turn, TurnCache},
};
use loreloom_ports::{EmbedError, StoreError, StoryStore};
use rustc_hash::{FxHashMap, FxHasher};

use crate::lore_service::EntryFinder;

/// Books, rules and what is remembered of texts already scanned.
pub struct Lore {
    source: LibrarySource,
    library: Library,
    /// Entries that are found by meaning.
    vectors: LoreVectors,
    /// Finds them: only vectors of one model can be compared.
    finder: Option<Arc<EntryFinder>>,
    /// What each book of the source is attached to.
    bindings: Vec<Vec<Binding>>,
    active_sets: Mutex<FxHashMap<Vec<Attachment>, Arc<ActiveEntries>>>,
    caches: [Mutex<TurnCache>; CACHES],
    /// Whether the store has these books and rules.
    kept: AtomicBool,
    /// Keys that were too slow in a turn. They are not tried again with this library.
    suspended: Mutex<Vec<String>>,
}

/// Caches of what was found in texts: a chat keeps to one of them, so that chats rarely wait
/// for one another.
const CACHES: usize = 4;

/// How many sets of active entries are cached; most characters of a platform are idle.
const MOST_ROSTERS: usize = 256;

/// The books cannot be used together.
#[derive(Debug, thiserror::Error)]
pub enum LoreError {
    /// Two books have the same id.
    #[error("two books have the id `{id}`")]
    TwoBooks {
        /// The id.
        id: String,
    },
}

impl Lore {
    /// Compiles books, each with what it is attached to.
    pub fn new(
        books: impl IntoIterator<Item = (Volume, Vec<Binding>)>,
        rules: Rules,
    ) -> Result<Self, LoreError> {
        Self::compile(books, Vec::new(), rules, None)
    }

    /// Compiles books and notes, keeping what the lore before knows about notes.
    pub fn compile(
        books: impl IntoIterator<Item = (Volume, Vec<Binding>)>,
        notes: Vec<Arc<Note>>,
        rules: Rules,
        before: Option<&Self>,
    ) -> Result<Self, LoreError> {
        let (volumes, bindings): (Vec<Volume>, Vec<Vec<Binding>>) = books.into_iter().unzip();
        for (at, volume) in volumes.iter().enumerate() {
            let id = &volume.book.id;
            if volumes[..at].iter().any(|other| other.book.id == *id) {
                return Err(LoreError::TwoBooks { id: id.to_string() });
            }
        }
        let source = LibrarySource { volumes, notes, rules };
        Ok(Self {
            library: source.compile_after(before.map(|before| &before.library)),
            vectors: LoreVectors::default(),
            finder: None,
            bindings,
            active_sets: Mutex::default(),
            caches: Default::default(),
            kept: AtomicBool::new(false),
            suspended: Mutex::default(),
            source,
        })
    }

    /// Prepares the entries that are found by meaning. Those that were embedded before are not
    /// embedded again.
    pub(crate) async fn prepare(
        &mut self,
        finder: Arc<EntryFinder>,
        before: &LoreVectors,
    ) -> Result<(), EmbedError> {
        self.vectors = self.vectors_with(&finder, Some(before)).await?;
        self.finder = Some(finder);
        Ok(())
    }

    /// The entries that are found by meaning, as this finder embeds them.
    pub(crate) async fn vectors_with(
        &self,
        finder: &EntryFinder,
        before: Option<&LoreVectors>,
    ) -> Result<LoreVectors, EmbedError> {
        let embedder = finder.embedder.as_ref();
        LoreVectors::of(&self.library, &self.source.rules, embedder, before).await
    }

    /// The entries that are found by meaning.
    pub(crate) fn vectors(&self) -> &LoreVectors {
        &self.vectors
    }

    /// What entries are found by meaning with.
    pub(crate) fn finder(&self) -> Option<&Arc<EntryFinder>> {
        self.finder.as_ref()
    }

    /// How long a turn waits for entries that are found by meaning; `None` if that is not
    /// waited for.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.finder.as_ref().and_then(|finder| finder.patience)
    }

    /// Whether entries are found by meaning.
    pub(crate) fn has_vectors(&self) -> bool {
        !self.vectors.is_empty()
    }

    /// The entries that are near in meaning to the newest messages.
    pub(crate) async fn near(&self, transcript: &Transcript) -> Result<Vec<Near>, EmbedError> {
        match &self.finder {
            Some(finder) if !self.vectors.is_empty() => {
                let embedder = finder.embedder.as_ref();
                self.vectors.near(&self.library, transcript, self.rules(), embedder).await
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// The books that are active for a cast.
    pub(crate) fn attachments(&self, cast: &Cast<'_>) -> Vec<Attachment> {
        let books = self.bindings.iter().enumerate();
        let attached = books.flat_map(|(book, bindings)| {
            let scopes = bindings.iter().filter_map(|binding| binding.scope(cast));
            scopes.map(move |scope| Attachment { book, scope })
        });
        attached.collect()
    }

    /// The entries that take part for a cast.
    pub(crate) fn active_entries(&self, cast: &Cast<'_>) -> Arc<ActiveEntries> {
        let attachments = self.attachments(cast);
        let mut active_sets = lock(&self.active_sets);
        if let Some(active) = active_sets.get(&attachments) {
            return Arc::clone(active);
        }
        if active_sets.len() >= MOST_ROSTERS {
            active_sets.clear();
        }
        let strategy = self.rules().world_info.strategy;
        let active = Arc::new(ActiveEntries::new(&self.library, &attachments, strategy));
        active_sets.insert(attachments, Arc::clone(&active));
        active
    }

    /// The books, notes and rules it was compiled from.
    pub(crate) fn library_source(&self) -> &LibrarySource {
        &self.source
    }

    /// The books in order, each with what it is attached to.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = (&Volume, &[Binding])> {
        self.source.volumes.iter().zip(self.bindings.iter().map(Vec::as_slice))
    }

    /// What a book is attached to.
    pub(crate) fn bindings_of(&self, id: &BookId) -> Vec<Binding> {
        let found = self.volumes().find(|(volume, _)| volume.book.id == *id);
        found.map(|(_, bindings)| bindings.to_vec()).unwrap_or_default()
    }

    /// The compiled books.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Makes sure that a store has the books and rules, so that a turn that was decided with
    /// them can be decided again.
    pub(crate) async fn keep(
        &self,
        store: &dyn StoryStore,
        tenant: &TenantId,
    ) -> Result<(), StoreError> {
        if self.kept.load(Ordering::Relaxed) {
            return Ok(());
        }
        store.keep_library(tenant, self.library.version(), &self.source).await?;
        self.kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The books and rules, if no store has them yet.
    pub(crate) fn unkept(&self) -> Option<LibrarySource> {
        (!self.kept.load(Ordering::Relaxed)).then(|| self.source.clone())
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.source.rules
    }

    /// The messages of a path as they are scanned; vaults scan them in their own way. `known` is
    /// a transcript and how many of the path's first messages it has right.
    pub(crate) fn transcript(&self, path: &Path, known: Option<(Transcript, usize)>) -> Transcript {
        let none = Transcript::new(self.rules().world_info.include_names);
        let none = if self.library.vault().is_some() { none.for_vaults() } else { none };
        let known = known.filter(|(known, _)| known.is_like(&none));
        let (mut transcript, right) = known.unwrap_or((none, 0));
        transcript.retell(path, right);
        transcript
    }

    /// Decides a turn.
    pub fn weave(
        &self,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> Decision {
        let active = self.active_entries(&turn.cast());
        let input = self.input(&active, turn, state);
        self.with(turn, counter, |instruments| engine::decide(&input, instruments))
    }

    fn input<'a>(
        &'a self,
        active: &'a ActiveEntries,
        turn: &'a Turn<'a>,
        state: &'a StoryState,
    ) -> EngineInput<'a> {
        EngineInput { library: &self.library, active, turn, state, rules: self.rules() }
    }

    /// Decides a turn with a cache of its own, which `prepare` sees first.
    pub fn weave_watched(
        &self,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
        prepare: impl FnOnce(&mut TurnCache),
    ) -> Decision {
        let active = self.active_entries(&turn.cast());
        let mut dice = turn.dice();
        let mut cache = TurnCache::default();
        prepare(&mut cache);
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        engine::decide(&self.input(&active, turn, state), &mut instruments)
    }

    /// The keys that are suspended.
    pub(crate) fn suspended_keys(&self) -> Vec<String> {
        lock(&self.suspended).clone()
    }

    /// Suspends the keys that were too slow in a turn.
    pub(crate) fn suspend_slow_keys(&self, warnings: &[Warning]) {
        for warning in warnings {
            let Warning::KeyTooSlow { key, cost: KeyCost::TooManySteps, entry } = warning else {
                continue;
            };
            let mut suspended = lock(&self.suspended);
            if !suspended.contains(key) {
                tracing::warn!(%key, %entry, "a key is suspended: it takes too many steps");
                suspended.push(key.clone());
                suspended.sort_unstable();
            }
        }
    }

    /// The first step of a turn, before a selecting model is asked.
    pub(crate) fn prepare_turn(
        &self,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> PreparedTurn {
        if self.library.vault().is_none() {
            return PreparedTurn::default();
        }
        let active = self.active_entries(&turn.cast());
        let input = self.input(&active, turn, state);
        self.with(turn, counter, |instruments| engine::prepare(&input, instruments))
    }

    /// The second step of a turn: decides it.
    pub(crate) fn finish_turn(
        &self,
        prepared: PreparedTurn,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> Decision {
        let active = self.active_entries(&turn.cast());
        let input = self.input(&active, turn, state);
        self.with(turn, counter, |instruments| engine::finish(prepared, &input, instruments))
    }

    /// The verdicts of all entries for a turn that was decided.
    pub fn verdicts(
        &self,
        woven: &Decision,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> Vec<Verdict> {
        let active = self.active_entries(&turn.cast());
        let input = self.input(&active, turn, state);
        self.with(turn, counter, |instruments| engine::verdicts(&woven.report, &input, instruments))
    }

    /// Changes that would have made an entry fire, the smallest first.
    pub fn fixes(
        &self,
        entry: &EntryId,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> Vec<FixCandidate> {
        let case = Case {
            library: &self.library,
            active: &self.active_entries(&turn.cast()),
            turn,
            state,
            rules: self.rules(),
            counter,
            dice: &turn.dice(),
        };
        candidates(&case, entry)
    }

    fn with<R>(
        &self,
        turn: &Turn<'_>,
        counter: &dyn TokenCounter,
        decide: impl FnOnce(&mut Instruments<'_>) -> R,
    ) -> R {
        let mut dice = turn.dice();
        let mut hasher = FxHasher::default();
        turn.chat.as_str().hash(&mut hasher);
        let own = usize::try_from(hasher.finish() % CACHES as u64).unwrap_or_default();
        // A turn that takes long must hold up no other: that one looks for itself.
        let mut spare = TurnCache::default();
        let mut kept = match self.caches[own].try_lock() {
            Ok(cache) => Some(cache),
            // A panic while scanning leaves the cache usable: it only ever gains whole entries.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let cache = kept.as_deref_mut().unwrap_or(&mut spare);
        decide(&mut Instruments { counter, dice: &mut dice, cache })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
