//! What analyses ask for, and what comes back to them.

use std::time::Duration;

use crate::{Evidence, Factors, Look, Order, Outcome, Seen, TestIndex};

/// The number of a run within its campaign; the analysis that asks for the run assigns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// Which circumstances of a run are set on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Environment {
    /// As the project's own runner would run it.
    Plain,
    /// As `Plain`, but strings are hashed with this seed; nothing else is held fixed. Where a
    /// runner draws a hash seed at each start, this is one of its draws.
    Hashed {
        /// The same seed hashes the same way.
        seed: u64,
    },
    /// Some factors are on, the others held fixed.
    Perturbed {
        /// The factors that are on.
        factors: Factors,
        /// The same seed makes the same choices within each factor.
        seed: u64,
    },
}

impl Environment {
    /// Whether anything is perturbed that the project's own runner would leave alone.
    pub fn is_perturbed(self) -> bool {
        matches!(self, Self::Perturbed { .. })
    }

    /// Perturbs the choices that the language leaves open (the orders of sets and of listings), by
    /// seed.
    pub fn open_choices(seed: u64) -> Self {
        Self::Perturbed { factors: Factors::OPEN_CHOICES, seed }
    }
}

/// How often each test of an order is run, and where it is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repetition {
    /// Once, as always.
    Once,
    /// Twice in a row in the same process: shows tests that spoil themselves.
    Twice,
    /// Each test once, with one test that is not in the order run after every `stride` of them and
    /// at the end. Shows where along the way something happens to that test.
    Between {
        /// The test that is run repeatedly.
        test: TestIndex,
        /// How many other tests run in between. At least 1.
        stride: usize,
    },
    /// Runs each test but the first few apart from the others: the first few, then it, then one
    /// test that is not in the order; after that, all state is put back. Worth as many short runs,
    /// but only as far as state can be put back: what it shows is a hint.
    Apart {
        /// How many tests at the beginning of the order precede each of the others.
        n_common: usize,
        /// The test that follows each of them.
        target: TestIndex,
    },
}

impl Repetition {
    /// The tests of all attempts, in the order in which they are made.
    pub fn attempts(self, order: &Order) -> Vec<TestIndex> {
        let tests = order.tests();
        match self {
            Self::Once => tests.to_vec(),
            Self::Twice => tests.iter().flat_map(|test| [*test, *test]).collect(),
            Self::Between { test, stride } => {
                let stretch = |tests: &[TestIndex]| [tests, &[test]].concat();
                tests.chunks(stride.max(1)).flat_map(stretch).collect()
            }
            Self::Apart { n_common, target } => {
                let (common, others) = tests.split_at(n_common.min(tests.len()));
                others.iter().flat_map(|test| [common, &[*test, target]].concat()).collect()
            }
        }
    }
}

/// A run that an analysis asks for. Who runs it, where, and how many run at once is not its
/// concern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The number that the observation will carry.
    pub run: RunId,
    /// What to run, in a fresh process.
    pub order: Order,
    /// The circumstances it runs in.
    pub environment: Environment,
    /// How often each test runs, and where it runs again.
    pub repetition: Repetition,
    /// Who makes the run: our agent or the plain runner.
    pub means: Means,
    /// What to look at beyond how its tests end.
    pub look: Look,
}

impl Experiment {
    /// Each test once, by our agent, as the project's own runner would run it.
    pub fn new(run: RunId, order: Order) -> Self {
        Self {
            run,
            order,
            environment: Environment::Plain,
            repetition: Repetition::Once,
            means: Means::Agent,
            look: Look::NOTHING,
        }
    }

    /// Whether the observation is evidence about the tests for every analysis. Plain runs and those
    /// with a look confirm and explain; they count only for the analysis that asked.
    pub fn is_evidence(&self) -> bool {
        self.means == Means::Agent && self.look.is_nothing()
    }
}

/// Who makes a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// Our agent inside the test process, which can fork, isolate and look.
    Agent,
    /// The project's own runner, without us in the process.
    Plain {
        /// Also has the runner collect the files of these tests, and run none of them. With `None`,
        /// the runner is given only the tests of the order.
        among: Option<Vec<TestIndex>>,
    },
}

/// One execution of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The test that was run.
    pub test: TestIndex,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// How long the attempt took.
    pub duration: Duration,
}

/// Why no test of a run could start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The agent or runner that was asked cannot make such a run.
    Unable,
    /// Something went wrong; the text says what.
    Failed(String),
}

/// What came back from a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The number of the experiment that it answers.
    pub run: RunId,
    /// Every attempt in the order in which it was made ([`Repetition::attempts`]). Tests that were
    /// never started are there as [`Outcome::NotRun`].
    pub attempts: Vec<Attempt>,
    /// How long the whole run took, process start included.
    pub duration: Duration,
    /// What the experiment's look showed.
    pub seen: Seen,
    /// Why no test was run, if none could be.
    pub not_started: Option<NotStarted>,
}

impl Observation {
    /// The observation of a run in which no test was started.
    pub fn not_started(experiment: &Experiment, why: NotStarted) -> Self {
        let tests = experiment.repetition.attempts(&experiment.order).into_iter();
        let not_run = |test| Attempt { test, outcome: Outcome::NotRun, duration: Duration::ZERO };
        Self {
            not_started: Some(why),
            ..Self::of(experiment.run, tests.map(not_run).collect(), Duration::ZERO)
        }
    }

    /// An observation of how the attempts ended, without anything seen.
    pub fn of(run: RunId, attempts: Vec<Attempt>, duration: Duration) -> Self {
        Self { run, attempts, duration, seen: Seen::default(), not_started: None }
    }

    /// What the last attempt says about its test; `None` if it says nothing.
    pub fn last(&self) -> Option<Evidence> {
        self.attempts.last().and_then(|attempt| attempt.outcome.evidence())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_follow_from_order_and_repetition() {
        let order = Order::from_distinct([3, 1, 2].map(TestIndex::new));
        let attempts = |repetition: Repetition| -> Vec<usize> {
            repetition.attempts(&order).into_iter().map(TestIndex::get).collect()
        };
        let between = |stride| Repetition::Between { test: TestIndex::new(7), stride };
        assert_eq!(attempts(Repetition::Once), [3, 1, 2]);
        assert_eq!(attempts(Repetition::Twice), [3, 3, 1, 1, 2, 2]);
        assert_eq!(attempts(between(1)), [3, 7, 1, 7, 2, 7]);
        assert_eq!(attempts(between(2)), [3, 1, 7, 2, 7]);
        assert_eq!(attempts(between(3)), [3, 1, 2, 7]);
        let apart = |n_common| Repetition::Apart { n_common, target: TestIndex::new(7) };
        assert_eq!(attempts(apart(0)), [3, 7, 1, 7, 2, 7]);
        assert_eq!(attempts(apart(1)), [3, 1, 7, 3, 2, 7]);
        assert_eq!(attempts(apart(3)), [0; 0]);
    }
}
