//! A bounded set of recent keys.

use rustc_hash::FxHashSet;

use super::text::TextKey;

/// The least keys that are kept; the most are twice as many.
const KEPT: usize = 4096;

/// A set that forgets: front ends with clocks and dice in their prompts send new pieces in every
/// request. The oldest half is dropped at once, so no order has to be maintained.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    new: FxHashSet<TextKey>,
    old: FxHashSet<TextKey>,
}

impl Recent {
    /// Adds a key; returns those that are forgotten for it.
    pub(super) fn insert(&mut self, key: TextKey) -> FxHashSet<TextKey> {
        self.new.insert(key);
        if self.new.len() < KEPT {
            return FxHashSet::default();
        }
        let gone = std::mem::replace(&mut self.old, std::mem::take(&mut self.new));
        gone.difference(&self.old).copied().collect()
    }

    pub(super) fn contains(&self, key: TextKey) -> bool {
        self.new.contains(&key) || self.old.contains(&key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TextKey> {
        self.new.iter().chain(&self.old).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_keys_stay_and_the_oldest_go() {
        let key = |number: usize| TextKey::of(&number.to_string());
        let mut recent = Recent::default();
        assert!(recent.is_empty());
        let gone: usize = (0..3 * KEPT).map(|number| recent.insert(key(number)).len()).sum();
        assert_eq!(gone, 2 * KEPT);
        assert!(!recent.contains(key(0)) && recent.contains(key(3 * KEPT - 1)));
        assert!((2 * KEPT..3 * KEPT).all(|number| recent.contains(key(number))));
        assert!(recent.iter().count() <= 2 * KEPT);
    }
}
