//! A suite like that of the study of characteristic functions, with tests that fail as often as
//! real ones do.
//!
//! 10,511 tests, 543 of which fail at random; 43.82 % of all and 92.27 % of the random ones are
//! exposed. How long they take is not published test by test, but this is: exposed tests take over
//! twice the mean (2.10 times, as the next fact implies), others a seventh of it; 95.32 % take less
//! than a second; the quickest tests that hold 80 % of the random ones take 7.5 % of all time; and
//! a traced run of everything took 1.77 h, of which tracing is 36.1 % on top (so we read it), which
//! makes the mean 0.445 s. Two log-normal distributions, one for exposed tests and one for others,
//! have four knobs: the means give two, and the two shares the other two. Nothing is left to choose
//! but that being random does not depend on the time a test takes, given its exposure.
//!
//! The other kind of suite takes run times and exposure from a file of real tests, measured by
//! `bench/reruns/measure.py`; they are distributed over as many tests as are needed.

use unflake_model::random::Random;
use unflake_sim::reruns::Rerunnable;
use unflake_stats::normal;

use super::super::read::DataFile;
use super::super::summary::{mean, percent};
use super::Counts;

const N_TESTS: usize = 10_511;
const N_RANDOM: usize = 543;
const SHARE_EXPOSED: f64 = 0.4382;
const SHARE_EXPOSED_OF_RANDOM: f64 = 0.9227;

/// 1.77 h / 1.361 / 10,511.
const SECONDS_MEAN: f64 = 0.4454;
/// Tests that are not exposed take a seventh of the mean.
const SECONDS_OTHERS: f64 = SECONDS_MEAN / 7.0;
const SECONDS_EXPOSED: f64 =
    (SECONDS_MEAN - (1.0 - SHARE_EXPOSED) * SECONDS_OTHERS) / SHARE_EXPOSED;

/// The standard deviations of the logarithms, solved for the two published shares.
const SIGMA_EXPOSED: f64 = 2.54;
const SIGMA_OTHERS: f64 = 1.80;

/// Where the run times come from.
pub(super) enum Suite {
    /// From the distributions above.
    Published,
    /// From real tests, exposed and others.
    Measured {
        /// Seconds of exposed tests.
        exposed: Vec<f64>,
        /// Seconds of other tests.
        others: Vec<f64>,
    },
}

impl Suite {
    /// Reads measured tests, one line each: `microseconds,exposed`.
    pub(super) fn read(file: &DataFile) -> Result<Self, String> {
        let (mut exposed, mut others) = (Vec::new(), Vec::new());
        for row in file.rows() {
            let micros: u32 = row.parsed("microseconds", "a number of microseconds")?;
            let seconds = f64::from(micros) / 1e6;
            match row.text("exposed")? {
                "1" => exposed.push(seconds),
                "0" => others.push(seconds),
                _ => return Err(row.fault("exposed", "is neither `0` nor `1`")),
            }
        }
        if exposed.is_empty() || others.is_empty() {
            return Err("the measured tests must be exposed in part".to_owned());
        }
        Ok(Self::Measured { exposed, others })
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Published => "run times as published",
            Self::Measured { .. } => "run times as measured",
        }
    }

    pub(super) fn slug(&self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Measured { .. } => "measured",
        }
    }

    fn share_exposed(&self) -> f64 {
        match self {
            Self::Published => SHARE_EXPOSED,
            Self::Measured { exposed, others } => {
                exposed.len() as f64 / (exposed.len() + others.len()) as f64
            }
        }
    }

    /// The tests of one suite. Those that fail at random do so as often as `random_ones` did.
    pub(super) fn tests(&self, random_ones: &[Counts], seed: u64) -> Vec<Rerunnable> {
        let mut random = Random::labelled(seed, &[0x0073_7569]);
        let n_exposed = share(N_TESTS, self.share_exposed());
        let n_exposed_random = share(N_RANDOM, SHARE_EXPOSED_OF_RANDOM);
        let mut rates = random_ones.to_vec();
        random.shuffle(&mut rates);
        let mut rates = rates.iter().cycle();
        let mut tests = Vec::with_capacity(N_TESTS);
        let kinds = [
            (true, n_exposed, n_exposed_random),
            (false, N_TESTS - n_exposed, N_RANDOM - n_exposed_random),
        ];
        for (is_exposed, n_tests, n_random) in kinds {
            let mut seconds = self.seconds(is_exposed, n_tests);
            random.shuffle(&mut seconds);
            for (index, seconds) in seconds.into_iter().enumerate() {
                let counts = if index < n_random { rates.next() } else { None };
                let (fail, skip) = counts.map_or((0.0, 0.0), Counts::shares);
                tests.push(Rerunnable { fail, skip, seconds, is_exposed });
            }
        }
        random.shuffle(&mut tests);
        tests
    }

    fn seconds(&self, is_exposed: bool, n: usize) -> Vec<f64> {
        match self {
            Self::Published if is_exposed => log_normal(SECONDS_EXPOSED, SIGMA_EXPOSED, n),
            Self::Published => log_normal(SECONDS_OTHERS, SIGMA_OTHERS, n),
            Self::Measured { exposed, others } => {
                let real = if is_exposed { exposed } else { others };
                real.iter().copied().cycle().take(n).collect()
            }
        }
    }

    /// Properties of a suite, beside the published ones.
    pub(super) fn facts(tests: &[Rerunnable]) -> Vec<String> {
        let seconds = |is_chosen: &dyn Fn(&Rerunnable) -> bool| -> Vec<f64> {
            tests.iter().filter(|test| is_chosen(test)).map(|test| test.seconds).collect()
        };
        let all = mean(&seconds(&|_| true)).unwrap_or(0.0);
        let exposed = mean(&seconds(&|test| test.is_exposed)).unwrap_or(0.0);
        let others = mean(&seconds(&|test| !test.is_exposed)).unwrap_or(0.0);
        let quick = seconds(&|test| test.seconds < 1.0).len() as f64 / tests.len() as f64;
        vec![
            format!(
                "{} tests, {} of them random; mean {:.3} s; exposed {:.2} times that (published: \
                 2.10), others 1/{:.1} (1/7)",
                tests.len(),
                tests.iter().filter(|test| 0.0 < test.fail).count(),
                all,
                exposed / all,
                all / others,
            ),
            format!(
                "below 1 s: {} (published: 95.3 %); time of the quickest tests with 80 % of the \
                 random ones: {} (7.5 %)",
                percent(quick),
                percent(time_of_quickest(tests, 0.8)),
            ),
        ]
    }
}

