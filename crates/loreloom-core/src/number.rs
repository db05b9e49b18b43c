//! Conversions between whole and real numbers, each justified once.

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^52")]
pub fn real(count: usize) -> f64 {
    count as f64
}

/// A moment as a real number.
#[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^52 for 140,000 years")]
pub fn real_time(milliseconds: i64) -> f64 {
    milliseconds as f64
}

/// A real number without its fraction. Negative numbers give 0, large ones the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and what is no number gives 0"
)]
pub fn whole(number: f64) -> u32 {
    number as u32
}

/// The nearest whole number, halves up.
pub fn round(number: f64) -> u32 {
    whole((number + 0.5).floor())
}

/// A stored count as an index, at most the largest one.
pub fn clamp_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// A length as a stored count, at most the largest one.
pub fn clamp_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
