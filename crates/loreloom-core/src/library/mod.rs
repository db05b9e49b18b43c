//! The compiled library: all books as one immutable, shareable index.
//!
//! Compiling decides what does not depend on the turn: how each key matches, which
//! entries a found key touches, what the decorators say. A turn then looks only at the
//! entries that its text touched.

mod keys;
mod roster;
mod version;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(crate) use self::{
    keys::spans_texts,
    roster::{MOST_MESSAGES, messages},
};
pub use self::{
    keys::{CompiledKey, KeyMode, Probe},
    roster::{Attachment, Roster, Scope},
    version::of as version_of,
};
use crate::{
    book::{Book, Entry, Force, Key},
    ids::{EntryId, LibraryVersion},
    macros,
    rules::Rules,
    scan::{Folding, LiteralIndex, PatternId},
    worldinfo::{WorldInfoRules, fingerprint, split_decorators},
};

/// An entry's place in a [`Library`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryIx(pub u32);

/// All books, compiled.
#[derive(Debug)]
pub struct Library {
    version: LibraryVersion,
    books: Vec<Arc<Book>>,
    entries: Vec<CompiledEntry>,
    by_id: FxHashMap<EntryId, EntryIx>,
    pub(crate) lower: KeyIndex,
    pub(crate) exact: KeyIndex,
}

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
    /// Whether it must be looked at although no literal key touched it.
    pub(crate) always: bool,
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

    /// Compiles books under the rules they are woven by.
    pub fn under(books: impl IntoIterator<Item = Arc<Book>>, rules: &Rules) -> Self {
        let books: Vec<Arc<Book>> = books.into_iter().collect();
        let mut compiler = Compiler::new(&rules.world_info);
        for (at, book) in books.iter().enumerate() {
            compiler.add(at, book);
        }
        let version = version::of(&books, rules);
        compiler.finish(books, version)
    }

    /// Names what was compiled: equal versions decide alike.
    pub fn version(&self) -> LibraryVersion {
        self.version
    }

    /// The books, in the order given.
    pub fn books(&self) -> &[Arc<Book>] {
        &self.books
    }

    /// How many entries all books have.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no book has an entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at an index.
    pub fn entry(&self, ix: EntryIx) -> &Entry {
        let compiled = self.compiled(ix);
        &self.books[compiled.book as usize].entries[compiled.place as usize]
    }

    /// The book of an entry.
    pub fn book(&self, ix: EntryIx) -> &Book {
        &self.books[self.compiled(ix).book as usize]
    }

    /// The index of an entry.
    pub fn find(&self, id: &EntryId) -> Option<EntryIx> {
        self.by_id.get(id).copied()
    }

    /// What compiling found out about an entry.
    pub(crate) fn compiled(&self, ix: EntryIx) -> &CompiledEntry {
        &self.entries[ix.0 as usize]
    }

    /// The entries of one book.
    pub(crate) fn entries_of(&self, book: usize) -> impl Iterator<Item = EntryIx> {
        let first = self.entries.partition_point(|entry| (entry.book as usize) < book);
        let last = self.entries.partition_point(|entry| (entry.book as usize) <= book);
        (first..last).map(index)
    }

    /// The key index of a folding.
    pub(crate) fn index(&self, folding: Folding) -> &KeyIndex {
        match folding {
            Folding::Lower => &self.lower,
            Folding::Exact => &self.exact,
        }
    }
}

fn index(at: usize) -> EntryIx {
    EntryIx(u32::try_from(at).unwrap_or(u32::MAX))
}

struct Compiler<'rules> {
    rules: &'rules WorldInfoRules,
    entries: Vec<CompiledEntry>,
    by_id: FxHashMap<EntryId, EntryIx>,
    lower: LiteralIndex,
    exact: LiteralIndex,
    lower_touches: Vec<(PatternId, EntryIx)>,
    exact_touches: Vec<(PatternId, EntryIx)>,
}

