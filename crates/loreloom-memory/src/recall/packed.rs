//! Vectors with one byte a number.
//!
//! A search compares the question with every passage, and reading them is what it costs. A byte is
//! a quarter of a float, and the cosine of 256 bytes is off by less than 0.01.

use loreloom_ports::Vector;

use super::best::single;
use crate::number::real;

/// A vector in bytes.
#[derive(Clone, Debug, Default)]
pub struct PackedVector {
    scale: f32,
    numbers: Vec<i8>,
}

impl PackedVector {
    /// A vector of length one, packed.
    #[expect(clippy::cast_possible_truncation, reason = "the largest number becomes 127")]
    pub fn of(vector: &Vector) -> Self {
        let largest = vector.iter().fold(0_f32, |most, number| most.max(number.abs()));
        let scale = largest / f32::from(i8::MAX);
        let packed = |number: &f32| if scale > 0.0 { (number / scale).round() as i8 } else { 0 };
        Self { scale, numbers: vector.iter().map(packed).collect() }
    }

    /// The length of the vector beyond its head.
    fn tail(&self) -> f32 {
        let tail = &self.numbers[head(self.numbers.len())..];
        tail.iter().map(|number| f32::from(*number).powi(2)).sum::<f32>().sqrt() * self.scale
    }
}

/// The part of a vector that is compared first. Embedding tables have their most important numbers
/// in front.
fn head(width: usize) -> usize {
    width / 4
}

/// Many vectors of one length.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedVectors {
    scales: Vec<f32>,
    numbers: Vec<i8>,
    /// How long each is beyond its head.
    tails: Vec<f32>,
    /// The length of each; 0 while there is none.
    width: usize,
}

impl PackedVectors {
    /// Adds a vector. One with another length than the first is similar to nothing.
    pub(super) fn push(&mut self, packed: &PackedVector) {
        if self.width == 0 {
            self.width = packed.numbers.len();
            // Earlier passages without a vector get an empty one.
            self.numbers.resize(self.scales.len() * self.width, 0);
        }
        if packed.numbers.len() == self.width {
            self.scales.push(packed.scale);
            self.numbers.extend_from_slice(&packed.numbers);
            self.tails.push(packed.tail());
        } else {
            self.scales.push(0.0);
            self.tails.push(0.0);
            self.numbers.resize(self.scales.len() * self.width, 0);
        }
    }

    /// Replaces the vector at an index that has none.
    pub(super) fn fill(&mut self, at: usize, packed: &PackedVector) {
        if self.width == 0 {
            self.width = packed.numbers.len();
            self.numbers.resize(self.scales.len() * self.width, 0);
        }
        if packed.numbers.len() != self.width || !self.is_missing(at) {
            return;
        }
        self.scales[at] = packed.scale;
        self.tails[at] = packed.tail();
        let start = at * self.width;
        self.numbers[start..start + self.width].copy_from_slice(&packed.numbers);
    }

    /// Gives those without a vector the mean of the others, so that nothing speaks for or against
    /// them.
    pub(super) fn level(&self, likeness: &mut [f32]) {
        let has = |scale: &f32| *scale > 0.0;
        let count = self.scales.iter().filter(|scale| has(scale)).count();
        if count == 0 || count == self.len() {
            return;
        }
        let own = likeness.iter().zip(&self.scales).filter(|(_, scale)| has(scale));
        let mean = own.map(|(likeness, _)| f64::from(*likeness)).sum::<f64>() / real(count);
        for (likeness, _) in likeness.iter_mut().zip(&self.scales).filter(|(_, scale)| !has(scale))
        {
            *likeness = single(mean);
        }
    }

    /// Whether the vector at an index is similar to nothing.
    pub(super) fn is_missing(&self, at: usize) -> bool {
        self.scales.get(at).is_some_and(|scale| *scale <= 0.0)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.scales.len()
    }

    pub(super) fn truncate(&mut self, left: usize) {
        self.scales.truncate(left);
        self.tails.truncate(left);
        self.numbers.truncate(left * self.width);
    }

    /// The vectors from an index on whose cosine with `wanted` is at least `least`, with the
    /// cosine, in order.
    ///
    /// The tails add at most the product of their lengths, so most vectors are ruled out after a
    /// quarter of the work.
    pub(super) fn near(&self, wanted: &PackedVector, least: f64, from: usize) -> Vec<(usize, f64)> {
        if wanted.numbers.len() != self.width || self.width == 0 {
            return Vec::new();
        }
        let (split, tail) = (head(self.width), f64::from(wanted.tail()));
        let (front, back) = wanted.numbers.split_at(split);
        let near = |at: usize| {
            let own = &self.numbers[at * self.width..(at + 1) * self.width];
            let scale = f64::from(self.scales[at]) * f64::from(wanted.scale);
            let first = f64::from(dot(&own[..split], front)) * scale;
            if first + f64::from(self.tails[at]) * tail + ROUNDING < least {
                return None;
            }
            let likeness = first + f64::from(dot(&own[split..], back)) * scale;
            (likeness >= least).then_some((at, likeness))
        };
        (from..self.len()).filter_map(near).collect()
    }

