//! Past turns as they are asked about: decided again, with what became of every entry.
//!
//! Deciding a turn again costs what the turn cost, and compiling the books of its day costs
//! more, so the last few are kept: a reader of a turn asks about it several times.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::past::again::{Again, Difference, explained, fixes};
use loreloom_core::{
    explain::{Fix, FixCandidate},
    ids::{ChatId, EntryId, LibraryVersion, TenantId},
    library::Library,
    report::{Report, Verdict},
    rules::Rules,
};
use loreloom_ports::{
    Store, StoreError, TurnId, TurnSummary,
    history::travel::{Revisited, revisit},
};

use crate::{
    connection_service::ConnectionService, lore::Lore, lore_service::LoreService, turn::Turns,
};

/// How many turns and books of other days are kept.
const KEPT: usize = 3;

/// Books with the rules of their day.
type Compiled = Arc<(Library, Rules)>;

/// The books of a turn's day.
#[derive(Clone)]
pub(crate) enum BooksOfTurn {
    /// Those of today.
    Now(Arc<Lore>),
    /// Older ones.
    Then(Compiled),
}

impl BooksOfTurn {
    pub(crate) fn library(&self) -> &Library {
        match self {
            Self::Now(lore) => lore.library(),
            Self::Then(then) => &then.0,
        }
    }

    pub(crate) fn rules(&self) -> &Rules {
        match self {
            Self::Now(lore) => lore.rules(),
            Self::Then(then) => &then.1,
        }
    }
}

/// A turn that was gone back to.
pub(crate) struct LookedAt {
    /// Its line in the list of turns.
    pub(crate) summary: TurnSummary,
    /// The turn and what it was decided from.
    pub(crate) past: Revisited,
    /// The books of its day, where they were kept.
    pub(crate) books: Option<BooksOfTurn>,
    /// The turn decided again, where that was possible.
    pub(crate) again: Option<Again>,
}

/// The turns and books that were looked at last.
#[derive(Default)]
struct LookingBack {
    turns: Mutex<Vec<(TenantId, ChatId, Arc<LookedAt>)>>,
    books: Mutex<Vec<(LibraryVersion, Compiled)>>,
}

impl LookedAt {
    /// The report: as stored, or for a turn that gave it up, as decided again.
    pub(crate) fn report(&self) -> &Report {
        match &self.again {
            Some(again) if self.summary.trimmed => &again.woven.report,
            Some(_) | None => &self.past.record.report,
        }
    }

    /// The verdicts of all entries; of those alone that something touched if the turn could
    /// not be decided again.
    pub(crate) fn verdicts(&self) -> &[Verdict] {
        self.again.as_ref().map_or(&self.past.record.report.verdicts, |again| &again.verdicts)
    }

    /// What deciding again gave otherwise than it was stored; `None` if it was not possible.
    pub(crate) fn differences(&self) -> Option<Vec<Difference>> {
        let again = self.again.as_ref()?;
        Some(again.differences(&self.past.record, self.summary.trimmed))
    }

    /// What people call an entry.
    pub(crate) fn title(&self, id: &EntryId) -> String {
        let now = self.books.as_ref().and_then(|books| books.library().title(id));
        let stored = || {
            let verdicts = self.past.record.report.verdicts.iter();
            verdicts.filter(|one| one.entry == *id).map(|one| one.title.as_str()).next()
        };
        now.or_else(stored).unwrap_or(id.as_str()).to_owned()
    }
}

/// Past turns of a tenant.
pub(crate) struct PastTurns {
    store: Arc<dyn Store>,
    lore: Arc<LoreService>,
    connections: Arc<ConnectionService>,
    looked: LookingBack,
}

impl PastTurns {
    /// The past turns of a tenant.
    pub(crate) fn new(turns: &Turns) -> Self {
        Self {
            store: Arc::clone(&turns.store),
            lore: Arc::clone(&turns.lore),
            connections: Arc::clone(&turns.connections),
            looked: LookingBack::default(),
        }
    }

