//! The chi-square test of equal proportions, exactly as R's `prop.test` computes it.
//!
//! Over orders with `x_i` failures in `n_i` runs, and `p = sum x / sum n` (root-cause spec 2.3,
//! step 5):
//!
//! ```text
//! chi2 = sum_i (x_i - n_i p)^2 / (n_i p) + (same for passes),   df = k - 1
//! ```
//!
//! For two orders R subtracts Yates' correction from each distance, but never more than
//! `|f_1 - f_2| / (1/n_1 + 1/n_2)`, so that the correction cannot change the sign.

use unflake_model::Tally;

use crate::special::chi_square_tail;

/// The outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquare {
    /// How uneven the rates are.
    pub statistic: f64,
    /// The degrees of freedom: one less than the number of orders.
    pub degrees: u64,
    /// The probability, in the limit, of rates at least as uneven if all orders are alike.
    /// 0 where it is smaller than any floating-point number.
    pub p_value: f64,
}

/// Tests whether all orders have the same failure rate. Orders without attempts are ignored.
///
/// `None` if there is nothing to compare: fewer than two orders, no failure, or no pass.
pub fn same_rate(tallies: &[Tally]) -> Option<ChiSquare> {
    let tallies: Vec<Tally> = tallies.iter().copied().filter(|t| 0 < t.attempts).collect();
    let failures: u64 = tallies.iter().map(|t| t.failures).sum();
    let attempts: u64 = tallies.iter().map(|t| t.attempts).sum();
    if tallies.len() < 2 || failures == 0 || failures == attempts {
        return None;
    }
    let p = failures as f64 / attempts as f64;
    let yates = yates(&tallies);
    let term =
        |seen: u64, expected: f64| ((seen as f64 - expected).abs() - yates).powi(2) / expected;
    let statistic = tallies
        .iter()
        .map(|t| {
            let n = t.attempts as f64;
            term(t.failures, n * p) + term(t.passes(), n * (1.0 - p))
        })
        .sum();
    let degrees = tallies.len() as u64 - 1;
    Some(ChiSquare { statistic, degrees, p_value: chi_square_tail(statistic, degrees as f64) })
}

fn yates(tallies: &[Tally]) -> f64 {
    let [a, b] = tallies else { return 0.0 };
    let rate = |t: &Tally| t.failures as f64 / t.attempts as f64;
    let scale = 1.0 / a.attempts as f64 + 1.0 / b.attempts as f64;
    ((rate(a) - rate(b)).abs() / scale).min(0.5)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::special::tests::near;

    /// Example E16: one order run 2000 times and 20 orders run 100 times.
    pub(crate) fn e16(first: u64, second: u64) -> Vec<Tally> {
        let mut tallies = vec![tally(0, 100); 21];
        tallies[0] = tally(first, 2000);
        tallies[1] = tally(second, 100);
        tallies
    }

    pub(crate) fn tally(failures: u64, attempts: u64) -> Tally {
        Tally { failures, attempts }
    }

    pub(crate) fn tallies(failures: &[u64], attempts: &[u64]) -> Vec<Tally> {
        assert_eq!(failures.len(), attempts.len());
        let pairs = failures.iter().zip(attempts);
        pairs.map(|(x, n)| tally(*x, *n)).collect()
    }

    #[test]
    fn the_five_cases_of_example_e16() {
        let found = same_rate(&e16(2, 0)).unwrap();
        assert_eq!(found.degrees, 20);
        assert!((found.statistic - 2.0010).abs() < 5e-5);
        assert!((found.p_value - 0.999_999_9).abs() < 5e-8);

        let found = same_rate(&e16(0, 1)).unwrap();
        assert!((found.statistic - 39.0098).abs() < 5e-5);
        assert!((found.p_value - 0.006_65).abs() < 5e-6);

        let found = same_rate(&e16(10, 5)).unwrap();
        assert!((found.statistic - 65.2447).abs() < 5e-5);
        assert!(near(found.p_value, 1.07e-6, 5e-3));

        let mut even = vec![tally(1, 100); 21];
        even[0] = tally(20, 2000);
        let found = same_rate(&even).unwrap();
        assert!(found.statistic.abs() < 1e-12);
        assert!((found.p_value - 1.0).abs() < 1e-12);

        let found = same_rate(&tallies(&[99, 0, 0], &[100; 3])).unwrap();
        assert!((found.statistic - 295.522).abs() < 5e-4);
        assert!(near(found.p_value, 6.7e-65, 1e-2));
    }

    #[test]
    fn published_p_values_are_met_to_all_their_digits() {
        // IDoFT tso-iso-rates, column "P-Value" (computed with R's prop.test).
        for (name, tallies, published, relative) in published() {
            let p_value = same_rate(&tallies).unwrap().p_value;
            assert!(near(p_value, published, relative), "{name}: {p_value}");
        }
    }

    fn published() -> Vec<(&'static str, Vec<Tally>, f64, f64)> {
        let runs_at = |place: usize| {
            let mut runs = [100; 21];
            runs[place] = 2000;
            runs
        };
        vec![
            (
                "HeartbeatHandlerTest.testHeartbeat",
                tallies(
                    &[1, 0, 1, 3, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 11, 0, 0],
                    &runs_at(18),
                ),
                0.273_294_7,
                2e-7,
            ),
            (
                "TestFluentLogger.testInMultiThreading",
                tallies(
                    &[0, 0, 1, 3, 0, 0, 1, 0, 18, 2, 4, 2, 1, 0, 0, 0, 0],
                    &[
                        100, 100, 100, 100, 200, 100, 200, 100, 2100, 100, 100, 200, 100, 100, 100,
                        100, 100,
                    ],
                ),
                0.021_399_38,
                2e-7,
            ),
            (
                "TestMemoryLimit.test_no_abuse",
                tallies(
                    &[2, 0, 0, 0, 0, 0, 1, 12, 0, 0, 0, 0, 1, 0, 0, 9, 0, 0, 0, 0, 0],
                    &runs_at(7),
                ),
                1.75e-17,
                3e-3,
            ),
            (
                "Issue621Test.testIssue",
                tallies(
                    &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                    &runs_at(0),
                ),
                5.31e-251,
                1e-3,
            ),
        ]
    }

    #[test]
    fn two_orders_are_corrected_as_r_does() {
        // R 4: prop.test(c(15, 25), c(50, 50)) gives X-squared = 3.375, p-value = 0.06619.
        let found = same_rate(&tallies(&[15, 25], &[50, 50])).unwrap();
        assert!((found.statistic - 3.375).abs() < 1e-12);
        assert!((found.p_value - 0.066_19).abs() < 5e-6);
        // Here the correction exceeds the whole difference: nothing is left.
        let found = same_rate(&tallies(&[1, 1], &[10, 11])).unwrap();
        assert!(found.statistic < 1e-25);
    }

    #[test]
    fn there_is_nothing_to_compare_without_two_orders_a_pass_and_a_failure() {
        assert_eq!(same_rate(&[]), None);
        assert_eq!(same_rate(&tallies(&[1, 0], &[2, 0])), None);
        assert_eq!(same_rate(&tallies(&[0, 0], &[2, 2])), None);
        assert_eq!(same_rate(&tallies(&[2, 2], &[2, 2])), None);
    }
}
