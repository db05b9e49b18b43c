//! The texts of a turn and what was found in them.
//!
//! An entry's scan text is a join of messages (newest first), card texts, prompts and the
//! text of activated entries. It is never built for plain keys: each part is scanned once,
//! and whether a key is in reach of an entry is answered from where it occurs. Only
//! regular expressions, which may span parts, see the joined text.

use std::{rc::Rc, sync::Arc};

use rustc_hash::FxHashMap;

use crate::{
    book::MatchSources,
    library::{CompiledKey, Dialect, EntryIx, Library, MOST_MESSAGES, Probe, Roster, spans_texts},
    report::{MatchPlace, TextSource},
    scan::{Folding, Hits, PatternId, RegexOutcome, ScanText, WordRule, raw_span},
    turn::{CardTexts, FoldingCaches, ScannedPrompt, Transcript, Turn, TurnCache},
};

/// What an entry's keys are looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reach {
    /// Messages, from the newest.
    pub(crate) messages: u32,
    /// Which card texts, one bit each in the order of [`card_texts`].
    pub(crate) cards: u8,
    /// Whether the prompts count.
    pub(crate) prompts: bool,
    /// Whether the text of activated entries counts.
    pub(crate) lore: bool,
}

/// The card texts an entry looks into.
pub(crate) fn card_bits(sources: MatchSources) -> u8 {
    [
        sources.persona,
        sources.description,
        sources.personality,
        sources.depth_prompt,
        sources.scenario,
        sources.creator_notes,
    ]
    .iter()
    .enumerate()
    .fold(0, |bits, (at, &wanted)| bits | (u8::from(wanted) << at))
}

fn card_texts(card: &CardTexts) -> [&str; 6] {
    [
        &card.persona,
        &card.description,
        &card.personality,
        &card.depth_prompt,
        &card.scenario,
        &card.creator_notes,
    ]
}

/// Where a pattern occurs. The word half holds only occurrences that stand alone as words.
#[derive(Clone, Copy, Debug, Default)]
struct Occurrence {
    any: Places,
    word: Places,
}

#[derive(Clone, Copy, Debug, Default)]
struct Places {
    /// One more than the index, from the oldest, of the newest message; 0 is none.
    newest: u32,
    /// Where in that message.
    in_newest: (u32, u32),
    cards: u8,
    prompts: bool,
    /// One more than the place in `Texts::chain` of the last lore text; 0 is none.
    lore: u32,
}

/// A lore text that holds a pattern, and the link before it.
#[derive(Clone, Copy, Debug)]
struct Link {
    lore: u32,
    at: (u32, u32),
    before: u32,
}

/// Where a key was found: bytes of one part as it is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) part: PartRef,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A part of a turn's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartRef {
    /// A message, counted from the oldest.
    Message(u32),
    /// A card text, in the order of [`card_texts`].
    Card(u32),
    /// A prompt, in the order of those that are not empty.
    Prompt(u32),
    /// The text of an activated entry.
    Lore(EntryIx),
    /// Several parts together.
    Joined,
}

/// The parts of a turn's text.
pub(crate) struct Texts<'a> {
    library: &'a Library,
    roster: &'a Roster,
    dialect: Dialect,
    transcript: &'a Transcript,
    cards: Vec<ScanText>,
    prompts: Vec<ScanText>,
    lore: Vec<(ScanText, EntryIx)>,
    chain: Vec<Link>,
    /// Number of lore texts at the end of each batch.
    batches: Vec<usize>,
    words: WordRule,
    cache: &'a mut FoldingCaches,
    /// By folding.
    occurrences: [FxHashMap<PatternId, Occurrence>; Folding::ALL.len()],
    /// Messages scanned so far, from the newest.
    scanned: usize,
    seen: Vec<bool>,
    /// Ranks touched since they were last taken.
    touched: Vec<u32>,
    joined: FxHashMap<(Reach, usize), Rc<str>>,
    too_slow: Vec<(EntryIx, Box<str>)>,
}

