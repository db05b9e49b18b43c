//! Which entries take part in a turn, and in which order they are evaluated.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Dialect, EntryIx, Library};
use crate::{
    dialects::worldinfo::Strategy, engine::texts::Furthest, number::whole, sort::stable_by,
};

/// Why a book is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For all chats.
    Global,
    /// With the character.
    Character,
    /// With a character, while nobody is known to speak.
    UnknownSpeaker,
    /// With this chat.
    Chat,
    /// With the persona.
    Persona,
}

/// A book that is active this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attachment {
    /// The book's place in the library.
    pub book: usize,
    /// Why it is active.
    pub scope: Scope,
}

/// The entries of a turn in order of evaluation. Depends only on the library and the
/// attachments, so it is made once for many turns.
#[derive(Debug)]
pub struct ActiveEntries {
    attachments: Vec<Attachment>,
    strategy: Strategy,
    /// By rank. An entry of a book that is attached twice is here twice.
    order: Vec<EntryIx>,
    ranks: Ranks,
    /// Ranks to look at whatever the text says.
    always: Vec<u32>,
    /// Distinct recursion levels that entries wait for, ascending.
    levels: Vec<u32>,
    /// Entries by fingerprint.
    timed: FxHashMap<u64, EntryIx>,
    /// The furthest any entry of World Info scans that says so itself.
    furthest: Furthest,
    cards: ActiveCardEntries,
}

/// The ranks of entries.
#[derive(Debug, Default)]
struct Ranks {
    /// By entry; [`NO_RANK`] if it takes no part. Dense, because every hit asks.
    first: Vec<u32>,
    /// Further ranks of entries whose book is attached more than once.
    again: FxHashMap<EntryIx, Vec<u32>>,
}

const NO_RANK: u32 = u32::MAX;

impl Ranks {
    fn add(&mut self, ix: EntryIx, rank: u32) {
        match &mut self.first[ix.0 as usize] {
            first if *first == NO_RANK => *first = rank,
            _ => self.again.entry(ix).or_default().push(rank),
        }
    }

    fn of(&self, ix: EntryIx) -> impl Iterator<Item = u32> {
        let first = self.first.get(ix.0 as usize).copied().filter(|rank| *rank != NO_RANK);
        let again = if self.again.is_empty() { None } else { self.again.get(&ix) };
        first.into_iter().chain(again.into_iter().flatten().copied())
    }
}

/// The entries of card books that take part, in file order.
#[derive(Debug, Default)]
pub(crate) struct ActiveCardEntries {
    pub(crate) order: Vec<EntryIx>,
    /// One for each dialect, in the order of their first books.
    pub(crate) pools: Vec<CardPool>,
}

/// The books of one dialect: they are scanned together, with one budget.
#[derive(Debug)]
pub(crate) struct CardPool {
    pub(crate) dialect: Dialect,
    /// The attached books, those without entries too.
    pub(crate) books: Vec<usize>,
    /// Ranks to look at whatever the text says.
    pub(crate) always: Vec<u32>,
    /// The furthest any entry scans, in chats and in prompts of text.
    furthest: [Furthest; 2],
}

impl CardPool {
    /// The furthest any entry scans.
    pub(crate) fn furthest(&self, text: bool) -> Furthest {
        self.furthest[usize::from(text)]
    }
}

impl ActiveEntries {
    /// The entries of all books, each as a global one.
    pub fn all(library: &Library, strategy: Strategy) -> Self {
        let attachments: Vec<Attachment> = (0..library.books().len())
            .map(|book| Attachment { book, scope: Scope::Global })
            .collect();
        Self::new(library, &attachments, strategy)
    }

    /// The entries of these attachments, in order of selection.
    ///
    /// A book that is global is not taken again for chat, persona and character; a chat's
    /// book not for persona and character; a persona's not for the character.
    pub fn new(library: &Library, attachments: &[Attachment], strategy: Strategy) -> Self {
        let books = |scope: Scope| {
            let unknown = scope == Scope::Character;
            let is_here = move |one: Scope| one == scope || unknown && one == Scope::UnknownSpeaker;
            let here = attachments.iter().filter(move |one| is_here(one.scope));
            here.map(|one| one.book).filter(|&book| !library.dialect(book).is_cards())
        };
        let global: Vec<usize> = books(Scope::Global).collect();
        let chat = once(books(Scope::Chat), &[&global]);
        let persona = once(books(Scope::Persona), &[&global, &chat]);
        let character = once(books(Scope::Character), &[&global, &chat, &persona]);

        let sorted = |books: &[usize]| {
            let mut entries: Vec<EntryIx> =
                books.iter().flat_map(|&book| library.entries_of(book)).collect();
            sort_by_order(library, &mut entries);
            entries
        };
        let mut order = sorted(&chat);
        order.extend(sorted(&persona));
        match strategy {
            Strategy::Evenly => order.extend(sorted(&[global, character].concat())),
            Strategy::CharacterFirst => {
                order.extend(sorted(&character));
                order.extend(sorted(&global));
            }
            Strategy::GlobalFirst => {
                order.extend(sorted(&global));
                order.extend(sorted(&character));
            }
        }
        let cards = attachments.iter().map(|one| one.book);
        let cards = cards.filter(|&book| library.dialect(book).is_cards());
        let active = Self::of(library, order, once(cards, &[]));
        Self { attachments: attachments.to_vec(), strategy, ..active }
    }

