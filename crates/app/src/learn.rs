//! Reads lines to learn from: one line of JSON for each test.
//!
//! `unflake trace --write` writes them; the lines of several projects can be combined. A test
//! without a label (`flaky`) is left out: that nobody looked at it does not make it sound.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unflake_calls::folds::cross_validate;
use unflake_calls::learn::{Options, evaluate, learn as greedy};
use unflake_calls::sample::{Known, Sample};
use unflake_calls::{Function, InvalidFunction, Set};
use unflake_known::Lesson;
use unflake_model::{InvalidRootCause, RootCause};

/// One test, as a line of a file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The project it belongs to.
    pub project: String,
    /// The test, as its runner spells it.
    pub test: String,
    /// How long it took.
    #[serde(default)]
    pub seconds: f64,
    /// Whether it fails at random; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<bool>,
    /// The name of its root cause, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The functions it calls, in the language of the tests.
    pub functions: Vec<String>,
    /// The functions it calls that are written in another language.
    pub native: Vec<String>,
}

/// Why a line cannot be learned from.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line is not JSON, or not of this form.
    #[error("line {number}: {source}")]
    Unreadable {
        /// The number of the line, from 1.
        number: usize,
        /// What is wrong with the line.
        source: serde_json::Error,
    },
    /// The line contains an invalid function name.
    #[error("line {number}: {source}")]
    Function {
        /// The number of the line, from 1.
        number: usize,
        /// What is wrong with the name.
        source: InvalidFunction,
    },
    /// The line contains an unknown root cause.
    #[error("line {number}: {source}")]
    Cause {
        /// The number of the line, from 1.
        number: usize,
        /// What is wrong with the name.
        source: InvalidRootCause,
    },
}

/// The tests that were read.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    known: Vec<Known>,
    native: BTreeSet<Function>,
    /// How many tests had no label.
    pub n_unlabelled: usize,
}

impl Lines {
    /// Adds the lines of one file.
    pub fn read(&mut self, text: &str) -> Result<(), LineError> {
        for (number, line) in (1..).zip(text.lines()).filter(|(_, it)| !it.trim().is_empty()) {
            let unreadable = |source| LineError::Unreadable { number, source };
            let line: Line = serde_json::from_str(line).map_err(unreadable)?;
            self.add(&line, number)?;
        }
        Ok(())
    }

    fn add(&mut self, line: &Line, number: usize) -> Result<(), LineError> {
        let read = |names: &[String]| -> Result<Vec<Function>, LineError> {
            let parsed = names.iter().map(|it| it.parse());
            parsed.map(|it| it.map_err(|source| LineError::Function { number, source })).collect()
        };
        let (mut functions, native) = (read(&line.functions)?, read(&line.native)?);
        functions.extend(native.iter().cloned());
        self.native.extend(native);
        let cause: Option<RootCause> = line
            .cause
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|source| LineError::Cause { number, source })?;
        match line.flaky {
            None => self.n_unlabelled += 1,
            Some(is_flaky) => {
                self.known.push(Known {
                    project: line.project.clone(),
                    functions,
                    is_flaky,
                    cause,
                });
            }
        }
        Ok(())
    }
}

/// What to learn, and how to judge it.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnRequest {
    /// Options of the optimiser.
    pub options: Options,
    /// Whether to take only functions that are not written in the language of the tests.
    pub is_native_only: bool,
    /// The number of folds to judge it by.
    pub n_folds: usize,
    /// The seed that deals tests into folds.
    pub seed: u64,
}

/// Learns from the lines that were read.
pub fn learn(lines: Lines, request: &LearnRequest) -> Lesson {
    let n_unlabelled = lines.n_unlabelled;
    let projects: BTreeSet<String> = lines.known.iter().map(|it| it.project.clone()).collect();
    let mut options = request.options.clone();
    options.drop.only = request.is_native_only.then_some(lines.native);
    let sample = Sample::new(lines.known);
    Lesson {
        n_tests: sample.tests().len(),
        n_flaky: sample.n_flaky(),
        n_projects: projects.len(),
        n_unlabelled,
        learned: greedy(&sample, &options),
        folds: cross_validate(&sample, &options, request.n_folds, request.seed),
        manual: evaluate(&sample, &Set::known()),
    }
}
