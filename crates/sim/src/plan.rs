//! Plants phenomena in a suite, if the conditions hold under which the truth is what they say.
//!
//! The planted truth holds if
//!
//! - a test suffers from one phenomenon only (plus [`Phenomenon::Noise`]);
//! - within one phenomenon a test plays one part;
//! - a test that acts on others never crashes, hangs or is skipped, so that its writes are always
//!   made;
//! - rates are neither certain nor impossible.

use std::collections::BTreeSet;

use unflake_model::{Suite, TestIndex, Verdict};

use crate::behaviour::{Behaviour, Chance, Ending, On};
use crate::phenomenon::Phenomenon;
use crate::plot::Variables;
use crate::truth::Truth;
use crate::world::{InvalidSim, SimSuite, Timing};

/// Why phenomena cannot be planted, or would not be what they claim.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidPlan {
    /// The suite has no such test.
    #[error("test {test} does not exist: the suite has {n_tests} tests, numbered from 0")]
    UnknownTest {
        /// The test that was named.
        test: TestIndex,
        /// How many tests the suite has.
        n_tests: usize,
    },
    /// A test suffers from two phenomena, so that its truth is not simple.
    #[error("test {test} is to suffer from two phenomena; one is the limit")]
    SuffersTwice {
        /// The test that suffers twice.
        test: TestIndex,
    },
    /// A test plays two parts in one phenomenon.
    #[error("test {test} plays two parts in one phenomenon")]
    TwoParts {
        /// The test with two parts.
        test: TestIndex,
    },
    /// A phenomenon lacks one of its parts.
    #[error("a phenomenon has no {part}")]
    NoPart {
        /// What is missing.
        part: &'static str,
    },
    /// A test acts on others, but its writes might never be made.
    #[error("test {test} acts on others, but may crash, hang or be skipped before it does")]
    Unsteady {
        /// The test that acts.
        test: TestIndex,
    },
    /// With such rates the phenomenon would be certain or impossible.
    #[error("rate `{rate}` does not make test {test} what it is to be")]
    Rate {
        /// The test with that rate.
        test: TestIndex,
        /// The invalid rate.
        rate: f64,
    },
    /// A polluting test has noise, which would spread to the tests that it pollutes.
    #[error("test {test} pollutes when it fails, so it cannot be noisy")]
    NoisyPolluter {
        /// The test with noise.
        test: TestIndex,
    },
    /// A victim would be skipped, which is not failing.
    #[error("test {test} is to fail by being skipped")]
    FailsBySkipping {
        /// The victim.
        test: TestIndex,
    },
    /// The behaviours make no valid suite.
    #[error(transparent)]
    Sim(#[from] InvalidSim),
}

impl SimSuite {
    /// A suite with these phenomena planted, and nothing else wrong with it.
    pub fn planted(
        suite: Suite,
        phenomena: &[Phenomenon],
        timing: Timing,
        seed: u64,
    ) -> Result<Self, InvalidPlan> {
        let mut behaviours = vec![Behaviour::default(); suite.n_tests()];
        let mut truth = Truth::default();
        let mut variables = Variables::default();
        let mut imports = Vec::new();
        for phenomenon in phenomena {
            phenomenon.check(suite.n_tests())?;
            let plot = phenomenon.grow(&mut variables);
            imports.extend(plot.imports.iter().map(|(of, it)| (suite.class_of(*of), *it)));
            for (test, behaviour) in plot.behaviours {
                behaviours[test.get()].merge(behaviour);
            }
            for (test, found) in plot.truths {
                if truth.insert(test, found).is_some() {
                    return Err(InvalidPlan::SuffersTwice { test });
                }
            }
        }
        for phenomenon in phenomena {
            if let Phenomenon::Noise { test, flip } = phenomenon {
                add_noise(*test, *flip, &mut behaviours[test.get()], &mut truth)?;
            }
            let actors = phenomenon.actors();
            for test in actors.once.into_iter().chain(actors.cleaners) {
                let rules = &behaviours[test.get()].rules;
                if !rules.iter().all(|rule| rule.ending.is_steady()) {
                    return Err(InvalidPlan::Unsteady { test });
                }
            }
        }
        Ok(Self::new(suite, behaviours, truth, timing, seed)?.with_imports(imports))
    }
}

