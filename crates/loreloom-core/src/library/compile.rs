//! Compiling books: what their entries' keys look for, and what does not depend on the turn.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    CompiledBooks, CompiledEntry, CompiledKey, Dialect, EntryIx, FoldingIndexes, KeyIndex, KeyMode,
    Library, Probe, Stages,
};
use crate::{
    book::{Book, Entry, Key, MatchSources, Recursion, Secondary, SelectiveLogic, Timed},
    dialects::{
        cards::{CardEntry, CardRules, CopyOf},
        worldinfo::{
            WorldInfoRules, fingerprint, leaves_logic_open, missing_uid, split_decorators,
        },
    },
    ids::{EntryId, LibraryVersion},
    macros,
    scan::{Folding, LiteralIndex, PatternId},
};

/// Compiles entries, book after book.
pub(super) struct Compiler<'rules> {
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
    pub(super) fn new(rules: &'rules WorldInfoRules, card_rules: &'rules CardRules) -> Self {
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

    pub(super) fn add(&mut self, at: usize, book: &Book, dialect: Dialect) {
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

    pub(super) fn finish(
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
