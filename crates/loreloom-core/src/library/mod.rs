//! The compiled library: all books as one immutable, shareable index.
//!
//! Compiling decides what does not depend on the turn: how each key matches, which
//! entries a found key touches, what the decorators say. A turn then looks only at the
//! entries that its text touched.

mod active_entries;
mod binding;
mod dialect;
mod keys;
mod library_source;
mod rule_words;
mod version;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

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
    keys::spans_texts,
};
use crate::{
    book::{Book, Entry, Force, Key, MatchSources, Recursion, Secondary, SelectiveLogic, Timed},
    dialects::{
        cards::{CardEntry, CardRules, CopyOf},
        vault::Vault,
        worldinfo::{
            WorldInfoRules, fingerprint, leaves_logic_open, missing_uid, split_decorators,
        },
    },
    ids::{EntryId, LibraryVersion},
    macros,
    rules::Rules,
    scan::{Folding, JsRegex, LiteralIndex, PatternId},
};

/// An entry's place in a [`Library`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryIx(pub u32);

impl EntryIx {
    /// The entry at a place of a list.
    pub(crate) fn at(place: usize) -> Self {
        Self(u32::try_from(place).unwrap_or(u32::MAX))
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

struct Compiler<'rules> {
    rules: &'rules WorldInfoRules,
    card_rules: &'rules CardRules,
    entries: Vec<CompiledEntry>,
    by_id: FxHashMap<EntryId, EntryIx>,
    world_info: Filing,
    cards: Filing,
    not_regexes: Vec<(EntryIx, Box<str>)>,
    sharing: FxHashMap<EntryIx, Vec<EntryIx>>,
    unscored: FxHashSet<EntryIx>,
}

/// The literals of a dialect while they are collected, by folding.
#[derive(Default)]
pub(crate) struct Filing {
    literals: [LiteralIndex; Folding::ALL.len()],
    touches: [Vec<(PatternId, EntryIx)>; Folding::ALL.len()],
}

impl Filing {
    /// Files a folded literal.
    pub(crate) fn insert(&mut self, folding: Folding, literal: &str) -> PatternId {
        self.literals[folding.index()].insert(literal)
    }

    /// Adds the literals of a key to the index; `false` if it has none and must always be tried.
    fn touch(&mut self, ix: EntryIx, key: &CompiledKey) -> bool {
        match &key.probe {
            Probe::Never => true,
            Probe::Pattern { pattern, .. } => {
                self.touches[key.mode.folding.index()].push((*pattern, ix));
                true
            }
            Probe::Regex { regex } => match regex.required_literals() {
                Some(literals) => {
                    for literal in literals {
                        let folded = Folding::Lower.apply(&literal);
                        let pattern = self.insert(Folding::Lower, &folded);
                        self.touches[Folding::Lower.index()].push((pattern, ix));
                    }
                    true
                }
                None => false,
            },
            Probe::Everything | Probe::Text { .. } | Probe::Dynamic => false,
        }
    }

    fn finish(self) -> FoldingIndexes {
        let mut touches = self.touches.into_iter();
        self.literals.map(|mut literals| {
            literals.freeze();
            KeyIndex::build(literals, touches.next().unwrap_or_default())
        })
    }
}

impl<'rules> Compiler<'rules> {
    fn new(rules: &'rules WorldInfoRules, card_rules: &'rules CardRules) -> Self {
        Self {
            rules,
            card_rules,
            entries: Vec::new(),
            by_id: FxHashMap::default(),
            world_info: Filing::default(),
            cards: Filing::default(),
            not_regexes: Vec::new(),
            sharing: FxHashMap::default(),
            unscored: FxHashSet::default(),
        }
    }

