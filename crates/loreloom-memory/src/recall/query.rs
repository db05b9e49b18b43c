//! Scores passages for a question.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashMap;

use super::{PassageIndex, Weights, packed::PackedVector, tokens::tokens};
use crate::{number::real, text::pattern};
use loreloom_ports::Vector;

static ASKS_TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:when|how\s+long|how\s+recently|(?:in\s+)?(?:what|which)\s+(?:day|date|week|month|year|season))\b",
    )
});

/// A passage that was found, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct PassageHit {
    /// The passage's place in the index.
    pub at: usize,
    /// The sum of its parts.
    pub score: f64,
    /// The parts of the score.
    pub parts: Parts,
}

/// The parts of a score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Its words, with those of the second hop.
    pub words: f64,
    /// Its meaning.
    pub meaning: f64,
    /// Its neighbours.
    pub neighbours: f64,
    /// Its speaker, whether it asks, whether it mentions a time, and how new it is.
    pub form: f64,
}

impl Parts {
    fn sum(self) -> f64 {
        self.words + self.meaning + self.neighbours + self.form
    }
}

type Embed<'embed> = &'embed dyn Fn(&str) -> Vector;

/// A question to an index of passages.
#[derive(Clone, Copy)]
pub struct PassageQuery<'a> {
    /// The question.
    pub question: &'a str,
    /// Further names of the things in it, such as aliases of an entity.
    pub also: &'a [&'a str],
    /// The most passages.
    pub most: usize,
    /// The lowest score.
    pub least: f64,
    /// Whether the passage at a place is wanted.
    pub is_wanted: &'a dyn Fn(usize) -> bool,
}

impl<'a> PassageQuery<'a> {
    /// A question to all passages.
    pub fn new(question: &'a str, most: usize) -> Self {
        Self { question, also: &[], most, least: f64::NEG_INFINITY, is_wanted: &|_| true }
    }
}

impl PassageIndex {
    /// The best passages for a question, best first; equally good ones newest first.
    pub fn search(
        &self,
        query: PassageQuery<'_>,
        weights: &Weights,
        embed: Option<&dyn Fn(&str) -> Vector>,
    ) -> Vec<PassageHit> {
        let PassageQuery { question, also, most, least, is_wanted } = query;
        let named = self.named(question);
        let about = self.spoken_about(question, &named);
        let terms = self.question_terms(question, also, weights, embed);
        let mut words = self.word_scores(&terms, weights);
        let mut meaning = self.meaning_scores(question, &named, weights, embed);
        let form = self.form_scores(question, &about, weights);
        let first = self.combine(words.clone(), &meaning, &form, weights);
        let nearest = best(&first.scores, weights.hop_size.0, |_| true);
        let hop = self.hop_terms(&nearest, &terms, weights);
        let again = hop.iter().map(|(term, weight)| (term.as_str(), *weight));
        self.words.score(again, weights.words, &mut words);
        self.hop_meaning(&nearest, &mut meaning, weights);
        let last = self.combine(words, &meaning, &form, weights);
        let hit = |at: usize| {
            let (words, neighbours) = (last.words[at], last.neighbours[at]);
            let parts = Parts { words, meaning: meaning[at], neighbours, form: form[at] };
            PassageHit { at, score: parts.sum(), parts }
        };
        // The speaker only ranks passages that match; it makes none a match.
        let owed = |at: usize| if self.is_by(at, &about) { weights.speaker } else { 0.0 };
        let is_wanted = |at: usize| last.scores[at] - owed(at) >= least && is_wanted(at);
        best(&last.scores, most, is_wanted).into_iter().map(hit).collect()
    }

    /// The question's terms and words related to them, with weights.
    fn question_terms(
        &self,
        question: &str,
        also: &[&str],
        weights: &Weights,
        embed: Option<Embed<'_>>,
    ) -> FxHashMap<String, f64> {
        let asked = self.without_speakers(tokens(question));
        let mut terms: FxHashMap<String, f64> = FxHashMap::default();
        for token in &asked {
            *terms.entry(token.stem.clone()).or_default() += 1.0;
        }
        for token in also.iter().flat_map(|name| self.without_speakers(tokens(name))) {
            terms.entry(token.stem).or_insert(weights.related);
        }
        let Some(embed) = embed else { return terms };
        let mut related: FxHashMap<String, f64> = FxHashMap::default();
        let mut rarest: Vec<_> = asked.iter().collect();
        let rarity = |token: &super::tokens::Token| self.rarity(&token.stem);
        rarest.sort_by(|a, b| rarity(b).total_cmp(&rarity(a)));
        for token in rarest.into_iter().take(weights.related_words) {
            for (stem, likeness) in self.related_to(&token.word, weights, embed) {
                if !terms.contains_key(stem) {
                    let weight = related.entry(stem.to_owned()).or_default();
                    *weight = weight.max(weights.related * likeness);
                }
            }
        }
        terms.extend(related);
        terms
    }

