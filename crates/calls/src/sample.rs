//! The tests that sets are learned from: their functions and their flakiness are known.
//!
//! For each function the tests that call it are a row of bits, so that ten thousand tests times
//! five thousand functions take six megabytes, and finding what one more function would expose
//! takes a few hundred words' work.

use std::collections::BTreeMap;

use unflake_model::RootCause;

use crate::function::Function;

/// What is known about one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The project it belongs to.
    pub project: String,
    /// The functions it calls.
    pub functions: Vec<Function>,
    /// Whether it fails at random.
    pub is_flaky: bool,
    /// Why it does, if that is known.
    pub cause: Option<RootCause>,
}

/// A set of tests, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn of(n: usize, members: impl Iterator<Item = usize>) -> Self {
        let mut words = vec![0; n.div_ceil(64)];
        for member in members {
            words[member / 64] |= 1 << (member % 64);
        }
        Self(words)
    }

    pub(crate) fn holds(&self, member: usize) -> bool {
        self.0[member / 64] & (1 << (member % 64)) != 0
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn n_in(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// How many of `self` are in `within` but not in `without`; and how many of those are in
    /// `also`.
    pub(crate) fn n_new(&self, within: &Self, without: &Self, also: &Self) -> (usize, usize) {
        let words = self.0.iter().zip(&within.0).zip(&without.0).zip(&also.0);
        words.fold((0, 0), |(n, n_also), (((a, within), without), also)| {
            let new = a & within & !without;
            (n + new.count_ones() as usize, n_also + (new & also).count_ones() as usize)
        })
    }
}

/// Tests to learn from.
#[derive(Clone, Debug)]
pub struct Sample {
    pub(crate) tests: Vec<Known>,
    /// Sorted by name: this breaks ties.
    pub(crate) functions: Vec<Function>,
    /// For each function, the tests that call it.
    pub(crate) rows: Vec<Bits>,
    pub(crate) flaky: Bits,
}

impl Sample {
    /// A sample of these tests.
    pub fn new(tests: Vec<Known>) -> Self {
        let mut callers: BTreeMap<&Function, Vec<usize>> = BTreeMap::new();
        for (number, test) in tests.iter().enumerate() {
            for function in &test.functions {
                callers.entry(function).or_default().push(number);
            }
        }
        let n = tests.len();
        let rows = callers.values().map(|tests| Bits::of(n, tests.iter().copied())).collect();
        let functions = callers.into_keys().cloned().collect();
        let flaky = Bits::of(n, (0..n).filter(|number| tests[*number].is_flaky));
        Self { tests, functions, rows, flaky }
    }

    /// The tests, in the order given.
    pub fn tests(&self) -> &[Known] {
        &self.tests
    }

    /// All functions that are called.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// How many tests are flaky.
    pub fn n_flaky(&self) -> usize {
        self.flaky.n()
    }

    /// In how many projects some flaky test calls the function.
    pub(crate) fn n_projects(&self, function: usize) -> usize {
        let flaky = (0..self.tests.len())
            .filter(|test| self.rows[function].holds(*test) && self.flaky.holds(*test));
        let mut projects: Vec<&str> = flaky.map(|it| self.tests[it].project.as_str()).collect();
        projects.sort_unstable();
        projects.dedup();
        projects.len()
    }

    /// The most frequent known cause of the flaky tests that call a function; ties go to the first.
    pub(crate) fn likely_cause(&self, function: usize) -> Option<RootCause> {
        let mut n: BTreeMap<RootCause, usize> = BTreeMap::new();
        for test in (0..self.tests.len()).filter(|test| self.rows[function].holds(*test)) {
            if let Some(cause) = self.tests[test].cause.filter(|_| self.tests[test].is_flaky) {
                *n.entry(cause).or_default() += 1;
            }
        }
        let most = n.values().copied().max()?;
        n.into_iter().find(|(_, n)| *n == most).map(|(cause, _)| cause)
    }
}
