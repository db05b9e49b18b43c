//! Counts by text.
//!
//! A turn counts hundreds of entries that have not changed since the last one. Texts are
//! remembered by a keyed 64-bit hash and their length, not by themselves, so the cache
//! stays small whatever it counts. Two generations make it nearly least-recently-used: a
//! full young generation becomes the old one, and what is asked for again moves back.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    mem,
    sync::{Mutex, PoisonError},
};

use loreloom_core::units::Tokens;

/// Texts in one generation: two of them take about 2 MB.
const GENERATION: usize = 1 << 15;

/// A text's hash and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fingerprint(u64, usize);

/// Remembers the counts of the last tens of thousands of texts.
#[derive(Debug)]
pub struct CountCache {
    hasher: RandomState,
    capacity: usize,
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Fingerprint, Tokens>,
    old: HashMap<Fingerprint, Tokens>,
}

impl Default for CountCache {
    fn default() -> Self {
        Self::with_capacity(GENERATION)
    }
}

impl CountCache {
    /// A cache of two generations of `capacity` texts.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            capacity: capacity.max(1),
            generations: Mutex::default(),
        }
    }

    /// The count of `text`: remembered, or counted now. Counting happens outside the lock.
    pub fn get(&self, text: &str, count: impl FnOnce(&str) -> Tokens) -> Tokens {
        let fingerprint = Fingerprint(self.hasher.hash_one(text), text.len());
        if let Some(known) = self.recall(fingerprint) {
            return known;
        }
        let counted = count(text);
        self.remember(fingerprint, counted);
        counted
    }

    /// How many texts are remembered.
    pub fn len(&self) -> usize {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.young.len() + generations.old.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn recall(&self, fingerprint: Fingerprint) -> Option<Tokens> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = generations.young.get(&fingerprint) {
            return Some(*known);
        }
        let known = generations.old.remove(&fingerprint)?;
        generations.insert(fingerprint, known, self.capacity);
        Some(known)
    }

    fn remember(&self, fingerprint: Fingerprint, count: Tokens) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.insert(fingerprint, count, self.capacity);
    }
}

impl Generations {
    fn insert(&mut self, fingerprint: Fingerprint, count: Tokens, capacity: usize) {
        if self.young.len() >= capacity {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(fingerprint, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_of(cache: &CountCache, text: &str, counted: &mut Vec<String>) -> Tokens {
        cache.get(text, |text| {
            counted.push(text.to_owned());
            Tokens(u32::try_from(text.len()).unwrap_or_default())
        })
    }

    #[test]
    fn a_text_is_counted_once() {
        let cache = CountCache::default();
        let mut counted = Vec::new();
        for text in ["gate", "tower", "gate", "", "", "tower"] {
            let tokens = count_of(&cache, text, &mut counted);
            assert_eq!(tokens.0 as usize, text.len());
        }
        assert_eq!(counted, ["gate", "tower", ""]);
    }

    #[test]
    fn what_is_used_stays_and_the_size_is_bounded() {
        let cache = CountCache::with_capacity(4);
        let mut counted = Vec::new();
        for round in 0..50 {
            count_of(&cache, "always", &mut counted);
            count_of(&cache, &format!("once {round}"), &mut counted);
            assert!(cache.len() <= 8, "{}", cache.len());
        }
        assert_eq!(counted.iter().filter(|text| *text == "always").count(), 1);
        assert_eq!(counted.len(), 51);
    }
}