    /// The terms of the story nearest to a word.
    fn related_to(&self, word: &str, weights: &Weights, embed: Embed<'_>) -> Vec<(&str, f64)> {
        let near =
            self.related.to(word, &self.term_meanings, weights, || PackedVector::of(&embed(word)));
        near.into_iter().map(|(at, likeness)| (self.terms[at].as_str(), likeness)).collect()
    }

    fn word_scores(&self, terms: &FxHashMap<String, f64>, weights: &Weights) -> Vec<f64> {
        let mut scores = vec![0.0; self.len()];
        let terms = terms.iter().map(|(term, weight)| (term.as_str(), *weight));
        self.words.score(terms, weights.words, &mut scores);
        scores
    }

    /// Similarity of vectors, without the names of speakers, which would outweigh the rest.
    fn meaning_scores(
        &self,
        question: &str,
        named: &[&str],
        weights: &Weights,
        embed: Option<Embed<'_>>,
    ) -> Vec<f64> {
        let Some(embed) = embed else { return vec![0.0; self.len()] };
        let mut bare = question.to_owned();
        for name in named {
            bare = bare.replace(&format!("{name}'s"), "").replace(name, "");
        }
        let scores: Vec<f64> = self.meanings.likeness(&PackedVector::of(&embed(&bare))).collect();
        standard(scores, weights.meaning)
    }

