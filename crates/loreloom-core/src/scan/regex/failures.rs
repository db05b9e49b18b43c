//! Choices of a program that failed before, so that they are not tried again.

use super::program::Program;

/// The most bits for failures.
const MOST_BITS: usize = 1 << 25;

/// Choices that failed, by site, place and which loops have advanced.
pub(super) struct Failures {
    bits: Vec<u64>,
    places: u32,
    loops: u32,
}

impl Failures {
    pub(super) fn new(program: &Program, units: usize) -> Option<Self> {
        let places = units + 1;
        let bits = (program.sites? as usize).checked_mul(places)?.checked_shl(program.registers)?;
        let places = u32::try_from(places).ok()?;
        (bits <= MOST_BITS).then(|| Self {
            bits: vec![0; bits / 64 + 1],
            places,
            loops: program.registers,
        })
    }

    pub(super) fn bit(&self, site: u32, at: u32, registers: &[u32]) -> u32 {
        let advanced =
            registers.iter().fold(0, |bits, entered| bits << 1 | u32::from(*entered == at));
        (site * self.places + at) << self.loops | advanced
    }

    pub(super) fn has(&self, bit: u32) -> bool {
        self.bits[bit as usize / 64] & (1 << (bit % 64)) != 0
    }

    pub(super) fn add(&mut self, bit: u32) {
        self.bits[bit as usize / 64] |= 1 << (bit % 64);
    }

    /// How many words of memory they take.
    pub(super) fn words(&self) -> usize {
        self.bits.len()
    }
}