    fn add(&mut self, at: usize, book: &Book, dialect: Dialect) {
        let stages = dialect.stages();
        let card_rules = dialect.card_rules(self.card_rules);
        let mut slots: FxHashMap<String, EntryIx> = FxHashMap::default();
        // By the ids that entries had in a file they crossed from: copies name those.
        let mut former_slots: FxHashMap<String, EntryIx> = FxHashMap::default();
        for (place, entry) in book.entries.iter().enumerate() {
            let ix = EntryIx::at(self.entries.len());
            let slot = match self.slot_name(book, entry, stages) {
                Some(name) => *slots.entry(name).or_insert(ix),
                None => ix,
            };
            if let Some(former) = entry.former_id().filter(|_| entry.copy_of.is_none()) {
                former_slots.entry(former).or_insert(ix);
            }
            let mut compiled = match stages {
                Stages::WorldInfo => self.compile(ix, slot, book, entry),
                Stages::Cards => match &entry.copy_of {
                    None => self.compile_card(ix, book, entry, &card_rules),
                    Some(of) => {
                        // Only an entry before it can have an index by now.
                        let named = of.to_string();
                        let of = former_slots.get(&named).or_else(|| slots.get(&named));
                        let of = of.copied().filter(|of| *of != ix);
                        self.compile_copy((ix, of), book, entry, &card_rules)
                    }
                },
            };
            if slot != ix && stages == Stages::WorldInfo {
                self.sharing.entry(slot).or_default().push(ix);
            }
            compiled.book = u32::try_from(at).unwrap_or(u32::MAX);
            compiled.place = u32::try_from(place).unwrap_or(u32::MAX);
            self.entries.push(compiled);
            self.by_id.insert(entry.id.clone(), ix);
        }
    }

    /// What an entry shares its result by, with those of its book that have the same.
    fn slot_name(&self, book: &Book, entry: &Entry, stages: Stages) -> Option<String> {
        let shared = self.rules.quirks.shared_without_uid && stages == Stages::WorldInfo;
        let missing = || {
            let own = shared && book.is_sillytavern();
            own.then(|| missing_uid(entry)).flatten().map(str::to_owned)
        };
        entry.original_id.as_ref().map(ToString::to_string).or_else(missing)
    }

    /// Whether an entry's secondary keys give no points in its groups.
    fn has_unset_logic(&self, book: &Book, entry: &Entry) -> bool {
        let Secondary { logic, keys, .. } = &entry.activation.secondary;
        let matters =
            *logic == SelectiveLogic::AndAny && !keys.is_empty() && !entry.group.names.is_empty();
        matters
            && self.rules.quirks.unset_logic_scores_nothing
            && book.is_sillytavern()
            && leaves_logic_open(entry)
    }

    fn compile(&mut self, ix: EntryIx, slot: EntryIx, book: &Book, entry: &Entry) -> CompiledEntry {
        let decorated = split_decorators(&entry.content, self.rules.quirks);
        let body = entry.enclosed(decorated.body);
        let characters = entry.scan_characters(book);
        let keys = self.keys(entry, &entry.activation.keys);
        let secondary = self.keys(entry, &entry.activation.secondary.keys);
        let mut always = entry.activation.constant
            || decorated.force.is_some()
            || entry.activation.force.is_some();
        for key in &keys {
            always |= !self.world_info.touch(ix, key);
        }
        if self.has_unset_logic(book, entry) {
            self.unscored.insert(ix);
        }
        let failed = keys.iter().chain(&secondary).filter(|key| key.is_failed_regex());
        self.not_regexes.extend(failed.map(|key| (ix, key.raw.clone())));
        CompiledEntry {
            book: 0,
            place: 0,
            slot,
            force: decorated.force.or(entry.activation.force),
            keys,
            secondary,
            groups: entry.group.each(),
            fingerprint: is_timed(entry).then(|| fingerprint(entry, &book.name, &decorated)),
            characters,
            plain: !always
                && is_plain(entry)
                && characters.is_none()
                && !book.disables(entry)
                && !macros::is_dynamic(&body),
            always,
            dynamic: macros::is_dynamic(&body),
            body: body.into(),
            card: None,
        }
    }

