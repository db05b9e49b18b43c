//! The texts of a turn and what was found in them.
//!
//! An entry's scan text is a join of messages (newest first), card texts, prompts and the
//! text of activated entries. It is never built for plain keys: each part is scanned once,
//! and whether a key is in reach of an entry is answered from where it occurs. Only
//! regular expressions, which may span parts, see the joined text.

mod limit;
mod locate;
mod location;
mod occurrence;
mod reach;

use std::{rc::Rc, sync::Arc};

use rustc_hash::FxHashMap;

use self::{
    limit::LimitCache,
    occurrence::{Link, Occurrence, Places, ScannedPart},
    reach::card_texts,
};
pub(crate) use self::{
    location::{Location, PartRef},
    occurrence::Occurrences,
    reach::{Furthest, Limits, ScanReach, card_bits},
};
use super::EngineInput;
use crate::{
    library::{ActiveEntries, CompiledKey, EntryIx, Library, MOST_MESSAGES, Probe, Stages},
    report::{KeyCost, Stop},
    scan::{
        Folding, HitCache, Hits, JsRegex, PatternId, RegexOutcome, RegexText, ScanText, Steps,
        WordRule,
    },
    turn::{ScannedPrompt, Transcript, TurnCache},
};

/// A pattern of the index that is looked for: whether as a whole word, and how folded.
type Sought = (PatternId, bool, Folding);

/// A part of a turn's text that is in reach.
struct TextPiece<'a> {
    text: &'a ScanText,
    /// Bytes at its beginning that are out of reach.
    cut: usize,
    part: PartRef,
    /// The number of its batch, for lore.
    batch: Option<usize>,
}

impl TextPiece<'_> {
    /// What is in reach.
    fn text(&self) -> &str {
        self.text.as_str().get(self.cut..).unwrap_or_default()
    }

    /// A span of what is in reach, as a location.
    fn location(&self, (start, end): (usize, usize)) -> Location {
        location::location(self.part, (start + self.cut, end + self.cut))
    }
}

/// Which texts a dialect scans beside those of card and persona.
#[derive(Clone, Copy)]
pub(crate) struct ScanSource<'a> {
    pub(crate) stages: Stages,
    pub(crate) transcript: &'a Transcript,
    pub(crate) prompts: &'a [ScannedPrompt],
    /// What a word is.
    pub(crate) words: WordRule,
}

/// A key whose expression was not run to its end.
pub(crate) struct SlowKey {
    pub(crate) ix: EntryIx,
    pub(crate) key: Box<str>,
    pub(crate) cost: KeyCost,
}

impl SlowKey {
    /// The verdict of an entry without another key.
    pub(crate) fn stop(&self) -> Stop {
        Stop::KeyTooSlow { key: self.key.to_string(), cost: self.cost }
    }
}

/// The parts of a turn's text.
pub(crate) struct TurnTexts<'a> {
    library: &'a Library,
    active: &'a ActiveEntries,
    stages: Stages,
    /// Keys that were too slow in an earlier turn.
    suspended: &'a [String],
    transcript: &'a Transcript,
    cards: Vec<ScanText>,
    prompts: Vec<ScanText>,
    lore: Vec<(ScanText, EntryIx)>,
    chain: Vec<Link>,
    /// Number of lore texts at the end of each batch.
    batches: Vec<usize>,
    words: WordRule,
    cache: &'a mut [HitCache; Folding::ALL.len()],
    occurrences: &'a mut Occurrences,
    /// Messages scanned so far, from the newest.
    scanned: usize,
    /// Ranks touched since they were last taken.
    touched: Vec<u32>,
    joined: FxHashMap<(ScanReach, usize), Rc<RegexText>>,
    /// What entries with a limit of their own ask for.
    limits: LimitCache,
    /// Steps that expressions may still take.
    steps: Steps,
    too_slow: Vec<SlowKey>,
}

impl<'a> TurnTexts<'a> {
    pub(crate) fn new(
        input: &EngineInput<'a>,
        source: ScanSource<'a>,
        cache: &'a mut TurnCache,
    ) -> Self {
        let EngineInput { library, active, turn, rules, .. } = *input;
        let ScanSource { stages, transcript, prompts, words } = source;
        let cards = card_texts(&turn.input.card, &turn.input.card_block).map(ScanText::new);
        let prompts = prompts.iter().map(|prompt| ScanText::new(prompt.text.as_str()));
        let (cache, occurrences) = cache.begin(stages, words);
        let mut texts = Self {
            library,
            active,
            stages,
            suspended: &turn.input.suspended_keys,
            transcript,
            cards: cards.into_iter().collect(),
            prompts: prompts.collect(),
            lore: Vec::new(),
            chain: Vec::new(),
            batches: Vec::new(),
            words,
            cache,
            occurrences,
            scanned: 0,
            touched: Vec::new(),
            joined: FxHashMap::default(),
            limits: LimitCache::default(),
            steps: Steps::within(rules.steps),
            too_slow: Vec::new(),
        };
        texts.scan_fixed_parts();
        texts
    }

