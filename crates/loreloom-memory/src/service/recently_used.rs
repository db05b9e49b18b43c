//! A map that forgets the values that were not written for longest.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// How many values a map keeps.
const MOST: usize = 128;

/// The values that were written last, by key.
#[derive(Debug)]
pub(super) struct RecentlyUsed<K, V> {
    values: FxHashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for RecentlyUsed<K, V> {
    fn default() -> Self {
        Self { values: FxHashMap::default(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + std::hash::Hash, V> RecentlyUsed<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.values.get_mut(key)
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        if let Some(place) = self.order.iter().position(|known| *known == key) {
            self.order.remove(place);
        }
        self.order.push_back(key.clone());
        self.values.insert(key, value);
        while self.order.len() > MOST {
            let Some(oldest) = self.order.pop_front() else { break };
            self.values.remove(&oldest);
        }
    }
}
