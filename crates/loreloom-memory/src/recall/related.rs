//! Words of the story that are related to a word of the question.
//!
//! A word is compared with every word of the story, which is most of the cost of a search. The
//! result is cached: a story repeats its words, and only new words must be compared.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{
    Weights,
    packed::{PackedVector, PackedVectors},
};

/// How many words are cached.
const MOST_KEPT: usize = 4096;

/// The words related to one word: their indexes in the vocabulary, and their similarity.
pub(super) type Near = Vec<(usize, f64)>;

/// A cache of related words.
#[derive(Debug, Default)]
pub(super) struct Related(Mutex<FxHashMap<String, CachedNeighbours>>);

#[derive(Clone, Debug)]
struct CachedNeighbours {
    /// How many words of the story were compared, and with which weights.
    seen: usize,
    by: (f64, usize),
    near: Near,
}

/// A copy starts with an empty cache.
impl Clone for Related {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Related {
    fn known(&self) -> MutexGuard<'_, FxHashMap<String, CachedNeighbours>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words nearest to `word`, nearest first.
    pub(super) fn to(
        &self,
        word: &str,
        vocabulary: &PackedVectors,
        weights: &Weights,
        embed: impl FnOnce() -> PackedVector,
    ) -> Near {
        let by = (weights.related_from, weights.related_most);
        let known = self.known().get(word).filter(|known| known.by == by).cloned();
        let mut known = known.unwrap_or(CachedNeighbours { seen: 0, by, near: Near::new() });
        if known.seen < vocabulary.len() {
            known.near.extend(vocabulary.near(&embed(), weights.related_from, known.seen));
            known.near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            known.near.truncate(weights.related_most);
            known.seen = vocabulary.len();
            let mut all = self.known();
            if all.len() >= MOST_KEPT {
                all.clear();
            }
            all.insert(word.to_owned(), known.clone());
        }
        known.near
    }

    /// Forgets words that are no longer in the vocabulary.
    pub(super) fn truncate(&self, left: usize) {
        self.known().retain(|_, known| {
            known.seen = known.seen.min(left);
            // A removed word may have displaced another.
            known.near.iter().all(|(at, _)| *at < left)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_a_fresh_look_finds() {
        let angle = |degrees: f32| vec![degrees.to_radians().cos(), degrees.to_radians().sin()];
        let weights = Weights { related_from: 0.5, related_most: 2, ..Weights::default() };
        let mut shelf = PackedVectors::default();
        let related = Related::default();
        let wanted = || PackedVector::of(&angle(0.0));
        let places = |near: Near| near.into_iter().map(|(at, _)| at).collect::<Vec<usize>>();
        // Words come and go; each number is an angle to the searched word.
        for (left, new) in
            [(0, &[50.0, 90.0][..]), (2, &[20.0]), (3, &[10.0, 15.0]), (3, &[5.0]), (1, &[])]
        {
            shelf.truncate(left);
            related.truncate(left);
            for degrees in new {
                shelf.push(&PackedVector::of(&angle(*degrees)));
            }
            let kept = places(related.to("word", &shelf, &weights, wanted));
            let fresh = places(Related::default().to("word", &shelf, &weights, wanted));
            assert_eq!(kept, fresh, "{new:?}");
        }
    }
}
