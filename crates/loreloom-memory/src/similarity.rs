//! How similar two texts are: by their vectors if both have one, otherwise by their words.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::text::{jaccard, normal};
use loreloom_ports::Vector;

/// The cosine of two vectors; 0 if one is empty or null, or if their lengths differ.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    let sum = |x: &[f32], y: &[f32]| -> f64 {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let norms = sum(a, a).sqrt() * sum(b, b).sqrt();
    if norms > 0.0 { sum(a, b) / norms } else { 0.0 }
}

/// Vectors of texts, by their normal form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Vectors {
    known: Option<FxHashMap<String, Option<Vector>>>,
}

impl Vectors {
    /// No embedder: everything is compared by words.
    pub fn off() -> Self {
        Self::default()
    }

    /// There is an embedder; nothing is embedded yet.
    pub fn on() -> Self {
        Self { known: Some(FxHashMap::default()) }
    }

    /// Whether there is an embedder.
    pub fn is_on(&self) -> bool {
        self.known.is_some()
    }

    /// Stores the vector of a text; `None` if the embedder has none for it.
    pub fn insert(&mut self, text: &str, vector: Option<Vector>) {
        self.known.get_or_insert_default().insert(normal(text), vector);
    }

    /// The vector of a text.
    pub fn get(&self, text: &str) -> Option<&[f32]> {
        self.known.as_ref()?.get(&normal(text))?.as_deref()
    }

    /// The texts that are not embedded yet, if there is an embedder.
    pub fn missing<'text>(&self, texts: impl IntoIterator<Item = &'text str>) -> Vec<String> {
        let Some(known) = &self.known else { return Vec::new() };
        let mut missing: Vec<String> = Vec::new();
        for text in texts {
            let text = normal(text);
            if !known.contains_key(&text) && !missing.contains(&text) {
                missing.push(text);
            }
        }
        missing
    }

    /// How similar two texts are.
    pub fn likeness(&self, a: &str, b: &str) -> Similarity {
        match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => Similarity { score: cosine(a, b), measure: Measured::Vectors },
            _ => Similarity { score: jaccard(&normal(a), &normal(b)), measure: Measured::Words },
        }
    }
}

/// How a similarity was measured. Thresholds differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// By the cosine of vectors.
    Vectors,
    /// By shared words.
    Words,
}

/// How similar two texts are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// 0 to 1.
    pub score: f64,
    /// How it was measured.
    pub measure: Measured,
}

impl Similarity {
    /// Whether it reaches the threshold of its measure.
    pub fn reaches(self, cosine: f64, words: f64) -> bool {
        self.is_at_least(match self.measure {
            Measured::Vectors => cosine,
            Measured::Words => words,
        })
    }

    /// Whether the score is at or above `threshold`.
    ///
    /// Vectors have single precision, so a score that should equal a threshold may miss it by this
    /// distance.
    pub fn is_at_least(self, threshold: f64) -> bool {
        const PRECISION: f64 = 1e-6;
        self.score + PRECISION >= threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_cannot_be_compared_are_not_alike() {
        for (a, b, expected) in [
            (&[1.0, 0.0][..], &[0.0, 1.0][..], 0.0),
            (&[1.0, 0.0], &[1.0, 0.0, 0.0], 0.0),
            (&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0], 1.0),
            (&[0.0, 0.0], &[1.0, 1.0], 0.0),
            (&[], &[], 0.0),
        ] {
            assert!((cosine(a, b) - expected).abs() < 1e-9, "{a:?} {b:?}");
        }
    }

    #[test]
    fn words_stand_in_where_a_vector_is_missing() {
        let mut vectors = Vectors::on();
        assert_eq!(vectors.missing(["A b ", "a B", "c"]), ["a b", "c"]);
        vectors.insert("a b", Some(vec![1.0, 0.0]));
        vectors.insert("c", None);
        assert!(vectors.missing(["a b", "c"]).is_empty());
        assert_eq!(vectors.likeness("A B", "c").measure, Measured::Words);
        assert_eq!(vectors.likeness("A B", "a b").measure, Measured::Vectors);
        assert!(Vectors::off().missing(["x"]).is_empty());
    }
}