    /// The attachments whose entries these are.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// The entries of the same attachments in another version of the library.
    #[must_use]
    pub fn over(&self, library: &Library) -> Self {
        Self::new(library, &self.attachments, self.strategy)
    }

    fn of(library: &Library, order: Vec<EntryIx>, card_books: Vec<usize>) -> Self {
        let mut ranks = Ranks { first: vec![NO_RANK; library.len()], ..Ranks::default() };
        let mut active = Self {
            attachments: Vec::new(),
            strategy: Strategy::default(),
            ranks: Ranks::default(),
            always: Vec::new(),
            levels: Vec::new(),
            timed: FxHashMap::default(),
            furthest: Furthest::default(),
            order: Vec::new(),
            cards: ActiveCardEntries::default(),
        };
        for (rank, &ix) in order.iter().enumerate() {
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            ranks.add(ix, rank);
            let (compiled, entry) = (library.compiled(ix), library.entry(ix));
            if compiled.always {
                active.always.push(rank);
            }
            if entry.recursion.delay_level > 0 {
                active.levels.push(entry.recursion.delay_level);
            }
            if let Some(fingerprint) = compiled.fingerprint {
                active.timed.entry(fingerprint).or_insert(ix);
            }
            active.furthest = active.furthest.or(Furthest {
                messages: messages(entry.activation.scan.messages.unwrap_or(0.0)),
                characters: compiled.characters.unwrap_or(0),
            });
        }
        active.levels.sort_unstable();
        active.levels.dedup();
        active.add_cards(library, card_books, &mut ranks);
        Self { order, ranks, ..active }
    }

    fn add_cards(&mut self, library: &Library, books: Vec<usize>, ranks: &mut Ranks) {
        let cards = &mut self.cards;
        cards.order = books.iter().flat_map(|&book| library.entries_of(book)).collect();
        for book in books {
            let dialect = library.dialect(book);
            match cards.pools.iter_mut().find(|pool| pool.dialect == dialect) {
                Some(pool) => pool.books.push(book),
                None => cards.pools.push(CardPool {
                    dialect,
                    books: vec![book],
                    always: Vec::new(),
                    furthest: Default::default(),
                }),
            }
        }
        for (rank, &ix) in (0_u32..).zip(&cards.order) {
            ranks.add(ix, rank);
            let compiled = library.compiled(ix);
            let dialect = library.dialect_of(ix);
            let Some(pool) = cards.pools.iter_mut().find(|pool| pool.dialect == dialect) else {
                continue;
            };
            if compiled.always {
                pool.always.push(rank);
            }
            if let Some(fingerprint) = compiled.fingerprint {
                self.timed.entry(fingerprint).or_insert(ix);
            }
            for (text, furthest) in [false, true].into_iter().zip(&mut pool.furthest) {
                let own = compiled.card.as_ref().map(|card| card.furthest(text));
                *furthest = furthest.or(own.unwrap_or_default());
            }
        }
    }

    /// How many entries take part.
    pub fn len(&self) -> usize {
        self.order.len() + self.cards.order.len()
    }

    /// Whether no entry takes part.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of World Info in order of evaluation.
    pub fn entries(&self) -> &[EntryIx] {
        &self.order
    }

    /// The entries of card books, book by book in file order.
    pub fn card_entries(&self) -> &[EntryIx] {
        &self.cards.order
    }

    pub(crate) fn cards(&self) -> &ActiveCardEntries {
        &self.cards
    }

    pub(crate) fn at(&self, rank: u32) -> EntryIx {
        self.order[rank as usize]
    }

    /// The ranks of an entry, ascending.
    pub(crate) fn ranks(&self, ix: EntryIx) -> impl Iterator<Item = u32> {
        self.ranks.of(ix)
    }

    pub(crate) fn always(&self) -> &[u32] {
        &self.always
    }

    pub(crate) fn levels(&self) -> &[u32] {
        &self.levels
    }

    pub(crate) fn with_fingerprint(&self, fingerprint: u64) -> Option<EntryIx> {
        self.timed.get(&fingerprint).copied()
    }

    pub(crate) fn furthest(&self) -> Furthest {
        self.furthest
    }
}

/// Only the newest messages are ever scanned.
pub(crate) const MOST_MESSAGES: u32 = 1000;

/// A scan depth as a number of messages: cut to whole ones, none below 0.
pub(crate) fn messages(depth: f64) -> u32 {
    whole(depth).min(MOST_MESSAGES)
}

fn once(books: impl Iterator<Item = usize>, taken: &[&Vec<usize>]) -> Vec<usize> {
    let mut result: Vec<usize> = Vec::new();
    for book in books {
        if !result.contains(&book) && !taken.iter().any(|taken| taken.contains(&book)) {
            result.push(book);
        }
    }
    result
}

/// Highest order first. An entry without an order equals every other.
fn sort_by_order(library: &Library, entries: &mut [EntryIx]) {
    stable_by(entries, |a, b| {
        let order = |ix: EntryIx| library.entry(ix).placement.order;
        order(*b)?.partial_cmp(&order(*a)?)
    });
}
