//! Sorting by whole numbers: one copy of the standard sort for elements of all types.
//!
//! A copy of the standard sort takes 5 to 10 KB of WebAssembly, and each type and each comparison has its
//! own. These functions are for lists that are sorted once per file, not for loops whose speed matters.

use alloc::vec::Vec;

/// Sorts by a key. Elements with the same key keep their order.
///
/// ```
/// let mut names = ["knee", "hip", "toe"];
/// condyle_base::order::sort_by(&mut names, |name| name.len() as u64);
/// assert_eq!(names, ["hip", "toe", "knee"]);
/// ```
pub fn sort_by<T>(list: &mut [T], key: impl FnMut(&T) -> u64) {
    let mut order: Vec<(u64, usize)> = list.iter().map(key).zip(0..).collect();
    // The index keeps the order of equal keys.
    sort_pairs(&mut order);
    // Follow the cycles of the permutation. Each swap brings one element to its place.
    for start in 0..order.len() {
        let mut at = start;
        loop {
            let from = core::mem::replace(&mut order[at].1, at);
            if from == start {
                break;
            }
            list.swap(at, from);
            at = from;
        }
    }
}

/// Sorts numbers in the order of [`f64::total_cmp`].
#[inline(never)]
pub fn sort_numbers(list: &mut [f64]) {
    // Stable, because many lists are two sorted ones.
    list.sort_by(f64::total_cmp);
}

/// Key of a number for [`sort_by`]: the order of [`f64::total_cmp`].
#[must_use]
pub fn key(number: f64) -> u64 {
    let bits = number.to_bits();
    // Negative numbers have the reverse order.
    if number.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// Sorts pairs of numbers.
#[inline(never)]
pub fn sort_pairs(list: &mut [(u64, usize)]) {
    list.sort_unstable();
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn equal_keys_keep_their_order() {
        let mut state = 1_u32;
        for count in [0, 1, 2, 3, 20, 21, 50, 1000] {
            let mut list: Vec<(u64, usize)> = (0..count)
                .map(|at| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (u64::from(state >> 28), at)
                })
                .collect();
            let mut wanted = list.clone();
            wanted.sort_by_key(|it| it.0);
            sort_by(&mut list, |it| it.0);
            assert_eq!(list, wanted);
            sort_by(&mut list, |it| u64::MAX - it.1 as u64);
            wanted.sort_by_key(|it| core::cmp::Reverse(it.1));
            assert_eq!(list, wanted);
        }
    }

    #[test]
    fn keys_have_the_total_order() {
        let nan = f64::NAN;
        let list = [
            -nan,
            f64::NEG_INFINITY,
            -1.5,
            -1.0,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            1e-300,
            1.0,
            1.5,
            1e300,
            nan,
        ];
        assert!(list.is_sorted_by(|a, b| key(*a) < key(*b) && a.total_cmp(b).is_lt()));
        let mut sorted = list;
        sorted.reverse();
        sort_numbers(&mut sorted);
        assert!(sorted.iter().zip(list).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
