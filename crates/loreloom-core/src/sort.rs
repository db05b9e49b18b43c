//! Sorting as JavaScript does, where lore depends on it.
//!
//! JavaScript takes "not a number" for "equal", which makes such comparisons inconsistent;
//! Rust's sorts may panic on them. Lore files do hold entries without an order, so those
//! lists are sorted here the way a JavaScript engine sorts short ones: by binary insertion.

use std::cmp::Ordering;

/// Sorts stably; `None` means "equal".
pub(crate) fn stable_by<T: Clone>(items: &mut [T], compare: impl Fn(&T, &T) -> Option<Ordering>) {
    let equal = |a: &T, b: &T| compare(a, b).unwrap_or(Ordering::Equal);
    if items.iter().all(|item| compare(item, item).is_some()) {
        items.sort_by(equal);
        return;
    }
    for at in first_run(items, &equal)..items.len() {
        let pivot = items[at].clone();
        let (mut low, mut high) = (0, at);
        while low < high {
            let middle = usize::midpoint(low, high);
            if equal(&pivot, &items[middle]) == Ordering::Less {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        items[low..=at].rotate_right(1);
    }
}

/// The length of the run the items begin with: it is left as it is, or turned round if it
/// falls.
fn first_run<T>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    if items.len() < 2 {
        return items.len();
    }
    let falls = compare(&items[1], &items[0]) == Ordering::Less;
    let goes_on = |at: usize| (compare(&items[at], &items[at - 1]) == Ordering::Less) == falls;
    let length = (2..items.len()).find(|&at| !goes_on(at)).unwrap_or(items.len());
    if falls {
        items[..length].reverse();
    }
    length
}

/// The array index that JavaScript takes a property's name for.
pub(crate) fn array_index(name: &str) -> Option<u32> {
    let number: u32 = name.parse().ok()?;
    (number != u32::MAX && number.to_string() == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_without_a_value_compare_equal_and_do_not_panic() {
        let ascending = |a: &Option<i32>, b: &Option<i32>| Some((*a)?.cmp(&(*b)?));
        let mut plain = [Some(3), Some(1), Some(2)];
        stable_by(&mut plain, ascending);
        assert_eq!(plain, [Some(1), Some(2), Some(3)]);
        let mut holes = [Some(3), None, Some(1)];
        stable_by(&mut holes, ascending);
        assert_eq!(holes, [Some(3), None, Some(1)]);
    }
}