    /// Goes back to a turn.
    pub(crate) async fn look_at(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Arc<LookedAt>, StoreError> {
        let missing = || StoreError::NoTurn { chat: chat.clone(), turn };
        if self.store.chat(tenant, chat).await?.is_none() {
            return Err(StoreError::NoChat { chat: chat.clone() });
        }
        let turns = self.store.turns(tenant, chat).await?;
        let summary = turns.into_iter().find(|one| one.id == turn).ok_or_else(missing)?;
        if let Some(known) = self.known_turn(tenant, chat, &summary) {
            return Ok(known);
        }
        let past = revisit(self.store.as_ref(), tenant, chat, turn).await?;
        let books = self.books_of(tenant, past.record.library).await?;
        let counter = self.connections.counter_of(past.record.input.as_deref());
        let working = tokio::task::spawn_blocking(move || {
            let input = past.record.input.as_deref();
            let again = input.zip(books.as_ref()).and_then(|(input, books)| {
                let (library, rules) = (books.library(), books.rules());
                let again = Again::decide(&past, input, library, rules, counter.as_ref());
                again.inspect_err(|error| tracing::warn!(%error, "not decided again")).ok()
            });
            LookedAt { summary, past, books, again }
        });
        let looked = working.await.map_err(|error| StoreError::Damaged {
            what: format!("turn {} of chat `{chat}`", turn.0),
            reason: error.to_string(),
        })?;
        let looked = Arc::new(looked);
        let mut turns = lock(&self.looked.turns);
        turns.insert(0, (tenant.clone(), chat.clone(), Arc::clone(&looked)));
        turns.truncate(KEPT);
        Ok(looked)
    }

    fn known_turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        summary: &TurnSummary,
    ) -> Option<Arc<LookedAt>> {
        let turns = lock(&self.looked.turns);
        let is_it = |(whose, of, looked): &&(TenantId, ChatId, Arc<LookedAt>)| {
            whose == tenant && of == chat && looked.summary == *summary
        };
        turns.iter().find(is_it).map(|(_, _, looked)| Arc::clone(looked))
    }

    /// The books of that version.
    async fn books_of(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<BooksOfTurn>, StoreError> {
        let lore = self.lore.current();
        if lore.library().version() == version {
            return Ok(Some(BooksOfTurn::Now(lore)));
        }
        let known = lock(&self.looked.books)
            .iter()
            .find(|(of, _)| *of == version)
            .map(|(_, books)| Arc::clone(books));
        if let Some(known) = known {
            return Ok(Some(BooksOfTurn::Then(known)));
        }
        let Some(source) = self.store.library(tenant, version).await? else { return Ok(None) };
        let working =
            tokio::task::spawn_blocking(move || Arc::new((source.compile(), source.rules)));
        let compiled = working.await.map_err(|error| StoreError::Damaged {
            what: format!("the books of version {version}"),
            reason: error.to_string(),
        })?;
        let mut books = lock(&self.looked.books);
        books.insert(0, (version, Arc::clone(&compiled)));
        books.truncate(KEPT);
        Ok(Some(BooksOfTurn::Then(compiled)))
    }

    /// The smallest change that would have made an entry fire at a turn.
    pub(crate) async fn explain(&self, looked: Arc<LookedAt>, entry: EntryId) -> Option<Fix> {
        let counter = self.connections.counter_of(looked.past.record.input.as_deref());
        let working = tokio::task::spawn_blocking(move || {
            let input = looked.past.record.input.as_deref()?;
            let books = looked.books.as_ref()?;
            let books = (books.library(), books.rules());
            explained(&looked.past, input, books, counter.as_ref(), &entry)
        });
        working.await.ok().flatten()
    }

    /// Several changes that would have made an entry fire at a turn, the smallest first.
    pub(crate) async fn fixes(&self, looked: Arc<LookedAt>, entry: EntryId) -> Vec<FixCandidate> {
        let counter = self.connections.counter_of(looked.past.record.input.as_deref());
        let working = tokio::task::spawn_blocking(move || {
            let input = looked.past.record.input.as_deref()?;
            let books = looked.books.as_ref()?;
            let books = (books.library(), books.rules());
            Some(fixes(&looked.past, input, books, counter.as_ref(), &entry))
        });
        working.await.ok().flatten().unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