    fn compile_card(
        &mut self,
        ix: EntryIx,
        book: &Book,
        entry: &Entry,
        rules: &CardRules,
    ) -> CompiledEntry {
        let card = CardEntry::compile(entry, book, rules, &mut self.cards);
        let mut always = card.fires_without_keys();
        for key in card.keys() {
            always |= !self.cards.touch(ix, key);
        }
        let decorated = split_decorators(&entry.content, self.rules.quirks);
        CompiledEntry {
            book: 0,
            place: 0,
            slot: ix,
            force: None,
            keys: Vec::new(),
            secondary: Vec::new(),
            groups: Vec::new(),
            fingerprint: is_timed(entry).then(|| fingerprint(entry, &book.name, &decorated)),
            characters: entry.scan_characters(book),
            plain: false,
            always,
            dynamic: false,
            body: "".into(),
            card: Some(Box::new(card)),
        }
    }

    /// Compiles an entry that sends what another one says, without being asked.
    fn compile_copy(
        &mut self,
        (ix, of): (EntryIx, Option<EntryIx>),
        book: &Book,
        entry: &Entry,
        rules: &CardRules,
    ) -> CompiledEntry {
        let mut copy = entry.clone();
        copy.activation.constant = true;
        let place = of.map(|of| self.entries[of.0 as usize].place as usize);
        if let Some(of) = place.and_then(|place| book.entries.get(place)) {
            copy.content.clone_from(&of.content);
        }
        let mut compiled = self.compile_card(ix, book, &copy, rules);
        let copy_of = of.map_or(CopyOf::Nothing, CopyOf::Entry);
        compiled.card = compiled.card.map(|card| Box::new(card.copying(copy_of)));
        compiled
    }

    fn keys(&mut self, entry: &Entry, keys: &[Key]) -> Vec<CompiledKey> {
        let mode = KeyMode::of(entry, self.rules);
        let filing = &mut self.world_info;
        keys.iter()
            .map(|key| {
                CompiledKey::new(key, mode, |folding, literal| filing.insert(folding, literal))
            })
            .collect()
    }

    fn finish(
        self,
        books: Vec<Arc<Book>>,
        dialects: Vec<Dialect>,
        version: LibraryVersion,
    ) -> Library {
        let grouped = self.entries.iter().zip(0..).filter(|(entry, _)| !entry.groups.is_empty());
        let grouped = grouped.map(|(_, at)| EntryIx(at)).collect();
        let mut entries = books.iter().flat_map(|book| &book.entries);
        let scans_cards = entries.any(|entry| entry.activation.sources != MatchSources::default());
        // It grew by doubling, and lasts.
        let mut compiled = self.entries;
        compiled.shrink_to_fit();
        let own = CompiledBooks {
            books,
            dialects,
            entries: compiled,
            by_id: self.by_id,
            world_info: self.world_info.finish(),
            cards: self.cards.finish(),
            not_regexes: self.not_regexes,
            sharing: self.sharing,
            unscored: self.unscored,
            scans_cards,
            grouped,
        };
        Library { version, own: Arc::new(own), vault: None }
    }
}

/// Whether an entry has keys and nothing else to say about when it fires.
fn is_plain(entry: &Entry) -> bool {
    let Entry { activation, group, recursion, budget, .. } = entry;
    let filters = &activation.filters;
    let unfiltered =
        filters.triggers.is_empty() && filters.characters.is_empty() && filters.tags.is_empty();
    let unconditional = activation.enabled
        && !activation.constant
        && !activation.vectorized
        && activation.force.is_none()
        && activation.timed == Timed::default();
    let certain = activation.probability.is_none_or(|chance| (chance - 100.0).abs() < f64::EPSILON);
    let everywhere =
        activation.scan.messages.is_none() && activation.sources == MatchSources::default();
    let alone = !activation.secondary.active || activation.secondary.keys.is_empty();
    unfiltered
        && unconditional
        && certain
        && everywhere
        && alone
        && group.names.is_empty()
        && *recursion == Recursion::default()
        && !budget.ignore
}

fn is_timed(entry: &Entry) -> bool {
    let timed = entry.activation.timed;
    timed.sticky.is_some() || timed.cooldown.is_some()
}
