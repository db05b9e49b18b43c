//! Scores passages for a question.

use std::ops::Range;

use loreloom_core::report::{ChannelScore, RecallChannel};
use rustc_hash::FxHashMap;

use super::{
    PassageIndex, Weights,
    asks::AskedFor,
    best::{best, single, standard},
    index::PassageForm,
    meaning::Meaning,
    names::NamedSpeakers,
    story_vectors::StoryVectors,
    tokens::{Token, terms},
    weights::NearWeights,
    word_scores::WordScores,
};
use crate::number::{clamp_u32, real};

/// A passage that was found, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct PassageHit {
    /// The passage's place in the index.
    pub at: usize,
    /// The bytes of its best piece. A short passage is one piece.
    pub piece: Range<usize>,
    /// The sum of its parts.
    pub score: f64,
    /// The parts of the score.
    pub parts: Parts,
    /// The words of the question that its best piece has.
    pub shared: Vec<String>,
}

/// The parts of a score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Its words, with those of the second hop.
    pub words: f64,
    /// The nearness of its words to those of the question.
    pub nearest: f64,
    /// Its meaning.
    pub meaning: f64,
    /// Its neighbours.
    pub neighbours: f64,
    /// Its speaker, if the question is about them.
    pub names: f64,
    /// Whether it mentions what is asked for; less if it only asks itself.
    pub answers: f64,
    /// How new it is.
    pub recency: f64,
}

impl Parts {
    fn sum(self) -> f64 {
        let own = self.words + self.nearest + self.meaning;
        own + self.neighbours + self.names + self.answers + self.recency
    }

    /// The channels that found a passage, the largest part first. A part that is small beside the
    /// largest found nothing.
    pub fn channels(self) -> Vec<ChannelScore> {
        let parts = [
            (self.words + self.nearest, RecallChannel::Words),
            (self.meaning, RecallChannel::Meaning),
            (self.neighbours, RecallChannel::Neighbours),
            (self.names, RecallChannel::Names),
            (self.answers, RecallChannel::Answers),
            (self.recency, RecallChannel::Recency),
        ];
        let largest = parts.iter().fold(0.0_f64, |most, (score, _)| most.max(*score));
        let mut found: Vec<ChannelScore> = parts
            .into_iter()
            .filter(|(score, _)| *score > 0.0 && *score >= largest * Self::COUNTS)
            .map(|(score, channel)| ChannelScore { channel, score })
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found
    }

    /// The least part of the largest that is worth a word.
    const COUNTS: f64 = 0.2;

    /// The channel with the largest part.
    pub fn found_by(self) -> RecallChannel {
        self.channels().first().map_or(RecallChannel::Words, |first| first.channel)
    }
}

type Embed<'embed> = &'embed dyn StoryVectors;

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
    /// Only passages before this place are searched. Those after it, such as the question itself,
    /// must not decide what stands out.
    pub until: usize,
    /// Whether the passage at a place is wanted.
    pub is_wanted: &'a dyn Fn(usize) -> bool,
}

impl<'a> PassageQuery<'a> {
    /// A question to all passages.
    pub fn new(question: &'a str, most: usize) -> Self {
        let (least, until) = (f64::NEG_INFINITY, usize::MAX);
        Self { question, also: &[], most, least, until, is_wanted: &|_| true }
    }
}

/// Who and what a question is about.
struct Subject {
    asks: AskedFor,
    /// The speakers it is about.
    about: Vec<u32>,
    /// The speakers it addresses and asks about themselves.
    asked: Vec<u32>,
}

impl Subject {
    fn of(question: &str, named: &NamedSpeakers) -> Self {
        let asks = AskedFor::of(question);
        let about = named.spoken_about(question);
        let others = named.speakers.iter().map(|(speaker, _)| *speaker);
        let asked = others.filter(|speaker| asks.yours && !about.contains(speaker)).collect();
        Self { asks, about, asked }
    }

