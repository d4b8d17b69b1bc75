//! pytest (or unittest) as the project's own runner.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_engine::{Collected, Interrupt};
use unflake_model::{OutcomeKind, TestId};
use unflake_pytest::{Invocation, Plain, PlainEnding, PlainError, PlainRun, Project};

use crate::cold::PlainRunner;

/// The plain runner of a Python project.
pub(crate) struct PythonRunner<'a> {
    pub(crate) project: &'a Project,
    pub(crate) collected: &'a Collected,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) time_max: Duration,
}

impl PythonRunner<'_> {
    fn plain(&self) -> Plain<'_> {
        Plain {
            project: self.project,
            collected: self.collected,
            invocation: Invocation::Module,
            time_max: self.time_max,
        }
    }
}

impl PlainRunner for PythonRunner<'_> {
    fn run_suite(&self) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
        let ids: Vec<&str> = self.collected.tests.iter().map(|test| test.id.as_str()).collect();
        outcomes(&ids, self.plain().run_suite(self.interrupt))
    }

    fn run(&self, tests: &[&TestId]) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        outcomes(&ids, self.plain().run_order(&ids, self.interrupt))
    }

    fn command(&self, tests: &[&TestId]) -> String {
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        self.plain().command(&ids)
    }
}

fn outcomes(
    ids: &[&str],
    run: Result<PlainRun, PlainError>,
) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
    let run = run.map_err(|error| error.to_string())?;
    if !matches!(run.ending, PlainEnding::Complete) {
        return Err(format!("the plain runner did not finish: {:?}", run.ending));
    }
    let named = ids.iter().zip(run.tests);
    Ok(named.filter_map(|(id, said)| Some((id.parse().ok()?, said.outcome.kind()))).collect())
}
