//! Tuscan squares: the fewest orders in which every test directly follows every other one.
//!
//! A Tuscan square of size n has n rows, each an arrangement of the elements 0..n, and every
//! ordered pair of elements stands side by side in exactly one row. It splits the complete
//! directed graph into n Hamiltonian paths. Counting shows that no set of orders does better:
//! n(n-1) pairs, at most n-1 in an order. Squares exist for all n but 3 and 5, where 4 and 6 rows
//! are needed (some of them short) and suffice.
//!
//! Rows are computed one by one, in any sequence, in O(n) time and memory each, so that n = 10,000
//! (10^8 elements) streams in a fraction of a second. Where the constructions come from (all in
//! detection spec 2.6):
//!
//! | n | construction |
//! |---|---|
//! | even | the zigzag 0, n-1, 1, n-2, …, shifted n times (Walecki) |
//! | 4k+3 >= 7 | n-1 shifted cycles, cut at one arc each; these arcs are the last row (Tillson) |
//! | 9 | three rows, each rotated within the blocks of three, found by search |
//! | 4m+1 >= 13 | two joined copies of the square of size (n+1)/2, less one element (Tillson) |
//! | 1, 3, 5 | listed |
//!
//! Two consequences are used elsewhere: for n other than 3 and 5 every element is first in exactly
//! one row and last in exactly one; for 3 and 5 it is still first as often as it is last.

/// The rows of a Tuscan square (for n = 3 and 5: of the smallest set of rows with the same pairs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuscan {
    n: u32,
}

/// Spec example 8, counted from 0.
const ROWS_OF_3: [&[u32]; 4] = [&[0, 1, 2], &[1, 0, 2], &[2, 0], &[2, 1]];

/// Spec 2.6: an exact cover with 26 elements; 25 are impossible.
const ROWS_OF_5: [&[u32]; 6] = [
    &[0, 1, 2, 3, 4],
    &[0, 2, 1, 4, 3],
    &[1, 3, 0, 4, 2],
    &[2, 4, 0, 3, 1],
    &[3, 2, 0],
    &[4, 1, 0],
];

/// Spec 2.6: each of these is rotated within the blocks {0,1,2}, {3,4,5}, {6,7,8}.
const BASE_ROWS_OF_9: [[u32; 9]; 3] =
    [[0, 1, 3, 2, 5, 6, 4, 7, 8], [3, 0, 2, 6, 8, 1, 7, 4, 5], [6, 0, 8, 4, 3, 1, 5, 7, 2]];

impl Tuscan {
    /// The square of this size.
    ///
    /// # Panics
    /// If the size does not fit 31 bits.
    pub fn new(n: usize) -> Self {
        assert!(n < 1 << 31, "a square of size {n} is beyond any suite");
        Self { n: u32::try_from(n).expect("checked above") }
    }

    /// How many rows there are: n, but 4 for n = 3 and 6 for n = 5.
    pub fn n_rows(self) -> usize {
        match self.n {
            3 => ROWS_OF_3.len(),
            5 => ROWS_OF_5.len(),
            n => n as usize,
        }
    }

    /// Replaces the contents of `row` by row `number`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_into(self, number: usize, row: &mut Vec<u32>) {
        assert!(number < self.n_rows(), "row {number} of {}", self.n_rows());
        row.clear();
        match self.n {
            1 => row.push(0),
            3 => row.extend_from_slice(ROWS_OF_3[number]),
            5 => row.extend_from_slice(ROWS_OF_5[number]),
            9 => rotated_base_row(number, row),
            n => {
                let number = u32::try_from(number).expect("a row number is below n");
                match n % 4 {
                    0 | 2 => zigzag_row(n, number, row),
                    3 => cut_cycle_row(n, number, row),
                    _ => doubled_row(n, number, row),
                }
            }
        }
    }

    /// All rows, first to last, each in a separate vector.
    pub fn rows(self) -> impl Iterator<Item = Vec<u32>> {
        (0..self.n_rows()).map(move |number| {
            let mut row = Vec::with_capacity(self.n as usize);
            self.row_into(number, &mut row);
            row
        })
    }
}

