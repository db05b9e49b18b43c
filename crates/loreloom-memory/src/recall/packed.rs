//! Vectors in one byte a number, one after the other.
//!
//! A search compares the question with every passage; what it costs is reading them. A byte
//! is a quarter of a float, and a cosine of 256 bytes is off by less than a hundredth.

use crate::ports::Vector;

/// A vector in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    scale: f32,
    numbers: Vec<i8>,
}

impl Packed {
    /// A vector of length one, packed.
    #[expect(clippy::cast_possible_truncation, reason = "the largest number becomes 127")]
    pub(super) fn of(vector: &Vector) -> Self {
        let largest = vector.iter().fold(0_f32, |most, number| most.max(number.abs()));
        let scale = largest / f32::from(i8::MAX);
        let packed = |number: &f32| if scale > 0.0 { (number / scale).round() as i8 } else { 0 };
        Self { scale, numbers: vector.iter().map(packed).collect() }
    }
}

/// Many vectors of one length.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    scales: Vec<f32>,
    numbers: Vec<i8>,
    /// The length of each; 0 while there is none.
    width: usize,
}

impl Shelf {
    /// Adds a vector. One of another length than the first is like nothing.
    pub(super) fn push(&mut self, packed: &Packed) {
        if self.width == 0 {
            self.width = packed.numbers.len();
            // Those that came without a vector before have an empty one.
            self.numbers.resize(self.scales.len() * self.width, 0);
        }
        if packed.numbers.len() == self.width {
            self.scales.push(packed.scale);
            self.numbers.extend_from_slice(&packed.numbers);
        } else {
            self.scales.push(0.0);
            self.numbers.resize(self.scales.len() * self.width, 0);
        }
    }

    pub(super) fn truncate(&mut self, left: usize) {
        self.scales.truncate(left);
        self.numbers.truncate(left * self.width);
    }

    /// The cosine of each with `wanted`, in order.
    pub(super) fn likeness(&self, wanted: &Packed) -> impl Iterator<Item = f64> {
        let fits = wanted.numbers.len() == self.width && self.width > 0;
        self.scales.iter().enumerate().map(move |(at, scale)| {
            if !fits {
                return 0.0;
            }
            let own = &self.numbers[at * self.width..(at + 1) * self.width];
            f64::from(dot(own, &wanted.numbers)) * f64::from(*scale) * f64::from(wanted.scale)
        })
    }
}

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
    fn a_packed_cosine_is_the_cosine_and_other_lengths_are_like_nothing() {
        let ramp: Vec<f32> = (1..=19_u8).map(f32::from).collect();
        let bent: Vec<f32> = (1..=19_u8).map(|n| f32::from(n % 5) - 1.0).collect();
        let (a, b) = (unit(&ramp), unit(&bent));
        let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        let mut shelf = Shelf::default();
        for vector in [&a, &b, &vec![1.0], &a] {
            shelf.push(&Packed::of(vector));
        }
        let found: Vec<f64> = shelf.likeness(&Packed::of(&a)).collect();
        for (found, expected) in found.iter().zip([1.0, exact, 0.0, 1.0]) {
            assert!((found - f64::from(expected)).abs() < 0.01, "{found} {expected}");
        }
        shelf.truncate(1);
        assert_eq!(shelf.likeness(&Packed::of(&a)).count(), 1);
        assert_eq!(shelf.likeness(&Packed::of(&vec![])).collect::<Vec<_>>(), [0.0]);
    }
}
