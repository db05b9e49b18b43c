//! Conversions between whole and real numbers, each justified once.

/// `count` as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts of words and messages are far below 2^52")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

/// A moment as a real number.
#[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^52 for 140,000 years")]
pub(crate) fn real_time(milliseconds: i64) -> f64 {
    milliseconds as f64
}

/// The nearest whole number, halves up; negative numbers give 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and no budget is near the limits"
)]
pub(crate) fn round(value: f64) -> u32 {
    (value + 0.5).floor() as u32
}

/// The largest whole number not above `value`; negative numbers give 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and no budget is near the limits"
)]
pub(crate) fn floor(value: f64) -> u32 {
    value.floor() as u32
}

/// `value` as an index, at most the largest one.
pub(crate) fn clamp_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// `value` as a stored count, at most the largest one.
pub(crate) fn clamp_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
