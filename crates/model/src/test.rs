//! One test: its name, and its place in the suite.

use std::fmt;
use std::str::FromStr;

/// The name of one test, exactly as its own runner spells it.
///
/// Invariant: non-empty, and free of control characters, so that it can be written one per line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestId(Box<str>);

/// Why a text is not a test id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTestId {
    /// The text is empty.
    #[error("a test id cannot be empty")]
    Empty,
    /// The text does not fit on one line.
    #[error("test id `{}` has a control character at byte {offset}", .text.escape_debug())]
    ControlCharacter {
        /// The whole rejected text.
        text: Box<str>,
        /// The byte offset of the first control character.
        offset: usize,
    },
}

impl FromStr for TestId {
    type Err = InvalidTestId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(InvalidTestId::Empty);
        }
        match text.char_indices().find(|(_, c)| c.is_control()) {
            Some((offset, _)) => Err(InvalidTestId::ControlCharacter { text: text.into(), offset }),
            None => Ok(Self(text.into())),
        }
    }
}

impl TestId {
    /// The name, as the runner spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The position of a test in the original order of its suite.
///
/// Analyses and orders speak of tests by index: four bytes instead of a name, and comparing two of
/// them compares their original positions. Only a [`crate::Suite`] turns an index back into a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestIndex(u32);

impl TestIndex {
    /// The test at this position.
    ///
    /// # Panics
    /// If the position does not fit 32 bits; a suite of that size cannot be built.
    pub fn new(position: usize) -> Self {
        Self(u32::try_from(position).expect("a suite holds fewer than 2^32 tests"))
    }

    /// The position, to index a slice with.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TestIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_runner_are_kept_to_the_letter() {
        for name in [
            "tests/test_a.py::TestB::test_c[1-x y]",
            "org.example.FooTest#bar(int, String)[2]",
            "tests::it_works",
            "TestParse/empty_input#01",
            "größe über 0 ✓",
        ] {
            assert_eq!(name.parse::<TestId>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn a_name_that_cannot_stand_on_one_line_is_refused_with_its_place() {
        assert_eq!("".parse::<TestId>(), Err(InvalidTestId::Empty));
        let error = "a::b\nc".parse::<TestId>().unwrap_err();
        assert_eq!(error.to_string(), "test id `a::b\\nc` has a control character at byte 4");
    }
}