    /// The score of who speaks.
    fn speaker_score(&self, form: &PassageForm, weights: &Weights) -> f64 {
        let is_about = form.speaker.is_some_and(|speaker| self.about.contains(&speaker));
        let is_asked = form.speaker.is_some_and(|speaker| self.asked.contains(&speaker));
        let is_own = self.asks.own && form.by_player || is_asked;
        f64::from(u8::from(is_about)) * weights.speaker + f64::from(u8::from(is_own)) * weights.own
    }
}

impl PassageIndex {
    /// The best passages for a question, best first; equally good ones newest first.
    pub fn search(
        &self,
        query: PassageQuery<'_>,
        weights: &Weights,
        embed: Option<&dyn StoryVectors>,
    ) -> Vec<PassageHit> {
        let PassageQuery { question, also, most, least, .. } = query;
        let language = self.language_of(question);
        let until = query.until.min(self.len());
        let is_wanted = |at: usize| at < until && (query.is_wanted)(at);
        let named = self.named(question);
        let subject = Subject::of(question, &named);
        let asked = self.asked(question, &named);
        let vectors = embed.filter(|embed| embed.knows_words(language));
        let terms = self.question_terms(&asked, also, weights, vectors);
        let near = weights.near.between(&weights.near_long, self.lengths.shortness());
        let mut words = WordScores::new(self, weights, until);
        words.add(terms.iter().map(|(term, weight)| (term.as_str(), *weight)));
        let wanted = embed.and_then(|embed| embed.question(&named.without(question), language));
        let meaning = self.meaning(wanted.as_ref(), (&asked, vectors), until, weights);
        let form = self.form_scores(&subject, weights);
        let first = self.combine(&words, &meaning, &form, (weights, &near));
        let nearest = best(&first.scores, weights.hop_size.0, is_wanted);
        let nearest: Vec<usize> =
            nearest.iter().map(|at| self.best_piece(*at, &words, &meaning)).collect();
        let hop = self.hop_terms(&nearest, &terms, weights);
        words.add(hop.iter().map(|(term, weight)| (term.as_str(), *weight)));
        let last = self.combine(&words, &meaning, &form, (weights, &near));
        // Who speaks only ranks passages that match; it makes none a match.
        let owed = |at: usize| subject.speaker_score(&self.forms[at], weights);
        let hit = |at: usize| {
            let recency = weights.recency * real(at) / real(self.len().max(1));
            let parts = Parts {
                words: last.words[at].into(),
                nearest: meaning.nearest[at].into(),
                meaning: meaning.passages[at].into(),
                neighbours: last.neighbours[at].into(),
                names: owed(at),
                answers: f64::from(form[at]) - owed(at) - recency,
                recency,
            };
            let piece = self.best_piece(at, &words, &meaning);
            let shared = self.shared(&asked, piece);
            PassageHit { at, piece: self.pieces.range(piece), score: parts.sum(), parts, shared }
        };
        let is_wanted = |at: usize| f64::from(last.scores[at]) - owed(at) >= least && is_wanted(at);
        best(&last.scores, most, is_wanted).into_iter().map(hit).collect()
    }

    /// The words of a question that a piece has, each once.
    fn shared(&self, asked: &[Token], piece: usize) -> Vec<String> {
        let terms = self.pieces.terms(piece);
        let mut found: Vec<String> = Vec::new();
        for token in asked {
            let term = self.vocabulary.number(&token.stem);
            let is_there = term.is_some_and(|term| terms.contains(&term));
            if is_there && !found.contains(&token.word) {
                found.push(token.word.clone());
            }
        }
        found
    }

    /// The terms of a question, without the names of speakers.
    pub(super) fn asked(&self, question: &str, named: &NamedSpeakers) -> Vec<Token> {
        let mut found = self.without_speakers(terms(question, self.usual_language()));
        found.retain(|token| !named.words.contains(&token.word));
        found
    }

