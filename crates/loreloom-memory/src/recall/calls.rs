//! Whether a turn calls for a passage at all.
//!
//! Every turn has a best passage, but most turns need none: "I nod and sit down." What speaks for
//! a passage is the words it shares with the turn, rare ones more than those of everyday life, and
//! its meaning. What speaks for the turn is that it wants to know something ("Where is…", not
//! "Shall we…"), that it is about the past or about something that both know ("the key", "again"),
//! and that it says more than a word or two. A question about the other ("Where do you live?")
//! can be small talk. A question needs little evidence; an action needs several shared words.

use super::{PassageHit, PassageIndex, asks::AskedFor, everyday::is_everyday};
use crate::number::real;

/// An everyday word, relative to another word that is as rare in the story.
const EVERYDAY: f64 = 0.25;
/// One standard deviation of meaning above [`USUAL_MEANING`].
const MEANING: f64 = 0.3;
/// The best passage of a turn that is about nothing is this similar.
const USUAL_MEANING: f64 = 1.5;
/// The turn wants to know something.
const SEEKS: f64 = 1.5;
/// It asks about the past.
const PAST: f64 = 0.5;
/// It asks about something that both know.
const REFERS: f64 = 0.8;
/// It asks the other about themselves.
const PERSONAL: f64 = -0.5;
/// Each word of the turn, up to [`WORDS`].
const WORD: f64 = 0.3;
const WORDS: usize = 5;
/// A turn with more words than this shares some of them by chance.
const LONG: f64 = 8.0;
/// The evidence at which something is recalled.
const ENOUGH: f64 = 3.1;
/// How many of the best passages may have the evidence.
const BEST: usize = 3;

/// What speaks for recalling something.
pub(super) struct Call<'index> {
    index: &'index PassageIndex,
    /// The turn's terms and what each is worth.
    terms: Vec<(String, f64)>,
    /// What speaks for the turn itself.
    turn: f64,
}

impl<'index> Call<'index> {
    pub(super) fn of(index: &'index PassageIndex, question: &str, also: &[&str]) -> Self {
        let asked = index.asked(question, &index.named(question));
        let rarest = index.words.rarity(1).max(f64::EPSILON);
        let mut terms: Vec<(String, f64)> = Vec::new();
        let names = index.tokens_of_names(also);
        for token in asked.into_iter().chain(names) {
            if terms.iter().any(|(stem, _)| *stem == token.stem) {
                continue;
            }
            let rarity = (index.rarity(&token.stem) / rarest).min(1.0);
            let worth = if is_everyday(&token.word) { EVERYDAY * rarity } else { rarity };
            terms.push((token.stem, worth));
        }
        let count = real(terms.len().max(1));
        let by_chance = (LONG / count).sqrt().min(1.0);
        for (_, worth) in &mut terms {
            *worth *= by_chance;
        }
        let asks = AskedFor::of(question);
        let signs = [
            (asks.seeks, SEEKS),
            (asks.past, PAST),
            (asks.refers, REFERS),
            (asks.personal, PERSONAL),
        ];
        let signs: f64 = signs.iter().filter(|(is, _)| *is).map(|(_, worth)| worth).sum();
        let turn = signs + real(terms.len().min(WORDS)) * WORD;
        Self { index, terms, turn }
    }

    /// Whether one of the best passages is worth recalling.
    pub(super) fn is_answered(&self, hits: &[PassageHit]) -> bool {
        let evidence = hits.iter().take(BEST).map(|hit| self.evidence(hit)).fold(0.0, f64::max);
        evidence > 0.0 && evidence + self.turn >= ENOUGH
    }

    fn evidence(&self, hit: &PassageHit) -> f64 {
        let (index, pieces) = (self.index, self.index.pieces_of(hit.at));
        let has = |stem: &String| {
            let term = index.vocabulary.number(stem);
            term.is_some_and(|term| pieces.clone().any(|at| index.pieces.terms(at).contains(&term)))
        };
        let shared = self.terms.iter().filter(|(stem, _)| has(stem));
        let words: f64 = shared.map(|(_, worth)| worth).sum();
        let meaning = hit.parts.meaning + hit.parts.nearest;
        words + MEANING * (meaning - USUAL_MEANING).max(0.0)
    }
}