impl<'rules> Compiler<'rules> {
    fn new(rules: &'rules WorldInfoRules) -> Self {
        Self {
            rules,
            entries: Vec::new(),
            by_id: FxHashMap::default(),
            lower: LiteralIndex::default(),
            exact: LiteralIndex::default(),
            lower_touches: Vec::new(),
            exact_touches: Vec::new(),
        }
    }

    fn add(&mut self, at: usize, book: &Book) {
        let mut slots: FxHashMap<String, EntryIx> = FxHashMap::default();
        for (place, entry) in book.entries.iter().enumerate() {
            let ix = index(self.entries.len());
            let slot = match &entry.original_id {
                Some(original) => *slots.entry(original.to_string()).or_insert(ix),
                None => ix,
            };
            let compiled = self.compile(ix, slot, (at, place), book, entry);
            self.entries.push(compiled);
            self.by_id.insert(entry.id.clone(), ix);
        }
    }

    fn compile(
        &mut self,
        ix: EntryIx,
        slot: EntryIx,
        (book_at, place): (usize, usize),
        book: &Book,
        entry: &Entry,
    ) -> CompiledEntry {
        let decorated = split_decorators(&entry.content, self.rules.quirks);
        let keys = self.keys(entry, &entry.activation.keys);
        let secondary = self.keys(entry, &entry.activation.secondary.keys);
        let mut always = entry.activation.constant
            || decorated.force.is_some()
            || entry.activation.force.is_some();
        for key in &keys {
            always |= !self.touch(ix, key);
        }
        let timed = entry.activation.timed;
        let is_timed = timed.sticky.is_some() || timed.cooldown.is_some();
        CompiledEntry {
            book: u32::try_from(book_at).unwrap_or(u32::MAX),
            place: u32::try_from(place).unwrap_or(u32::MAX),
            slot,
            force: decorated.force.or(entry.activation.force),
            keys,
            secondary,
            groups: group_names(&entry.group.names),
            fingerprint: is_timed.then(|| fingerprint(entry, &book.name, &decorated)),
            always,
            dynamic: macros::is_dynamic(decorated.body),
            body: decorated.body.into(),
        }
    }

    fn keys(&mut self, entry: &Entry, keys: &[Key]) -> Vec<CompiledKey> {
        let mode = KeyMode::of(entry, self.rules);
        keys.iter()
            .map(|key| {
                CompiledKey::new(key.raw(), mode, |folding, literal| match folding {
                    Folding::Lower => self.lower.insert(literal),
                    Folding::Exact => self.exact.insert(literal),
                })
            })
            .collect()
    }

    /// Files what makes a key worth looking at; `false` if only looking can tell.
    fn touch(&mut self, ix: EntryIx, key: &CompiledKey) -> bool {
        match &key.probe {
            Probe::Never => true,
            Probe::Pattern { pattern, .. } => {
                match key.mode.folding {
                    Folding::Lower => self.lower_touches.push((*pattern, ix)),
                    Folding::Exact => self.exact_touches.push((*pattern, ix)),
                }
                true
            }
            Probe::Regex { regex } => match regex.required_literals() {
                Some(literals) => {
                    for literal in literals {
                        let pattern = self.lower.insert(&Folding::Lower.apply(&literal));
                        self.lower_touches.push((pattern, ix));
                    }
                    true
                }
                None => false,
            },
            Probe::Everything | Probe::Text { .. } | Probe::Dynamic => false,
        }
    }

    fn finish(mut self, books: Vec<Arc<Book>>, version: LibraryVersion) -> Library {
        self.lower.freeze();
        self.exact.freeze();
        Library {
            version,
            books,
            entries: self.entries,
            by_id: self.by_id,
            lower: KeyIndex::build(self.lower, self.lower_touches),
            exact: KeyIndex::build(self.exact, self.exact_touches),
        }
    }
}

/// Splits `a, b` into its names. Only the space after a comma goes: names keep theirs.
pub(crate) fn group_names(names: &str) -> Vec<Box<str>> {
    names
        .split(',')
        .enumerate()
        .map(
            |(at, name)| {
                if at == 0 { name } else { name.trim_start_matches(crate::book::is_js_space) }
            },
        )
        .filter(|name| !name.is_empty())
        .map(Into::into)
        .collect()
}