    /// The question's terms and words related to them, with weights.
    fn question_terms(
        &self,
        asked: &[Token],
        also: &[&str],
        weights: &Weights,
        embed: Option<Embed<'_>>,
    ) -> FxHashMap<String, f64> {
        let mut found: FxHashMap<String, f64> = FxHashMap::default();
        for token in asked {
            let weight = found.entry(token.stem.clone()).or_default();
            *weight += if *weight > 0.0 { weights.repeated } else { 1.0 };
        }
        for token in self.tokens_of_names(also) {
            found.entry(token.stem).or_insert(weights.related);
        }
        let Some(embed) = embed else { return found };
        let mut related: FxHashMap<String, f64> = FxHashMap::default();
        let mut rarest: Vec<&Token> = asked.iter().collect();
        rarest.sort_by(|a, b| self.rarity(&b.stem).total_cmp(&self.rarity(&a.stem)));
        for token in rarest.into_iter().take(weights.related_words) {
            for (stem, likeness) in self.related_to(&token.word, weights, embed) {
                if !found.contains_key(stem) {
                    let weight = related.entry(stem.to_owned()).or_default();
                    *weight = weight.max(weights.related * likeness);
                }
            }
        }
        found.extend(related);
        found
    }

    /// The terms of further names.
    pub(super) fn tokens_of_names(&self, names: &[&str]) -> Vec<Token> {
        let usual = self.usual_language();
        names.iter().flat_map(|name| self.without_speakers(terms(name, usual))).collect()
    }

    /// The terms of the story nearest to a word.
    fn related_to(&self, word: &str, weights: &Weights, embed: Embed<'_>) -> Vec<(&str, f64)> {
        let meanings = &self.vocabulary.meanings;
        let near = self.related.to(word, meanings, weights, || embed.word(word));
        let term = |(at, likeness)| (self.vocabulary.term(clamp_u32(at)), likeness);
        near.into_iter().map(term).collect()
    }

    /// The piece of a passage that fits best by words and meaning.
    fn best_piece(&self, at: usize, words: &WordScores<'_>, meaning: &Meaning) -> usize {
        let pieces = self.pieces_of(at);
        let most = pieces.clone().map(|piece| words.pieces[piece]).fold(f32::EPSILON, f32::max);
        let fit = |piece: &usize| words.pieces[*piece] / most + meaning.pieces[*piece];
        let first = pieces.start;
        pieces.rev().max_by(|a, b| fit(a).total_cmp(&fit(b))).unwrap_or(first)
    }

    /// The score of a passage's form: speaker, question, what it mentions, age.
    fn form_scores(&self, subject: &Subject, weights: &Weights) -> Vec<f32> {
        let (asks, count) = (subject.asks, real(self.len().max(1)));
        let [time, number, place] =
            [(asks.time, weights.time), (asks.number, weights.number), (asks.place, weights.place)]
                .map(|(asked, weight)| if asked { single(weight) } else { 0.0 });
        let (asking, newer) = (single(weights.asking), single(weights.recency / count));
        let mut age = 0.0;
        let score = |form: &PassageForm| {
            let told = |told: bool, worth: f32| if told { worth } else { 0.0 };
            let score = single(subject.speaker_score(form, weights))
                + told(form.tells.time, time)
                + told(form.tells.number, number)
                + told(form.tells.place, place)
                - form.asking * asking
                + age;
            age += newer;
            score
        };
        self.forms.iter().map(score).collect()
    }

