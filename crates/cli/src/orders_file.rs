//! Orders written down one a line, as `unflake orders --format ids` prints them.

use std::path::{Path, PathBuf};

use unflake_model::{InvalidOrder, Order, Suite, TestIndex};

/// Why a file gives no orders.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrdersFileError {
    /// The file cannot be read.
    #[error("cannot read orders file `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line is no order.
    #[error("orders file `{}`, line {line}: {kind}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        kind: LineError,
    },
    /// There is no line.
    #[error("orders file `{}` has no orders", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Why a line is no order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// A word is no number.
    #[error("`{word}` is not the number of a test")]
    NotANumber {
        /// The word.
        word: String,
    },
    /// The numbers make no order of the suite.
    #[error(transparent)]
    Invalid(#[from] InvalidOrder),
}

/// Reads the orders of a suite.
pub(crate) fn read(suite: &Suite, path: &Path) -> Result<Vec<Order>, OrdersFileError> {
    let path = path.to_owned();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(OrdersFileError::Read { path, source }),
    };
    let mut orders = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        match parse(suite, text) {
            Ok(order) => orders.push(order),
            Err(kind) => return Err(OrdersFileError::Malformed { path, line, kind }),
        }
    }
    if orders.is_empty() { Err(OrdersFileError::Empty { path }) } else { Ok(orders) }
}

fn parse(suite: &Suite, line: &str) -> Result<Order, LineError> {
    let test = |word: &str| match word.parse::<u32>() {
        Ok(number) => Ok(TestIndex::new(number as usize)),
        Err(_) => Err(LineError::NotANumber { word: word.to_owned() }),
    };
    let tests = line.split(' ').map(test).collect::<Result<Vec<_>, _>>()?;
    Ok(Order::new(suite, tests)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_printed() {
        let suite = Suite::of_sizes(&[3]).unwrap();
        let order = parse(&suite, "2 0").unwrap();
        assert_eq!(order.tests(), [2, 0].map(TestIndex::new));
    }

    #[test]
    fn what_is_no_order_is_named() {
        let suite = Suite::of_sizes(&[3]).unwrap();
        let error = |line| parse(&suite, line).unwrap_err().to_string();
        assert_eq!(error("1 x"), "`x` is not the number of a test");
        assert_eq!(error("-1"), "`-1` is not the number of a test");
        assert_eq!(error(""), "`` is not the number of a test");
        assert_eq!(error("1  2"), "`` is not the number of a test");
        assert_eq!(error("1 3"), "test 3 does not exist: the suite has 3 tests, numbered from 0");
        assert_eq!(error("1 0 1"), "test `1` stands in the order twice, at positions 0 and 2");
    }
}
