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
    library::{CompiledKey, EntryIx, Library, MOST_MESSAGES, Probe, Roster, spans_texts},
    report::{KeyMatch, MatchPlace, TextSource},
    scan::{Folding, Hits, PatternId, RegexOutcome, ScanText, WordRule, raw_offset},
    turn::{CardTexts, ScannedPrompt, Transcript, TurnCache},
};

/// What an entry's keys are looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reach {
    /// Messages, from the newest; 0 is no text at all, not even the other parts.
    pub(crate) messages: u32,
    /// Which card texts, one bit each in the order of [`card_texts`].
    pub(crate) cards: u8,
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

fn card_texts(card: &CardTexts) -> [(&str, TextSource); 6] {
    [
        (&card.persona, TextSource::Persona),
        (&card.description, TextSource::Description),
        (&card.personality, TextSource::Personality),
        (&card.depth_prompt, TextSource::DepthPrompt),
        (&card.scenario, TextSource::Scenario),
        (&card.creator_notes, TextSource::CreatorNotes),
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
    cards: u8,
    prompts: bool,
    lore: bool,
}

/// The parts of a turn's text.
pub(crate) struct Texts<'a> {
    library: &'a Library,
    roster: &'a Roster,
    transcript: &'a Transcript,
    cards: Vec<(ScanText, TextSource)>,
    prompts: Vec<(ScanText, TextSource)>,
    lore: Vec<(ScanText, EntryIx)>,
    /// Number of lore texts at the end of each batch.
    batches: Vec<usize>,
    words: WordRule,
    cache: &'a mut TurnCache,
    lower: FxHashMap<PatternId, Occurrence>,
    exact: FxHashMap<PatternId, Occurrence>,
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
    Lore,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(
        (library, roster): (&'a Library, &'a Roster),
        transcript: &'a Transcript,
        card: &CardTexts,
        prompts: &[ScannedPrompt],
        words: WordRule,
        cache: &'a mut TurnCache,
    ) -> Self {
        let cards = card_texts(card).map(|(text, source)| (ScanText::new(text), source));
        let prompts = prompts.iter().filter(|prompt| !prompt.text.is_empty()).map(|prompt| {
            let source = TextSource::Prompt { name: prompt.name.clone() };
            (ScanText::new(prompt.text.as_str()), source)
        });
        let mut texts = Self {
            library,
            roster,
            transcript,
            cards: cards.into_iter().collect(),
            prompts: prompts.collect(),
            lore: Vec::new(),
            batches: Vec::new(),
            words,
            cache,
            lower: FxHashMap::default(),
            exact: FxHashMap::default(),
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
            let text = self.cards[at].0.clone();
            self.scan(&text, Part::Card(at));
        }
        for at in 0..self.prompts.len() {
            let text = self.prompts[at].0.clone();
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
            self.scan(&text, Part::Lore);
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
        for folding in [Folding::Lower, Folding::Exact] {
            let (words, index) = (self.words, self.library.index(folding));
            if index.literals.is_empty() {
                continue;
            }
            let (cache, occurrences) = match folding {
                Folding::Lower => (&mut self.cache.lower, &mut self.lower),
                Folding::Exact => (&mut self.cache.exact, &mut self.exact),
            };
            let hits =
                cache.get_or_find(text, |text| Hits::find(&index.literals, folding, words, text));
            for hit in hits.iter() {
                let occurrence = occurrences.entry(hit.pattern).or_default();
                occurrence.any.add(part);
                if hit.word.is_some() {
                    occurrence.word.add(part);
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
                let occurrences = match key.mode.folding {
                    Folding::Lower => &self.lower,
                    Folding::Exact => &self.exact,
                };
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
        if reach.messages == 0 {
            return false;
        }
        let total = self.transcript.messages.len();
        let distance = total.saturating_sub(places.newest as usize);
        (places.newest > 0 && distance < reach.messages as usize)
            || places.cards & reach.cards != 0
            || places.prompts
            || (places.lore && reach.lore)
    }

    /// The parts in reach, in the order they are joined.
    fn parts(&self, reach: Reach) -> Vec<(&ScanText, Option<usize>)> {
        if reach.messages == 0 {
            return Vec::new();
        }
        let newest_first = self.transcript.messages.iter().rev();
        let messages = newest_first
            .take(reach.messages.min(MOST_MESSAGES) as usize)
            .map(|message| &message.scan);
        let cards =
            self.cards.iter().enumerate().filter(|(at, (text, _))| {
                reach.cards & (1 << at) != 0 && !text.as_str().is_empty()
            });
        let prompts = self.prompts.iter().map(|(text, _)| text);
        let fixed = messages.chain(cards.map(|(_, (text, _))| text)).chain(prompts);
        let lore =
            self.lore.iter().enumerate().filter(|_| reach.lore).map(|(at, (text, _))| {
                (text, Some(self.batches.partition_point(|&end| end <= at)))
            });
        fixed.map(|text| (text, None)).chain(lore).collect()
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
        for (text, batch) in self.parts(reach) {
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
    ) -> Option<(usize, usize)> {
        let words = self.words;
        let fits = |text: &str| {
            let folded = folding.apply(text);
            let mut from = 0;
            while let Some(at) = folded[from..].find(literal).map(|at| at + from) {
                let end = at + literal.len();
                if !word || words.is_word(&folded, at, end) {
                    return Some((at, end));
                }
                from = at + folded[at..].chars().next().map_or(1, char::len_utf8);
            }
            None
        };
        if spans_texts(literal) {
            return fits(&self.join(reach));
        }
        self.parts(reach).into_iter().find_map(|(text, _)| fits(text.as_str()))
    }

    /// Where a key that was found in reach stands: the first place in joined order.
    pub(crate) fn locate(
        &mut self,
        key: &CompiledKey,
        probe: &Probe,
        expanded: Option<&str>,
        reach: Reach,
    ) -> KeyMatch {
        let at = match probe {
            Probe::Never | Probe::Everything | Probe::Dynamic => None,
            Probe::Pattern { pattern, word } => self.locate_pattern(*pattern, *word, key, reach),
            Probe::Text { literal, word } => {
                self.locate_in_parts(reach, key.mode.folding, |text| {
                    let start = text.find(&**literal)?;
                    let _ = word;
                    Some((start, start + literal.len()))
                })
            }
            Probe::Regex { regex } => {
                self.locate_in_parts(reach, Folding::Exact, |text| match regex.find(text) {
                    RegexOutcome::Found { start, end } => Some((start, end)),
                    RegexOutcome::NotFound | RegexOutcome::TooSlow => None,
                })
            }
        };
        let spans = matches!(probe, Probe::Text { .. } | Probe::Regex { .. });
        let joined = || MatchPlace { source: TextSource::Joined, start: 0, end: 0 };
        KeyMatch {
            key: key.raw.to_string(),
            expanded: expanded.filter(|text| **text != *key.raw).map(str::to_owned),
            at: at.or_else(|| spans.then(joined)),
        }
    }

    fn locate_pattern(
        &mut self,
        pattern: PatternId,
        word: bool,
        key: &CompiledKey,
        reach: Reach,
    ) -> Option<MatchPlace> {
        let folding = key.mode.folding;
        let literals = &self.library.index(folding).literals;
        let words = self.words;
        let mut found = None;
        for (part, source) in self.sources(reach) {
            let cache = match folding {
                Folding::Lower => &mut self.cache.lower,
                Folding::Exact => &mut self.cache.exact,
            };
            let hits = cache.get_or_find(&part, |text| Hits::find(literals, folding, words, text));
            let span =
                hits.get(pattern).and_then(|hit| if word { hit.word } else { Some(hit.any) });
            if let Some((start, end)) = span {
                found = Some((part, source, start as usize, end as usize));
                break;
            }
        }
        let (part, source, start, end) = found?;
        Some(self.place(&part, source, folding, (start, end)))
    }

    fn locate_in_parts(
        &mut self,
        reach: Reach,
        folding: Folding,
        find: impl Fn(&str) -> Option<(usize, usize)>,
    ) -> Option<MatchPlace> {
        self.sources(reach).into_iter().find_map(|(part, source)| {
            let span = find(&folding.apply(part.as_str()))?;
            Some(self.place(&part, source, folding, span))
        })
    }

    fn place(
        &self,
        part: &ScanText,
        source: TextSource,
        folding: Folding,
        (start, end): (usize, usize),
    ) -> MatchPlace {
        let start = raw_offset(part.as_str(), folding, start);
        let end = raw_offset(part.as_str(), folding, end);
        let TextSource::Message { index, .. } = source else {
            return MatchPlace { source, start, end };
        };
        let message = &self.transcript.messages[index as usize];
        match (start + message.trimmed).checked_sub(message.prefix) {
            Some(start_in_text) => {
                let end = end + message.trimmed - message.prefix;
                MatchPlace { source, start: start_in_text, end }
            }
            None => MatchPlace { source: TextSource::Speaker { index }, start, end },
        }
    }

    /// The parts in reach with what they are.
    fn sources(&self, reach: Reach) -> Vec<(ScanText, TextSource)> {
        if reach.messages == 0 {
            return Vec::new();
        }
        let messages = self.transcript.messages.iter().enumerate().rev();
        let messages = messages.take(reach.messages as usize).map(|(at, message)| {
            let source = TextSource::Message {
                index: u32::try_from(at).unwrap_or(u32::MAX),
                role: message.role,
                name: message.name.as_deref().map(str::to_owned),
            };
            (message.scan.clone(), source)
        });
        let cards = self.cards.iter().enumerate();
        let cards =
            cards.filter(|(at, _)| reach.cards & (1 << at) != 0).map(|(_, card)| card.clone());
        let lore = self.lore.iter().filter(|_| reach.lore).map(|(text, ix)| {
            (text.clone(), TextSource::Entry { entry: self.library.entry(*ix).id.clone() })
        });
        messages.chain(cards).chain(self.prompts.iter().cloned()).chain(lore).collect()
    }

    /// How far back the newest message with this key is; 0 is the newest message.
    pub(crate) fn distance(&mut self, key: &CompiledKey, probe: &Probe) -> Option<u32> {
        let everywhere = Reach { messages: MOST_MESSAGES, cards: 0, lore: false };
        let place = self.locate(key, probe, None, everywhere).at?;
        let (TextSource::Message { index, .. } | TextSource::Speaker { index }) = place.source
        else {
            return None;
        };
        u32::try_from(self.transcript.messages.len()).ok()?.checked_sub(index + 1)
    }

    /// The activated entries whose text holds a key.
    pub(crate) fn parents(&mut self, key: &CompiledKey, probe: &Probe) -> Vec<EntryIx> {
        let holds = |text: &str| match probe {
            Probe::Never | Probe::Everything | Probe::Dynamic => false,
            Probe::Pattern { pattern, word } => {
                let literals = &self.library.index(key.mode.folding).literals;
                let hits = Hits::find(literals, key.mode.folding, self.words, text);
                hits.get(*pattern).is_some_and(|hit| !word || hit.word.is_some())
            }
            Probe::Text { literal, .. } => key.mode.folding.apply(text).contains(&**literal),
            Probe::Regex { regex } => matches!(regex.find(text), RegexOutcome::Found { .. }),
        };
        let lore = self.lore.iter().filter(|(text, _)| holds(text.as_str()));
        let mut parents: Vec<EntryIx> = lore.map(|(_, ix)| *ix).collect();
        parents.dedup();
        parents
    }
}

impl Places {
    fn add(&mut self, part: Part) {
        match part {
            Part::Message(at) => self.newest = self.newest.max(at + 1),
            Part::Card(at) => self.cards |= 1 << at,
            Part::Prompt => self.prompts = true,
            Part::Lore => self.lore = true,
        }
    }
}
