//! The test of equal rates with the true distribution of its statistic.
//!
//! If the order does not matter, then, given how many runs failed in all, every way to spread the
//! failures over the runs is equally likely. The p-value is the share of those ways that are at
//! least as *uneven* as what was seen. Nothing is approximated, so few failures are no trouble:
//! they merely cannot give a small p-value, which is the point.
//!
//! **Which tables are more uneven?** There are two customary answers. Freeman and Halton (1951)
//! take the less *probable* tables. With many orders every single table is improbable, and the
//! ordering then speaks mostly of how often a pattern can be permuted, not of rates. We order by
//! Pearson's chi-square instead: it measures what DIF asks (how far rates lie apart, weighed by how
//! well they are known), it is the statistic of the published studies, so that the two p-values
//! differ only by the approximation, and it decides ties in integers. On example E16 both answers
//! agree: one failure in a small cell has p = 1/2.
//!
//! **How.** With the totals fixed, chi-square grows with `S = sum x_i^2 / n_i`, and `S` times the
//! least common multiple of the `n_i` is an integer. We go through the orders one by one and keep,
//! for each (failures left, `S` so far), its probability; a state whose tables are all more uneven,
//! or all less, than the observed one is settled at once and dropped (the idea of Mehta and Patel's
//! network algorithm, 1983). Where that still takes too long we deal the failures out at random
//! ([`Method::Sampled`]) and count the observed table as one of the samples (Davison and Hinkley
//! 1997, 4.2), so that the p-value errs upwards and is never below 1 / (samples + 1). Drawing stops
//! early once enough tables were as uneven (Besag and Clifford 1991): a p-value of 0.4 needs no
//! digits.

use std::collections::BTreeMap;

use unflake_model::Tally;
use unflake_model::random::Random;

use crate::hypergeometric;

/// States expanded before we turn to sampling: well under a second.
const STEPS_MAX: u64 = 4_000_000;

/// The number of tables drawn when counting takes too long follows from the number of failures to
/// deal out, within these limits.
const N_DEALT_MAX: u64 = 20_000_000;
const N_SAMPLES_MIN: u64 = 9_999;
const N_SAMPLES_MAX: u64 = 99_999;

/// After this many tables as uneven as the observed one we stop: their share is known to a tenth.
const N_AS_UNEVEN_ENOUGH: u64 = 100;

/// Separates our draws from those made for other purposes.
const PURPOSE: u64 = 0x7461_626c;

/// How a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All tables were counted.
    Counted,
    /// Tables were drawn at random.
    Sampled {
        /// How many were drawn.
        n_samples: u64,
        /// How many of them were at least as uneven as the observed one.
        n_as_uneven: u64,
    },
}

/// The outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactTest {
    /// The probability of rates at least as uneven if all orders are alike.
    pub p_value: f64,
    /// How the p-value was computed.
    pub method: Method,
}

/// Tests whether all orders have the same failure rate. Orders without attempts are ignored.
///
/// `None` if there is nothing to compare: fewer than two orders, no failure, or no pass. The seed
/// matters only if tables are sampled.
pub fn same_rate_exact(tallies: &[Tally], seed: u64) -> Option<ExactTest> {
    let table = Table::new(tallies)?;
    Some(match counted(&table) {
        Some(p_value) => ExactTest { p_value, method: Method::Counted },
        None => sampled(&table, seed),
    })
}

/// The observed table, with the statistic as an integer.
///
/// Failures and passes are interchangeable here; `marked` are the rarer ones.
struct Table {
    cells: Vec<Cell>,
    n_marked: u64,
    /// The unit for 1 / (number of runs).
    scale: u128,
    /// Tables with at least this `S` are as uneven as the observed one.
    threshold: u128,
}

#[derive(Clone, Copy)]
struct Cell {
    n_runs: u64,
    n_marked: u64,
    weight: u128,
}