    fn scan_fixed_parts(&mut self) {
        for at in 0..self.cards.len() {
            let text = self.cards[at].clone();
            self.scan(&text, ScannedPart::Card(at));
        }
        for at in 0..self.prompts.len() {
            let text = self.prompts[at].clone();
            self.scan(&text, ScannedPart::Prompt);
        }
    }

    /// Makes sure that the newest messages are scanned.
    pub(crate) fn reach_back(&mut self, furthest: Furthest) {
        let transcript = self.transcript;
        let total = transcript.messages.len();
        let (counted, _) = transcript.newest_characters(MOST_MESSAGES, furthest.characters);
        let depth = furthest.messages.max(counted);
        let wanted = (depth.min(MOST_MESSAGES) as usize).min(total);
        while self.scanned < wanted {
            let at = total - 1 - self.scanned;
            let text = &transcript.messages[at].scan;
            self.scan(text, ScannedPart::Message(u32::try_from(at).unwrap_or(u32::MAX)));
            self.scanned += 1;
        }
    }

    /// Adds the texts of newly activated entries as one batch.
    pub(crate) fn add_lore(&mut self, batch: Vec<(EntryIx, Arc<str>)>) {
        for (ix, text) in batch {
            let text = ScanText::new(text);
            self.scan(&text, ScannedPart::Lore(u32::try_from(self.lore.len()).unwrap_or(u32::MAX)));
            self.lore.push((text, ix));
        }
        self.batches.push(self.lore.len());
    }

    /// Whether a joined text begins with the messages, even where none is in reach.
    pub(crate) fn opens(&self) -> bool {
        self.stages == Stages::WorldInfo
    }

    /// Whether any lore text was added.
    pub(crate) fn has_lore(&self) -> bool {
        !self.batches.is_empty()
    }

