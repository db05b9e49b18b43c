//! A list that mostly has one item, such as the messages that follow another. One item takes no
//! memory outside the list: with thousands of stories that is a sixth of what they take.

use std::ops::Deref;

/// Some items.
#[derive(Clone, Debug, Default)]
pub(crate) enum Few<T> {
    #[default]
    None,
    One(T),
    Several(Vec<T>),
}

impl<T> Few<T> {
    pub(crate) fn push(&mut self, item: T) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(item),
            Self::One(first) => Self::Several(vec![first, item]),
            Self::Several(mut items) => {
                items.push(item);
                Self::Several(items)
            }
        };
    }

    pub(crate) fn retain(&mut self, mut stays: impl FnMut(&T) -> bool) {
        match self {
            Self::None => {}
            Self::One(item) => {
                if !stays(item) {
                    *self = Self::None;
                }
            }
            Self::Several(items) => items.retain(stays),
        }
    }

    /// Takes the first item out.
    pub(crate) fn remove_first(&mut self) {
        let mut at = 0;
        self.retain(|_| {
            at += 1;
            at > 1
        });
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::None => &[],
            Self::One(item) => std::slice::from_ref(item),
            Self::Several(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut few = Few::default();
        for many in 0..4 {
            assert_eq!(*few, (0..many).collect::<Vec<_>>());
            few.push(many);
        }
        few.remove_first();
        assert_eq!(*few, [1, 2, 3]);
        few.retain(|item| *item == 2);
        assert_eq!(*few, [2]);
        few.retain(|item| *item != 2);
        assert!(few.is_empty());
        let mut one = Few::One(1);
        one.remove_first();
        assert!(one.is_empty());
    }
}
