//! A compiled vault: which notes a found key touches is decided once for many turns.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::{KeyRules, NoteMark, Search, VaultRules, folding::TextFolding};
use crate::{
    book::is_js_space,
    ids::EntryId,
    library::{EntryIx, KeyIndex, spans_texts},
    number::{clamp_u32, whole},
    scan::{LiteralIndex, PatternId, Tallies, WordRule},
    tokens::TokenCounter,
    units::Tokens,
    utf16,
    vault_notes::{NameIndex, Note, NoteKind, NoteNaming, TitleOrder, resolve_links},
};

/// Keys are used up to this length.
const LONGEST_KEY: usize = 200;

/// The notes of all vaults that may reach the model, compiled.
#[derive(Debug)]
pub struct Vault {
    notes: Vec<Arc<Note>>,
    /// Notes for people who write lore. They take part in nothing.
    guides: Vec<Arc<Note>>,
    ids: Vec<EntryId>,
    compiled: Vec<CompiledNote>,
    /// The keys and refine keys of all notes, one note after the other.
    probes: Vec<KeyProbe>,
    /// Keys that may lie across messages.
    across: Vec<Box<str>>,
    /// The names of each note that are keys besides its own.
    name_keys: Vec<Box<[Box<str>]>>,
    names: NameIndex,
    naming: NoteNaming,
    by_id: FxHashMap<EntryId, EntryIx>,
    pub(super) keys: KeyIndex,
    pub(super) folding: TextFolding,
    pub(super) words: WordRule,
    /// Notes that are always in.
    pub(super) constants: Vec<EntryIx>,
    /// Notes that are in while the chat is new.
    pub(super) bootstraps: Vec<EntryIx>,
    /// Distinct scan depths that notes ask for themselves.
    pub(super) depths: Vec<u32>,
    /// Notes with a key that may lie across messages.
    pub(super) spanning: Vec<EntryIx>,
    /// What was found in the notes' own texts, filled when recursion first asks.
    texts: Vec<OnceLock<Tallies>>,
    /// Tokens of notes that came uncounted, and the tokenizer they were counted with.
    counted: Vec<OnceLock<(Box<str>, Tokens)>>,
    search: Option<Arc<Search>>,
}

/// All that a turn needs of the many notes whose key is found. It reads whole notes only of the
/// few that have a rule of their own.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct CompiledNote {
    /// Where its keys, its refine keys and the next note's keys begin.
    probes: [u32; 3],
    /// The scan depth it asks for.
    pub(super) depth: Option<u32>,
    /// Its place among all notes by title, then vault.
    pub(super) rank: u32,
    pub(super) priority: f64,
    /// Whether it is always in.
    pub(super) constant: bool,
    /// Whether a found key is not enough: it has refine keys, a warmup, a chance or a delay.
    pub(super) has_conditions: bool,
    /// Whether it brings other notes along.
    pub(super) cascades: bool,
    /// Whether it takes no part in recursion, or brings nothing in.
    pub(super) exclude_recursion: bool,
}

/// How a key is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyProbe {
    /// A blank key is never found.
    Never,
    /// The empty refine key is always found.
    Everything,
    /// A literal of the index.
    Pattern { pattern: PatternId, word: bool },
    /// A literal that may lie across messages, by its number.
    Across { literal: u32 },
}

impl Vault {
    /// Compiles notes under the rules that decide how their keys match. Guides are left
    /// out: they are for people who write lore, and must never reach the model.
    pub fn compile(notes: impl IntoIterator<Item = Note>, rules: &VaultRules) -> Self {
        Self::of(notes.into_iter().map(Arc::new), rules, None)
    }

    /// Compiles notes, keeping what an earlier vault knows about those that did not change.
    pub fn compile_after(
        before: Option<&Self>,
        notes: impl IntoIterator<Item = Arc<Note>>,
        rules: &VaultRules,
    ) -> Self {
        Self::of(notes, rules, before.and_then(|before| before.search.clone()))
    }

    /// The same notes, one of them changed.
    pub(crate) fn with_note(&self, ix: EntryIx, note: Note, rules: &VaultRules) -> Self {
        let mut notes = self.notes.clone();
        notes[ix.0 as usize] = Arc::new(note);
        Self::compile_after(Some(self), notes, rules)
    }

