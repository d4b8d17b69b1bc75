//! Fast output of many orders.

use std::io::{self, Write};

use unflake_model::TestIndex;

/// Writes numbers below n without formatting each anew: a complete Tuscan square of 10,000 tests
/// is 10^8 of them.
pub(crate) struct NumberPrinter {
    digits: Vec<u8>,
    starts: Vec<usize>,
    line: Vec<u8>,
}

impl NumberPrinter {
    /// For the numbers below n.
    pub(crate) fn new(n: usize) -> Self {
        let mut digits = Vec::new();
        let mut starts = vec![0];
        for number in 0..n {
            digits.extend_from_slice(number.to_string().as_bytes());
            starts.push(digits.len());
        }
        Self { digits, starts, line: Vec::new() }
    }

    /// Writes the tests of an order, with this byte between them.
    pub(crate) fn print(
        &mut self,
        out: &mut impl Write,
        order: &[TestIndex],
        separator: u8,
    ) -> io::Result<()> {
        self.line.clear();
        for test in order {
            let range = self.starts[test.get()]..self.starts[test.get() + 1];
            self.line.extend_from_slice(&self.digits[range]);
            self.line.push(separator);
        }
        self.line.pop();
        out.write_all(&self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_separated_once() {
        let mut out = Vec::new();
        let order: Vec<TestIndex> = [10, 0, 7].map(TestIndex::new).to_vec();
        let mut printer = NumberPrinter::new(11);
        printer.print(&mut out, &order, b' ').unwrap();
        printer.print(&mut out, &[], b' ').unwrap();
        assert_eq!(out, b"10 0 7");
    }
}
