//! Maven or Gradle as the project's own runner.
//!
//! A build tool writes its reports into the build folder, so one of its runs waits for the other.
//! Orders that it cannot be told are run by our own launcher, in a process of its own.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use unflake_adapter::{Around, Outcomes, PlainRunner, named, with_causes};
use unflake_engine::{Interrupt, PlainEnding, PlainRun};
use unflake_model::{Environment, OutcomeKind, TestId};

use crate::plain::Plain;
use crate::prepared::Prepared;
use crate::project::Project;

/// What Maven is granted anyway: it builds first.
const GRANTED: Duration = Duration::from_mins(2);

/// The build tool of a module.
pub(crate) struct BuildRunner<'a> {
    pub(crate) project: &'a Project,
    pub(crate) prepared: &'a Prepared,
    pub(crate) around: Around<'a>,
    /// Held by whoever builds.
    pub(crate) turn: Mutex<()>,
}

impl BuildRunner<'_> {
    fn plain(&self, took: Duration) -> Plain<'_> {
        let Self { project, prepared, .. } = *self;
        Plain { project, prepared, time_max: self.around.time_max(took, GRANTED) }
    }

    fn interrupt(&self) -> &Interrupt {
        self.around.interrupt
    }
}

impl PlainRunner for BuildRunner<'_> {
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<&str> = self.prepared.ids().collect();
        let run = self.plain(took).run_suite(self.interrupt());
        outcomes(&ids, run.map_err(|error| with_causes(&error))?)
    }

    fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        let plain = self.plain(took);
        match plain.run_order(&ids, self.interrupt()) {
            Some(Ok(run)) if run.is_in_order => outcomes(&ids, run),
            Some(Err(error)) => Err(with_causes(&error)),
            // Surefire cannot be told, or did not do as it was told.
            Some(Ok(_)) | None => launched(&plain, &ids, self.interrupt()),
        }
    }

    fn command(&self, tests: &[&TestId]) -> Option<String> {
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        Some(self.plain(Duration::ZERO).command(&ids))
    }

    fn is_dear(&self) -> bool {
        true
    }

    fn run_twice(&self, test: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String> {
        let ids = [test.as_str(), test.as_str()];
        let ended = launched(&self.plain(took), &ids, self.interrupt())?;
        Ok(ended.get(test).copied())
    }

    fn command_twice(&self, test: &TestId) -> Option<String> {
        Some(self.plain(Duration::ZERO).command(&[test.as_str(), test.as_str()]))
    }

    fn run_perturbed(
        &self,
        tests: &[&TestId],
        environment: Environment,
        took: Duration,
    ) -> Result<Option<Outcomes>, String> {
        let Environment::Perturbed { seed, .. } = environment else { return Ok(None) };
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<&str> = tests.iter().map(|id| id.as_str()).collect();
        let ran = self.plain(took).run_perturbed(&ids, seed, self.interrupt());
        let (said, ending) = ran.map_err(|error| with_causes(&error))?;
        complete(ending)?;
        Ok(Some(named(&ids, said)))
    }

    fn command_perturbed(&self, test: &TestId, environment: Environment) -> Option<String> {
        let Environment::Perturbed { seed, .. } = environment else { return None };
        Some(self.plain(Duration::ZERO).command_perturbed(&[test.as_str()], seed))
    }
}

fn launched(plain: &Plain<'_>, ids: &[&str], interrupt: &Interrupt) -> Result<Outcomes, String> {
    let ended = plain.run_launched(ids, interrupt).map_err(|error| with_causes(&error))?;
    Ok(ended.into_iter().filter_map(|(id, kind)| Some((id.parse().ok()?, kind))).collect())
}

fn outcomes(ids: &[&str], run: PlainRun) -> Result<Outcomes, String> {
    complete(run.ending)?;
    Ok(named(ids, run.tests))
}

fn complete(ending: PlainEnding) -> Result<(), String> {
    match ending {
        PlainEnding::Complete => Ok(()),
        PlainEnding::Refused => Err("it refused the tests or the options".to_owned()),
        PlainEnding::Died(exit) => Err(format!("the build failed: {exit}")),
        PlainEnding::TimedOut => Err("it took too long, and was stopped".to_owned()),
        PlainEnding::Interrupted => Err("it was interrupted".to_owned()),
    }
}
