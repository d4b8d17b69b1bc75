//! All tests of a project, in their original order, grouped in classes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Control, Order, OrderControl, TestId, TestIndex};

/// The place of a class in its suite, in order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassIndex(u32);

impl ClassIndex {
    fn new(position: usize) -> Self {
        Self(u32::try_from(position).expect("a suite holds fewer than 2^32 classes"))
    }

    /// The position, to index a slice with.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// All tests of a project, in the order in which its own runner runs them.
///
/// Invariant: at least one test; ids are distinct; every test is in exactly one class; a class is
/// never empty. Classes need not be contiguous in the original order (some runners reorder for
/// fixtures), but class-compatible orders keep them so.
#[derive(Clone, Debug)]
pub struct Suite {
    ids: Vec<TestId>,
    durations: Vec<Duration>,
    class_of: Vec<ClassIndex>,
    class_names: Vec<Box<str>>,
    classes: Vec<Vec<TestIndex>>,
    by_id: BTreeMap<TestId, TestIndex>,
    control: Control,
}

/// Why a list of tests is not a suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSuite {
    /// There is nothing to run.
    #[error("the suite has no tests")]
    Empty,
    /// Two tests cannot be told apart.
    #[error("test `{id}` stands in the suite twice, at positions {first} and {second}")]
    Duplicate {
        /// The repeated test id.
        id: TestId,
        /// Its first position.
        first: usize,
        /// Its second position.
        second: usize,
    },
}

/// Collects tests in their original order, then makes a [`Suite`] of them.
#[derive(Clone, Debug, Default)]
pub struct SuiteBuilder {
    tests: Vec<(TestId, ClassIndex, Duration)>,
    class_names: Vec<Box<str>>,
    class_by_name: BTreeMap<Box<str>, ClassIndex>,
}

impl SuiteBuilder {
    /// Appends a test to the class with this name, with its expected run time.
    pub fn push(&mut self, class: &str, id: TestId, duration: Duration) -> &mut Self {
        let index = if let Some(&known) = self.class_by_name.get(class) {
            known
        } else {
            let new = ClassIndex::new(self.class_names.len());
            self.class_names.push(class.into());
            self.class_by_name.insert(class.into(), new);
            new
        };
        self.tests.push((id, index, duration));
        self
    }

    /// The suite of the tests pushed so far.
    pub fn build(self) -> Result<Suite, InvalidSuite> {
        if self.tests.is_empty() {
            return Err(InvalidSuite::Empty);
        }
        let mut suite = Suite {
            ids: Vec::with_capacity(self.tests.len()),
            durations: Vec::with_capacity(self.tests.len()),
            class_of: Vec::with_capacity(self.tests.len()),
            classes: vec![Vec::new(); self.class_names.len()],
            class_names: self.class_names,
            by_id: BTreeMap::new(),
            control: Control::FULL,
        };
        for (position, (id, class, duration)) in self.tests.into_iter().enumerate() {
            let test = TestIndex::new(position);
            if let Some(first) = suite.by_id.insert(id.clone(), test) {
                return Err(InvalidSuite::Duplicate { id, first: first.get(), second: position });
            }
            suite.ids.push(id);
            suite.durations.push(duration);
            suite.class_of.push(class);
            suite.classes[class.get()].push(test);
        }
        Ok(suite)
    }
}

impl Suite {
    /// A suite with generated names: classes of the given sizes, tests numbered class by class, one
    /// second each. For scripts, simulations and mathematics.
    pub fn of_sizes(sizes: &[usize]) -> Result<Self, InvalidSuite> {
        let mut builder = SuiteBuilder::default();
        let mut n_tests = 0_usize;
        for (class, size) in sizes.iter().enumerate() {
            for _ in 0..*size {
                let id = n_tests.to_string().parse().expect("digits are a valid test id");
                builder.push(&format!("class{class}"), id, Duration::from_secs(1));
                n_tests += 1;
            }
        }
        builder.build()
    }

    /// The same suite, for a runner that lets us decide this much.
    #[must_use]
    pub fn controlled(self, control: Control) -> Self {
        Self { control, ..self }
    }

    /// What the runner lets us decide.
    pub fn control(&self) -> Control {
        self.control
    }

    /// Whether the runner cannot run an order that separates the tests of a class.
    pub fn keeps_classes(&self) -> bool {
        self.control.orders == OrderControl::Classes
    }

    /// Whether the runner always runs tests in the order in which it lists them.
    pub fn keeps_order(&self) -> bool {
        self.control.orders == OrderControl::Fixed
    }

    /// The order that the runner actually runs: the one given, or its tests in listed order if the
    /// runner knows no other.
    #[must_use]
    pub fn as_run(&self, order: Order) -> Order {
        if !self.keeps_order() || order.tests().is_sorted() {
            return order;
        }
        let mut tests = order.tests().to_vec();
        tests.sort_unstable();
        Order::from_distinct(tests)
    }

    /// These tests in an order that the runner can run before the target: as given; or, if the
    /// runner keeps classes together, class by class in the order of their first tests, the
    /// target's class last. If the runner only knows the listed order, the tests listed before the
    /// target.
    pub fn arranged(&self, tests: &[TestIndex], target: TestIndex) -> Vec<TestIndex> {
        match self.control.orders {
            OrderControl::Exact => tests.to_vec(),
            OrderControl::Classes => self.class_by_class(tests, target),
            OrderControl::Fixed => {
                let mut before: Vec<TestIndex> =
                    tests.iter().copied().filter(|test| *test < target).collect();
                before.sort_unstable();
                before
            }
        }
    }