/// The zigzag 0, n-1, 1, n-2, … with `shift` added modulo n: for even n, a row.
///
/// Its differences -1, 2, -3, … are all distinct modulo an even n, so each occurs once between
/// each pair of neighbours over all shifts. For odd n every difference occurs twice, or not at all
/// (and its negative in the reverse): see `planned`.
pub(crate) fn zigzag_row(n: u32, shift: u32, row: &mut Vec<u32>) {
    let wrapped = |value: u32| if value < n { value } else { value - n };
    let pairs = (0..n / 2).flat_map(|low| [low, n - 1 - low]);
    let middle = (n % 2 == 1).then_some(n / 2);
    row.extend(pairs.chain(middle).map(|value| wrapped(value + shift)));
}

fn rotated_base_row(number: usize, row: &mut Vec<u32>) {
    let shift = u32::try_from(number % 3).expect("below 3");
    row.extend(BASE_ROWS_OF_9[number / 3].map(|x| x / 3 * 3 + (x + shift) % 3));
}

/// Size n = 4k+3: elements 0..n-1 modulo n-1, and ∞, which we number n-1.
fn cut_cycle_row(n: u32, number: u32, row: &mut Vec<u32>) {
    let infinity = n - 1;
    if number == infinity {
        return removed_arcs_row(n, row);
    }
    let start = cut_position(n, number);
    row.extend((start..n).chain(0..start).map(|position| on_cycle(n, number, position)));
}

/// The element at a position of cycle i: ∞, i, i+1, i-1, i+2, i-2, … (modulo n-1).
fn on_cycle(n: u32, i: u32, position: u32) -> u32 {
    let modulus = n - 1;
    let value = match position {
        0 => return modulus,
        even if even % 2 == 0 => i + even / 2,
        odd => i + modulus - odd / 2,
    };
    if value < modulus { value } else { value - modulus }
}

/// Where cycle i is cut: the arc into this position is removed.
fn cut_position(n: u32, i: u32) -> u32 {
    let k = n / 4;
    if i == 0 {
        1
    } else if i == k + 1 {
        4 * k + 2
    } else if i == 2 * k + 2 {
        3
    } else if i == 3 * k + 2 {
        4 * k
    } else {
        2 * k
    }
}

/// The removed arcs, one from each cycle, form a path that starts at ∞.
fn removed_arcs_row(n: u32, row: &mut Vec<u32>) {
    let mut successor = vec![n; n as usize];
    for i in 0..n - 1 {
        let cut = cut_position(n, i);
        let before = on_cycle(n, i, cut - 1);
        successor[before as usize] = on_cycle(n, i, cut);
    }
    let mut element = n - 1;
    for _ in 0..n {
        row.push(element);
        element = successor[element as usize];
    }
}

/// Size n = 4m+1: cycles over two copies (x, and x + h) of the square of size h = (n+1)/2, cut at
/// element n, which is dropped.
fn doubled_row(n: u32, number: u32, row: &mut Vec<u32>) {
    let h = n.div_ceil(2);
    if number < h {
        Tuscan { n: h }.row_into(number as usize, row);
        row.extend_from_within(..);
        let (_, copy) = row.split_at_mut(h as usize);
        copy.reverse();
        for element in copy {
            *element += h;
        }
    } else {
        crossing_cycle(h, number - h, row);
    }
    let dropped = row.iter().position(|x| *x == n);
    let dropped = dropped.expect("a cycle visits every element");
    row.rotate_left(dropped);
    row.swap_remove(0);
    row.rotate_left(1);
}

