//! The number of each word.

use rustc_hash::FxHashMap;

/// The number of each word. Words of up to sixteen bytes, which is most, are their own key:
/// looking one up then follows no pointer.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    short: FxHashMap<[u64; 2], u32>,
    long: FxHashMap<Box<str>, u32>,
}

impl Terms {
    pub(super) fn get(&self, word: &str) -> Option<u32> {
        match short(word) {
            Some(key) => self.short.get(&key).copied(),
            None => self.long.get(word).copied(),
        }
    }

    pub(super) fn insert(&mut self, word: &str, term: u32) {
        match short(word) {
            Some(key) => self.short.insert(key, term),
            None => self.long.insert(word.into(), term),
        };
    }

    pub(super) fn remove(&mut self, word: &str) {
        match short(word) {
            Some(key) => self.short.remove(&key),
            None => self.long.remove(word),
        };
    }

    /// Gives each word its new number, and drops those that have none.
    pub(super) fn renumber(&mut self, new: &[Option<u32>]) {
        let renumber = |term: &mut u32| match new[*term as usize] {
            Some(number) => {
                *term = number;
                true
            }
            None => false,
        };
        self.short.retain(|_, term| renumber(term));
        self.long.retain(|_, term| renumber(term));
    }
}

/// A short word, padded with zeros, which no word contains.
fn short(word: &str) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    let [low, high] = [bytes.first_chunk()?, bytes.last_chunk()?];
    Some([u64::from_le_bytes(*low), u64::from_le_bytes(*high)])
}