    /// The cosine of each with `wanted`, in order.
    pub(super) fn likeness(&self, wanted: &PackedVector) -> Vec<f32> {
        if wanted.numbers.len() != self.width || self.width == 0 {
            return vec![0.0; self.len()];
        }
        #[expect(clippy::cast_precision_loss, reason = "a cosine needs no more than seven digits")]
        let likeness = |(own, scale): (&[i8], &f32)| {
            dot(own, &wanted.numbers) as f32 * (*scale * wanted.scale)
        };
        self.numbers.chunks_exact(self.width).zip(&self.scales).map(likeness).collect()
    }
}

/// How much single precision may change a length.
const ROUNDING: f64 = 1e-5;

/// Sixteen sums at once let the compiler use wide registers.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    const WIDE: usize = 16;
    let mut sums = [0_i32; WIDE];
    let ((left, left_rest), (right, right_rest)) = (a.as_chunks::<WIDE>(), b.as_chunks::<WIDE>());
    for (x, y) in left.iter().zip(right) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += i32::from(i16::from(*x) * i16::from(*y));
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(x, y)| i32::from(*x) * i32::from(*y));
    sums.iter().sum::<i32>() + rest.sum::<i32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(numbers: &[f32]) -> Vector {
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.iter().map(|number| number / length).collect()
    }

    #[test]
    fn those_near_are_exactly_those_whose_cosine_is_high_enough() {
        // Numbers that repeat nothing for long, from a fixed seed.
        let mut state = 7_u64;
        let mut number = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            f32::from(i16::try_from(state >> 52).unwrap_or_default()) - 2048.0
        };
        let mut shelf = PackedVectors::default();
        let made: Vec<Vector> =
            (0..200).map(|_| unit(&(0..24).map(|_| number()).collect::<Vec<f32>>())).collect();
        for vector in &made {
            shelf.push(&PackedVector::of(vector));
        }
        for least in [-1.0, 0.0, 0.2, 0.4, 0.99] {
            let wanted = PackedVector::of(&made[3]);
            let all = shelf.likeness(&wanted).into_iter().map(f64::from).enumerate();
            let expected: Vec<usize> =
                all.filter(|(_, likeness)| *likeness >= least).map(|(at, _)| at).collect();
            let found: Vec<usize> =
                shelf.near(&wanted, least, 0).into_iter().map(|(at, _)| at).collect();
            assert_eq!(found, expected, "{least}");
            assert!(!found.is_empty());
        }
        assert!(shelf.near(&PackedVector::of(&vec![1.0]), 0.0, 0).is_empty());
        let last = shelf.near(&PackedVector::of(&made[199]), 0.99, 199);
        assert_eq!(last.first().map(|(at, _)| *at), Some(199));
    }

    #[test]
    fn a_packed_cosine_is_the_cosine_and_other_lengths_are_like_nothing() {
        let ramp: Vec<f32> = (1..=19_u8).map(f32::from).collect();
        let bent: Vec<f32> = (1..=19_u8).map(|n| f32::from(n % 5) - 1.0).collect();
        let (a, b) = (unit(&ramp), unit(&bent));
        let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        let mut shelf = PackedVectors::default();
        for vector in [&a, &b, &vec![1.0], &a] {
            shelf.push(&PackedVector::of(vector));
        }
        let found = shelf.likeness(&PackedVector::of(&a));
        for (found, expected) in found.iter().zip([1.0, exact, 0.0, 1.0]) {
            assert!((found - expected).abs() < 0.01, "{found} {expected}");
        }
        let mut level = shelf.likeness(&PackedVector::of(&a));
        shelf.level(&mut level);
        assert!((level[2] - (2.0 + exact) / 3.0).abs() < 0.01, "{level:?}");
        assert!(shelf.is_missing(2) && !shelf.is_missing(1));
        shelf.fill(2, &PackedVector::of(&b));
        shelf.fill(0, &PackedVector::of(&b));
        let found = shelf.likeness(&PackedVector::of(&a));
        assert!((found[2] - exact).abs() < 0.01 && (found[0] - 1.0).abs() < 0.01, "{found:?}");
        shelf.truncate(1);
        assert_eq!(shelf.likeness(&PackedVector::of(&a)).len(), 1);
        assert_eq!(shelf.likeness(&PackedVector::of(&vec![])), [0.0]);
    }
}
