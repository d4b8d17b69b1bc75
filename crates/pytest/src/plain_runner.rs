//! pytest (or unittest) as the project's own runner.

use std::ffi::OsStr;
use std::time::Duration;

use unflake_adapter::{Around, ChangedFile, Given, Outcomes, PlainRunner, named, with_causes};
use unflake_engine::{PlainEnding, PlainRun};
use unflake_model::{Environment, Factors, OutcomeKind, TestId};

use crate::plain::{Invocation, Plain, PlainError};
use crate::project::{Project, own_env};
use crate::shell::quote;

/// What a plain run is granted anyway.
const GRANTED: Duration = Duration::from_secs(2);

/// The plain runner of a Python project.
pub(crate) struct PythonRunner<'a> {
    project: &'a Project,
    around: Around<'a>,
    /// Files that it sees as if they were changed.
    changed: &'a [ChangedFile],
}

impl<'a> PythonRunner<'a> {
    /// Of the work tree as it is.
    pub(crate) fn new(project: &'a Project, around: Around<'a>) -> Self {
        Self { project, around, changed: &[] }
    }

    /// Of a work tree in which these files look as if they were changed.
    pub(crate) fn with(mut self, changed: &'a [ChangedFile]) -> Self {
        self.changed = changed;
        self
    }

    /// The same for a test that is run twice.
    fn twice(&self, took: Duration) -> Plain<'_> {
        Plain { invocation: Invocation::Twice, ..self.plain(took) }
    }

    /// For tests that take so long in our own runs.
    fn plain(&self, took: Duration) -> Plain<'_> {
        Plain {
            project: self.project,
            collected: self.around.collected,
            invocation: Invocation::Module,
            time_max: self.around.time_max(took, GRANTED),
            changed: self.changed,
        }
    }
}

impl PlainRunner for PythonRunner<'_> {
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String> {
        let ids: Vec<&str> =
            self.around.collected.tests.iter().map(|test| test.id.as_str()).collect();
        // Compared with the agent's runs, so strings are hashed as they are there.
        let project = &self.project.hashed();
        let plain = Plain { project, ..self.plain(took) };
        outcomes(&ids, plain.run_suite(self.around.interrupt))
    }

    fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String> {
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        let plain = self.plain(took);
        if let Some(id) = ids.iter().find(|id| !plain.can_name(id)) {
            return Err(format!("`{id}` cannot be named on its command line"));
        }
        outcomes(&ids, plain.run_order(&ids, self.around.interrupt))
    }

    fn run_among(
        &self,
        test: &TestId,
        files: &[&str],
        took: Duration,
    ) -> Result<Option<OutcomeKind>, String> {
        let plain = self.plain(took);
        if !plain.can_name(test.as_str()) {
            return Err(format!("`{test}` cannot be named on its command line"));
        }
        let Some(run) = plain.run_among(test.as_str(), files, self.around.interrupt) else {
            return Ok(None);
        };
        let ended = outcomes(&[test.as_str()], run)?;
        Ok(ended.get(test).copied())
    }

    fn command_among(&self, test: &TestId, files: &[&str]) -> Option<String> {
        self.plain(Duration::ZERO).command_among(test.as_str(), files)
    }

    fn command(&self, tests: &[&TestId]) -> Option<String> {
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        let plain = self.plain(Duration::ZERO);
        ids.iter().all(|id| plain.can_name(id)).then(|| plain.command(&ids))
    }

    fn run_twice(&self, test: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String> {
        let ids = [test.as_str()];
        let plain = self.twice(took);
        if !plain.can_name(test.as_str()) {
            return Err(format!("`{test}` cannot be named on its command line"));
        }
        let ended = outcomes(&ids, plain.run_order(&ids, self.around.interrupt))?;
        Ok(ended.get(test).copied())
    }

    fn command_twice(&self, test: &TestId) -> Option<String> {
        let plain = self.twice(Duration::ZERO);
        plain.can_name(test.as_str()).then(|| plain.command(&[test.as_str()]))
    }

    fn run_perturbed(
        &self,
        tests: &[&TestId],
        environment: Environment,
        took: Duration,
    ) -> Result<Option<Outcomes>, String> {
        self.under(environment).map(|runner| runner.run(tests, took)).transpose()
    }

    fn command_perturbed(&self, test: &TestId, environment: Environment) -> Option<String> {
        self.under(environment)?.command(&[test])
    }
}

impl<'a> PythonRunner<'a> {
    /// The same runner under other circumstances, as far as variables of the environment decide.
    fn under(&self, environment: Environment) -> Option<GivenRunner<'a>> {
        let (factors, seed) = match environment {
            Environment::Plain => return None,
            Environment::Hashed { seed } => (Factors::HASH_SEED, seed),
            Environment::Perturbed { factors, seed } => (factors, seed),
        };
        let env = own_env(factors, seed).into_iter();
        let text = |word: &OsStr| word.to_string_lossy().into_owned();
        let env: Vec<(String, String)> =
            env.map(|(name, value)| (text(&name), text(&value))).collect();
        let is_decided = !env.is_empty();
        let given = Given { env, ..Given::default() };
        is_decided.then(|| GivenRunner::new(self.project, self.around, &given))
    }
}

/// The same runner, given variables of the environment, statements of the shell, and statements of
/// Python for when a test begins.
pub(crate) struct GivenRunner<'a> {
    project: Project,
    around: Around<'a>,
    assigned: String,
}

impl<'a> GivenRunner<'a> {
    pub(crate) fn new(project: &Project, around: Around<'a>, given: &Given) -> Self {
        let Given { env, before, first } = given;
        let assigned = env.iter().map(|(name, value)| format!("{name}={} ", quote(value)));
        let assigned = assigned.collect();
        let mut project = project.clone();
        project.env.extend(env.iter().map(|(name, value)| (name.into(), Some(value.into()))));
        project.before = (!before.is_empty()).then(|| before.join("; "));
        project.first = (!first.is_empty()).then(|| first.join("; "));
        Self { project, around, assigned }
    }

    fn runner(&self) -> PythonRunner<'_> {
        PythonRunner::new(&self.project, self.around)
    }

    fn given(&self, line: &str) -> String {
        let line = self.assigned.clone() + line;
        match &self.project.before {
            Some(before) => format!("({before}; {line})"),
            None => line,
        }
    }
}

impl PlainRunner for GivenRunner<'_> {
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String> {
        self.runner().run_suite(took)
    }

    fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String> {
        self.runner().run(tests, took)
    }

    fn command(&self, tests: &[&TestId]) -> Option<String> {
        self.runner().command(tests).map(|line| self.given(&line))
    }

    fn run_twice(&self, test: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String> {
        self.runner().run_twice(test, took)
    }

    fn command_twice(&self, test: &TestId) -> Option<String> {
        self.runner().command_twice(test).map(|line| self.given(&line))
    }
}

fn outcomes(ids: &[&str], run: Result<PlainRun, PlainError>) -> Result<Outcomes, String> {
    let run = run.map_err(|error| with_causes(&error))?;
    let seconds = run.duration.as_secs_f64();
    match run.ending {
        PlainEnding::Complete => (),
        PlainEnding::Refused => return Err("it refused the tests or the options".to_owned()),
        PlainEnding::Died(exit) => return Err(format!("the process died: {exit}")),
        PlainEnding::TimedOut => return Err(format!("it was stopped after {seconds:.0} s")),
        PlainEnding::Interrupted => return Err("it was interrupted".to_owned()),
    }
    Ok(named(ids, run.tests))
}