#[derive(Clone, Copy)]
enum Part {
    Message(u32),
    Card(usize),
    Prompt,
    Lore(u32),
}

impl<'a> Texts<'a> {
    pub(crate) fn new(
        (library, roster, dialect): (&'a Library, &'a Roster, Dialect),
        transcript: &'a Transcript,
        card: &CardTexts,
        prompts: &[ScannedPrompt],
        words: WordRule,
        cache: &'a mut TurnCache,
    ) -> Self {
        let cards = card_texts(card).map(ScanText::new);
        let prompts = prompts.iter().map(|prompt| ScanText::new(prompt.text.as_str()));
        let mut texts = Self {
            library,
            roster,
            dialect,
            transcript,
            cards: cards.into_iter().collect(),
            prompts: prompts.collect(),
            lore: Vec::new(),
            chain: Vec::new(),
            batches: Vec::new(),
            words,
            cache: cache.of(dialect),
            occurrences: Default::default(),
            scanned: 0,
            seen: vec![false; library.len()],
            touched: Vec::new(),
            joined: FxHashMap::default(),
            too_slow: Vec::new(),
        };
        texts.scan_fixed_parts();
        texts
    }

    fn scan_fixed_parts(&mut self) {
        for at in 0..self.cards.len() {
            let text = self.cards[at].clone();
            self.scan(&text, Part::Card(at));
        }
        for at in 0..self.prompts.len() {
            let text = self.prompts[at].clone();
            self.scan(&text, Part::Prompt);
        }
    }

    /// Makes sure that the newest `depth` messages are scanned.
    pub(crate) fn reach_back(&mut self, depth: u32) {
        let total = self.transcript.messages.len();
        let wanted = (depth.min(MOST_MESSAGES) as usize).min(total);
        while self.scanned < wanted {
            let at = total - 1 - self.scanned;
            let text = self.transcript.messages[at].scan.clone();
            self.scan(&text, Part::Message(u32::try_from(at).unwrap_or(u32::MAX)));
            self.scanned += 1;
        }
    }

    /// Adds the texts of newly activated entries as one batch.
    pub(crate) fn add_lore(&mut self, batch: Vec<(EntryIx, Arc<str>)>) {
        for (ix, text) in batch {
            let text = ScanText::new(text);
            self.scan(&text, Part::Lore(u32::try_from(self.lore.len()).unwrap_or(u32::MAX)));
            self.lore.push((text, ix));
        }
        self.batches.push(self.lore.len());
    }

    /// Whether any lore text was added.
    pub(crate) fn has_lore(&self) -> bool {
        !self.batches.is_empty()
    }