    fn class_by_class(&self, tests: &[TestIndex], target: TestIndex) -> Vec<TestIndex> {
        let mut rank: BTreeMap<ClassIndex, usize> = BTreeMap::new();
        for test in tests {
            let n_seen = rank.len();
            rank.entry(self.class_of(*test)).or_insert(n_seen);
        }
        rank.insert(self.class_of(target), usize::MAX);
        let mut arranged = tests.to_vec();
        arranged.sort_by_key(|test| rank[&self.class_of(*test)]);
        arranged
    }

    /// How many tests there are; never zero.
    pub fn n_tests(&self) -> usize {
        self.ids.len()
    }

    /// How many classes there are; never zero.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// All tests, in their original order.
    pub fn tests(&self) -> impl ExactSizeIterator<Item = TestIndex> + use<> {
        (0..self.ids.len()).map(TestIndex::new)
    }

    /// All classes, each with its tests in their original order.
    pub fn classes(&self) -> &[Vec<TestIndex>] {
        &self.classes
    }

    /// The name of a class.
    pub fn class_name(&self, class: ClassIndex) -> &str {
        &self.class_names[class.get()]
    }

    /// The class a test belongs to.
    pub fn class_of(&self, test: TestIndex) -> ClassIndex {
        self.class_of[test.get()]
    }

    /// The name of a test.
    pub fn id(&self, test: TestIndex) -> &TestId {
        &self.ids[test.get()]
    }

    /// How long a test is expected to run.
    pub fn duration(&self, test: TestIndex) -> Duration {
        self.durations[test.get()]
    }

    /// The test with this name.
    pub fn find(&self, id: &TestId) -> Option<TestIndex> {
        self.by_id.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TestId {
        text.parse().unwrap()
    }

    #[test]
    fn an_empty_suite_and_a_repeated_test_are_refused_by_name() {
        assert_eq!(SuiteBuilder::default().build().unwrap_err(), InvalidSuite::Empty);
        let mut builder = SuiteBuilder::default();
        builder.push("a", id("a::x"), Duration::ZERO);
        builder.push("b", id("b::x"), Duration::ZERO);
        builder.push("a", id("a::x"), Duration::ZERO);
        assert_eq!(
            builder.build().unwrap_err().to_string(),
            "test `a::x` stands in the suite twice, at positions 0 and 2"
        );
    }

    #[test]
    fn classes_keep_original_order_even_where_they_are_torn_apart() {
        let mut builder = SuiteBuilder::default();
        builder.push("a", id("a::1"), Duration::ZERO);
        builder.push("b", id("b::1"), Duration::ZERO);
        builder.push("a", id("a::2"), Duration::ZERO);
        let suite = builder.build().unwrap();
        let classes: Vec<Vec<usize>> =
            suite.classes().iter().map(|c| c.iter().map(|t| t.get()).collect()).collect();
        assert_eq!(classes, [vec![0, 2], vec![1]]);
        assert_eq!(suite.class_name(suite.class_of(TestIndex::new(2))), "a");
        assert_eq!(suite.find(&id("b::1")), Some(TestIndex::new(1)));
        assert_eq!(suite.find(&id("b::2")), None);
    }

    #[test]
    fn sizes_number_tests_class_by_class() {
        let suite = Suite::of_sizes(&[2, 1]).unwrap();
        assert_eq!(suite.n_tests(), 3);
        assert_eq!(suite.n_classes(), 2);
        assert_eq!(suite.id(suite.classes()[1][0]).as_str(), "2");
        assert_eq!(Suite::of_sizes(&[]).unwrap_err(), InvalidSuite::Empty);
    }

    #[test]
    fn tests_are_arranged_class_by_class_where_the_runner_keeps_classes() {
        let at =
            |tests: &[usize]| tests.iter().map(|test| TestIndex::new(*test)).collect::<Vec<_>>();
        let suite = Suite::of_sizes(&[2, 2, 2]).unwrap();
        let mixed = at(&[4, 0, 2, 5, 1]);
        assert_eq!(suite.arranged(&mixed, TestIndex::new(3)), mixed);
        let suite = suite.controlled(Control::CLASSES);
        assert_eq!(suite.arranged(&mixed, TestIndex::new(3)), at(&[4, 5, 0, 1, 2]));
        assert_eq!(suite.arranged(&at(&[0, 4]), TestIndex::new(1)), at(&[4, 0]));
    }

    #[test]
    fn where_the_order_is_fixed_only_tests_listed_before_the_target_come_before_it() {
        let at =
            |tests: &[usize]| tests.iter().map(|test| TestIndex::new(*test)).collect::<Vec<_>>();
        let suite = Suite::of_sizes(&[6]).unwrap();
        let mixed = Order::from_distinct(at(&[4, 0, 2]));
        assert_eq!(suite.as_run(mixed.clone()), mixed);
        let suite = suite.controlled(Control::FIXED);
        assert_eq!(suite.as_run(mixed).tests(), at(&[0, 2, 4]));
        assert_eq!(suite.arranged(&at(&[4, 2, 0]), TestIndex::new(3)), at(&[0, 2]));
        assert_eq!(suite.arranged(&at(&[4, 5]), TestIndex::new(3)), []);
    }
}