/// Replaces the rates 0 and 1 in Table 1.1 by `flip` and `1 - flip`.
fn add_noise(
    test: TestIndex,
    flip: f64,
    behaviour: &mut Behaviour,
    truth: &mut Truth,
) -> Result<(), InvalidPlan> {
    if behaviour.writes.iter().any(|write| write.on != On::Either) {
        return Err(InvalidPlan::NoisyPolluter { test });
    }
    behaviour.flip = flip;
    let mut noisy = truth.of(test).clone();
    noisy.verdict = match noisy.verdict {
        Verdict::OdVictim | Verdict::OdBrittle | Verdict::Ndod => Verdict::Ndod,
        Verdict::OdUnknownRole
        | Verdict::Ndoi
        | Verdict::NodUndecided
        | Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::Ud
        | Verdict::AlwaysFailing
        | Verdict::InsufficientEvidence
        | Verdict::NotFlaky => Verdict::Ndoi,
    };
    truth.insert(test, noisy);
    Ok(())
}

impl Phenomenon {
    fn check(&self, n_tests: usize) -> Result<(), InvalidPlan> {
        self.check_parts(n_tests)?;
        self.check_rates()
    }

    fn check_parts(&self, n_tests: usize) -> Result<(), InvalidPlan> {
        let sufferers = self.sufferers();
        if sufferers.is_empty() && !matches!(self, Self::Litter { .. }) {
            return Err(InvalidPlan::NoPart { part: "victim" });
        }
        let has_empty_group = match self {
            Self::Victims { pollutions, .. } => {
                pollutions.is_empty() || pollutions.iter().any(|p| p.polluters.tests.is_empty())
            }
            Self::Brittle { setters, .. } => {
                setters.is_empty() || setters.iter().any(|s| s.tests.is_empty())
            }
            Self::MovedRate { movers, .. } => movers.is_empty(),
            _ => false,
        };
        if has_empty_group {
            return Err(InvalidPlan::NoPart { part: "test that acts on others" });
        }
        let actors = self.actors();
        let mut seen = BTreeSet::new();
        for test in sufferers.iter().chain(&actors.once) {
            if n_tests <= test.get() {
                let test = *test;
                return Err(InvalidPlan::UnknownTest { test, n_tests });
            }
            if !seen.insert(*test) {
                return Err(InvalidPlan::TwoParts { test: *test });
            }
        }
        for test in actors.cleaners {
            if n_tests <= test.get() {
                return Err(InvalidPlan::UnknownTest { test, n_tests });
            }
            if seen.contains(&test) {
                return Err(InvalidPlan::TwoParts { test });
            }
        }
        Ok(())
    }