impl Table {
    fn new(tallies: &[Tally]) -> Option<Self> {
        let seen: Vec<Tally> = tallies.iter().copied().filter(|t| 0 < t.attempts).collect();
        let failures: u64 = seen.iter().map(|t| t.failures).sum();
        let passes: u64 = seen.iter().map(|t| t.passes()).sum();
        if seen.len() < 2 || failures == 0 || passes == 0 {
            return None;
        }
        let n_marked = failures.min(passes);
        // Without a common multiple of manageable size the weights are rounded, and what could
        // be a tie within the rounding counts as one.
        let (scale, slack) = match common_multiple(&seen) {
            Some(multiple) => (multiple, 0),
            None => (1 << 64, square(n_marked)),
        };
        let mut cells: Vec<Cell> = seen
            .iter()
            .map(|t| Cell {
                n_runs: t.attempts,
                n_marked: if failures <= passes { t.failures } else { t.passes() },
                weight: scale / u128::from(t.attempts),
            })
            .collect();
        // The last cell is forced, so the one with most to choose from comes last.
        cells.sort_unstable_by_key(|cell| cell.n_runs);
        let observed: u128 = cells.iter().map(|c| c.weight * square(c.n_marked)).sum();
        Some(Self { cells, n_marked, scale, threshold: observed.saturating_sub(slack) })
    }

    /// Classifies a state in which `n_left` marked runs are to be spread over the remaining cells.
    fn outlook(&self, so_far: u128, n_left: u64, rest: Rest) -> Outlook {
        if rest.n_runs == 0 {
            return if self.threshold <= so_far { Outlook::AsUneven } else { Outlook::LessUneven };
        }
        // By Cauchy's inequality S is least when all rates are equal. It is at most what the
        // heaviest cell alone would give, and a cell gives at most `scale` per marked run.
        let least = self.scale * square(n_left) / u128::from(rest.n_runs);
        let most = (rest.heaviest * square(n_left)).min(self.scale * u128::from(n_left));
        if self.threshold <= so_far + least {
            Outlook::AsUneven
        } else if so_far + most < self.threshold {
            Outlook::LessUneven
        } else {
            Outlook::Open
        }
    }
}

/// The cells still to be filled.
#[derive(Clone, Copy)]
struct Rest {
    n_runs: u64,
    heaviest: u128,
}

impl Rest {
    fn of(cells: &[Cell]) -> Self {
        Self {
            n_runs: cells.iter().map(|cell| cell.n_runs).sum(),
            heaviest: cells.iter().map(|cell| cell.weight).max().unwrap_or(0),
        }
    }
}

enum Outlook {
    AsUneven,
    LessUneven,
    Open,
}

fn square(n: u64) -> u128 {
    u128::from(n) * u128::from(n)
}

