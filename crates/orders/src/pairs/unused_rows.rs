//! The Tuscan rows that cover the pairs within a class, until they have been used.

use crate::layout::Layout;
use crate::pairs::uncovered::Side;
use crate::tuscan::Tuscan;

/// Unused rows, found by the test at either end.
#[derive(Clone, Debug)]
pub(super) struct UnusedRows {
    /// For each test, the numbers of the unused rows that start with it.
    starting: Vec<Vec<usize>>,
    /// For each test, the numbers of the unused rows that end with it.
    ending: Vec<Vec<usize>>,
    of_class: Vec<usize>,
}

impl UnusedRows {
    /// The rows of all classes; a class of one test has no pairs and hence no rows.
    pub(super) fn new(layout: &Layout) -> Self {
        let mut rows = Self {
            starting: vec![Vec::new(); layout.n_tests()],
            ending: vec![Vec::new(); layout.n_tests()],
            of_class: vec![0; layout.n_classes()],
        };
        let mut row = Vec::new();
        for class in 0..layout.n_classes() {
            let members = layout.class(class);
            let square = Tuscan::new(members.len());
            if members.len() == 1 {
                continue;
            }
            for number in 0..square.n_rows() {
                square.row_into(number, &mut row);
                let (first, last) = (row[0] as usize, row[row.len() - 1] as usize);
                rows.starting[members.start + first].push(number);
                rows.ending[members.start + last].push(number);
                rows.of_class[class] += 1;
            }
        }
        rows
    }

    /// Whether any row of a class is left.
    pub(super) fn has_any(&self, class: usize) -> bool {
        0 < self.of_class[class]
    }

    /// Whether all rows were used.
    pub(super) fn is_empty(&self) -> bool {
        self.of_class.iter().all(|n| *n == 0)
    }

    /// Whether there is a row through which a chain can go on from `test`.
    pub(super) fn can_start(&self, side: Side, test: usize) -> bool {
        match side {
            Side::After => !self.starting[test].is_empty(),
            Side::Before => !self.ending[test].is_empty(),
        }
    }

    /// The tests by which a chain is extended on this side, starting with `test` and nearest first:
    /// an unused row if there is one, or just the test.
    pub(super) fn take(&mut self, layout: &Layout, side: Side, test: usize) -> Vec<usize> {
        let number = match side {
            Side::After => self.starting[test].pop(),
            Side::Before => self.ending[test].pop(),
        };
        let Some(number) = number else {
            return vec![test];
        };
        let class = layout.class_of(test);
        let members = layout.class(class);
        let mut row = Vec::with_capacity(members.len());
        Tuscan::new(members.len()).row_into(number, &mut row);
        let mut tests: Vec<usize> = row.iter().map(|m| members.start + *m as usize).collect();
        if side == Side::Before {
            tests.reverse();
        }
        let far_end = tests[tests.len() - 1];
        let other = match side {
            Side::After => &mut self.ending[far_end],
            Side::Before => &mut self.starting[far_end],
        };
        other.retain(|other| *other != number);
        self.of_class[class] -= 1;
        tests
    }
}
