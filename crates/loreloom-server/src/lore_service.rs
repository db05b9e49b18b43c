//! The lore that turns are decided with, kept in step with the bookcase and the vaults.
//!
//! A compiled [`Lore`] never changes: a turn keeps the one it began with, and the
//! next turn gets the newer one.

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use crate::lore_vectors::LoreVectors;
use loreloom_core::{
    book::Book,
    dialects::vault::{FieldDefinition, Note},
    ids::{BookId, BookVersion, TenantId},
    library::{Binding, Volume},
    place::Provenance,
    report::Warning,
};
use loreloom_ports::{DocumentStore, EmbedError, Embedder, StoreError};
use loreloom_settings::{SettingError, StartSettings};
use rustc_hash::FxHashMap;
use tokio::sync::{Mutex, watch};

use crate::{
    lore::{Lore, LoreError},
    stored_books::{Contents, StoredBooks},
    vaults::VaultKeeper,
};

/// Books, notes and rules, and the lore compiled from them.
pub struct LoreService {
    /// Books from the command line; they come before stored books.
    mounted: Vec<(Volume, Vec<Binding>)>,
    /// The settings of the start, which have the rules. Stored settings override them.
    started: StartSettings,
    /// What entries are found by meaning with, where nothing else was chosen.
    own: Option<Arc<EntryFinder>>,
    /// What they are to be found with now; all tenants find alike.
    finder: Arc<RwLock<Option<Arc<EntryFinder>>>>,
    lore: RwLock<Arc<Lore>>,
    vaults: OnceLock<Arc<dyn VaultKeeper>>,
    changing: Mutex<LoreInputs>,
    turns: watch::Sender<u64>,
}

/// What entries are found by meaning with.
pub(crate) struct EntryFinder {
    pub(crate) embedder: Arc<dyn Embedder>,
    /// How long a turn waits for it; `None` for one that is never waited for.
    pub(crate) patience: Option<Duration>,
}

/// What the lore was compiled from, besides what never changes.
#[derive(Default)]
struct LoreInputs {
    contents: Contents,
    books: FxHashMap<BookVersion, Arc<Book>>,
    notes: Vec<Arc<Note>>,
    /// The fields that vaults define; the rules' own where none was said.
    fields: Option<Vec<FieldDefinition>>,
}