    /// Adds the parts. Words and meaning also count for the neighbours.
    fn combine(
        &self,
        words: &WordScores<'_>,
        meaning: &Meaning,
        form: &[f32],
        (weights, near): (&Weights, &NearWeights),
    ) -> Scored {
        let words = standard(words.passages(), 1.0, meaning.until);
        let near_words = single(weights.near_words);
        let own: Vec<f32> = words.iter().zip(&meaning.nearest).map(|(a, b)| a + b).collect();
        let shared = own.iter().zip(&meaning.passages);
        let shared: Vec<f32> =
            shared.map(|(words, meaning)| words * near_words + meaning).collect();
        let mut neighbours = vec![0.0; shared.len()];
        // One offset after the other, over whole slices, so that the compiler can vectorise this:
        // it reads every passage several times.
        for (far, weight) in near.before.iter().enumerate() {
            let far = (far + 1).min(shared.len());
            self.add_near(&mut neighbours, far, 0, &shared, single(*weight));
        }
        for (far, weight) in near.after.iter().enumerate() {
            let far = (far + 1).min(shared.len());
            self.add_near(&mut neighbours, 0, far, &shared, single(*weight));
        }
        let parts = own.iter().zip(&meaning.passages).zip(&neighbours).zip(form);
        let scores = parts.map(|(((words, meaning), near), form)| words + meaning + near + form);
        Scored { scores: scores.collect(), words, neighbours }
    }

    /// Adds the scores of neighbours at one distance; `to` and `from` are the starts of the two
    /// slices.
    fn add_near(&self, near: &mut [f32], to: usize, from: usize, own: &[f32], weight: f32) {
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

    /// The most distinctive words of the best pieces that the question does not have.
    fn hop_terms(
        &self,
        best: &[usize],
        asked: &FxHashMap<String, f64>,
        weights: &Weights,
    ) -> Vec<(String, f64)> {
        let most = weights.hop_size.1;
        let mut worth: FxHashMap<&str, f64> = FxHashMap::default();
        for (rank, at) in best.iter().enumerate() {
            for term in self.pieces.terms(*at).iter().map(|term| self.vocabulary.term(*term)) {
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
    words: Vec<f32>,
    neighbours: Vec<f32>,
    scores: Vec<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::Passage;

    fn story(lines: &[(&str, &str)]) -> PassageIndex {
        let mut index = PassageIndex::new([]);
        for (speaker, text) in lines {
            index
                .push(Passage { speaker: Some(speaker), text, stretch: 0, by_player: false }, None);
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
    fn you_is_the_speaker_whom_a_question_addresses() {
        let index = story(&[
            ("Odo", "My brother sold fish and bread."),
            ("Pip", "My brother sold fish and bread."),
            ("Lis", "Cold night."),
            ("Lis", "Rain again."),
        ]);
        assert_eq!(found(&index, "Odo, what did your brother sell?")[0], 0);
        assert_eq!(found(&index, "Pip, what did your brother sell?")[0], 1);
        // The newer one, because nothing else is different.
        assert_eq!(found(&index, "Odo, what did my brother sell?")[0], 1);
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
    fn a_hit_says_which_channels_and_words_found_it() {
        let index = story(&[
            ("Odo", "I keep bees behind the old mill."),
            ("Lis", "Rain again."),
            ("Lis", "Bread is dear."),
            ("Odo", "Cold night."),
        ]);
        let query = PassageQuery::new("Where does Odo keep his bees?", 1);
        let hits = index.search(query, &Weights::default(), None);
        assert_eq!(hits[0].shared, ["keep", "bees"]);
        let found: Vec<RecallChannel> =
            hits[0].parts.channels().iter().map(|one| one.channel).collect();
        assert_eq!(found, [RecallChannel::Names, RecallChannel::Words]);
        let parts = Parts { words: 3.0, meaning: 1.0, neighbours: 0.5, ..Parts::default() };
        assert_eq!(parts.channels().len(), 2);
        assert_eq!(parts.found_by(), RecallChannel::Words);
    }

    #[test]
    fn an_empty_story_has_no_hits() {
        let query = PassageQuery::new("x", 5);
        assert!(PassageIndex::new([]).search(query, &Weights::default(), None).is_empty());
    }
}
