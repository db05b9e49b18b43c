//! The compiled library: all books as one immutable, shareable index.
//!
//! Compiling decides what does not depend on the turn: how each key matches, which
//! entries a found key touches, what the decorators say. A turn then looks only at the
//! entries that its text touched.

mod active_entries;
mod binding;
mod compile;
mod dialect;
mod keys;
mod library_source;
mod rule_words;
mod version;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::compile::Compiler;
pub use self::{
    active_entries::{ActiveEntries, Attachment, Scope},
    binding::{Binding, Cast},
    dialect::{Dialect, Stages},
    keys::{CompiledKey, KeyMode, Probe},
    library_source::{LibrarySource, Volume},
    rule_words::BookRules,
};
pub(crate) use self::{
    active_entries::{CardPool, MOST_MESSAGES, messages},
    compile::Filing,
    keys::spans_texts,
};
use crate::{
    book::{Book, Entry, Force},
    dialects::{cards::CardEntry, vault::Vault, worldinfo::WorldInfoRules},
    ids::{EntryId, LibraryVersion},
    number::clamp_u32,
    rules::Rules,
    scan::{Folding, JsRegex, LiteralIndex, PatternId},
};

/// An entry's place in a [`Library`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryIx(pub u32);

impl EntryIx {
    /// The entry at a place of a list.
    pub(crate) fn at(place: usize) -> Self {
        Self(clamp_u32(place))
    }
}

/// All lore, compiled.
#[derive(Debug)]
pub struct Library {
    version: LibraryVersion,
    /// Shared with libraries that differ in their notes only.
    own: Arc<CompiledBooks>,
    vault: Option<Arc<Vault>>,
}

/// All books, compiled.
#[derive(Debug)]
struct CompiledBooks {
    books: Vec<Arc<Book>>,
    dialects: Vec<Dialect>,
    entries: Vec<CompiledEntry>,
    by_id: FxHashMap<EntryId, EntryIx>,
    world_info: FoldingIndexes,
    cards: FoldingIndexes,
    /// Keys that look like regular expressions but are not.
    not_regexes: Vec<(EntryIx, Box<str>)>,
    /// Entries by the slot they share, without the first.
    sharing: FxHashMap<EntryIx, Vec<EntryIx>>,
    /// Entries whose secondary keys give no points in groups.
    unscored: FxHashSet<EntryIx>,
    /// Whether keys of some entry are looked for in card or persona.
    scans_cards: bool,
    /// Entries in inclusion groups.
    grouped: Vec<EntryIx>,
}

/// One index for each folding.
type FoldingIndexes = [KeyIndex; Folding::ALL.len()];

/// What compiling found out about an entry.
#[derive(Debug)]
pub struct CompiledEntry {
    book: u32,
    place: u32,
    /// The first entry of its book with the same original id: they share one result.
    pub(crate) slot: EntryIx,
    /// The text without decorators.
    pub(crate) body: Arc<str>,
    /// Whether the text has macros.
    pub(crate) dynamic: bool,
    pub(crate) force: Option<Force>,
    pub(crate) keys: Vec<CompiledKey>,
    pub(crate) secondary: Vec<CompiledKey>,
    /// Its inclusion groups.
    pub(crate) groups: Vec<Box<str>>,
    /// Only entries with timed effects have one.
    pub(crate) fingerprint: Option<u64>,
    /// Characters of the newest text that are scanned for its keys, where they are counted.
    pub(crate) characters: Option<u32>,
    /// Whether nothing but its keys decides: no filter, effect, chance, group or macro. Such
    /// entries, nearly all of a large book, are judged without looking at the entry itself.
    pub(crate) plain: bool,
    /// Whether it must be looked at although no literal key touched it.
    pub(crate) always: bool,
    /// What its decorators and fields say together; only in card books.
    pub(crate) card: Option<Box<CardEntry>>,
}

/// Literal keys of one folding, and the entries they touch.
#[derive(Debug, Default)]
pub(crate) struct KeyIndex {
    pub(crate) literals: LiteralIndex,
    starts: Vec<u32>,
    touches: Vec<EntryIx>,
}

impl KeyIndex {
    /// The entries with this pattern among their primary keys.
    pub(crate) fn touched(&self, pattern: PatternId) -> &[EntryIx] {
        let at = pattern.0 as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.touches[start as usize..end as usize],
            _ => &[],
        }
    }

    pub(crate) fn build(literals: LiteralIndex, mut pairs: Vec<(PatternId, EntryIx)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; literals.len() + 1];
        for (pattern, _) in &pairs {
            starts[pattern.0 as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self { literals, starts, touches: pairs.into_iter().map(|(_, entry)| entry).collect() }
    }
}

impl Library {
    /// Compiles books under World Info's rules, with no scripts.
    pub fn compile(books: impl IntoIterator<Item = Arc<Book>>, rules: &WorldInfoRules) -> Self {
        Self::under(books, &Rules { world_info: rules.clone(), ..Rules::default() })
    }

    /// Compiles books as World Info, under the rules they are woven by.
    pub fn under(books: impl IntoIterator<Item = Arc<Book>>, rules: &Rules) -> Self {
        Self::compile_dialects(books.into_iter().map(|book| (book, Dialect::WorldInfo)), rules)
    }

