//! The books the server weaves from, compiled.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use loreloom_core::{
    book::Book,
    dice::TurnDice,
    explain::{Case, Fix, explain},
    ids::{EntryId, TenantId},
    library::{Attachment, Library, Roster, Scope},
    report::Verdict,
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::{Instruments, Turn, TurnCache},
    weave::{self, Woven},
};
use loreloom_memory::ports::{StoreError, StoredLibrary, StoryStore};

/// Books, rules and what is remembered of texts already scanned.
pub struct Lore {
    library: Library,
    roster: Roster,
    rules: Rules,
    cache: Mutex<TurnCache>,
    /// Whether the store has these books and rules.
    kept: AtomicBool,
}

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
    /// Compiles books that are active in every chat.
    pub fn new(books: Vec<Arc<Book>>, rules: Rules) -> Result<Self, LoreError> {
        Self::attached(books.into_iter().map(|book| (book, Scope::Global)).collect(), rules)
    }

    /// Compiles books with why each is active.
    pub fn attached(books: Vec<(Arc<Book>, Scope)>, rules: Rules) -> Result<Self, LoreError> {
        let (books, scopes): (Vec<Arc<Book>>, Vec<Scope>) = books.into_iter().unzip();
        for (at, book) in books.iter().enumerate() {
            if books[..at].iter().any(|other| other.id == book.id) {
                return Err(LoreError::TwoBooks { id: book.id.to_string() });
            }
        }
        let library = Library::under(books, &rules);
        let attachments = scopes.into_iter().enumerate();
        let attachments: Vec<Attachment> =
            attachments.map(|(book, scope)| Attachment { book, scope }).collect();
        let roster = Roster::new(&library, &attachments, rules.world_info.strategy);
        Ok(Self { library, roster, rules, cache: Mutex::default(), kept: AtomicBool::new(false) })
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
        let (books, rules) = (self.library.books().to_vec(), self.rules.clone());
        let library = StoredLibrary { books, rules };
        store.keep_library(tenant, self.library.version(), &library).await?;
        self.kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Decides a turn.
    pub fn weave(&self, turn: &Turn<'_>, state: &StoryState, counter: &dyn TokenCounter) -> Woven {
        self.with(turn, counter, |instruments| {
            weave::weave(&self.library, &self.roster, turn, state, &self.rules, instruments)
        })
    }

    /// The verdicts of all entries for a turn that was decided.
    pub fn verdicts(
        &self,
        woven: &Woven,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> Vec<Verdict> {
        self.with(turn, counter, |instruments| {
            let (library, roster) = (&self.library, &self.roster);
            weave::verdicts(&woven.report, library, roster, turn, state, &self.rules, instruments)
        })
    }

    /// The smallest change that would have made an entry fire.
    pub fn explain(
        &self,
        entry: &EntryId,
        turn: &Turn<'_>,
        state: &StoryState,
        counter: &dyn TokenCounter,
    ) -> Option<Fix> {
        let case = Case {
            library: &self.library,
            roster: &self.roster,
            turn,
            state,
            rules: &self.rules,
            counter,
            dice: &TurnDice::at(turn.seed, turn.chat, turn.answers),
        };
        explain(&case, entry)
    }

    fn with<R>(
        &self,
        turn: &Turn<'_>,
        counter: &dyn TokenCounter,
        decide: impl FnOnce(&mut Instruments<'_>) -> R,
    ) -> R {
        let mut dice = TurnDice::at(turn.seed, turn.chat, turn.answers);
        // A panic while scanning leaves the cache usable: it only ever gains whole entries.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        decide(&mut Instruments { counter, dice: &mut dice, cache: &mut cache })
    }
}