/// The least common multiple of the numbers of runs, if it fits 64 bits.
fn common_multiple(tallies: &[Tally]) -> Option<u128> {
    tallies
        .iter()
        .try_fold(1_u64, |multiple, t| {
            (multiple / gcd(multiple, t.attempts)).checked_mul(t.attempts)
        })
        .map(u128::from)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Probability by marked runs left, and by `S` so far.
type States = BTreeMap<u64, BTreeMap<u128, f64>>;

/// The p-value by going through all tables; `None` if that would take too long.
fn counted(table: &Table) -> Option<f64> {
    let mut p_value = 0.0;
    let mut n_steps = 0;
    let mut states = States::from([(table.n_marked, BTreeMap::from([(0, 1.0)]))]);
    for (index, cell) in table.cells.iter().enumerate() {
        let rest = Rest::of(&table.cells[index + 1..]);
        let n_runs = cell.n_runs + rest.n_runs;
        let mut next = States::new();
        for (&n_left, by_sum) in &states {
            for x in hypergeometric::support(n_runs, n_left, cell.n_runs) {
                n_steps += by_sum.len() as u64;
                if STEPS_MAX < n_steps {
                    return None;
                }
                let share = hypergeometric::probability(n_runs, n_left, cell.n_runs, x);
                for (&sum, &probability) in by_sum {
                    let sum = sum + cell.weight * square(x);
                    match table.outlook(sum, n_left - x, rest) {
                        Outlook::AsUneven => p_value += probability * share,
                        Outlook::LessUneven => {}
                        Outlook::Open => {
                            *next.entry(n_left - x).or_default().entry(sum).or_default() +=
                                probability * share;
                        }
                    }
                }
            }
        }
        states = next;
    }
    Some(f64::min(p_value, 1.0))
}

/// The p-value from tables drawn at random.
fn sampled(table: &Table, seed: u64) -> ExactTest {
    let mut random = Random::labelled(seed, &[PURPOSE]);
    let mut cell_of_run: Vec<usize> = Vec::new();
    for (index, cell) in table.cells.iter().enumerate() {
        cell_of_run.extend((0..cell.n_runs).map(|_| index));
    }
    let n_max = (N_DEALT_MAX / table.n_marked).clamp(N_SAMPLES_MIN, N_SAMPLES_MAX);
    let (mut n_samples, mut n_as_uneven) = (0, 0);
    while n_samples < n_max && n_as_uneven < N_AS_UNEVEN_ENOUGH {
        n_samples += 1;
        let mut marked = vec![0; table.cells.len()];
        // The head of a shuffle. It need not start from the same arrangement each time.
        for (place, _) in (0..table.n_marked).enumerate() {
            let other = place + random.below(cell_of_run.len() - place);
            cell_of_run.swap(place, other);
            marked[cell_of_run[place]] += 1;
        }
        let cells = table.cells.iter().zip(&marked);
        let sum: u128 = cells.map(|(cell, &n)| cell.weight * square(n)).sum();
        n_as_uneven += u64::from(table.threshold <= sum);
    }
    ExactTest {
        p_value: if n_as_uneven < N_AS_UNEVEN_ENOUGH {
            (n_as_uneven + 1) as f64 / (n_samples + 1) as f64
        } else {
            n_as_uneven as f64 / n_samples as f64
        },
        method: Method::Sampled { n_samples, n_as_uneven },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::chi_square::tests::{e16, tallies, tally};
    use crate::special::tests::near;
    use proptest::prelude::*;

    fn p_value(tallies: &[Tally]) -> f64 {
        let found = same_rate_exact(tallies, 1).unwrap();
        assert_eq!(found.method, Method::Counted);
        found.p_value
    }

    #[test]
    fn one_failure_in_a_small_cell_is_no_evidence() {
        // Example E16, second case, where chi-square says 0.0066. The failure had to be in some
        // run, and 2000 of the 4000 runs were made in the small orders.
        assert!(near(p_value(&e16(0, 1)), 0.5, 1e-10));
    }

    #[test]
    fn the_other_cases_of_example_e16() {
        // Both failures in the large order is the most even table there is.
        assert!(near(p_value(&e16(2, 0)), 1.0, 1e-10));
        // 10 of 2000 and 5 of 100 remain significant.
        assert!(p_value(&e16(10, 5)) < 1e-3);
        // 99 of 100 against nothing: the failures are all in one order in 3 of these ways.
        let expected = 3.0 * 100.0 / statrs::function::factorial::binomial(300, 99);
        assert!(near(p_value(&tallies(&[99, 0, 0], &[100; 3])), expected, 1e-9));
    }

    #[test]
    fn a_table_too_large_to_count_is_sampled_and_says_so() {
        let failures = [42, 2, 2, 12, 2, 0, 5, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0, 1, 10, 9, 0];
        let mut runs = [100; 21];
        runs[0] = 2000;
        let found = same_rate_exact(&tallies(&failures, &runs), 1).unwrap();
        let n_samples = N_SAMPLES_MAX;
        assert_eq!(found.method, Method::Sampled { n_samples, n_as_uneven: 0 });
        assert!(near(found.p_value, 1e-5, 1e-9));
        assert_eq!(same_rate_exact(&tallies(&failures, &runs), 1), Some(found));
    }

    #[test]
    fn sampling_agrees_with_counting() {
        for observed in [e16(3, 1), tallies(&[4, 1, 2], &[10, 12, 9])] {
            let table = Table::new(&observed).unwrap();
            let (exact, drawn) = (counted(&table).unwrap(), sampled(&table, 7).p_value);
            // Four standard deviations, each a tenth of the share.
            assert!((exact - drawn).abs() < 0.4 * exact, "{exact} {drawn}");
        }
    }

    #[test]
    fn numbers_of_runs_without_a_common_multiple_are_rounded_not_refused() {
        let primes = [
            9973, 9967, 9949, 9941, 9931, 9929, 9923, 9907, 9901, 9887, 9883, 9871, 9859, 9857,
            9851, 9839, 9833, 9829, 9817, 9811,
        ];
        let mut observed: Vec<Tally> = primes.iter().map(|n| tally(0, *n)).collect();
        observed[19].failures = 1;
        assert_eq!(common_multiple(&observed), None);
        // The smallest order is the least likely place: only itself is as uneven.
        let total: u64 = primes.iter().sum();
        assert!(near(p_value(&observed), 9811.0 / total as f64, 1e-9));
    }

    /// All tables with these row sizes and this many failures, with their probability.
    fn enumerate(runs: &[u64], n_left: u64, weight: f64, visit: &mut impl FnMut(&[u64], f64)) {
        fn go(
            runs: &[u64],
            n_left: u64,
            weight: f64,
            chosen: &mut Vec<u64>,
            visit: &mut impl FnMut(&[u64], f64),
        ) {
            let Some(&n) = runs.get(chosen.len()) else {
                if n_left == 0 {
                    visit(chosen, weight);
                }
                return;
            };
            for x in 0..=n.min(n_left) {
                chosen.push(x);
                let ways = statrs::function::factorial::binomial(n, x);
                go(runs, n_left - x, weight * ways, chosen, visit);
                chosen.pop();
            }
        }
        go(runs, n_left, weight, &mut Vec::new(), visit);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn counting_agrees_with_enumeration(
            cells in proptest::collection::vec((0_u64..7, 1_u64..7), 2..5),
        ) {
            let observed: Vec<Tally> = cells.iter().map(|(x, n)| tally(*x.min(n), *n)).collect();
            let Some(found) = same_rate_exact(&observed, 0) else { return Ok(()) };
            let runs: Vec<u64> = observed.iter().map(|t| t.attempts).collect();
            let failures: u64 = observed.iter().map(|t| t.failures).sum();
            // 60 is a multiple of 1 to 6, so this S is an integer.
            let sum = |xs: &[u64]| -> u64 {
                xs.iter().zip(&runs).map(|(x, n)| x * x * 60 / n).sum()
            };
            let seen = sum(&observed.iter().map(|t| t.failures).collect::<Vec<_>>());
            let (mut all, mut as_uneven) = (0.0, 0.0);
            enumerate(&runs, failures, 1.0, &mut |xs, weight| {
                all += weight;
                if seen <= sum(xs) {
                    as_uneven += weight;
                }
            });
            prop_assert!(near(found.p_value, as_uneven / all, 1e-10));
        }

        #[test]
        fn failures_and_passes_play_the_same_part(
            cells in proptest::collection::vec((0_u64..12, 0_u64..12), 2..6),
        ) {
            let observed: Vec<Tally> = cells.iter().map(|(x, y)| tally(*x, x + y)).collect();
            let mirrored: Vec<Tally> = cells.iter().map(|(x, y)| tally(*y, x + y)).collect();
            let p = |t: &[Tally]| same_rate_exact(t, 3).map(|found| found.p_value);
            match (p(&observed), p(&mirrored)) {
                (Some(a), Some(b)) => prop_assert!(near(a, b, 1e-9)),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