    fn of(
        notes: impl IntoIterator<Item = Arc<Note>>,
        rules: &VaultRules,
        search: Option<Arc<Search>>,
    ) -> Self {
        let (guides, mut notes): (Vec<Arc<Note>>, Vec<Arc<Note>>) =
            notes.into_iter().partition(|note| note.kind.guide);
        let names = NameIndex::of(&notes, rules.names);
        resolve_links(&mut notes, &names);
        let mut compiler = Compiler::new(rules);
        let ranks = ranks(&notes, rules.quirks.vaults_tie);
        let compiled: Vec<CompiledNote> = notes
            .iter()
            .zip(ranks)
            .enumerate()
            .map(|(at, (note, rank))| compiler.compile(EntryIx::at(at), note, rank))
            .collect();
        let ids: Vec<EntryId> = notes.iter().map(|note| note.id()).collect();
        let mut by_id = FxHashMap::default();
        for (at, id) in ids.iter().enumerate() {
            by_id.entry(id.clone()).or_insert(EntryIx::at(at));
        }
        let search = rules.fuzzy.enabled.then(|| {
            let mut search = search.map(Arc::unwrap_or_clone).unwrap_or_default();
            search.sync(&notes);
            Arc::new(search)
        });
        let mut depths: Vec<u32> = compiled.iter().filter_map(|note| note.depth).collect();
        depths.sort_unstable();
        depths.dedup();
        let having = |is: fn(&NoteKind) -> bool| -> Vec<EntryIx> {
            (0..notes.len()).filter(|&at| is(&notes[at].kind)).map(EntryIx::at).collect()
        };
        compiler.literals.freeze();
        Self {
            constants: having(|kind| kind.constant),
            bootstraps: having(|kind| kind.bootstrap),
            texts: notes.iter().map(|_| OnceLock::new()).collect(),
            counted: notes.iter().map(|_| OnceLock::new()).collect(),
            notes,
            guides,
            ids,
            compiled,
            probes: compiler.probes,
            across: compiler.across,
            name_keys: compiler.name_keys,
            names,
            naming: rules.names,
            by_id,
            keys: KeyIndex::build(compiler.literals, compiler.touches),
            folding: compiler.folding,
            words: rules.keys.words,
            depths,
            spanning: compiler.spanning,
            search,
        }
    }

    /// The notes for people who write lore.
    pub fn guides(&self) -> impl Iterator<Item = &Note> {
        self.guides.iter().map(|note| &**note)
    }

    /// How many notes there are.
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// All notes, in order.
    pub fn entries(&self) -> impl Iterator<Item = EntryIx> {
        (0..self.notes.len()).map(EntryIx::at)
    }

    /// The note at an index.
    pub fn note(&self, ix: EntryIx) -> &Note {
        &self.notes[ix.0 as usize]
    }

    /// The id of a note.
    pub fn id(&self, ix: EntryIx) -> &EntryId {
        &self.ids[ix.0 as usize]
    }

    /// The first note with an id.
    pub fn find(&self, id: &EntryId) -> Option<EntryIx> {
        self.by_id.get(id).copied()
    }

    /// The notes that a name means, ignoring case: by title, file name or alias, as far as the
    /// rules allow.
    pub fn named(&self, name: &str) -> &[EntryIx] {
        self.names.find(name)
    }

    /// Whether a mark means this note. A mark with a vault means no note of another vault. It
    /// does mean notes of a vault without a name, so that marks survive the naming of a vault.
    pub fn is_marked(&self, ix: EntryIx, mark: &NoteMark) -> bool {
        let (vault, note) = (mark.vault.as_deref().unwrap_or_default(), self.note(ix));
        let is_here = vault.is_empty() || note.vault.is_empty() || vault == note.vault;
        is_here && self.named(&mark.title).contains(&ix)
    }

    /// What people call a note, as far as the rules allow.
    pub fn names_of(&self, ix: EntryIx) -> Vec<&str> {
        self.note(ix).names(self.naming)
    }

    /// All that brings a note in: its keys, and its names where the rules make them keys.
    pub fn keys_of(&self, ix: EntryIx) -> impl Iterator<Item = &str> {
        let names = self.name_keys[ix.0 as usize].iter().map(|name| &**name);
        self.note(ix).keys.iter().map(String::as_str).chain(names)
    }

    /// The full-text index, if the rules ask for one.
    pub fn search(&self) -> Option<&Search> {
        self.search.as_deref()
    }

    /// The tokens of a note's text. Large vaults are read without counting: most notes never
    /// come up, and each that does is counted once.
    pub fn tokens(&self, ix: EntryIx, counter: &dyn TokenCounter) -> Tokens {
        let note = self.note(ix);
        if note.tokens != Tokens::ZERO || note.content.is_empty() {
            return note.tokens;
        }
        let count = || counter.count(&note.content);
        let (name, tokens) =
            self.counted[ix.0 as usize].get_or_init(|| (counter.name().into(), count()));
        if **name == *counter.name() { *tokens } else { count() }
    }

    pub(super) fn compiled(&self, ix: EntryIx) -> &CompiledNote {
        &self.compiled[ix.0 as usize]
    }

    /// How a note's keys are looked for.
    pub(super) fn key_probes(&self, ix: EntryIx) -> &[KeyProbe] {
        let [keys, refine, _] = self.compiled(ix).probes;
        &self.probes[keys as usize..refine as usize]
    }

    /// How its refine keys are.
    pub(super) fn refine_probes(&self, ix: EntryIx) -> &[KeyProbe] {
        let [_, refine, end] = self.compiled(ix).probes;
        &self.probes[refine as usize..end as usize]
    }

    /// Whether some key or refine key may lie across messages, so that texts must be joined.
    pub(super) fn has_keys_across(&self) -> bool {
        !self.across.is_empty()
    }

