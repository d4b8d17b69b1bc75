//! Finds the fewest of many things that together have an effect.
//!
//! Which of the fifty things that a polluter changed does the victim stumble over? Put some of them
//! back and see whether it passes. As in [`crate::search`], nothing is assumed about how many there
//! are: the shortest beginning with the effect ends with one that is needed; keep it, and look for
//! the next among those before it. This takes about `log n` questions for each thing needed.
//!
//! The only assumption is that adding things never removes the effect.

use futures_executor::block_on;

/// A minimal subset of the things `0..n` that has the effect, in ascending order; `None` if not
/// even all of them have it.
///
/// An error in a question ends the search.
pub async fn minimal_subset<E>(
    n: usize,
    mut has_effect: impl AsyncFnMut(&[usize]) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    let mut ask = async |kept: &[usize], n_first: usize| {
        let mut things: Vec<usize> = (0..n_first).chain(kept.iter().copied()).collect();
        things.sort_unstable();
        has_effect(&things).await
    };
    if !ask(&[], n).await? {
        return Ok(None);
    }
    let mut kept = Vec::new();
    let mut n_first = n;
    while 0 < n_first && !ask(&kept, 0).await? {
        // Invariant: with those kept, `low` things are not enough and `high` are.
        let (mut low, mut high) = (0, n_first);
        while low + 1 < high {
            let middle = low.midpoint(high);
            if ask(&kept, middle).await? {
                high = middle;
            } else {
                low = middle;
            }
        }
        kept.push(high - 1);
        n_first = high - 1;
    }
    kept.sort_unstable();
    Ok(Some(kept))
}

/// The same, with questions that are answered at once.
pub fn minimal_subset_at_once<E>(
    n: usize,
    mut has_effect: impl FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    block_on(minimal_subset(n, async |things: &[usize]| has_effect(things)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// The effect is there when all things of one of these sets are.
    fn search(n: usize, sets: &[Vec<usize>]) -> (Option<Vec<usize>>, usize) {
        let mut n_questions = 0;
        let found = block_on(minimal_subset(n, async |things: &[usize]| {
            n_questions += 1;
            let is_there = |set: &Vec<usize>| set.iter().all(|thing| things.contains(thing));
            Ok::<_, Infallible>(sets.iter().any(is_there))
        }));
        let Ok(found) = found;
        (found, n_questions)
    }

    #[test]
    fn nothing_is_found_where_not_even_all_have_the_effect() {
        assert_eq!(search(5, &[]), (None, 1));
        assert_eq!(search(0, &[]), (None, 1));
    }

    #[test]
    fn an_effect_that_needs_nothing_is_explained_by_nothing() {
        assert_eq!(search(5, &[vec![]]).0, Some(vec![]));
    }

    #[test]
    fn one_of_a_thousand_costs_a_dozen_questions() {
        for culprit in [0, 1, 499, 998, 999] {
            let (found, n_questions) = search(1000, &[vec![culprit]]);
            assert_eq!(found, Some(vec![culprit]));
            assert!(n_questions <= 13, "{n_questions}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_found_has_the_effect_and_nothing_in_it_can_be_left_out(
            sets in prop::collection::vec(prop::collection::btree_set(0..40_usize, 1..5), 1..4),
        ) {
            let sets: Vec<Vec<usize>> = sets.into_iter().map(|s| s.into_iter().collect()).collect();
            let found = search(40, &sets).0.unwrap();
            prop_assert!(sets.contains(&found) , "{found:?} of {sets:?}");
        }
    }
}