/// The cycle that alternates between the copies and so joins them.
fn crossing_cycle(h: u32, i: u32, row: &mut Vec<u32>) {
    let value = |position: u32| {
        if position == h - 1 {
            h - 1
        } else if position.is_multiple_of(2) {
            (i + position / 2) % (h - 1)
        } else {
            (i + h - 2 - position / 2) % (h - 1)
        }
    };
    // The second half repeats the values of the first; because h is odd, in the other copy.
    row.extend((0..2 * h).map(|position| value(position % h) + position % 2 * h));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> Vec<Vec<u32>> {
        Tuscan::new(n).rows().collect()
    }

    fn from_one(rows: &[Vec<u32>]) -> Vec<Vec<u32>> {
        rows.iter().map(|row| row.iter().map(|x| x + 1).collect()).collect()
    }

    /// How often each ordered pair is adjacent, as a flat n by n table.
    fn pair_counts(n: usize, rows: &[Vec<u32>]) -> Vec<u32> {
        let mut counts = vec![0; n * n];
        for pair in rows.iter().flat_map(|row| row.windows(2)) {
            counts[pair[0] as usize * n + pair[1] as usize] += 1;
        }
        counts
    }

    #[test]
    fn sizes_2_to_5_are_those_of_spec_example_8() {
        assert_eq!(from_one(&rows(2)), [[1, 2], [2, 1]]);
        let of_3: [&[u32]; 4] = [&[1, 2, 3], &[2, 1, 3], &[3, 1], &[3, 2]];
        assert_eq!(from_one(&rows(3)), of_3);
        assert_eq!(from_one(&rows(4)), [[1, 4, 2, 3], [2, 1, 3, 4], [3, 2, 4, 1], [4, 3, 1, 2]]);
        let of_5: [&[u32]; 6] = [
            &[0, 1, 2, 3, 4],
            &[0, 2, 1, 4, 3],
            &[1, 3, 0, 4, 2],
            &[2, 4, 0, 3, 1],
            &[3, 2, 0],
            &[4, 1, 0],
        ];
        assert_eq!(rows(5), of_5);
    }

    #[test]
    fn the_smallest_sizes_are_no_special_case_for_the_caller() {
        assert_eq!(rows(0), Vec::<Vec<u32>>::new());
        assert_eq!(rows(1), [[0]]);
    }

    #[test]
    fn up_to_300_every_pair_is_adjacent_exactly_once() {
        for n in 1..=300 {
            let rows = rows(n);
            let counts = pair_counts(n, &rows);
            for (position, count) in counts.iter().enumerate() {
                let wanted = u32::from(position / n != position % n);
                assert_eq!(*count, wanted, "pair {position} of size {n}");
            }
        }
    }

    #[test]
    fn up_to_300_rows_are_permutations_and_ends_are_balanced() {
        for n in (1..=300).filter(|n| ![3, 5].contains(n)) {
            let all: Vec<u32> = (0..u32::try_from(n).unwrap()).collect();
            let sorted = |mut row: Vec<u32>| {
                row.sort_unstable();
                row
            };
            let rows = rows(n);
            assert!(rows.iter().all(|row| sorted(row.clone()) == all), "{n}");
            assert_eq!(sorted(rows.iter().map(|row| row[0]).collect()), all, "{n}");
            assert_eq!(sorted(rows.iter().map(|row| row[n - 1]).collect()), all, "{n}");
        }
    }

    #[test]
    fn for_3_and_5_elements_are_first_as_often_as_last() {
        for n in [3, 5] {
            let mut first: Vec<u32> = rows(n).iter().map(|row| row[0]).collect();
            let mut last: Vec<u32> = rows(n).iter().map(|row| *row.last().unwrap()).collect();
            first.sort_unstable();
            last.sort_unstable();
            assert_eq!(first, last);
        }
    }

    #[test]
    fn any_row_can_be_had_without_the_others() {
        let mut row = vec![99];
        for n in [8, 9, 11, 13, 29, 53] {
            for (number, expected) in rows(n).into_iter().enumerate().rev() {
                Tuscan::new(n).row_into(number, &mut row);
                assert_eq!(row, expected);
            }
        }
    }
}