    /// The ranks touched since the last call.
    pub(crate) fn take_touched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.touched)
    }

    /// The entries whose regular expressions were stopped.
    pub(crate) fn take_too_slow(&mut self) -> Vec<(EntryIx, Box<str>)> {
        std::mem::take(&mut self.too_slow)
    }

    fn scan(&mut self, text: &ScanText, part: Part) {
        if text.as_str().is_empty() {
            return;
        }
        for folding in Folding::ALL {
            let (words, index) = (self.words, self.library.index(self.dialect, folding));
            if index.literals.is_empty() {
                continue;
            }
            let cache = &mut self.cache[folding.index()];
            let occurrences = &mut self.occurrences[folding.index()];
            let hits =
                cache.get_or_find(text, |text| Hits::find(&index.literals, folding, words, text));
            for hit in hits.iter() {
                let occurrence = occurrences.entry(hit.pattern).or_default();
                occurrence.any.add(part, hit.any, &mut self.chain);
                if let Some(at) = hit.word {
                    occurrence.word.add(part, at, &mut self.chain);
                }
                for &ix in index.touched(hit.pattern) {
                    if !std::mem::replace(&mut self.seen[ix.0 as usize], true) {
                        self.touched.extend_from_slice(self.roster.ranks(ix));
                    }
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
        reach: Reach,
    ) -> bool {
        match probe {
            Probe::Never | Probe::Dynamic => false,
            Probe::Everything => true,
            Probe::Pattern { pattern, word } => {
                let occurrences = &self.occurrences[key.mode.folding.index()];
                occurrences.get(pattern).is_some_and(|occurrence| {
                    let places = if *word { occurrence.word } else { occurrence.any };
                    self.in_reach(places, reach)
                })
            }
            Probe::Text { literal, word } => {
                self.find_text(literal, *word, key.mode.folding, reach).is_some()
            }
            Probe::Regex { regex } => {
                let text = self.join(reach);
                match regex.find(&text) {
                    RegexOutcome::Found { .. } => true,
                    RegexOutcome::NotFound => false,
                    RegexOutcome::TooSlow => {
                        self.too_slow.push((ix, key.raw.clone()));
                        false
                    }
                }
            }
        }
    }

    fn in_reach(&self, places: Places, reach: Reach) -> bool {
        self.newest_in_reach(places, reach)
            || places.cards & reach.cards != 0
            || (places.prompts && reach.prompts)
            || (places.lore > 0 && reach.lore)
    }

    fn newest_in_reach(&self, places: Places, reach: Reach) -> bool {
        let distance = self.transcript.messages.len().saturating_sub(places.newest as usize);
        places.newest > 0 && distance < reach.messages as usize
    }

    /// The parts in reach, in the order they are joined; lore with the number of its batch.
    fn parts(&self, reach: Reach) -> Vec<(&ScanText, PartRef, Option<usize>)> {
        let messages = self.transcript.messages.iter().enumerate().rev();
        let messages = messages.take(reach.messages.min(MOST_MESSAGES) as usize);
        let messages = messages.map(|(at, message)| {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            (&message.scan, PartRef::Message(at), None)
        });
        let filled = |(_, text): &(u32, &ScanText)| !text.as_str().is_empty();
        let cards = (0_u32..).zip(&self.cards).filter(filled);
        let cards = cards.filter(|(at, _)| reach.cards & (1 << at) != 0);
        let cards = cards.map(|(at, text)| (text, PartRef::Card(at), None));
        let prompts = (0_u32..).zip(&self.prompts).filter(filled).filter(|_| reach.prompts);
        let prompts = prompts.map(|(at, text)| (text, PartRef::Prompt(at), None));
        let lore = self.lore.iter().enumerate().filter(|_| reach.lore).map(|(at, (text, ix))| {
            let batch = self.batches.partition_point(|&end| end <= at);
            (text, PartRef::Lore(*ix), Some(batch))
        });
        messages.chain(cards).chain(prompts).chain(lore).collect()
    }

    /// The joined text, as regular expressions see it: U+0001 before each part, the texts
    /// of one batch of lore joined by line ends only.
    fn join(&mut self, reach: Reach) -> Rc<str> {
        let key = (reach, self.lore.len());
        if let Some(joined) = self.joined.get(&key) {
            return Rc::clone(joined);
        }
        let mut out = String::new();
        let mut last_batch = None;
        for (text, _, batch) in self.parts(reach) {
            let same_batch = batch.is_some() && batch == last_batch;
            out.push_str(match (out.is_empty(), same_batch) {
                (true, _) => "\u{1}",
                (false, true) => "\n",
                (false, false) => "\n\u{1}",
            });
            out.push_str(text.as_str());
            last_batch = batch;
        }
        let joined: Rc<str> = out.into();
        self.joined.insert(key, Rc::clone(&joined));
        joined
    }

    fn find_text(
        &mut self,
        literal: &str,
        word: bool,
        folding: Folding,
        reach: Reach,
    ) -> Option<Location> {
        let words = self.words;
        let find = |text: &str| {
            let folded = folding.apply(text);
            let mut from = 0;
            while let Some(at) = folded[from..].find(literal).map(|at| at + from) {
                let end = at + literal.len();
                if !word || words.is_word(&folded, at, end) {
                    return Some(raw_span(text, folding, (at, end)));
                }
                from = at + folded[at..].chars().next().map_or(1, char::len_utf8);
            }
            None
        };
        if spans_texts(literal) {
            return find(&self.join(reach)).map(|span| location(PartRef::Joined, span));
        }
        let mut parts = self.parts(reach).into_iter();
        parts.find_map(|(text, part, _)| find(text.as_str()).map(|span| location(part, span)))
    }

    /// Where a key that was found in reach stands: the first place in joined order. A key
    /// that is found in no text stands nowhere.
    pub(crate) fn locate(
        &mut self,
        key: &CompiledKey,
        probe: &Probe,
        reach: Reach,
    ) -> Option<Location> {
        match probe {
            Probe::Never | Probe::Everything | Probe::Dynamic => None,
            Probe::Pattern { pattern, word } => {
                self.locate_pattern(*pattern, *word, key.mode.folding, reach)
            }
            Probe::Text { literal, word } => {
                self.find_text(literal, *word, key.mode.folding, reach)
            }
            Probe::Regex { regex } => {
                let found = |text: &str| match regex.find(text) {
                    RegexOutcome::Found { start, end } => Some((start, end)),
                    RegexOutcome::NotFound | RegexOutcome::TooSlow => None,
                };
                let mut parts = self.parts(reach).into_iter();
                let part =
                    parts.find_map(|(text, part, _)| Some(location(part, found(text.as_str())?)));
                Some(part.unwrap_or_else(|| location(PartRef::Joined, (0, 0))))
            }
        }
    }

    fn locate_pattern(
        &mut self,
        pattern: PatternId,
        word: bool,
        folding: Folding,
        reach: Reach,
    ) -> Option<Location> {
        let occurrence = self.occurrences[folding.index()].get(&pattern)?;
        let places = if word { occurrence.word } else { occurrence.any };
        if self.newest_in_reach(places, reach) {
            let at = places.newest - 1;
            let text = self.transcript.messages[at as usize].scan.as_str();
            return Some(raw_location(PartRef::Message(at), text, folding, places.in_newest));
        }
        if places.cards & reach.cards != 0 || (places.prompts && reach.prompts) {
            return self.locate_fixed(pattern, word, folding, reach);
        }
        let first = self.chained(places).last()?;
        let (text, ix) = &self.lore[first.lore as usize];
        Some(raw_location(PartRef::Lore(*ix), text.as_str(), folding, first.at))
    }

    /// Where a pattern stands in card texts or prompts.
    fn locate_fixed(
        &self,
        pattern: PatternId,
        word: bool,
        folding: Folding,
        reach: Reach,
    ) -> Option<Location> {
        let literals = &self.library.index(self.dialect, folding).literals;
        let fixed = |part: &PartRef| matches!(part, PartRef::Card(_) | PartRef::Prompt(_));
        let mut parts = self.parts(reach).into_iter().filter(|(_, part, _)| fixed(part));
        parts.find_map(|(text, part, _)| {
            let hits = Hits::find(literals, folding, self.words, text.as_str());
            let hit = *hits.get(pattern)?;
            let span = if word { hit.word? } else { hit.any };
            Some(raw_location(part, text.as_str(), folding, span))
        })
    }

    /// The lore texts that hold a pattern, last one first.
    fn chained(&self, places: Places) -> impl Iterator<Item = Link> {
        let link = |at: u32| at.checked_sub(1).map(|at| self.chain[at as usize]);
        std::iter::successors(link(places.lore), move |before| link(before.before))
    }

    /// How far back the newest message with this key is; 0 is the newest message.
    pub(crate) fn distance(&mut self, key: &CompiledKey, probe: &Probe) -> Option<u32> {
        let everywhere = Reach { messages: MOST_MESSAGES, cards: 0, prompts: false, lore: false };
        let PartRef::Message(index) = self.locate(key, probe, everywhere)?.part else {
            return None;
        };
        u32::try_from(self.transcript.messages.len()).ok()?.checked_sub(index + 1)
    }

    /// The activated entries whose text holds a key, in order of activation.
    pub(crate) fn parents(&self, key: &CompiledKey, probe: &Probe) -> Vec<EntryIx> {
        let holds = |text: &str| match probe {
            Probe::Never | Probe::Everything | Probe::Dynamic | Probe::Pattern { .. } => false,
            Probe::Text { literal, .. } => key.mode.folding.apply(text).contains(&**literal),
            Probe::Regex { regex } => matches!(regex.find(text), RegexOutcome::Found { .. }),
        };
        let mut parents: Vec<EntryIx> = if let Probe::Pattern { pattern, word } = probe {
            let occurrences = &self.occurrences[key.mode.folding.index()];
            let occurrence = occurrences.get(pattern).copied().unwrap_or_default();
            let places = if *word { occurrence.word } else { occurrence.any };
            let mut chained: Vec<u32> = self.chained(places).map(|link| link.lore).collect();
            chained.reverse();
            chained.into_iter().map(|at| self.lore[at as usize].1).collect()
        } else {
            let lore = self.lore.iter().filter(|(text, _)| holds(text.as_str()));
            lore.map(|(_, ix)| *ix).collect()
        };
        parents.dedup();
        parents
    }
}

fn location(part: PartRef, (start, end): (usize, usize)) -> Location {
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Location { part, start: byte(start), end: byte(end) }
}

/// A span of the folded text as bytes of the text itself.
fn raw_location(part: PartRef, text: &str, folding: Folding, (start, end): (u32, u32)) -> Location {
    location(part, raw_span(text, folding, (start as usize, end as usize)))
}

impl Location {
    /// The place as reports tell it.
    pub(crate) fn place(&self, library: &Library, turn: &Turn<'_>) -> MatchPlace {
        let (start, end) = (self.start as usize, self.end as usize);
        let source = match self.part {
            PartRef::Message(index) => {
                let message = &turn.transcript.messages[index as usize];
                let Some(start) = (start + message.trimmed).checked_sub(message.prefix) else {
                    return MatchPlace { source: TextSource::Speaker { index }, start, end };
                };
                let end = end + message.trimmed - message.prefix;
                let name = message.name.as_deref().map(str::to_owned);
                let source = TextSource::Message { index, role: message.role, name };
                return MatchPlace { source, start, end };
            }
            PartRef::Card(at) => [
                TextSource::Persona,
                TextSource::Description,
                TextSource::Personality,
                TextSource::DepthPrompt,
                TextSource::Scenario,
                TextSource::CreatorNotes,
            ][at as usize]
                .clone(),
            PartRef::Prompt(at) => {
                TextSource::Prompt { name: turn.prompts[at as usize].name.clone() }
            }
            PartRef::Lore(ix) => TextSource::Entry { entry: library.entry(ix).id.clone() },
            PartRef::Joined => TextSource::Joined,
        };
        MatchPlace { source, start, end }
    }
}

impl Places {
    fn add(&mut self, part: Part, at: (u32, u32), chain: &mut Vec<Link>) {
        match part {
            Part::Message(index) if index < self.newest => {}
            Part::Message(index) => {
                self.newest = index + 1;
                self.in_newest = at;
            }
            Part::Card(at) => self.cards |= 1 << at,
            Part::Prompt => self.prompts = true,
            Part::Lore(lore) => {
                chain.push(Link { lore, at, before: self.lore });
                self.lore = u32::try_from(chain.len()).unwrap_or(u32::MAX);
            }
        }
    }
}
