//! Texts as JavaScript counts them: in UTF-16 units.

use std::cell::OnceCell;

/// A text that expressions look at.
#[derive(Clone, Debug, Default)]
pub struct RegexText {
    text: Box<str>,
    ascii: bool,
    /// The units of a text that is not ASCII, made on first use.
    units: OnceCell<Vec<u16>>,
}

impl RegexText {
    /// A text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        Self { ascii: text.is_ascii(), text, units: OnceCell::new() }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its bytes, if each of them is a unit.
    pub(super) fn ascii(&self) -> Option<&[u8]> {
        self.ascii.then_some(self.text.as_bytes())
    }

    pub(super) fn units(&self) -> &[u16] {
        self.units.get_or_init(|| self.text.encode_utf16().collect())
    }

    /// The byte of a unit. Half of a pair is at the end of its character.
    pub(super) fn byte(&self, unit: u32) -> usize {
        let unit = unit as usize;
        if self.ascii {
            return unit.min(self.text.len());
        }
        let mut units = 0;
        for (byte, character) in self.text.char_indices() {
            if units >= unit {
                return byte;
            }
            units += character.len_utf16();
        }
        self.text.len()
    }

    /// The byte of every unit and of the end, for texts with many matches.
    pub(super) fn bytes(&self) -> Vec<usize> {
        let mut bytes = Vec::with_capacity(self.text.len() + 1);
        for (byte, character) in self.text.char_indices() {
            bytes.push(byte);
            if character.len_utf16() == 2 {
                bytes.push(byte + character.len_utf8());
            }
        }
        bytes.push(self.text.len());
        bytes
    }
}

/// Units of a text.
pub(super) trait Units: Copy {
    /// Whether a character can have two.
    const HAS_PAIRS: bool;

    fn len(self) -> usize;

    fn unit(self, at: u32) -> Option<u32>;

    /// The first of at most three ASCII characters.
    fn find(self, any: &[u8], from: usize) -> Option<usize>;
}

impl Units for &[u8] {
    const HAS_PAIRS: bool = false;

    fn len(self) -> usize {
        <[u8]>::len(self)
    }

    #[inline]
    fn unit(self, at: u32) -> Option<u32> {
        self.get(at as usize).map(|unit| u32::from(*unit))
    }

    fn find(self, any: &[u8], from: usize) -> Option<usize> {
        let rest = self.get(from..)?;
        let found = match *any {
            [one] => memchr::memchr(one, rest),
            [one, other] => memchr::memchr2(one, other, rest),
            [one, other, third] => memchr::memchr3(one, other, third, rest),
            _ => rest.iter().position(|unit| any.contains(unit)),
        };
        found.map(|at| at + from)
    }
}

impl Units for &[u16] {
    const HAS_PAIRS: bool = true;

    fn len(self) -> usize {
        <[u16]>::len(self)
    }

    #[inline]
    fn unit(self, at: u32) -> Option<u32> {
        self.get(at as usize).map(|unit| u32::from(*unit))
    }

    fn find(self, any: &[u8], from: usize) -> Option<usize> {
        let is = |unit: &u16| u8::try_from(*unit).is_ok_and(|unit| any.contains(&unit));
        self.get(from..)?.iter().position(is).map(|at| at + from)
    }
}
