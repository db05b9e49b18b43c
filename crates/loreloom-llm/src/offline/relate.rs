//! Chooses the lore for a reply.
//!
//! Sentences are scored by the words they share with the newest message. Rare words count more,
//! and words of earlier messages a little. Lore is not repeated.

use std::collections::{HashMap, HashSet};

use super::{scene::OfflineScene, sentences::LoreSentence};
use crate::embed::StaticEmbedder;

/// What a word of the messages before weighs against one of the last.
const EARLIER: f64 = 0.25;

/// The least cosine that counts as having to do with each other.
const NEAR: f32 = 0.3;

/// Words that say nothing about the topic.
const COMMON: &[&str] = &[
    "a", "about", "again", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but",
    "by", "can", "come", "could", "did", "do", "does", "for", "from", "get", "go", "had", "has",
    "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "know", "like", "look", "make", "me", "more", "my", "no", "not", "now", "of", "on",
    "one", "only", "or", "our", "out", "over", "say", "see", "she", "should", "so", "some", "take",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "thing",
    "this", "to", "up", "us", "very", "was", "way", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "would", "you", "your", "every", "really", "first", "last",
    "still", "even", "much", "many", "must", "may", "might", "never", "always", "too", "also",
    "let", "want", "need", "give", "told", "said", "ask", "please", "yes", "hello", "good",
];

/// Words that a sentence cannot begin with and be understood by itself.
const LEANING: [&str; 14] = [
    "it", "he", "she", "they", "this", "these", "those", "its", "his", "her", "their", "that",
    "such", "both",
];

/// The lore a reply uses.
#[derive(Debug, Default)]
pub(super) struct Chosen<'a> {
    /// At most two sentences, in order.
    pub(super) sentences: Vec<&'a LoreSentence>,
    /// Whether they were used before.
    pub(super) again: bool,
}

/// Chooses the lore for a reply. Used lore comes again only if nothing else answers, and never
/// twice in a row.
pub(super) fn choose(scene: &OfflineScene) -> Chosen<'_> {
    let weights = weights(scene);
    let not_in = |text: &str| -> Vec<&LoreSentence> {
        let text = text.to_lowercase();
        let sentences = scene.lore.iter();
        sentences
            .filter(|sentence| !text.contains(core_of(&sentence.text).as_str()))
            .filter(|sentence| !is_about(&sentence.text, scene.persona.as_deref()))
            .collect()
    };
    let stands_alone = |sentence: &LoreSentence| !leans(&sentence.text);
    let fresh = not_in(&scene.replies);
    if let Some(first) = best(&fresh, &weights, stands_alone) {
        return Chosen { sentences: with_second(&fresh, first, &weights, scene), again: false };
    }
    if let Some(first) = best(&not_in(&scene.last_reply), &weights, stands_alone) {
        return Chosen { sentences: vec![first], again: true };
    }
    Chosen { sentences: nearest(&fresh, scene).into_iter().collect(), again: false }
}

/// The first sentence, and one that goes with it if there is any.
fn with_second<'a>(
    fresh: &[&'a LoreSentence],
    first: &'a LoreSentence,
    weights: &HashMap<String, f64>,
    scene: &OfflineScene,
) -> Vec<&'a LoreSentence> {
    let second = follower(fresh, first).or_else(|| {
        best(fresh, weights, |other| {
            !leans(&other.text) && other.text != first.text && shares_more(other, first, scene)
        })
    });
    std::iter::once(first).chain(second).collect()
}

/// Where no word is shared: the sentence nearest in meaning, if any is near at all.
fn nearest<'a>(fresh: &[&'a LoreSentence], scene: &OfflineScene) -> Option<&'a LoreSentence> {
    let embedder = StaticEmbedder::embedded();
    let asked = embedder.embed_one(&scene.ask);
    let closeness = |sentence: &LoreSentence| -> f32 {
        let vector = embedder.embed_one(&sentence.text);
        asked.iter().zip(&vector).map(|(left, right)| left * right).sum()
    };
    fresh
        .iter()
        .copied()
        .filter(|sentence| !leans(&sentence.text))
        .map(|sentence| (sentence, closeness(sentence)))
        .filter(|(_, close)| *close >= NEAR)
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(sentence, _)| sentence)
}

/// The sentence after `first` about the same thing.
fn follower<'a>(fresh: &[&'a LoreSentence], first: &LoreSentence) -> Option<&'a LoreSentence> {
    let at = fresh.iter().position(|sentence| std::ptr::eq(*sentence, first))?;
    fresh.get(at + 1).copied().filter(|next| next.block == first.block && leans(&next.text))
}

/// Whether another sentence answers a part of the message that the first one leaves open.
fn shares_more(other: &LoreSentence, first: &LoreSentence, scene: &OfflineScene) -> bool {
    let used: HashSet<String> = terms(&first.text).collect();
    let asked: HashSet<String> = topics(scene).collect();
    terms(&other.text).any(|term| asked.contains(&term) && !used.contains(&term))
}

