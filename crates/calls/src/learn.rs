//! Which functions tell flaky tests from others best?
//!
//! Greedily: begin with no function; add the function that raises the objective most; stop when
//! none does. The objective is the F-beta score of "exposed, so flaky": with a larger beta, a
//! missed flaky test weighs more than an exposed sound one. For a set that exposes `n` tests, `t`
//! of them flaky, of
//! `p` flaky ones in all,
//!
//! ```text
//! F = (1 + b²) t / (b² p + n)
//! ```
//!
//! If several raise it equally, the first by name is taken, so the answer follows from the tests
//! alone. A greedy set need not be the best one; it is the published procedure, and each step of it
//! can be followed by hand.
//!
//! Either all flaky tests are taken together, or the tests of each root cause are learned from
//! separately and the sets are united. In the latter case, flaky tests of other causes count
//! neither way.

use std::collections::BTreeSet;

use unflake_model::RootCause;

use crate::function::Function;
use crate::sample::{Bits, Sample};
use crate::set::{Pattern, Set};

/// Options for learning a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How much more a missed flaky test weighs; see [`Beta`].
    pub beta: Beta,
    /// Whether root causes are learned together or separately.
    pub grouping: Grouping,
    /// Functions to leave out, however well they do.
    pub drop: Drop,
}

/// The weight of recall in F-beta: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Beta(f64);

/// The number is not a valid beta.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{0}` is no beta; give a number above 0")]
pub struct InvalidBeta(f64);

impl Beta {
    /// Checks that the value is finite and above zero.
    pub fn new(value: f64) -> Result<Self, InvalidBeta> {
        let is_one = value.is_finite() && value > 0.0;
        if is_one { Ok(Self(value)) } else { Err(InvalidBeta(value)) }
    }

    /// The weight, finite and above zero.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The F-beta score of a set that exposes this many tests.
    pub fn score(self, n_flaky: usize, n_exposed: usize, n_exposed_flaky: usize) -> f64 {
        if n_exposed_flaky == 0 {
            return 0.0;
        }
        let square = self.0 * self.0;
        (1.0 + square) * n_exposed_flaky as f64 / (square * n_flaky as f64 + n_exposed as f64)
    }
}

/// Whether root causes are learned together or separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// All flaky tests together.
    Pooled,
    /// The flaky tests of each root cause separately; those of unknown cause are left out.
    PerCause,
}

/// Functions that are never chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drop {
    /// Functions that expose flaky tests in at most one project: they are likely its own.
    pub is_solo_dropped: bool,
    /// Functions to which no root cause can be assigned.
    pub is_cryptic_dropped: bool,
    /// All functions but these; `None` drops none.
    pub only: Option<BTreeSet<Function>>,
}

/// A function that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The chosen function.
    pub function: Function,
    /// The root cause it suggests, if known.
    pub cause: Option<RootCause>,
    /// What it exposes on its own.
    pub alone: Exposed,
    /// What it exposes beyond those chosen before it.
    pub added: Exposed,
}

/// How many tests are exposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// All exposed tests, flaky or not.
    pub n: usize,
    /// The flaky ones among them.
    pub n_flaky: usize,
}

/// How well a set does on some tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The exposed share of the flaky tests; `None` if no test is flaky.
    pub recall: Option<f64>,
    /// The exposed share of all tests.
    pub cost: f64,
}

/// The result of learning: a set and how well it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// In the order in which they were chosen, cause by cause.
    pub chosen: Vec<Chosen>,
    /// How well it does on the tests it was learned from.
    pub score: Score,
}

impl Learned {
    /// The chosen functions as a set of patterns.
    pub fn set(&self) -> Set {
        let patterns = self.chosen.iter().map(|it| (Pattern::from(&it.function), it.cause));
        Set::new(patterns.collect())
    }
}

/// Learns from all tests of a sample.
pub fn learn(sample: &Sample, options: &Options) -> Learned {
    let all = Bits::of(sample.tests.len(), 0..sample.tests.len());
    learn_within(sample, &all, options)
}

/// Learns from some of the tests.
pub(crate) fn learn_within(sample: &Sample, within: &Bits, options: &Options) -> Learned {
    let candidates = candidates(sample, &options.drop);
    let mut taken: Vec<(usize, Option<RootCause>)> = Vec::new();
    match options.grouping {
        Grouping::Pooled => {
            let found = greedy(sample, &candidates, (within, &sample.flaky), options.beta);
            taken.extend(found.into_iter().map(|it| (it, cause_of(sample, it))));
        }
        Grouping::PerCause => {
            for cause in RootCause::ALL {
                let (tests, flaky) = of_cause(sample, within, cause);
                let found = greedy(sample, &candidates, (&tests, &flaky), options.beta);
                let is_new = |it: &usize| taken.iter().all(|(known, _)| known != it);
                let new: Vec<usize> = found.into_iter().filter(is_new).collect();
                taken.extend(new.into_iter().map(|it| (it, Some(cause))));
            }
        }
    }
    described(sample, within, &taken)
}