    /// Compiles books, each in its dialect, under the rules they are woven by.
    pub fn compile_dialects(
        books: impl IntoIterator<Item = (Arc<Book>, Dialect)>,
        rules: &Rules,
    ) -> Self {
        let books = books.into_iter().map(|(book, dialect)| Volume { book, dialect });
        let volumes: Vec<Volume> = books.collect();
        let version = version::of(&volumes, &[], rules);
        let (books, dialects): (Vec<Arc<Book>>, Vec<Dialect>) =
            volumes.into_iter().map(|volume| (volume.book, volume.dialect)).unzip();
        let mut compiler = Compiler::new(&rules.world_info, &rules.cards);
        for (at, (book, dialect)) in books.iter().zip(&dialects).enumerate() {
            compiler.add(at, book, *dialect);
        }
        compiler.finish(books, dialects, version)
    }

    pub(crate) fn with_vault(self, vault: Arc<Vault>, version: LibraryVersion) -> Self {
        Self { vault: Some(vault), version, ..self }
    }

    /// The same books with other notes: nothing of the books is compiled again.
    pub(crate) fn with_other_notes(&self, vault: Arc<Vault>) -> Self {
        Self { version: self.version, own: Arc::clone(&self.own), vault: Some(vault) }
    }

    /// Whether keys of some entry are looked for in the texts of card or persona.
    pub fn scans_cards(&self) -> bool {
        self.own.scans_cards
    }

    /// The entries in inclusion groups, with their texts.
    pub fn grouped(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.own.grouped.iter().map(|ix| (&self.entry(*ix).id, &*self.compiled(*ix).body))
    }

    /// The notes of all vaults.
    pub fn vault(&self) -> Option<&Vault> {
        self.vault.as_deref()
    }

    /// What people call an entry of a book or a note.
    pub fn title(&self, id: &EntryId) -> Option<&str> {
        let entry = self.find(id).map(|ix| self.entry(ix).title());
        let note =
            || self.vault().and_then(|vault| Some(vault.note(vault.find(id)?).title.as_str()));
        entry.or_else(note)
    }

    /// Names what was compiled: equal versions decide alike.
    pub fn version(&self) -> LibraryVersion {
        self.version
    }

    /// The books, in the order given.
    pub fn books(&self) -> &[Arc<Book>] {
        &self.own.books
    }

    /// How many entries all books have.
    pub fn len(&self) -> usize {
        self.own.entries.len()
    }

    /// Whether no book has an entry.
    pub fn is_empty(&self) -> bool {
        self.own.entries.is_empty()
    }

    /// The entry at an index.
    pub fn entry(&self, ix: EntryIx) -> &Entry {
        let compiled = self.compiled(ix);
        &self.own.books[compiled.book as usize].entries[compiled.place as usize]
    }

    /// The book of an entry.
    pub fn book(&self, ix: EntryIx) -> &Book {
        &self.own.books[self.compiled(ix).book as usize]
    }

    /// The dialect of a book.
    pub fn dialect(&self, book: usize) -> Dialect {
        self.own.dialects[book]
    }

    /// The dialect of an entry.
    pub fn dialect_of(&self, ix: EntryIx) -> Dialect {
        self.own.dialects[self.compiled(ix).book as usize]
    }

    /// The index of an entry.
    pub fn find(&self, id: &EntryId) -> Option<EntryIx> {
        self.own.by_id.get(id).copied()
    }

    /// Keys of World Info that look like regular expressions but do not compile, and are
    /// therefore looked for as plain text, slashes included.
    pub fn not_regexes(&self) -> impl Iterator<Item = (EntryIx, &str)> {
        self.own.not_regexes.iter().map(|(ix, key)| (*ix, &**key))
    }

    /// The keys that are regular expressions, with their entries.
    pub(crate) fn regexes(&self) -> impl Iterator<Item = (EntryIx, &str, &JsRegex)> {
        let regex = |ix: EntryIx| {
            let compiled = self.compiled(ix);
            let card = compiled.card.iter().flat_map(|card| card.keys());
            let keys = compiled.keys.iter().chain(&compiled.secondary).chain(card);
            keys.filter_map(move |key| match &key.probe {
                Probe::Regex { regex } => Some((ix, &*key.raw, &**regex)),
                Probe::Never
                | Probe::Everything
                | Probe::Pattern { .. }
                | Probe::Text { .. }
                | Probe::Dynamic => None,
            })
        };
        (0..self.len()).map(EntryIx::at).flat_map(regex)
    }

    /// All entries that share one result.
    pub(crate) fn sharing(&self, slot: EntryIx) -> impl Iterator<Item = EntryIx> {
        [slot].into_iter().chain(self.own.sharing.get(&slot).into_iter().flatten().copied())
    }

    /// Whether an entry's secondary keys give points in its groups.
    pub(crate) fn scores_secondary(&self, ix: EntryIx) -> bool {
        !self.own.unscored.contains(&ix)
    }

    /// What compiling found out about an entry.
    pub(crate) fn compiled(&self, ix: EntryIx) -> &CompiledEntry {
        &self.own.entries[ix.0 as usize]
    }

    pub(crate) fn entries_of(&self, book: usize) -> impl Iterator<Item = EntryIx> {
        let first = self.own.entries.partition_point(|entry| (entry.book as usize) < book);
        let last = self.own.entries.partition_point(|entry| (entry.book as usize) <= book);
        (first..last).map(EntryIx::at)
    }

    /// The key index of some stages and a folding.
    pub(crate) fn index(&self, stages: Stages, folding: Folding) -> &KeyIndex {
        let indexes = match stages {
            Stages::WorldInfo => &self.own.world_info,
            Stages::Cards => &self.own.cards,
        };
        &indexes[folding.index()]
    }
}
