//! Tests renumbered class by class, so that a class is a range of positions.

use std::cmp::Reverse;
use std::ops::Range;

use unflake_model::random::Random;
use unflake_model::{Suite, TestIndex};

/// Positions of tests such that each class is contiguous.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    tests: Vec<TestIndex>,
    class_of: Vec<u32>,
    starts: Vec<usize>,
}

impl Layout {
    /// Keeps classes and tests in their original order.
    pub(crate) fn original(suite: &Suite) -> Self {
        Self::of_classes(suite.classes().to_vec())
    }

    /// Shuffles the classes; the tests within each go from slow to quick, random among equals.
    pub(crate) fn shuffled_slow_first(suite: &Suite, random: &mut Random) -> Self {
        let mut classes = suite.classes().to_vec();
        random.shuffle(&mut classes);
        for class in &mut classes {
            random.shuffle(class);
            class.sort_by_key(|test| Reverse(suite.duration(*test)));
        }
        Self::of_classes(classes)
    }

    fn of_classes(classes: Vec<Vec<TestIndex>>) -> Self {
        let mut layout = Self { tests: Vec::new(), class_of: Vec::new(), starts: vec![0] };
        for (number, class) in (0_u32..).zip(classes) {
            layout.class_of.extend(class.iter().map(|_| number));
            layout.tests.extend(class);
            layout.starts.push(layout.tests.len());
        }
        layout
    }

    pub(crate) fn n_tests(&self) -> usize {
        self.tests.len()
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The positions of a class.
    pub(crate) fn class(&self, class: usize) -> Range<usize> {
        self.starts[class]..self.starts[class + 1]
    }

    /// The class at a position.
    pub(crate) fn class_of(&self, position: usize) -> usize {
        self.class_of[position] as usize
    }

    /// The test at a position.
    pub(crate) fn test(&self, position: usize) -> TestIndex {
        self.tests[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unflake_model::SuiteBuilder;

    #[test]
    fn classes_torn_apart_in_the_suite_are_ranges_here() {
        let mut builder = SuiteBuilder::default();
        for (class, id) in [("a", "0"), ("b", "1"), ("a", "2")] {
            builder.push(class, id.parse().unwrap(), Duration::ZERO);
        }
        let layout = Layout::original(&builder.build().unwrap());
        let tests: Vec<usize> = (0..3).map(|p| layout.test(p).get()).collect();
        assert_eq!(tests, [0, 2, 1]);
        assert_eq!([layout.class(0), layout.class(1)], [0..2, 2..3]);
        assert_eq!([0, 1, 2].map(|p| layout.class_of(p)), [0, 0, 1]);
        assert_eq!((layout.n_tests(), layout.n_classes()), (3, 2));
    }
}
