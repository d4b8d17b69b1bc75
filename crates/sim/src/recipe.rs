//! How many phenomena of each kind a generated suite has.

use crate::plan::InvalidPlan;

/// Tests reserved to act on others in any recipe: three polluters and some cleaners.
pub(crate) const N_ACTORS_MIN: usize = 8;

/// How many phenomena of each kind to plant. Most of them have one test that suffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The number of tests in total.
    pub n_tests: usize,
    /// Victims of one to three polluters with none to 40 cleaners.
    pub victims: usize,
    /// Victims of two polluters that act only together, half of them in one order only.
    pub group_victims: usize,
    /// Victims that crash.
    pub crashing_victims: usize,
    /// Victims that hang.
    pub hanging_victims: usize,
    /// Brittles with one to three setters.
    pub brittles: usize,
    /// Brittles that pollute 1 to 20 victims when they fail.
    pub chains: usize,
    /// Webs of 27 victims, each suffering from each of 20 polluters.
    pub webs: usize,
    /// Non-idempotent tests.
    pub non_idempotent: usize,
    /// Tests whose failure rate, at most 5 %, is 30 % to 60 % after another test.
    pub moved_rates: usize,
    /// Tests that fail in 1 % to 50 % of runs, whatever the order.
    pub random: usize,
    /// The same in bursts of 2 to 9 runs.
    pub bursts: usize,
    /// Tests that crash in 1 % to 3 % of runs.
    pub random_crashes: usize,
    /// Tests that hang in 1 % to 3 % of runs.
    pub random_hangs: usize,
    /// Tests that depend on an open choice and fail for 10 % to 90 % of the seeds.
    pub open_choices: usize,
    /// Tests that always fail.
    pub always_failing: usize,
    /// Tests that fail if some other file is collected.
    pub stumbling: usize,
    /// Tests that leave one to eight places changed that nobody reads.
    pub litterers: usize,
    /// Tests that are skipped after another test.
    pub changing_skips: usize,
    /// Tests that take half a minute to two minutes.
    pub slow: usize,
    /// The share of victims, brittles and chains that fail in the original order.
    pub red_share: f64,
}

impl Recipe {
    /// A suite with nothing wrong.
    pub fn calm(n_tests: usize) -> Self {
        Self {
            n_tests,
            victims: 0,
            group_victims: 0,
            crashing_victims: 0,
            hanging_victims: 0,
            brittles: 0,
            chains: 0,
            webs: 0,
            non_idempotent: 0,
            moved_rates: 0,
            random: 0,
            bursts: 0,
            random_crashes: 0,
            random_hangs: 0,
            open_choices: 0,
            always_failing: 0,
            stumbling: 0,
            litterers: 0,
            changing_skips: 0,
            slow: 0,
            red_share: 0.0,
        }
    }

    /// Like a real suite, with a few tests in a hundred affected: nine victims for each brittle
    /// (detection.md 1.2: 91 % of OD tests are victims), and a group for about 3 % of the victims.
    /// Needs at least 19 tests; webs, and tests that spoil whole runs, occur in larger suites.
    pub fn typical(n_tests: usize) -> Self {
        let per_thousand = |n: usize| n_tests * n / 1000;
        let at_least_one = |n: usize| per_thousand(n).max(1);
        Self {
            victims: per_thousand(9).max(3),
            group_victims: at_least_one(1).min(30),
            crashing_victims: usize::from(500 <= n_tests),
            hanging_victims: usize::from(500 <= n_tests),
            brittles: at_least_one(1),
            chains: usize::from(200 <= n_tests),
            webs: usize::from(1000 <= n_tests),
            non_idempotent: at_least_one(2),
            moved_rates: at_least_one(1),
            random: at_least_one(4),
            bursts: at_least_one(1),
            random_crashes: usize::from(1000 <= n_tests),
            random_hangs: usize::from(1000 <= n_tests),
            open_choices: at_least_one(3),
            always_failing: per_thousand(1).min(3),
            changing_skips: at_least_one(1),
            slow: per_thousand(2),
            red_share: 0.1,
            ..Self::calm(n_tests)
        }
    }

    /// Only order-dependent phenomena, and no chance: for comparing detectors with closed forms and
    /// with each other.
    pub fn order_dependent(n_tests: usize) -> Self {
        let at_least_one = |n: usize| (n_tests * n / 1000).max(1);
        Self {
            victims: at_least_one(20),
            group_victims: at_least_one(1),
            brittles: at_least_one(2),
            chains: usize::from(200 <= n_tests),
            ..Self::calm(n_tests)
        }
    }

    /// Only what has a nameable cause: state, an open choice, a file. Needs at least 50 tests.
    pub fn with_something_behind(n_tests: usize) -> Self {
        Self {
            victims: 5,
            group_victims: 1,
            brittles: 2,
            chains: 1,
            non_idempotent: 1,
            random: 2,
            open_choices: 3,
            always_failing: 1,
            stumbling: 2,
            litterers: n_tests / 4,
            red_share: 0.3,
            ..Self::calm(n_tests)
        }
    }

    /// One of everything but webs, in as few tests as possible (25). Small enough for the oracle.
    pub fn dense(n_tests: usize) -> Self {
        Self {
            victims: 2,
            group_victims: 1,
            crashing_victims: 1,
            hanging_victims: 1,
            brittles: 1,
            chains: 1,
            non_idempotent: 1,
            moved_rates: 1,
            random: 1,
            bursts: 1,
            random_crashes: 1,
            random_hangs: 1,
            open_choices: 1,
            always_failing: 1,
            changing_skips: 1,
            red_share: 0.5,
            ..Self::calm(n_tests)
        }
    }

    /// How many tests are needed at least to suffer and to act.
    pub(crate) fn n_tests_min(&self) -> usize {
        self.victims
            + self.group_victims
            + self.crashing_victims
            + self.hanging_victims
            + self.brittles
            + 2 * self.chains
            + 27 * self.webs
            + self.non_idempotent
            + self.moved_rates
            + self.random
            + self.bursts
            + self.random_crashes
            + self.random_hangs
            + self.open_choices
            + self.always_failing
            + self.stumbling
            + self.changing_skips
            + N_ACTORS_MIN
            + 20 * self.webs
    }
}

/// Why a recipe gives no suite.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidRecipe {
    /// The suite has too few tests to suffer and to act.
    #[error("the recipe needs {needed} tests, and is for `{n_tests}`")]
    TooSmall {
        /// The number of tests asked for.
        n_tests: usize,
        /// The number of tests needed.
        needed: usize,
    },
    /// The phenomena cannot be planted.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
}
