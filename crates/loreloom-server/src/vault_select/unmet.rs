//! Titles that a selecting model asked for and no note has: lore that is missed.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The most titles that are counted. A model that makes up more gets fewer reported.
const MOST: usize = 200;
/// The longest title that is kept, in characters.
const LONGEST: usize = 120;

/// How often each title was asked for in vain.
#[derive(Debug, Default)]
pub struct Unmet(Mutex<BTreeMap<String, (String, u32)>>);

impl Unmet {
    /// Counts a title that no note has, however it is spelt.
    pub fn note(&self, title: &str) {
        let title: String = title.trim().chars().take(LONGEST).collect();
        let mut all = self.all();
        if all.len() >= MOST && !all.contains_key(&title.to_lowercase()) {
            return;
        }
        let (_, times) = all.entry(title.to_lowercase()).or_insert((title, 0));
        *times = times.saturating_add(1);
    }

    /// The titles, those that were asked for most first.
    pub fn list(&self) -> Vec<(String, u32)> {
        let mut list: Vec<(String, u32)> = self.all().values().cloned().collect();
        list.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        list
    }

    /// Forgets titles that notes have by now.
    pub fn met(&self, has: impl Fn(&str) -> bool) {
        self.all().retain(|_, (title, _)| !has(title));
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, (String, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_in_vain_is_counted_until_a_note_has_it() {
        let unmet = Unmet::default();
        for title in ["The Old King", "A Shoe", " the old king "] {
            unmet.note(title);
        }
        let list = [("The Old King".to_owned(), 2), ("A Shoe".to_owned(), 1)];
        assert_eq!(unmet.list(), list);
        unmet.met(|title| title == "The Old King");
        assert_eq!(unmet.list(), list[1..]);
        for number in 0..MOST * 2 {
            unmet.note(&number.to_string());
        }
        assert_eq!(unmet.list().len(), MOST);
    }
}