/// The tests that count when a cause is learned, and the flaky ones among them.
fn of_cause(sample: &Sample, within: &Bits, cause: RootCause) -> (Bits, Bits) {
    let n = sample.tests.len();
    let is_of_it = |test: &usize| {
        let test = &sample.tests[*test];
        test.is_flaky && test.cause == Some(cause)
    };
    let counts =
        |test: &usize| within.holds(*test) && (!sample.tests[*test].is_flaky || is_of_it(test));
    (Bits::of(n, (0..n).filter(counts)), Bits::of(n, (0..n).filter(is_of_it)))
}

/// Functions of the built-in set have a cause; for others, the tests that call them suggest one.
fn cause_of(sample: &Sample, function: usize) -> Option<RootCause> {
    let known = Set::known().cause_of(&sample.functions[function]).flatten();
    known.or_else(|| sample.likely_cause(function))
}

fn candidates(sample: &Sample, drop: &Drop) -> Vec<usize> {
    let is_meant = |it: &usize| {
        let only = drop.only.as_ref();
        only.is_none_or(|only| only.contains(&sample.functions[*it]))
            && !(drop.is_solo_dropped && sample.n_projects(*it) <= 1)
            && !(drop.is_cryptic_dropped && cause_of(sample, *it).is_none())
    };
    (0..sample.functions.len()).filter(is_meant).collect()
}

/// The chosen functions, in order. Ends because each one exposes at least one more test.
fn greedy(
    sample: &Sample,
    candidates: &[usize],
    (within, flaky): (&Bits, &Bits),
    beta: Beta,
) -> Vec<usize> {
    let n_flaky = flaky.n_in(within);
    let mut covered = Bits::of(sample.tests.len(), std::iter::empty());
    let mut now = Exposed::default();
    let mut taken = Vec::new();
    loop {
        let mut best = (beta.score(n_flaky, now.n, now.n_flaky), None);
        for &function in candidates {
            let (n, n_more) = sample.rows[function].n_new(within, &covered, flaky);
            let with = Exposed { n: now.n + n, n_flaky: now.n_flaky + n_more };
            let score = beta.score(n_flaky, with.n, with.n_flaky);
            if score > best.0 {
                best = (score, Some((function, with)));
            }
        }
        let Some((function, with)) = best.1 else { return taken };
        covered.add(&sample.rows[function]);
        now = with;
        taken.push(function);
    }
}

fn described(sample: &Sample, within: &Bits, taken: &[(usize, Option<RootCause>)]) -> Learned {
    let mut covered = Bits::of(sample.tests.len(), std::iter::empty());
    let nothing = covered.clone();
    let mut chosen = Vec::new();
    for &(function, cause) in taken {
        let row = &sample.rows[function];
        let exposed = |without: &Bits| {
            let (n, n_flaky) = row.n_new(within, without, &sample.flaky);
            Exposed { n, n_flaky }
        };
        let (alone, added) = (exposed(&nothing), exposed(&covered));
        covered.add(row);
        let function = sample.functions[function].clone();
        chosen.push(Chosen { function, cause, alone, added });
    }
    Learned { chosen, score: score(sample, within, &covered) }
}

/// How well a set that exposes these tests does on some of them.
fn score(sample: &Sample, within: &Bits, exposed: &Bits) -> Score {
    let nothing = Bits::of(sample.tests.len(), std::iter::empty());
    let (n, n_exposed_flaky) = exposed.n_new(within, &nothing, &sample.flaky);
    let (n_tests, n_flaky) = within.n_new(within, &nothing, &sample.flaky);
    Score {
        recall: (n_flaky > 0).then(|| n_exposed_flaky as f64 / n_flaky as f64),
        cost: n as f64 / n_tests.max(1) as f64,
    }
}

/// How well a set does on all tests of a sample.
pub fn evaluate(sample: &Sample, set: &Set) -> Score {
    let all = Bits::of(sample.tests.len(), 0..sample.tests.len());
    evaluate_within(sample, &all, set)
}

pub(crate) fn evaluate_within(sample: &Sample, within: &Bits, set: &Set) -> Score {
    let mut exposed = Bits::of(sample.tests.len(), std::iter::empty());
    for (function, row) in sample.functions.iter().zip(&sample.rows) {
        if set.cause_of(function).is_some() {
            exposed.add(row);
        }
    }
    score(sample, within, &exposed)
}
