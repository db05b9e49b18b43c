//! Picks the best of many scores, and puts scores on one scale.

use crate::number::real;

/// A score in single precision. There is one for each passage, and reading them is what a search
/// costs.
#[expect(clippy::cast_possible_truncation, reason = "seven digits are enough to rank passages")]
pub(super) fn single(score: f64) -> f32 {
    score as f32
}

/// The indexes of the best `most` wanted passages, best first; on a tie the newest first.
pub(super) fn best(scores: &[f32], most: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    if most == 0 {
        return Vec::new();
    }
    let mut found: Vec<(f32, usize)> = Vec::new();
    // Only a few are kept, so most scores cost one comparison.
    let mut least = f32::NEG_INFINITY;
    for (at, score) in scores.iter().copied().enumerate() {
        if score < least || !is_wanted(at) {
            continue;
        }
        found.push((score, at));
        if found.len() >= 2 * most {
            keep_best(&mut found, most);
            least = found[..most].iter().fold(f32::INFINITY, |least, (score, _)| least.min(*score));
        }
    }
    keep_best(&mut found, most);
    found.sort_unstable_by(better);
    found.into_iter().map(|(_, at)| at).collect()
}

fn better(a: &(f32, usize), b: &(f32, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
}

fn keep_best(found: &mut Vec<(f32, usize)>, most: usize) {
    if found.len() > most {
        found.select_nth_unstable_by(most - 1, better);
        found.truncate(most);
    }
}

/// Converts the scores before `until` to standard deviations from their mean, times a weight; equal
/// scores and those from `until` on become zeros. In place, because there is one for each passage.
pub(super) fn standard(mut scores: Vec<f32>, weight: f64, until: usize) -> Vec<f32> {
    let (searched, others) = scores.split_at_mut(until);
    let count = real(searched.len().max(1));
    let (sum, squares) = sums(searched);
    let mean = sum / count;
    let spread = (squares / count - mean * mean).max(0.0).sqrt();
    // Rounding leaves equal scores with a spread.
    let is_even = spread <= 1e-6 * mean.abs();
    let scale = if is_even { 0.0 } else { single(weight / spread) };
    let mean = single(mean);
    for score in searched {
        *score = (*score - mean) * scale;
    }
    others.fill(0.0);
    scores
}

/// The sum of the scores and of their squares. Eight sums at once let the compiler use wide
/// registers.
fn sums(scores: &[f32]) -> (f64, f64) {
    const WIDE: usize = 8;
    let (mut sums, mut squares) = ([0.0_f64; WIDE], [0.0_f64; WIDE]);
    let (chunks, rest) = scores.as_chunks::<WIDE>();
    for chunk in chunks.iter().map(|chunk| &chunk[..]).chain([rest]) {
        for ((sum, square), score) in sums.iter_mut().zip(&mut squares).zip(chunk) {
            let score = f64::from(*score);
            *sum += score;
            *square += score * score;
        }
    }
    (sums.iter().sum(), squares.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_are_not_searched_decide_nothing() {
        assert_eq!(standard(vec![1.0, 3.0, 900.0], 2.0, 2), [-2.0, 2.0, 0.0]);
        assert_eq!(standard(vec![5.0, 5.0], 1.0, 2), [0.0, 0.0]);
        assert_eq!(best(&[1.0, 3.0, 2.0, 3.0], 2, |at| at != 1), [3, 2]);
    }
}