/// The heaviest sentence, the first of equals. A sentence carries half of what the one
/// that leans on it weighs: together they are one answer.
fn best<'a>(
    sentences: &[&'a LoreSentence],
    weights: &HashMap<String, f64>,
    fits: impl Fn(&LoreSentence) -> bool,
) -> Option<&'a LoreSentence> {
    let mut best: Option<(&LoreSentence, f64)> = None;
    for sentence in sentences.iter().copied().filter(|sentence| fits(sentence)) {
        let own = weight(&sentence.text, weights);
        let leaning = follower(sentences, sentence).map(|next| weight(&next.text, weights));
        let total = own + leaning.unwrap_or_default() / 2.0;
        if total > 0.0 && best.is_none_or(|(_, least)| total > least) {
            best = Some((sentence, total));
        }
    }
    best.map(|(sentence, _)| sentence)
}

/// How many words of a sentence count as what it is about.
const SUBJECT: usize = 4;

/// What a sentence weighs; a shared word that it begins with weighs half as much again.
fn weight(sentence: &str, weights: &HashMap<String, f64>) -> f64 {
    let subject: String = sentence.split_inclusive(char::is_whitespace).take(SUBJECT).collect();
    let subject: HashSet<String> = terms(&subject).collect();
    let distinct: HashSet<String> = terms(sentence).collect();
    let mut shared: Vec<f64> = distinct
        .iter()
        .filter_map(|term| {
            let weight = weights.get(term)?;
            Some(if subject.contains(term) { weight * 1.5 } else { *weight })
        })
        .collect();
    // Adding in a fixed order keeps the sum, and so the choice, the same in every run.
    shared.sort_by(f64::total_cmp);
    shared.iter().sum()
}

/// What each word of the conversation weighs: more, the fewer sentences of lore have it.
fn weights(scene: &OfflineScene) -> HashMap<String, f64> {
    let mut spread: HashMap<String, u32> = HashMap::new();
    for sentence in &scene.lore {
        let distinct: HashSet<String> = terms(&sentence.text).collect();
        for term in distinct {
            *spread.entry(term).or_default() += 1;
        }
    }
    let total = f64::from(u32::try_from(scene.lore.len()).unwrap_or(u32::MAX));
    let rarity = |term: &str| {
        spread.get(term).map(|count| (1.0 + total / f64::from(*count)).ln()).unwrap_or_default()
    };
    let earlier = terms(&scene.before).map(|term| (EARLIER * rarity(&term), term));
    let asked = topics(scene).map(|term| (rarity(&term), term));
    earlier.chain(asked).map(|(weight, term)| (term, weight)).collect()
}

/// What a message is about: its significant words, without the verb of "I draw …", and the
/// speaker if it says "you".
fn topics(scene: &OfflineScene) -> impl Iterator<Item = String> {
    let ask = scene.ask.trim_start_matches('*');
    let done = ask.strip_prefix("I ").and_then(|rest| rest.split_once(' '));
    let about = done.map_or(ask, |(_verb, rest)| rest);
    let to_speaker = ask
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|word| matches!(word.to_lowercase().as_str(), "you" | "your" | "yourself"));
    let speaker = scene.speaker.as_ref().filter(|_| to_speaker).map(|speaker| &speaker.name);
    let speaker = speaker.map(|name| terms(name).collect::<Vec<_>>()).unwrap_or_default();
    terms(about).chain(speaker)
}

/// The significant words of a text, without their endings. A run of CJK gives its pairs of
/// characters, since its words are not separated.
pub(super) fn terms(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '’')
        .filter(|word| !word.is_empty())
        .flat_map(|word| {
            let lower = word.to_lowercase();
            if lower.chars().any(|letter| ('\u{3040}'..='\u{9fff}').contains(&letter)) {
                let letters: Vec<char> = lower.chars().collect();
                return letters.windows(2).map(|pair| pair.iter().collect()).collect();
            }
            let stem = stem(&lower);
            if COMMON.contains(&lower.as_str()) || stem.chars().count() < 2 {
                return Vec::new();
            }
            vec![stem]
        })
}

/// A word without the endings that inflection adds; what is left need not be a word.
fn stem(word: &str) -> String {
    let bare = word.split(['\'', '’']).next().unwrap_or(word);
    for ending in ["ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y"] {
        if let Some(stem) = bare.strip_suffix(ending)
            && stem.chars().count() >= 3
        {
            return stem.to_owned();
        }
    }
    bare.to_owned()
}

/// The words of a sentence that a retelling keeps.
fn core_of(sentence: &str) -> String {
    let bare = sentence.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = bare.split(' ').collect();
    let from = usize::from(words.len() > 4);
    words[from..].join(" ").to_lowercase()
}

/// Whether a sentence begins with a word that needs the sentence before.
fn leans(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let first = lower.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    LEANING.contains(&first)
}

/// Whether a sentence is about somebody: it begins with their name.
fn is_about(sentence: &str, name: Option<&str>) -> bool {
    name.and_then(|name| name.split(' ').next()).is_some_and(|first| {
        sentence.strip_prefix(first).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// Whether a sentence names somebody, by their full name or a part of it.
pub(super) fn names(sentence: &str, name: &str) -> bool {
    let parts: Vec<&str> =
        name.split(' ').filter(|part| part.starts_with(char::is_uppercase)).collect();
    sentence.split(|letter: char| !letter.is_alphanumeric()).any(|word| parts.contains(&word))
}