    /// A key that may lie across messages.
    pub(super) fn across(&self, literal: u32) -> &str {
        &self.across[literal as usize]
    }

    /// What is found in a note's own text. It never changes, so it is looked for once.
    pub(super) fn found_in(&self, ix: EntryIx) -> &Tallies {
        self.texts[ix.0 as usize].get_or_init(|| self.tally(&self.note(ix).content))
    }

    /// What is found in a text.
    pub(super) fn tally(&self, text: &str) -> Tallies {
        Tallies::count(&self.keys.literals, self.words, &self.folding.pad(text))
    }
}

/// The place of each note by title, then vault unless those tie; equals share one.
fn ranks(notes: &[Arc<Note>], vaults_tie: bool) -> Vec<u32> {
    let order = |note: &Note| {
        let vault = (!vaults_tie).then(|| TitleOrder::of(&note.vault));
        (TitleOrder::of(&note.title), vault)
    };
    let orders: Vec<_> = notes.iter().map(|note| order(note)).collect();
    let mut sorted: Vec<usize> = (0..notes.len()).collect();
    sorted.sort_by(|&a, &b| orders[a].cmp(&orders[b]));
    let mut ranks = vec![0; notes.len()];
    let mut rank = 0;
    for (at, &note) in sorted.iter().enumerate() {
        if at > 0 && orders[sorted[at - 1]] != orders[note] {
            rank += 1;
        }
        ranks[note] = rank;
    }
    ranks
}

struct Compiler {
    folding: TextFolding,
    keys: KeyRules,
    phrases_match_anywhere: bool,
    name_keys: Vec<Box<[Box<str>]>>,
    literals: LiteralIndex,
    touches: Vec<(PatternId, EntryIx)>,
    spanning: Vec<EntryIx>,
    probes: Vec<KeyProbe>,
    across: Vec<Box<str>>,
}

impl Compiler {
    fn new(rules: &VaultRules) -> Self {
        Self {
            folding: TextFolding::of(rules),
            keys: rules.keys,
            phrases_match_anywhere: rules.quirks.phrases_match_anywhere,
            name_keys: Vec::new(),
            literals: LiteralIndex::default(),
            touches: Vec::new(),
            spanning: Vec::new(),
            probes: Vec::new(),
            across: Vec::new(),
        }
    }

    fn compile(&mut self, ix: EntryIx, note: &Note, rank: u32) -> CompiledNote {
        let keys = self.probes.len();
        let names = self.name_keys_of(note);
        let own = note.keys.iter().map(|key| (key.as_str(), self.keys.whole_words));
        let all: Vec<(&str, bool)> = own.chain(names.iter().map(|name| (&**name, true))).collect();
        for (key, whole_word) in all {
            let probe = match utf16::cut(key, LONGEST_KEY) {
                key if key.trim_matches(is_js_space).is_empty() => KeyProbe::Never,
                key => self.probe(key, whole_word),
            };
            self.probes.push(probe);
            match probe {
                KeyProbe::Pattern { pattern, .. } => self.touches.push((pattern, ix)),
                KeyProbe::Across { .. } if self.spanning.last() != Some(&ix) => {
                    self.spanning.push(ix);
                }
                KeyProbe::Across { .. } | KeyProbe::Never | KeyProbe::Everything => {}
            }
        }
        self.name_keys.push(names);
        let refine = self.probes.len();
        for key in &note.refine.keys {
            let probe = self.probe(key, self.keys.whole_words);
            self.probes.push(probe);
        }
        let probes = [keys, refine, self.probes.len()].map(clamp_u32);
        CompiledNote {
            probes,
            depth: note.scan_depth.map(whole),
            rank,
            priority: note.priority,
            constant: note.kind.constant,
            has_conditions: probes[2] > probes[1]
                || note.warmup.is_some()
                || note.probability.is_some()
                || note.delay.is_some(),
            cascades: !note.relations.cascade.is_empty(),
            exclude_recursion: note.exclude_recursion,
        }
    }

    /// The names of a note that are keys and that it does not list as such itself.
    fn name_keys_of(&self, note: &Note) -> Box<[Box<str>]> {
        if !self.keys.names {
            return Box::default();
        }
        let lists = |name: &str| {
            note.keys.iter().any(|key| key.trim().to_lowercase() == name.to_lowercase())
        };
        let names = note.names(NoteNaming::Any).into_iter();
        names.filter(|name| !lists(name)).map(Box::from).collect()
    }

    fn probe(&mut self, key: &str, whole_word: bool) -> KeyProbe {
        let literal = self.folding.apply(key);
        if literal.is_empty() {
            KeyProbe::Everything
        } else if spans_texts(&literal) {
            self.across.push(literal.into());
            KeyProbe::Across { literal: clamp_u32(self.across.len() - 1) }
        } else {
            let is_phrase = literal.contains(is_js_space);
            let word = whole_word && !(is_phrase && self.phrases_match_anywhere);
            KeyProbe::Pattern { pattern: self.literals.insert(&literal), word }
        }
    }
}
