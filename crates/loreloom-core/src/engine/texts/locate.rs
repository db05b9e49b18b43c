//! Where keys occur: the first place, the others, and the activated entries among them.

use super::{
    Location, PartRef, ScanReach, Sought, TextPiece, TurnTexts,
    location::{location, raw_location},
    occurrence::{Link, Places},
};
use crate::{
    library::{CompiledKey, EntryIx, MOST_MESSAGES, Probe, spans_texts},
    scan::{Folding, Hits, JsRegex, PatternId, RegexText, WordRule, raw_span},
};

impl TurnTexts<'_> {
    pub(super) fn find_text(
        &mut self,
        literal: &str,
        word: bool,
        folding: Folding,
        reach: ScanReach,
    ) -> Option<Location> {
        let words = word.then_some(self.words);
        let find = |text: &str, cut| find_literal(text, literal, words, folding, cut);
        if spans_texts(literal) {
            return find(self.join(reach).as_str(), 0).map(|span| location(PartRef::Joined, span));
        }
        let mut parts = self.parts(reach).into_iter();
        parts.find_map(|one| Some(location(one.part, find(one.text.as_str(), one.cut)?)))
    }

    /// The first occurrence of a key that was found in reach, in joined order. A key that
    /// matches without any text has none.
    fn locate(&mut self, key: &CompiledKey, probe: &Probe, reach: ScanReach) -> Option<Location> {
        let folding = key.mode.folding;
        match probe {
            Probe::Never | Probe::Everything | Probe::Dynamic => None,
            Probe::Pattern { pattern, word } => {
                let places = self.places(*pattern, *word, folding);
                self.locate_pattern((*pattern, *word, folding), places, reach)
            }
            Probe::Text { literal, word } => self.find_text(literal, *word, folding, reach),
            Probe::Regex { regex } => {
                let mut parts = self.parts(reach).into_iter();
                let part =
                    parts.find_map(|one| Some(one.location(self.find_in(regex, one.text())?)));
                Some(part.unwrap_or_else(|| location(PartRef::Joined, (0, 0))))
            }
        }
    }

    /// The first occurrence of a key that was found in reach, and the others: the other messages,
    /// card texts and prompts in reach, in joined order, with one place in each.
    pub(crate) fn locate_all(
        &mut self,
        key: &CompiledKey,
        probe: &Probe,
        reach: ScanReach,
    ) -> Option<(Location, Box<[Location]>)> {
        let folding = key.mode.folding;
        if let Probe::Pattern { pattern, word } = probe {
            let places = self.places(*pattern, *word, folding);
            let sought = (*pattern, *word, folding);
            let first = self.locate_pattern(sought, places, reach)?;
            let others = self.locate_other_patterns(sought, places, reach, &first);
            return Some((first, others.into()));
        }
        let first = self.locate(key, probe, reach)?;
        let others = match probe {
            Probe::Never | Probe::Everything | Probe::Dynamic | Probe::Pattern { .. } => Vec::new(),
            Probe::Text { literal, word } => {
                let words = word.then_some(self.words);
                let find = |one: &TextPiece<'_>| {
                    find_literal(one.text.as_str(), literal, words, folding, one.cut)
                };
                self.others(reach, &first, |one| Some(location(one.part, find(one)?)))
            }
            Probe::Regex { regex } => {
                let find = |one: &TextPiece<'_>| self.find_in(regex, one.text());
                self.others(reach, &first, |one| Some(one.location(find(one)?)))
            }
        };
        Some((first, others.into()))
    }

    /// The first match in one part.
    fn find_in(&self, regex: &JsRegex, text: &str) -> Option<(usize, usize)> {
        regex.find_within(&RegexText::new(text), &self.steps).span()
    }

    fn places(&self, pattern: PatternId, word: bool, folding: Folding) -> Places {
        let occurrence = self.occurrences[folding.index()].get(&pattern);
        let occurrence = occurrence.copied().unwrap_or_default();
        if word { occurrence.word } else { occurrence.any }
    }

    fn locate_pattern(
        &mut self,
        (pattern, word, folding): Sought,
        places: Places,
        reach: ScanReach,
    ) -> Option<Location> {
        if let Some(span) = self.newest_in_reach((pattern, word, folding), places, reach) {
            let at = places.newest - 1;
            let text = &self.transcript.messages[at as usize].scan;
            return Some(raw_location(PartRef::Message(at), text, folding, span));
        }
        if places.cards & reach.cards != 0 || (places.prompts && reach.prompts) {
            return self.locate_fixed(pattern, word, folding, reach).next();
        }
        let first = self.chained(places.lore).last()?;
        let (text, ix) = &self.lore[first.text as usize];
        Some(raw_location(PartRef::Lore(*ix), text, folding, first.at))
    }

    /// Where a pattern occurs in card texts and prompts.
    fn locate_fixed(
        &self,
        pattern: PatternId,
        word: bool,
        folding: Folding,
        reach: ScanReach,
    ) -> impl Iterator<Item = Location> {
        let fixed = |part: &PartRef| matches!(part, PartRef::Card(_) | PartRef::Prompt(_));
        let parts = self.parts(reach).into_iter().filter(move |one| fixed(&one.part));
        parts.filter_map(move |TextPiece { text, part, .. }| {
            let hit = if let Some(hits) = self.cache[folding.index()].get(text) {
                *hits.get(pattern)?
            } else {
                // Forgotten to make room: looked for again.
                let literals = &self.library.index(self.stages, folding).literals;
                *Hits::find(literals, folding, self.words, text.as_str()).get(pattern)?
            };
            let span = if word { hit.word? } else { hit.any };
            Some(raw_location(part, text, folding, span))
        })
    }

    /// The links of a chain, last one first.
    fn chained(&self, last: u32) -> impl Iterator<Item = Link> {
        let link = |at: u32| at.checked_sub(1).map(|at| self.chain[at as usize]);
        std::iter::successors(link(last), move |before| link(before.before))
    }

    fn locate_other_patterns(
        &mut self,
        (pattern, word, folding): Sought,
        places: Places,
        reach: ScanReach,
        first: &Location,
    ) -> Vec<Location> {
        let length = self.transcript.messages.len();
        let number = |link: &Link| length - (link.text as usize);
        let in_reach = |link: &Link| number(link) <= reach.messages as usize;
        let mut links: Vec<Link> = self.chained(places.older).filter(in_reach).collect();
        links.reverse();
        if reach.cut > 0
            && let Some(last) = links.pop_if(|link| number(link) == reach.messages as usize)
        {
            let sought = (pattern, word, folding);
            let at = self.behind_cut(sought, last.text, last.at, reach.cut);
            links.extend(at.map(|at| Link { at, ..last }));
        }
        let located = links.into_iter().map(|link| {
            let text = &self.transcript.messages[link.text as usize].scan;
            raw_location(PartRef::Message(link.text), text, folding, link.at)
        });
        let mut others: Vec<Location> = located.collect();
        if places.cards & reach.cards != 0 || (places.prompts && reach.prompts) {
            let fixed = self.locate_fixed(pattern, word, folding, reach);
            others.extend(fixed.filter(|one| one.part != first.part));
        }
        others
    }

    /// The parts after the first place in which something is found, without lore.
    fn others(
        &self,
        reach: ScanReach,
        first: &Location,
        find: impl Fn(&TextPiece<'_>) -> Option<Location>,
    ) -> Vec<Location> {
        let parts = self.parts(ScanReach { lore: false, ..reach }).into_iter();
        let after = parts.skip_while(|one| one.part != first.part).skip(1);
        after.filter_map(|one| find(&one)).collect()
    }

    /// How far back the newest message with this key is; 0 is the newest message.
    pub(crate) fn distance(&mut self, key: &CompiledKey, probe: &Probe) -> Option<u32> {
        let everywhere = ScanReach { messages: MOST_MESSAGES, ..ScanReach::default() };
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
            Probe::Regex { regex } => self.find_in(regex, text).is_some(),
        };
        let mut parents: Vec<EntryIx> = if let Probe::Pattern { pattern, word } = probe {
            let places = self.places(*pattern, *word, key.mode.folding);
            let mut chained: Vec<u32> = self.chained(places.lore).map(|link| link.text).collect();
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

/// Where a literal occurs in a text from a byte on, after folding; whole words only if
/// `words` say what they are.
fn find_literal(
    text: &str,
    literal: &str,
    words: Option<WordRule>,
    folding: Folding,
    cut: usize,
) -> Option<(usize, usize)> {
    let folded = folding.apply(text);
    let mut from = folding.length(&text[..cut]);
    while let Some(at) = folded[from..].find(literal).map(|at| at + from) {
        let end = at + literal.len();
        if words.is_none_or(|words| words.is_word(&folded, at, end)) {
            return Some(raw_span(text, folding, (at, end)));
        }
        from = at + folded[at..].chars().next().map_or(1, char::len_utf8);
    }
    None
}