    /// The ranks touched since the last call.
    pub(crate) fn take_touched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.touched)
    }

    /// A key of an entry whose expression was not run to its end.
    pub(crate) fn slow_key(&self, ix: EntryIx) -> Option<&SlowKey> {
        self.too_slow.iter().find(|slow| slow.ix == ix)
    }

    /// The keys whose expressions were not run to their end.
    pub(crate) fn take_too_slow(&mut self) -> Vec<SlowKey> {
        std::mem::take(&mut self.too_slow)
    }

    fn scan(&mut self, text: &ScanText, part: ScannedPart) {
        if text.as_str().is_empty() {
            return;
        }
        for folding in Folding::ALL {
            let (words, index) = (self.words, self.library.index(self.stages, folding));
            if index.literals.is_empty() {
                continue;
            }
            let cache = &mut self.cache[folding.index()];
            let occurrences = &mut self.occurrences[folding.index()];
            let hits =
                cache.get_or_find(text, |text| Hits::find(&index.literals, folding, words, text));
            for hit in hits.iter() {
                let occurrence = occurrences.entry(hit.pattern).or_insert_with(|| {
                    for &ix in index.touched(hit.pattern) {
                        self.touched.extend(self.active.ranks(ix));
                    }
                    Occurrence::default()
                });
                occurrence.any.add(part, hit.any, &mut self.chain);
                if let Some(at) = hit.word {
                    occurrence.word.add(part, at, &mut self.chain);
                }
            }
        }
    }

    /// Whether a key is found in reach. `ix` is the entry it belongs to.
    pub(crate) fn holds(
        &mut self,
        ix: EntryIx,
        key: &CompiledKey,
        probe: &Probe,
        reach: ScanReach,
    ) -> bool {
        match probe {
            Probe::Never | Probe::Dynamic => false,
            Probe::Everything => true,
            Probe::Pattern { pattern, word } => {
                let folding = key.mode.folding;
                let Some(found) = self.occurrences[folding.index()].get(pattern) else {
                    return false;
                };
                let places = if *word { found.word } else { found.any };
                self.in_reach((*pattern, *word, folding), places, reach)
            }
            Probe::Text { literal, word } => {
                self.find_text(literal, *word, key.mode.folding, reach).is_some()
            }
            Probe::Regex { regex } => self.holds_expression(ix, key, regex, reach),
        }
    }

    fn holds_expression(
        &mut self,
        ix: EntryIx,
        key: &CompiledKey,
        regex: &JsRegex,
        reach: ScanReach,
    ) -> bool {
        if let Some(known) = self.too_slow.iter().find(|slow| slow.key == key.raw) {
            // It is not tried again in this turn.
            let cost = known.cost;
            self.give_up(ix, key, cost);
            return false;
        }
        let outcome = if self.suspended.iter().any(|suspended| **suspended == *key.raw) {
            Err(KeyCost::Suspended)
        } else {
            let text = self.join(reach);
            match regex.find_within(&text, &self.steps) {
                RegexOutcome::Found { .. } => Ok(true),
                RegexOutcome::NotFound => Ok(false),
                RegexOutcome::TooSlow => Err(KeyCost::TooManySteps),
                RegexOutcome::NoStepsLeft => Err(KeyCost::NoStepsLeft),
            }
        };
        outcome.unwrap_or_else(|cost| {
            self.give_up(ix, key, cost);
            false
        })
    }

    fn give_up(&mut self, ix: EntryIx, key: &CompiledKey, cost: KeyCost) {
        if !self.too_slow.iter().any(|slow| slow.ix == ix && slow.key == key.raw) {
            self.too_slow.push(SlowKey { ix, key: key.raw.clone(), cost });
        }
    }

    fn in_reach(&mut self, sought: Sought, places: Places, reach: ScanReach) -> bool {
        self.newest_in_reach(sought, places, reach).is_some()
            || places.cards & reach.cards != 0
            || (places.prompts && reach.prompts)
            || (places.lore > 0 && reach.lore)
    }

    /// Where a pattern occurs in the newest message that holds it, if that is in reach.
    fn newest_in_reach(
        &mut self,
        sought: Sought,
        places: Places,
        reach: ScanReach,
    ) -> Option<(u32, u32)> {
        let distance = self.transcript.messages.len().saturating_sub(places.newest as usize);
        if places.newest == 0 || distance >= reach.messages as usize {
            None
        } else if reach.cut == 0 || distance + 1 < reach.messages as usize {
            Some(places.in_newest)
        } else {
            self.behind_cut(sought, places.newest - 1, places.in_newest, reach.cut)
        }
    }

    /// How many messages have a place in the joined text. World Info gives none to the oldest
    /// ones if they are empty; blank ones, and empty ones between others, have theirs.
    fn slots(&self) -> usize {
        let messages = &self.transcript.messages;
        let newest = &messages[messages.len().saturating_sub(MOST_MESSAGES as usize)..];
        let empty = newest.iter().take_while(|message| message.is_empty());
        match self.stages {
            Stages::WorldInfo => newest.len() - empty.count(),
            Stages::Cards => messages.len(),
        }
    }

    /// The parts in reach, in the order they are joined.
    fn parts(&self, reach: ScanReach) -> Vec<TextPiece<'_>> {
        let plain = |text, part| TextPiece { text, cut: 0, part, batch: None };
        let messages = self.transcript.messages.iter().enumerate().rev().take(self.slots());
        let messages = (1..=reach.messages.min(MOST_MESSAGES)).zip(messages);
        let messages = messages.map(|(number, (at, message))| {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            let cut = if number == reach.messages { reach.cut as usize } else { 0 };
            TextPiece { cut, ..plain(&message.scan, PartRef::Message(at)) }
        });
        let filled = |(_, text): &(u32, &ScanText)| !text.as_str().is_empty();
        let cards = (0_u32..).zip(&self.cards).filter(filled);
        let cards = cards.filter(|(at, _)| reach.cards & (1 << at) != 0);
        let cards = cards.map(|(at, text)| plain(text, PartRef::Card(at)));
        let prompts = (0_u32..).zip(&self.prompts).filter(filled).filter(|_| reach.prompts);
        let prompts = prompts.map(|(at, text)| plain(text, PartRef::Prompt(at)));
        let lore = self.lore.iter().enumerate().filter(|_| reach.lore).map(|(at, (text, ix))| {
            let batch = self.batches.partition_point(|&end| end <= at);
            TextPiece { batch: Some(batch), ..plain(text, PartRef::Lore(*ix)) }
        });
        messages.chain(cards).chain(prompts).chain(lore).collect()
    }

    /// The joined text, as regular expressions see it: U+0001 before each part, the texts
    /// of one batch of lore joined by line ends only.
    fn join(&mut self, reach: ScanReach) -> Rc<RegexText> {
        let key = (reach, self.lore.len());
        if let Some(joined) = self.joined.get(&key) {
            return Rc::clone(joined);
        }
        let mut out = String::new();
        // World Info begins with the messages even where there are none.
        let opened = reach.opened;
        if opened {
            out.push('\u{1}');
        }
        let mut last_batch = None;
        for (at, piece) in self.parts(reach).into_iter().enumerate() {
            let TextPiece { part, batch, .. } = piece;
            let same_batch = batch.is_some() && batch == last_batch;
            let first = at == 0 && (!opened || matches!(part, PartRef::Message(_)));
            out.push_str(match (first, same_batch) {
                (true, _) if opened => "",
                (true, _) => "\u{1}",
                (false, true) => "\n",
                (false, false) => "\n\u{1}",
            });
            out.push_str(piece.text());
            last_batch = batch;
        }
        let joined = Rc::new(RegexText::new(out));
        self.joined.insert(key, Rc::clone(&joined));
        joined
    }
}