    fn check_rates(&self) -> Result<(), InvalidPlan> {
        let inside = |rate: f64| 0.0 < rate && rate < 1.0;
        match *self {
            Self::Victims { ref victims, ending: Ending::Skip, .. } => {
                Err(InvalidPlan::FailsBySkipping { test: victims[0] })
            }
            Self::Random { test, ending: Ending::Skip, .. } => {
                Err(InvalidPlan::FailsBySkipping { test })
            }
            Self::Random { test, chance, .. } => match chance {
                Chance::Independent { rate } | Chance::Burst { rate, .. } if inside(rate) => Ok(()),
                _ => Err(InvalidPlan::Rate { test, rate: chance.rate().unwrap_or(1.0) }),
            },
            Self::MovedRate { test, rate_before, rate_after, .. } => {
                let differ = 0.0 < (rate_before - rate_after).abs();
                if differ && (inside(rate_before) || inside(rate_after)) {
                    Ok(())
                } else {
                    let rate = rate_after;
                    Err(InvalidPlan::Rate { test, rate })
                }
            }
            Self::OpenChoice { test, rate } if !(inside(rate)) => {
                Err(InvalidPlan::Rate { test, rate })
            }
            Self::Noise { test, flip } if !(0.0 < flip && flip < 0.5) => {
                Err(InvalidPlan::Rate { test, rate: flip })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phenomenon::{Pollution, Together};
    use unflake_model::{Attempt, Experiment, Order, Outcome, RunId};

    fn at(position: usize) -> TestIndex {
        TestIndex::new(position)
    }

    fn victim(victim: usize, polluter: usize, cleaners: &[usize], ending: Ending) -> Phenomenon {
        Phenomenon::Victims {
            victims: vec![at(victim)],
            pollutions: vec![Pollution {
                polluters: Together::single(at(polluter)),
                cleaners: cleaners.iter().copied().map(at).collect(),
            }],
            ending,
        }
    }

    fn error(phenomena: &[Phenomenon]) -> InvalidPlan {
        let suite = Suite::of_sizes(&[4]).unwrap();
        SimSuite::planted(suite, phenomena, Timing::USUAL, 0).unwrap_err()
    }

    #[test]
    fn parts_that_would_make_the_truth_untrue_are_refused() {
        let fail = Ending::Fail;
        assert_eq!(
            error(&[victim(0, 9, &[], fail)]).to_string(),
            "test 9 does not exist: the suite has 4 tests, numbered from 0"
        );
        assert_eq!(error(&[victim(0, 0, &[], fail)]), InvalidPlan::TwoParts { test: at(0) });
        assert_eq!(error(&[victim(0, 1, &[1], fail)]), InvalidPlan::TwoParts { test: at(1) });
        assert_eq!(
            error(&[victim(0, 1, &[], fail), victim(0, 2, &[], fail)]),
            InvalidPlan::SuffersTwice { test: at(0) }
        );
        assert_eq!(
            error(&[victim(0, 1, &[], fail), victim(1, 2, &[], Ending::Crash)]),
            InvalidPlan::Unsteady { test: at(1) }
        );
        assert_eq!(
            error(&[victim(0, 1, &[2], fail), victim(2, 3, &[], Ending::Hang)]),
            InvalidPlan::Unsteady { test: at(2) }
        );
        assert_eq!(
            error(&[victim(0, 1, &[], Ending::Skip)]),
            InvalidPlan::FailsBySkipping { test: at(0) }
        );
        let nothing = Phenomenon::MovedRate {
            test: at(0),
            movers: vec![],
            rate_before: 0.0,
            rate_after: 0.5,
        };
        assert_eq!(error(&[nothing]).to_string(), "a phenomenon has no test that acts on others");
    }

    #[test]
    fn rates_that_would_make_another_category_are_refused_by_value() {
        let test = at(0);
        let independent = |rate| Phenomenon::Random {
            test,
            chance: Chance::Independent { rate },
            ending: Ending::Fail,
        };
        let moved = |rate_before, rate_after| Phenomenon::MovedRate {
            test,
            movers: vec![at(1)],
            rate_before,
            rate_after,
        };
        for (phenomenon, rate) in [
            (independent(1.0), 1.0),
            (independent(0.0), 0.0),
            (moved(0.3, 0.3), 0.3),
            (moved(0.0, 1.0), 1.0),
            (Phenomenon::OpenChoice { test, rate: 0.0 }, 0.0),
            (Phenomenon::Noise { test, flip: 0.5 }, 0.5),
        ] {
            assert_eq!(error(&[phenomenon]), InvalidPlan::Rate { test, rate });
        }
    }

    #[test]
    fn a_chain_does_not_start_with_noise() {
        let chain = Phenomenon::Brittle {
            brittle: at(0),
            setters: vec![Together::single(at(1))],
            pollutes: vec![at(2)],
        };
        let noise = Phenomenon::Noise { test: at(0), flip: 0.2 };
        assert_eq!(error(&[chain, noise]), InvalidPlan::NoisyPolluter { test: at(0) });
    }
    /// Intervals are exact binomial for 2,000 runs with tails of one in a million.
    #[test]
    fn a_moved_rate_is_one_before_its_mover_and_another_after() {
        let [test, mover] = [at(0), at(1)];
        let moved =
            Phenomenon::MovedRate { test, movers: vec![mover], rate_before: 0.05, rate_after: 0.3 };
        let suite = Suite::of_sizes(&[2]).unwrap();
        let sim = SimSuite::planted(suite, &[moved], Timing::USUAL, 0).unwrap();
        let n_failed = |order: [TestIndex; 2]| {
            let fails = |run| {
                let observation =
                    sim.observe(&Experiment::new(RunId(run), Order::from_distinct(order)));
                let is_failure = |a: &Attempt| a.test == test && a.outcome != Outcome::Passed;
                observation.attempts.iter().any(is_failure)
            };
            (0..2_000).filter(|run| fails(*run)).count()
        };
        assert!((57..=149).contains(&n_failed([test, mover])));
        assert!((504..=699).contains(&n_failed([mover, test])));
    }
}
