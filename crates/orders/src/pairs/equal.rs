//! Classes of equal size: a construction that meets the lower bound exactly.
//!
//! Let there be k classes of m tests, each test known by its class and its number below m. Take
//! the rows of a Tuscan square of the *classes*: every class directly follows every other one in
//! exactly one row. Walk each row m^2 times, once for each pair of numbers (a, b), running of the
//! first class test a, of the second test b, of the third a again, and so on. Neighbouring classes
//! always show the numbers (a, b) or (b, a), and so over the m^2 walks every pair of tests exactly
//! once. That makes k * m^2 orders, which is the lower bound M = 2 * (k choose 2) * m^2 / (k-1).
//!
//! Pairs within a class come for free: every class is first in one row, and of the walks that start
//! there with test a, one is preceded by the Tuscan row of the class that ends with a.
//!
//! A single class counts as many classes of one test; then the construction *is* the Tuscan square.
//! With 3 or 5 classes of several tests there is no square of the classes, and [`super::greedy`] is
//! used.

use crate::layout::Layout;
use crate::tuscan::Tuscan;

/// The orders for classes of equal size.
#[derive(Clone, Debug)]
pub(super) struct Equal {
    n_classes: usize,
    size: usize,
    /// For each number, the rows of a class's Tuscan square that end with it.
    rows_ending: Vec<Vec<usize>>,
    n_done: usize,
    route: Vec<u32>,
    row: Vec<u32>,
}

impl Equal {
    /// `None` if the construction does not apply.
    pub(super) fn new(layout: &Layout) -> Option<Self> {
        let n_classes = layout.n_classes();
        let size = layout.class(0).len();
        if n_classes == 1 {
            return Some(Self::of(size, 1));
        }
        let is_equal = (0..n_classes).all(|class| layout.class(class).len() == size);
        let has_square = size == 1 || ![3, 5].contains(&n_classes);
        (is_equal && has_square).then(|| Self::of(n_classes, size))
    }

    fn of(n_classes: usize, size: usize) -> Self {
        let mut rows_ending = vec![Vec::new(); size];
        for (number, row) in Tuscan::new(size).rows().enumerate() {
            let last = row.last().expect("rows are not empty");
            rows_ending[*last as usize].push(number);
        }
        Self { n_classes, size, rows_ending, n_done: 0, route: Vec::new(), row: Vec::new() }
    }

    /// The positions of the next order; empty when there is none.
    pub(super) fn next_order(&mut self) -> Vec<usize> {
        let classes = Tuscan::new(self.n_classes);
        let n_walks = self.size * self.size;
        let (route, walk) = (self.n_done / n_walks, self.n_done % n_walks);
        if route == classes.n_rows() {
            return Vec::new();
        }
        self.n_done += 1;
        if walk == 0 {
            classes.row_into(route, &mut self.route);
        }
        let (a, b) = (walk / self.size, walk % self.size);
        let mut order = Vec::with_capacity(self.n_classes + self.size);
        self.push_lead(a, b, &mut order);
        let numbers = [a, b].into_iter().cycle();
        let steps = self.route.iter().zip(numbers).skip(1);
        order.extend(steps.map(|(class, number)| *class as usize * self.size + number));
        order
    }

    /// Adds the first class of the route: test `a`, after a row that ends with it as long as there
    /// is one.
    fn push_lead(&mut self, a: usize, b: usize, order: &mut Vec<usize>) {
        let start = self.route[0] as usize * self.size;
        match self.rows_ending[a].get(b) {
            Some(number) if self.size > 1 => {
                Tuscan::new(self.size).row_into(*number, &mut self.row);
                order.extend(self.row.iter().map(|member| start + *member as usize));
            }
            _ => order.push(start + a),
        }
    }
}