/// Why the lore could not be brought up to date; the one before stays.
#[derive(Debug, thiserror::Error)]
pub enum LoreServiceError {
    /// The books cannot be used together.
    #[error(transparent)]
    Lore(#[from] LoreError),
    /// The bookcase cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingError),
    /// Entries that are found by meaning cannot be prepared.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

impl LoreService {
    /// Books that were named at start, with what they are attached to, and the settings of the
    /// start. With an embedder, entries are found by meaning too.
    pub fn new(
        mounted: impl IntoIterator<Item = (Volume, Vec<Binding>)>,
        settings: impl Into<StartSettings>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, LoreError> {
        let started = settings.into();
        let mounted: Vec<(Volume, Vec<Binding>)> = mounted.into_iter().collect();
        let lore = Lore::new(mounted.iter().cloned(), started.settings.rules())?;
        let lore = RwLock::new(Arc::new(lore));
        let turns = watch::Sender::new(0);
        let own = embedder.map(|embedder| Arc::new(EntryFinder { embedder, patience: None }));
        let finder = Arc::new(RwLock::new(own.clone()));
        let (changing, vaults) = (Mutex::default(), OnceLock::new());
        Ok(Self { mounted, started, own, finder, lore, vaults, changing, turns })
    }

    /// The same with an embedder that is asked over the network: a turn waits so long for it,
    /// then it goes on without. The wait is not held against the turn's deadline.
    #[must_use]
    pub fn waiting(self, patience: Duration) -> Self {
        let own = self.own.map(|own| {
            let embedder = Arc::clone(&own.embedder);
            Arc::new(EntryFinder { embedder, patience: Some(patience) })
        });
        Self { finder: Arc::new(RwLock::new(own.clone())), own, ..self }
    }

    /// Says who opens vaults while the server runs. To be called once.
    pub fn keep_vaults(&self, keeper: Arc<dyn VaultKeeper>) {
        // A second keeper is a mistake of the host, and the first goes on.
        let _known = self.vaults.set(keeper);
    }

    /// Who opens vaults while the server runs.
    pub(crate) fn vault_keeper(&self) -> Option<&Arc<dyn VaultKeeper>> {
        self.vaults.get()
    }

    /// The same service for another tenant: the same rules, none of the books.
    pub(crate) fn for_another(&self) -> Result<Self, LoreError> {
        let stacks = Self::new([], self.started.clone(), None)?;
        Ok(Self { own: self.own.clone(), finder: Arc::clone(&self.finder), ..stacks })
    }

    /// The lore as it is now.
    pub fn current(&self) -> Arc<Lore> {
        Arc::clone(&self.lore.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings of the start.
    pub(crate) fn started(&self) -> &StartSettings {
        &self.started
    }

    /// Begins a turn: followers are notified, and notes of vaults that are old are read first
    /// if that does not take long. Returns warnings about those that stay old.
    pub(crate) async fn begin_turn(&self) -> Vec<Warning> {
        let count = || self.turns.send_modify(|turns| *turns += 1);
        let next = self.turns.borrow().saturating_add(1);
        if let Some(keeper) = self.vault_keeper() {
            return keeper.begin_turn(next, &count).await;
        }
        count();
        Vec::new()
    }

    /// How many turns were decided, as it grows.
    pub fn turns(&self) -> watch::Receiver<u64> {
        self.turns.subscribe()
    }

    /// Whether a book was named at start.
    pub(crate) fn is_mounted(&self, book: &BookId) -> bool {
        self.mounted.iter().any(|(volume, _)| volume.book.id == *book)
    }

    /// What entries are to be found by meaning with.
    fn finder(&self) -> Option<Arc<EntryFinder>> {
        self.finder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finds entries with another embedder from now on, for all tenants.
    pub(crate) async fn find_with(&self, finder: EntryFinder) -> Result<(), LoreServiceError> {
        self.exchange(Some(Arc::new(finder))).await
    }

    /// Finds entries with what the server was started with.
    pub(crate) async fn find_with_own(&self) -> Result<(), LoreServiceError> {
        self.exchange(self.own.clone()).await
    }

    /// All lore is embedded first, while turns and changes of books go on.
    async fn exchange(&self, finder: Option<Arc<EntryFinder>>) -> Result<(), LoreServiceError> {
        let made = match &finder {
            Some(finder) => self.current().vectors_with(finder, None).await?,
            None => LoreVectors::default(),
        };
        let sources = self.changing.lock().await;
        *self.finder.write().unwrap_or_else(PoisonError::into_inner) = finder;
        self.compile_after(&sources, &made).await
    }

    /// Takes up what others exchanged. Whether entries are found with it already is asked of
    /// the lore.
    pub(crate) async fn find_alike(&self) -> Result<(), LoreServiceError> {
        let is_same = |ours: Option<&Arc<EntryFinder>>, theirs: Option<&Arc<EntryFinder>>| match (
            ours, theirs,
        ) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let wanted = self.finder();
        if is_same(self.current().finder(), wanted.as_ref()) {
            return Ok(());
        }
        let sources = self.changing.lock().await;
        self.compile(&sources).await
    }

    /// Prepares what needs the embedder. To be called once before the first turn.
    pub async fn prepare(&self) -> Result<(), LoreServiceError> {
        let sources = self.changing.lock().await;
        self.compile(&sources).await
    }

    /// Takes up what changed in the bookcase. Returns whether something did.
    pub async fn refresh(
        &self,
        documents: &dyn DocumentStore,
        tenant: &TenantId,
    ) -> Result<bool, LoreServiceError> {
        let mut sources = self.changing.lock().await;
        if documents.revision(tenant).await? == sources.contents.revision {
            return Ok(false);
        }
        let case = StoredBooks { documents, tenant };
        let contents = case.contents().await?;
        let mut books = FxHashMap::default();
        for standing in &contents.books {
            let version = standing.shelved.version;
            let book = match sources.books.get(&version) {
                Some(known) => Arc::clone(known),
                None => Arc::new(case.book(standing).await?),
            };
            books.insert(version, book);
        }
        sources.contents = contents;
        sources.books = books;
        self.compile(&sources).await?;
        Ok(true)
    }

    /// Takes up the notes of all vaults as they are now, and the fields that they define.
    pub async fn set_vaults(
        &self,
        notes: Vec<Arc<Note>>,
        fields: Vec<FieldDefinition>,
    ) -> Result<(), LoreServiceError> {
        let mut sources = self.changing.lock().await;
        sources.notes = notes;
        sources.fields = Some(fields);
        self.compile(&sources).await
    }

    /// Takes up the notes of all vaults as they are now.
    pub async fn set_notes(&self, notes: Vec<Arc<Note>>) -> Result<(), LoreServiceError> {
        let mut sources = self.changing.lock().await;
        sources.notes = notes;
        self.compile(&sources).await
    }

    async fn compile(&self, sources: &LoreInputs) -> Result<(), LoreServiceError> {
        let before = self.current();
        self.compile_after(sources, before.vectors()).await
    }

    async fn compile_after(
        &self,
        sources: &LoreInputs,
        vectors: &LoreVectors,
    ) -> Result<(), LoreServiceError> {
        let mut books = self.mounted.clone();
        for standing in &sources.contents.books {
            if books.iter().any(|(volume, _)| volume.book.id == standing.id) {
                tracing::warn!(book = %standing.id, "a book of this id was named at start");
                continue;
            }
            if let Some(book) = sources.books.get(&standing.shelved.version) {
                let volume = standing.volume(Arc::clone(book));
                books.push((volume, standing.shelved.bindings.clone()));
            }
        }
        let mut rules = self.started.with(&sources.contents.settings)?.rules();
        if let Some(fields) = &sources.fields {
            rules.vault.fields.clone_from(fields);
        }
        let before = self.current();
        let mut lore = Lore::compile(books, sources.notes.clone(), rules, Some(&before))?;
        if let Some(finder) = self.finder() {
            lore.prepare(finder, vectors).await?;
        }
        *self.lore.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(lore);
        Ok(())
    }
}

impl LoreService {
    /// The title of a source of text.
    pub(crate) fn source_title(&self, source: &Provenance) -> String {
        match source {
            Provenance::Lore { entry, .. } => {
                let lore = self.current();
                lore.library().title(entry).unwrap_or(entry.as_str()).to_owned()
            }
            Provenance::AuthorsNote => "authors_note".to_owned(),
            Provenance::Memory(slot) => slot.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        book::Entry,
        chat::{Message, Role},
        rules::Rules,
        turn::Transcript,
        units::Timestamp,
    };
    use loreloom_store::SqliteStore;

    use super::*;
    use crate::stored_books::Maker;

    fn book(id: &str) -> (Volume, Vec<Binding>) {
        let mut book = Book::new(id, id);
        book.entries.push(Entry::new(format!("{id}/0")));
        (Volume::world_info(Arc::new(book)), vec![Binding::Everywhere])
    }

    fn ids(service: &LoreService) -> Vec<String> {
        service.current().library().books().iter().map(|book| book.id.to_string()).collect()
    }

    #[tokio::test]
    async fn the_bookcase_is_taken_up_and_a_turn_keeps_the_lore_it_began_with() {
        let (documents, tenant) = (SqliteStore::in_memory().unwrap(), TenantId::local());
        let service = LoreService::new([book("named")], Rules::default(), None).unwrap();
        assert!(!service.refresh(&documents, &tenant).await.unwrap());
        let begun = service.current();
        let case = StoredBooks { documents: &documents, tenant: &tenant };
        let both = vec![book("kept"), book("named")];
        let revision = case.put(both, Maker::Hand, None, Timestamp(1)).await.unwrap();
        assert!(service.refresh(&documents, &tenant).await.unwrap());
        assert_eq!(ids(&service), ["named", "kept"], "a named book stands before its namesake");
        assert_eq!(begun.library().books().len(), 1);
        documents.undo(&tenant, revision, Timestamp(2)).await.unwrap();
        assert!(service.refresh(&documents, &tenant).await.unwrap());
        assert_eq!(ids(&service), ["named"]);
    }

    #[tokio::test]
    async fn notes_come_and_go() {
        let service = LoreService::new([], Rules::default(), None).unwrap();
        let note = Note::new("", "Bell.md", "Bell");
        service.set_notes(vec![Arc::new(note)]).await.unwrap();
        assert_eq!(
            service.current().library().vault().map(loreloom_core::dialects::vault::Vault::len),
            Some(1)
        );
        service.set_notes(Vec::new()).await.unwrap();
        assert!(service.current().library().vault().is_none());
    }

    /// Writes down what it is asked.
    struct Listening(&'static str, std::sync::Mutex<Vec<String>>);

    #[async_trait::async_trait]
    impl Embedder for Listening {
        fn model(&self) -> &str {
            self.0
        }

        fn dimensions(&self) -> usize {
            1
        }

        async fn embed(&self, texts: &[&str]) -> Result<Vec<loreloom_ports::Vector>, EmbedError> {
            let mut heard = self.1.lock().unwrap();
            heard.extend(texts.iter().map(|text| (*text).to_owned()));
            Ok(texts.iter().map(|_| vec![1.0]).collect())
        }
    }

    fn meant(id: &str) -> (Volume, Vec<Binding>) {
        let mut book = Book::new(id, id);
        let mut entry = Entry::new(format!("{id}/0"));
        entry.activation.vectorized = true;
        entry.content = format!("about {id}");
        book.entries.push(entry);
        (Volume::world_info(Arc::new(book)), vec![Binding::Everywhere])
    }

    #[tokio::test]
    async fn an_exchanged_embedder_embeds_all_lore_once_and_other_tenants_follow() {
        let heard = |one: &Arc<Listening>| std::mem::take(&mut *one.1.lock().unwrap());
        let make = |name| Arc::new(Listening(name, std::sync::Mutex::default()));
        let (first, second) = (make("first"), make("second"));
        let own: Arc<dyn Embedder> = first.clone();
        let service = LoreService::new([meant("bells")], Rules::default(), Some(own)).unwrap();
        service.prepare().await.unwrap();
        assert_eq!(heard(&first), ["about bells"]);
        let guest = service.for_another().unwrap();
        let (documents, tenant) = (SqliteStore::in_memory().unwrap(), TenantId::from("guest"));
        let case = StoredBooks { documents: &documents, tenant: &tenant };
        case.put(vec![meant("boats")], Maker::Hand, None, Timestamp(1)).await.unwrap();
        guest.refresh(&documents, &tenant).await.unwrap();
        assert_eq!(heard(&first), ["about boats"]);

        let begun = service.current();
        let embedder: Arc<dyn Embedder> = second.clone();
        service.find_with(EntryFinder { embedder, patience: None }).await.unwrap();
        assert_eq!(heard(&second), ["about bells"]);
        let mut said = Transcript::default();
        said.add(&Message::new(Role::User, None::<&str>, "bells?"));
        begun.near(&said).await.unwrap();
        assert_eq!(heard(&first).len(), 1, "a turn that began before compares what it can");
        service.current().near(&said).await.unwrap();
        assert_eq!((heard(&first).len(), heard(&second).len()), (0, 1));

        for _ in 0..2 {
            guest.find_alike().await.unwrap();
        }
        assert_eq!(heard(&second), ["about boats"], "once");
        service.find_with_own().await.unwrap();
        guest.find_alike().await.unwrap();
        assert_eq!(heard(&first), ["about bells", "about boats"]);
    }
}
