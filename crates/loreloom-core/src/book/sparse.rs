//! Fields that most entries leave at their defaults.
//!
//! A large book has ten thousand entries, and few of them have filters or gates. Where all of
//! them are the default, such a group takes a pointer instead of its own size.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::LazyLock,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BudgetRules, EntryRest, Filters, Gates};

/// A group of fields; nothing where all are the default.
#[derive(Clone, Default)]
pub struct Sparse<T>(Option<Box<T>>);

/// A default that all share.
pub trait SharedDefault: Default + PartialEq + 'static {
    /// The default.
    fn shared() -> &'static Self;
}

macro_rules! shared_default {
    ($($type:ty),+) => {$(
        impl SharedDefault for $type {
            fn shared() -> &'static Self {
                static SHARED: LazyLock<$type> = LazyLock::new(<$type>::default);
                &SHARED
            }
        }
    )+};
}

shared_default!(BudgetRules, EntryRest, Filters, Gates);

impl<T: SharedDefault> Deref for Sparse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(own) => own,
            None => T::shared(),
        }
    }
}

impl<T: SharedDefault> DerefMut for Sparse<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: SharedDefault> From<T> for Sparse<T> {
    fn from(value: T) -> Self {
        Self((value != *T::shared()).then(|| Box::new(value)))
    }
}

impl<T: SharedDefault + fmt::Debug> fmt::Debug for Sparse<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, formatter)
    }
}

impl<T: SharedDefault> PartialEq for Sparse<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: SharedDefault + Serialize> Serialize for Sparse<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize(self, serializer)
    }
}

impl<'de, T: SharedDefault + Deserialize<'de>> Deserialize<'de> for Sparse<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Entry;

    #[test]
    fn defaults_take_no_memory_and_are_written_as_always() {
        let plain = Sparse::from(Gates::default());
        assert!(plain.0.is_none());
        let written = serde_json::to_value(&plain).unwrap();
        assert_eq!(written, serde_json::to_value(Gates::default()).unwrap());
        assert!(serde_json::from_value::<Sparse<Gates>>(written).unwrap().0.is_none());
        let mut changed = plain.clone();
        changed.after = Some(3);
        assert_eq!((plain.after, changed.after), (None, Some(3)));
        assert_ne!(plain, changed);
        changed.after = None;
        assert_eq!(plain, changed, "whatever the memory");
    }

    /// Ten thousand entries are idle in memory: 100 bytes more are a megabyte.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn an_entry_takes_at_most_so_many_bytes() {
        assert!(size_of::<Entry>() <= 672, "{}", size_of::<Entry>());
    }
}