    /// Moves the searched vector towards the best passages, because a story repeats things in other
    /// words.
    fn hop_meaning(&self, best: &[usize], meaning: &mut [f64], weights: &Weights) {
        let share = weights.hop_meaning;
        if share <= 0.0 || self.meanings.is_empty() {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rank below ten")]
        let places = best.iter().enumerate().map(|(rank, at)| (*at, 1.0 / (rank + 1) as f32));
        let towards: Vec<f64> = self.meanings.likeness(&self.meanings.between(places)).collect();
        for (meaning, towards) in meaning.iter_mut().zip(standard(towards, weights.meaning)) {
            *meaning = *meaning * (1.0 - share) + towards * share;
        }
    }

    /// Whether one of these speakers says the passage.
    fn is_by(&self, at: usize, speakers: &[u32]) -> bool {
        self.forms[at].speaker.is_some_and(|speaker| speakers.contains(&speaker))
    }

    /// The score of a passage's form: speaker, question, time, age.
    fn form_scores(&self, question: &str, about: &[u32], weights: &Weights) -> Vec<f64> {
        let asks_time = ASKS_TIME.is_match(question);
        let count = real(self.len().max(1));
        let score = |(at, form): (usize, &super::index::PassageForm)| {
            f64::from(u8::from(self.is_by(at, about))) * weights.speaker
                + f64::from(u8::from(asks_time && form.tells_time)) * weights.time
                - form.asking * weights.asking
                + real(at) / count * weights.recency
        };
        self.forms.iter().enumerate().map(score).collect()
    }

    /// Adds the parts. Words and meaning also count for the neighbours.
    fn combine(&self, words: Vec<f64>, meaning: &[f64], form: &[f64], weights: &Weights) -> Scored {
        let words = standard(words, 1.0);
        let mut own: Vec<f64> = words.iter().zip(meaning).map(|(a, b)| a + b).collect();
        let mut neighbours = vec![0.0; own.len()];
        // One offset after the other, over whole slices, so that the compiler can vectorise this:
        // it reads every passage several times.
        for (far, weight) in weights.before.iter().enumerate() {
            let far = (far + 1).min(own.len());
            self.add_near(&mut neighbours, far, 0, &own, *weight);
        }
        for (far, weight) in weights.after.iter().enumerate() {
            let far = (far + 1).min(own.len());
            self.add_near(&mut neighbours, 0, far, &own, *weight);
        }
        for ((own, near), form) in own.iter_mut().zip(&neighbours).zip(form) {
            *own += near + form;
        }
        Scored { words, neighbours, scores: own }
    }

    /// Adds the scores of neighbours at one distance; `to` and `from` are the starts of the two
    /// slices.
    fn add_near(&self, near: &mut [f64], to: usize, from: usize, own: &[f64], weight: f64) {
        let pairs = near[to..].iter_mut().zip(&own[from..]);
        if self.stretches_differ() {
            let stretches = self.forms[to..].iter().zip(&self.forms[from..]);
            for ((near, own), (here, there)) in pairs.zip(stretches) {
                if here.stretch == there.stretch {
                    *near += own * weight;
                }
            }
        } else {
            pairs.for_each(|(near, own)| *near += own * weight);
        }
    }

    /// The most distinctive words of the best passages that the question does not have.
    fn hop_terms(
        &self,
        best: &[usize],
        asked: &FxHashMap<String, f64>,
        weights: &Weights,
    ) -> Vec<(String, f64)> {
        let most = weights.hop_size.1;
        let mut worth: FxHashMap<&str, f64> = FxHashMap::default();
        for (rank, at) in best.iter().enumerate() {
            for term in &self.entries[*at].terms {
                if !asked.contains_key(term) {
                    *worth.entry(term).or_default() += 1.0 / real(rank + 1);
                }
            }
        }
        let mut terms: Vec<(String, f64)> = worth
            .into_iter()
            .map(|(term, count)| (term.to_owned(), count * self.rarity(term)))
            .collect();
        terms.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        terms.truncate(most);
        let top = terms.first().map_or(1.0, |(_, worth)| *worth);
        for (_, worth) in &mut terms {
            *worth *= weights.hop / top;
        }
        terms
    }
}

/// The scores of all passages and the parts that change from pass to pass.
struct Scored {
    words: Vec<f64>,
    neighbours: Vec<f64>,
    scores: Vec<f64>,
}

/// The indexes of the best `most` wanted passages, best first; on a tie the newest first.
fn best(scores: &[f64], most: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    if most == 0 {
        return Vec::new();
    }
    let mut found: Vec<(f64, usize)> = Vec::new();
    // Only a few are kept, so most scores cost one comparison.
    let mut least = f64::NEG_INFINITY;
    for (at, score) in scores.iter().copied().enumerate() {
        if score < least || !is_wanted(at) {
            continue;
        }
        found.push((score, at));
        if found.len() >= 2 * most {
            keep_best(&mut found, most);
            least = found[..most].iter().fold(f64::INFINITY, |least, (score, _)| least.min(*score));
        }
    }
    keep_best(&mut found, most);
    found.sort_unstable_by(better);
    found.into_iter().map(|(_, at)| at).collect()
}

fn better(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
}

fn keep_best(found: &mut Vec<(f64, usize)>, most: usize) {
    if found.len() > most {
        found.select_nth_unstable_by(most - 1, better);
        found.truncate(most);
    }
}

/// Converts scores to standard deviations from their mean, times a weight; equal scores become
/// zeros. In place, because there is one for each passage.
fn standard(mut scores: Vec<f64>, weight: f64) -> Vec<f64> {
    let count = real(scores.len().max(1));
    let mean = scores.iter().sum::<f64>() / count;
    let spread = (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count).sqrt();
    let scale = if spread > 0.0 { weight / spread } else { 0.0 };
    for score in &mut scores {
        *score = (*score - mean) * scale;
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::Passage;

    fn story(lines: &[(&str, &str)]) -> PassageIndex {
        let mut index = PassageIndex::new([]);
        for (speaker, text) in lines {
            index.push(Passage { speaker: Some(speaker), text, stretch: 0 }, None);
        }
        index
    }

    fn found(index: &PassageIndex, question: &str) -> Vec<usize> {
        let hits = index.search(PassageQuery::new(question, 2), &Weights::default(), None);
        hits.iter().map(|hit| hit.at).collect()
    }

    #[test]
    fn an_answer_is_found_through_the_question_before_it() {
        let index = story(&[
            ("Lis", "The harbour was calm today."),
            ("Odo", "Which instrument did you learn as a child, Lis?"),
            ("Lis", "The violin, for six years."),
            ("Odo", "I baked bread."),
            ("Lis", "Gulls stole it, I heard."),
            ("Odo", "They did."),
        ]);
        assert_eq!(found(&index, "What instrument did Lis learn?")[0], 2);
    }

    #[test]
    fn the_one_who_is_asked_about_is_heard_first() {
        let index = story(&[
            ("Odo", "I keep bees behind the mill."),
            ("Lis", "Rain again."),
            ("Lis", "I keep bees behind the mill."),
            ("Odo", "Cold night."),
        ]);
        assert_eq!(found(&index, "Where does Lis keep bees?")[0], 2);
        assert_eq!(found(&index, "Where does Odo keep bees?")[0], 0);
    }

    #[test]
    fn an_alias_finds_what_the_name_does_not() {
        let index =
            story(&[("A", "The Captain sold the boat."), ("A", "Nothing else."), ("A", "Fog.")]);
        let weights = Weights::default();
        let query = PassageQuery { also: &["Captain"], ..PassageQuery::new("What about Venn?", 1) };
        let hits = index.search(query, &weights, None);
        assert_eq!(hits[0].at, 0);
        assert!(hits[0].parts.words > 0.0);
    }

    #[test]
    fn an_empty_story_has_no_hits() {
        let query = PassageQuery::new("x", 5);
        assert!(PassageIndex::new([]).search(query, &Weights::default(), None).is_empty());
    }
}
