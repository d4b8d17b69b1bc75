//! Suites written by hand or by a script, in TOML.
//!
//! ```toml
//! [[class]]
//! name = "tests/test_cart.py"
//! tests = ["test_add", { id = "test_checkout", seconds = 2.5 }]
//! ```
//!
//! Classes and tests stand in their original order. Everything that is not understood is an error
//! with its place: a key that is silently ignored would be a run time that is silently wrong.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;
use unflake_model::{InvalidTestId, Suite, SuiteBuilder, TestId};

/// Why a suite file gives no suite.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuiteFileError {
    /// The file cannot be read.
    #[error("cannot read suite file `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Something at this place makes no sense.
    #[error("suite file `{}`, line {line}, column {column}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// There are no tests in it.
    #[error("suite file `{}` has no tests", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    class: Vec<Class>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    tests: Vec<Spanned<Test>>,
}

struct Test {
    id: String,
    seconds: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimedTest {
    id: String,
    #[serde(default = "one_second")]
    seconds: f64,
}

fn one_second() -> f64 {
    1.0
}

/// By hand, because an untagged enum would answer every mistake with "no variant matched".
impl<'de> Deserialize<'de> for Test {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TestVisitor;

        impl<'de> Visitor<'de> for TestVisitor {
            type Value = Test;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a test: its name, or a table with `id` and `seconds`")
            }

            fn visit_str<E>(self, id: &str) -> Result<Test, E> {
                Ok(Test { id: id.to_owned(), seconds: one_second() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Test, A::Error> {
                let TimedTest { id, seconds } =
                    TimedTest::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Test { id, seconds })
            }
        }

        deserializer.deserialize_any(TestVisitor)
    }
}

/// Reads a suite file.
pub(crate) fn read(path: &Path) -> Result<Suite, SuiteFileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| SuiteFileError::Read { path: path.to_owned(), source })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Suite, SuiteFileError> {
    let malformed = |span: Option<Range<usize>>, reason: String| {
        let (line, column) = place(text, span.map_or(0, |span| span.start));
        SuiteFileError::Malformed { path: path.to_owned(), line, column, reason }
    };
    let file: File =
        toml::from_str(text).map_err(|e| malformed(e.span(), e.message().to_owned()))?;
    let mut builder = SuiteBuilder::default();
    let mut seen = std::collections::BTreeMap::new();
    for class in file.class {
        for test in class.tests {
            let span = test.span();
            let (id, duration) =
                checked(test.get_ref()).map_err(|e| malformed(Some(span.clone()), e))?;
            if let Some(first) = seen.insert(id.clone(), span.start) {
                let (line, column) = place(text, first);
                let reason = format!(
                    "test `{id}` stands in the suite twice, first at line {line}, column {column}"
                );
                return Err(malformed(Some(span), reason));
            }
            builder.push(&class.name, id, duration);
        }
    }
    builder.build().map_err(|_| SuiteFileError::Empty { path: path.to_owned() })
}

/// The id and run time of a test, or what is wrong with them.
fn checked(test: &Test) -> Result<(TestId, Duration), String> {
    let id = test.id.parse().map_err(|e: InvalidTestId| e.to_string())?;
    let duration = Duration::try_from_secs_f64(test.seconds)
        .map_err(|_| format!("test `{id}` cannot take {} seconds", test.seconds))?;
    Ok((id, duration))
}

/// Line and column, both from 1, of a byte.
pub(crate) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.matches('\n').count();
    (line, 1 + before[line_start..].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(Path::new("s.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn tests_come_with_and_without_a_run_time() {
        let text = "[[class]]\nname = 'a'\ntests = ['x', { id = 'y', seconds = 2.5 }]\n\
                    [[class]]\nname = 'b'\ntests = [{ id = 'z' }]\n";
        let suite = parse(Path::new("s.toml"), text).unwrap();
        let durations: Vec<f64> = suite.tests().map(|t| suite.duration(t).as_secs_f64()).collect();
        assert_eq!(durations, [1.0, 2.5, 1.0]);
        assert_eq!(suite.n_classes(), 2);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let class = "[[class]]\nname = 'a'\n";
        assert_eq!(
            error(&format!("{class}tests = ['x',\n  'x']")),
            "suite file `s.toml`, line 4, column 3: test `x` stands in the suite twice, first at \
             line 3, column 10"
        );
        assert_eq!(
            error(&format!("{class}tests = [{{ id = 'x', seconds = -1 }}]")),
            "suite file `s.toml`, line 3, column 10: test `x` cannot take -1 seconds"
        );
        assert_eq!(
            error(&format!("{class}tests = ['']")),
            "suite file `s.toml`, line 3, column 10: a test id cannot be empty"
        );
        assert_eq!(error("# nothing"), "suite file `s.toml` has no tests");
        for (text, part) in [
            ("[[class]]\nname = 3", "line 2, column 8: invalid type: integer `3`"),
            ("[[class]]\nnam = 'a'", "line 2, column 1: unknown field `nam`"),
            ("[[class]]\nname = 'a'", "missing field `tests`"),
            ("[[class]]\nname = 'a'\ntests = [7]", "line 3, column 10: invalid type: integer `7`"),
            ("[[class\n", "line 1"),
        ] {
            let error = error(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
