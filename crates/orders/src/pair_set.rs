//! A set of ordered pairs, one bit each, with the queries about rows that we need.

use std::ops::Range;

/// A set of ordered pairs of numbers below n, in n^2 bits.
#[derive(Clone, Debug)]
pub(crate) struct PairSet {
    words_per_row: usize,
    words: Vec<u64>,
}

impl PairSet {
    /// The empty set.
    pub(crate) fn new(n: usize) -> Self {
        let words_per_row = n.div_ceil(64);
        Self { words_per_row, words: vec![0; n * words_per_row] }
    }

    /// The pairs that start with `from`.
    pub(crate) fn row(&self, from: usize) -> &[u64] {
        &self.words[from * self.words_per_row..][..self.words_per_row]
    }

    /// The pairs that start with `from`.
    pub(crate) fn row_mut(&mut self, from: usize) -> &mut [u64] {
        &mut self.words[from * self.words_per_row..][..self.words_per_row]
    }

    pub(crate) fn contains(&self, from: usize, to: usize) -> bool {
        contains(self.row(from), to)
    }

    /// Adds a pair; returns whether it is new.
    pub(crate) fn insert(&mut self, from: usize, to: usize) -> bool {
        let word = &mut self.row_mut(from)[to / 64];
        let before = *word;
        *word |= 1 << (to % 64);
        *word != before
    }

    /// Removes a pair; returns whether it was there.
    pub(crate) fn remove(&mut self, from: usize, to: usize) -> bool {
        let word = &mut self.row_mut(from)[to / 64];
        let before = *word;
        *word &= !(1 << (to % 64));
        *word != before
    }

    /// How many pairs there are.
    pub(crate) fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Whether the number is in the row.
pub(crate) fn contains(row: &[u64], number: usize) -> bool {
    row[number / 64] >> (number % 64) & 1 == 1
}

/// The bits of the word at this index that belong to a range of numbers.
fn mask(range: &Range<usize>, index: usize) -> u64 {
    let from = range.start.saturating_sub(index * 64).min(64);
    let to = range.end.saturating_sub(index * 64).min(64);
    let below = |bit: usize| if bit < 64 { (1_u64 << bit) - 1 } else { u64::MAX };
    below(to) & !below(from)
}

/// The words of a row that contain a range of numbers, with other bits cleared.
fn words_in(row: &[u64], range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let words = range.start / 64..range.end.div_ceil(64);
    words.map(move |index| (index, row[index] & mask(&range, index)))
}

/// How many numbers of the range are in the row.
pub(crate) fn count_in(row: &[u64], range: Range<usize>) -> u32 {
    if range.is_empty() {
        return 0;
    }
    // Called for every class at every step, so it does not compute a mask for each word.
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    let head = row[first] >> (range.start % 64);
    let tail = row[last] << (63 - (range.end - 1) % 64);
    if first == last {
        return (head << (64 - range.len())).count_ones();
    }
    let inner: u32 = row[first + 1..last].iter().map(|word| word.count_ones()).sum();
    head.count_ones() + inner + tail.count_ones()
}

/// The numbers of the range that are in the row, ascending.
pub(crate) fn members_in(row: &[u64], range: Range<usize>) -> impl Iterator<Item = usize> {
    words_in(row, range).flat_map(|(index, word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                index * 64 + bit
            })
        })
    })
}

/// Sets or clears all numbers of a range.
pub(crate) fn fill(row: &mut [u64], range: Range<usize>, present: bool) {
    let n_words = range.end.div_ceil(64);
    let words = row.iter_mut().enumerate().take(n_words);
    for (index, word) in words.skip(range.start / 64) {
        let mask = mask(&range, index);
        if present {
            *word |= mask;
        } else {
            *word &= !mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 100,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn rows_answer_like_a_set(
            numbers in prop::collection::btree_set(0_usize..200, 0..150),
            removed in 0_usize..200,
            from in 0_usize..200,
            length in 0_usize..200,
        ) {
            let mut pairs = PairSet::new(200);
            for number in &numbers {
                prop_assert!(pairs.insert(7, *number));
                prop_assert!(!pairs.insert(7, *number));
            }
            prop_assert_eq!(pairs.len(), numbers.len() as u64);
            prop_assert_eq!(pairs.remove(7, removed), numbers.contains(&removed));
            let numbers: BTreeSet<usize> = numbers.into_iter().filter(|x| *x != removed).collect();

            let range = from..(from + length).min(200);
            let range = if range.start < range.end { range } else { from..from };
            let expected: Vec<usize> = numbers.range(range.clone()).copied().collect();
            let row = pairs.row(7);
            prop_assert_eq!(count_in(row, range.clone()) as usize, expected.len());
            prop_assert_eq!(members_in(row, range).collect::<Vec<_>>(), expected);
            prop_assert_eq!(contains(row, from), numbers.contains(&from));
        }

        #[test]
        fn filling_changes_the_range_only(from in 0_usize..130, length in 0_usize..130) {
            let range = from..(from + length).min(130);
            let range = if range.start < range.end { range } else { from..from };
            for present in [true, false] {
                let mut pairs = PairSet::new(130);
                fill(pairs.row_mut(0), 0..130, !present);
                fill(pairs.row_mut(0), range.clone(), present);
                for number in 0..130 {
                    prop_assert_eq!(pairs.contains(0, number), range.contains(&number) == present);
                }
            }
        }
    }
}
