//! A module of a Java project, with Maven as its own runner.
//!
//! Maven writes its reports into the build folder, so one of its runs waits for the other. Orders
//! that Surefire cannot be told are run by our own launcher, in a process of its own.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use unflake_engine::{Interrupt, Launch, Limits, PlainEnding, PlainRun};
use unflake_junit::{NonDex, Plain, Prepared, Project, Tracing};
use unflake_model::{Environment, Factors, OutcomeKind, TestId};
use unflake_report::junit_xml::{CiReport, NoReport};

use crate::adapter::{Adapter, Around, Call, Variety};
use crate::causes::with_causes;
use crate::cold::{PlainRunner, named};

/// What Maven is granted anyway: it builds first.
const GRANTED: Duration = Duration::from_mins(2);

/// A module whose tests are known.
#[derive(Clone, Copy, Debug)]
pub struct JavaModule<'a> {
    /// The project.
    pub project: &'a Project,
    /// The module.
    pub prepared: &'a Prepared,
    /// Who makes open choices on purpose, if anybody does.
    pub nondex: Option<&'a NonDex>,
    /// Who tells which functions tests call, if anybody does.
    pub tracing: Option<&'a Tracing>,
}

impl Adapter for JavaModule<'_> {
    fn launch(&self, limits: &Limits) -> Launch {
        let launch = self.prepared.launch(unflake_junit::Limits {
            start_timeout: limits.start_timeout,
            test_timeout: limits.test_timeout,
            run_timeout: limits.run_timeout,
            jobs: limits.jobs,
        });
        Launch {
            perturbing: self.nondex.map(NonDex::perturbing),
            trace_flags: self.tracing.map(Tracing::flags).unwrap_or_default(),
            ..launch
        }
    }

    fn is_traceable(&self) -> bool {
        self.tracing.is_some()
    }

    fn variety(&self) -> Variety {
        let is_open = self.nondex.is_some();
        let choices = if is_open { Factors::OPEN_CHOICES } else { Factors::NONE };
        Variety { choices, ..Variety::NONE }
    }

    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
        unflake_junit::ci_report(xmls, ids)
    }

    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a> {
        Box::new(MavenRunner { module: *self, around, turn: Mutex::new(()) })
    }

    fn call(&self) -> Call {
        Call {
            hash_seed: None,
            folder: self.prepared.module.folder.clone(),
            program: self.project.jdk.home.clone().into(),
            manner: format!(
                "maven, module {}, choices {}",
                self.prepared.module.name,
                self.variety().choices
            ),
            options: Vec::new(),
            paths: Vec::new(),
        }
    }
}

struct MavenRunner<'a> {
    module: JavaModule<'a>,
    around: Around<'a>,
    turn: Mutex<()>,
}

impl MavenRunner<'_> {
    fn plain(&self, took: Duration) -> Plain<'_> {
        let JavaModule { project, prepared, .. } = self.module;
        Plain { project, prepared, time_max: self.around.time_max(took, GRANTED) }
    }

    fn interrupt(&self) -> &Interrupt {
        self.around.interrupt
    }
}

impl PlainRunner for MavenRunner<'_> {
    fn run_suite(&self, took: Duration) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<&str> = self.module.prepared.ids().collect();
        let run = self.plain(took).run_suite(self.interrupt());
        outcomes(&ids, run.map_err(|error| with_causes(&error))?)
    }

    fn run(
        &self,
        tests: &[&TestId],
        took: Duration,
    ) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
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
    ) -> Result<Option<BTreeMap<TestId, OutcomeKind>>, String> {
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

fn launched(
    plain: &Plain<'_>,
    ids: &[&str],
    interrupt: &Interrupt,
) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
    let ended = plain.run_launched(ids, interrupt).map_err(|error| with_causes(&error))?;
    Ok(ended.into_iter().filter_map(|(id, kind)| Some((id.parse().ok()?, kind))).collect())
}

fn outcomes(ids: &[&str], run: PlainRun) -> Result<BTreeMap<TestId, OutcomeKind>, String> {
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