fn share(n: usize, share: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below n")]
    let part = (n as f64 * share).round() as usize;
    part
}

/// This many run times of a log-normal distribution, each the mean of its part of it: their mean is
/// exact, however long the tail.
fn log_normal(mean: f64, sigma: f64, n: usize) -> Vec<f64> {
    let mass_below =
        |index: usize| normal::below(normal::quantile(index as f64 / n as f64) - sigma);
    (0..n).map(|index| mean * n as f64 * (mass_below(index + 1) - mass_below(index))).collect()
}

/// The share of the total time of the quickest tests that include this share of the random ones.
fn time_of_quickest(tests: &[Rerunnable], wanted: f64) -> f64 {
    let mut sorted = tests.to_vec();
    sorted.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let n_random = sorted.iter().filter(|test| 0.0 < test.fail).count() as f64;
    let total: f64 = sorted.iter().map(|test| test.seconds).sum();
    let (mut n_met, mut time) = (0.0, 0.0);
    for test in &sorted {
        time += test.seconds;
        n_met += f64::from(u8::from(0.0 < test.fail));
        if wanted * n_random <= n_met {
            break;
        }
    }
    time / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Vec<Counts> {
        vec![Counts { passed: 190, failed: 10, unsuccessful: 10, skipped: 0 }]
    }

    #[test]
    fn the_suite_has_the_published_facts() {
        let tests = Suite::Published.tests(&counts(), 1);
        let facts = Suite::facts(&tests).join("\n");
        assert_eq!(tests.len(), 10_511);
        for fact in ["543 of them", "mean 0.445 s", "exposed 2.10 times", "others 1/7.0"] {
            assert!(facts.contains(fact), "{facts}");
        }
        let quick = tests.iter().filter(|test| test.seconds < 1.0).count() as f64;
        assert!((quick / 10_511.0 - 0.9532).abs() < 0.001, "{facts}");
        assert!((time_of_quickest(&tests, 0.8) - 0.075).abs() < 0.02, "{facts}");
    }

    #[test]
    fn measured_tests_are_dealt_out_until_there_are_enough() {
        let text = "microseconds,exposed\n1000,0\n3000,0\n500000,1\n";
        let suite = Suite::read(&DataFile::parse("x.csv", text).unwrap()).unwrap();
        let tests = suite.tests(&counts(), 1);
        let n_exposed = tests.iter().filter(|test| test.is_exposed).count();
        assert_eq!((tests.len(), n_exposed), (10_511, 3504));
        assert!(tests.iter().all(|test| [0.001, 0.003, 0.5].contains(&test.seconds)));
    }

    #[test]
    fn a_file_of_measurements_that_cannot_be_used_is_refused_by_name() {
        let read = |text: &str| Suite::read(&DataFile::parse("x.csv", text).unwrap()).map(|_| ());
        let error = read("microseconds,exposed\n1,yes\n").unwrap_err();
        assert!(error.contains("`yes` in column `exposed`"), "{error}");
        assert!(read("microseconds,exposed\n1,1\n").is_err());
    }
}
