//! Looking into a project: all of its tests (`detect`), or one of them (`why`).

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unflake_detect::Inquiry;
use unflake_detect::campaign::{self, campaign};
use unflake_detect::cause::causes;
use unflake_detect::explain::{Depth, explain};
use unflake_engine::{Engine, Interrupt, StartError};
use unflake_model::{
    Budget, Cause, Experiment, Finding, Observation, Order, OutcomeChange, OutcomeKind,
    Repetition, Spent, Suite, Tally, TestId, TestIndex,
};
use unflake_pytest::{Limits, Project};
use unflake_report::{Ended, Exhibit, FailedAttempt, Failure, NotCollected, Record, Warning};
use unflake_stats::rate::Rate;

use crate::baseline::baseline;
use crate::cold::{self, PlainRunner};
use crate::drive::{Finish, Source, Watcher, drive};
use crate::plain::PythonRunner;
use crate::recall::Recall;
use crate::world::{EngineWorld, Stopped, WorldError};

/// How long the plain runner may take for one run.
const PLAIN_MAX: Duration = Duration::from_hours(1);

/// What is to be found out.
#[derive(Clone, Debug)]
pub enum Question {
    /// Which tests are flaky?
    Suite,
    /// What about this one?
    Test(TestId),
}

/// What to find out, and at what price.
#[derive(Clone, Debug)]
pub struct Request {
    /// What.
    pub question: Question,
    /// How much of it.
    pub depth: Depth,
    /// At what price, and how sure.
    pub budget: Budget,
    /// Tests with at least this flake rate are to be found.
    pub flake_rate_min: Rate,
    /// The seed of all orders.
    pub seed: u64,
    /// When to stop whatever is running: the budget cannot foresee a test that hangs.
    pub wall_max: Option<Duration>,
}

/// What was found out.
#[derive(Debug)]
pub struct Study {
    /// All tests.
    pub suite: Rc<Suite>,
    /// What was found, each finding with what belongs to it.
    pub exhibits: Vec<Exhibit>,
    /// Findings that share a root cause.
    pub causes: Vec<Cause>,
    /// Tests that ended in different ways, whatever that means.
    pub changes: Vec<OutcomeChange>,
    /// Tests that failed in the last of the set-up runs.
    pub set_up_failing: Vec<TestIndex>,
    /// What each test did.
    pub records: Vec<Record>,
    /// What limits the answer.
    pub warnings: Vec<Warning>,
    /// What was spent.
    pub spent: Spent,
    /// How many whole orders were run.
    pub n_orders: u64,
    /// See [`unflake_detect::campaign::Report::flake_rate_detectable`].
    pub flake_rate_detectable: f64,
    /// Why no more was looked at.
    pub ended: Ended,
    /// Name and version of the runner.
    pub runner: String,
}

/// Why nothing could be found out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The tests could not be collected.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The engine broke down.
    #[error(transparent)]
    World(#[from] WorldError),
    /// There is nothing to look into.
    #[error("no tests were collected")]
    NoTests,
    /// The test asked about is not there.
    #[error("test `{id}` was not collected")]
    UnknownTest {
        /// The name given.
        id: TestId,
        /// Names that end like it.
        similar: Vec<TestId>,
    },
    /// The user interrupted before anything was known.
    #[error("interrupted before the first run was over")]
    Interrupted,
}

/// Who is told how it goes.
pub trait Progress {
    /// Something new begins.
    fn stage(&mut self, what: &str);

    /// A run is over: what has been spent so far, and how many tests were seen to pass and to fail.
    fn ran(&mut self, spent: Spent, n_flaky: usize);
}

/// Looks into a project.
pub fn study(
    request: &Request,
    project: &Project,
    limits: Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Study, StudyError> {
    progress.stage("collecting tests");
    let (jobs, levels) = (limits.jobs, limits.isolation.clone());
    let engine = Engine::start(project.launch(limits), interrupt)?;
    if engine.collected().tests.len() == engine.set_aside().len() {
        return Err(StudyError::NoTests);
    }
    let is_late = request.wall_max.map(|max| stop_after(max, interrupt.clone()));
    let runner_name = engine.collected().runner.clone();
    let mut warnings = collection_warnings(&engine);
    let collected = engine.collected().clone();
    let runner = PythonRunner { project, collected: &collected, interrupt, time_max: PLAIN_MAX };
    let mut world = EngineWorld::new(engine, jobs);

    progress.stage("running the tests as they are, with isolation and without");
    let baseline = match baseline(&mut world, levels, &runner) {
        Ok(baseline) => baseline,
        Err(Stopped) => {
            return Err(world.take_error().map_or(StudyError::Interrupted, StudyError::World));
        }
    };
    let suite = Rc::new(baseline.suite(&mut world));
    warnings.extend(baseline.warnings);
    let mut recall = Recall::default();
    recall.add(&baseline.experiment, baseline.observation);
    let target = match &request.question {
        Question::Suite => None,
        Question::Test(id) => Some(find(&suite, id)?),
    };

    progress.stage("looking for flaky tests");
    let mut tallies = Tallies::new(&suite, progress);
    let analysis = Analysis { request, suite: &suite, target };
    let (found, finish) = analysis.run(&mut world, &mut recall, &mut tallies);
    let Tallies { mut records, spent, .. } = tallies;
    if let Some(error) = world.take_error() {
        return Err(error.into());
    }
    keep_failures(&mut records, &world);

    let is_late = is_late.is_some_and(|late| late.load(Ordering::SeqCst));
    let ended = match finish {
        Finish::Complete => found.ended,
        Finish::Interrupted if is_late => Ended::OutOfBudget,
        Finish::Interrupted => Ended::Interrupted,
    };

    progress.stage("trying what was found with the plain runner");
    let exhibit = |finding| exhibit(&suite, finding, &records, &runner);
    Ok(Study {
        exhibits: found.findings.into_iter().map(exhibit).collect(),
        causes: found.causes,
        changes: found.changes,
        set_up_failing: found.set_up_failing,
        warnings,
        spent,
        n_orders: found.n_orders,
        flake_rate_detectable: found.flake_rate_detectable,
        ended,
        runner: runner_name,
        records,
        suite,
    })
}

/// Interrupts after this long, and says so. The thread ends with the program.
fn stop_after(wall_max: Duration, interrupt: Interrupt) -> Arc<AtomicBool> {
    let is_late = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_late);
    std::thread::spawn(move || {
        std::thread::sleep(wall_max);
        flag.store(true, Ordering::SeqCst);
        interrupt.raise();
    });
    is_late
}

fn collection_warnings(engine: &Engine) -> Vec<Warning> {
    let collected = engine.collected();
    let errors = collected.errors.iter().map(|error| NotCollected {
        place: error.place.clone(),
        reason: error.text.lines().last().unwrap_or_default().to_owned(),
    });
    let parts: Vec<NotCollected> = errors.collect();
    let not_collected = (!parts.is_empty()).then_some(Warning::NotCollected { parts });
    let cold = engine.why_cold().map(|why| Warning::ForkUnsafe { reason: why.to_owned() });
    not_collected.into_iter().chain(cold).collect()
}

fn find(suite: &Suite, id: &TestId) -> Result<TestIndex, StudyError> {
    suite.find(id).ok_or_else(|| {
        let name = id.as_str().rsplit("::").next().unwrap_or_default();
        let ids = suite.tests().map(|test| suite.id(test));
        let similar = ids.filter(|other| other.as_str().contains(name)).take(5).cloned().collect();
        StudyError::UnknownTest { id: id.clone(), similar }
    })
}

struct Analysis<'a> {
    request: &'a Request,
    suite: &'a Rc<Suite>,
    target: Option<TestIndex>,
}

impl Analysis<'_> {
    fn run(
        &self,
        world: &mut EngineWorld,
        recall: &mut Recall,
        tallies: &mut Tallies<'_>,
    ) -> (Found, Finish) {
        let Request { budget, depth, seed, flake_rate_min, .. } = *self.request;
        let suite = Rc::clone(self.suite);
        if let Some(test) = self.target {
            let inquiry = Inquiry::new(suite, budget, |lab| async move {
                // The first run is evidence too, and was made already.
                let _ = lab.run(Order::original(lab.suite())).await;
                explain(lab, test, depth).await
            });
            let (finding, finish) = drive(inquiry, world, recall, tallies);
            return (finding.into(), finish);
        }
        let settings =
            campaign::Settings { seed, tries: 3, depth, perturbed_runs: 0, flake_rate_min };
        let inquiry = Inquiry::new(suite, budget, |lab| campaign(lab, settings));
        let (report, finish) = drive(inquiry, world, recall, tallies);
        (report.into(), finish)
    }
}

/// What an analysis says, whichever it was.
struct Found {
    findings: Vec<Finding>,
    causes: Vec<Cause>,
    changes: Vec<OutcomeChange>,
    set_up_failing: Vec<TestIndex>,
    n_orders: u64,
    flake_rate_detectable: f64,
    ended: Ended,
}

impl From<campaign::Report> for Found {
    fn from(report: campaign::Report) -> Self {
        Self {
            findings: report.findings,
            causes: report.causes,
            changes: report.changes,
            set_up_failing: report.set_up.failing,
            n_orders: report.n_orders,
            flake_rate_detectable: report.flake_rate_detectable,
            ended: match report.ended {
                campaign::Ended::Confident => Ended::Confident,
                campaign::Ended::OutOfBudget => Ended::OutOfBudget,
            },
        }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self {
            causes: causes(std::slice::from_ref(&finding)),
            findings: vec![finding],
            changes: Vec::new(),
            set_up_failing: Vec::new(),
            n_orders: 0,
            flake_rate_detectable: 1.0,
            ended: Ended::Confident,
        }
    }
}

/// Counts what each test did, and passes progress on.
struct Tallies<'p> {
    records: Vec<Record>,
    spent: Spent,
    n_flaky: usize,
    progress: &'p mut dyn Progress,
}

impl<'p> Tallies<'p> {
    fn new(suite: &Suite, progress: &'p mut dyn Progress) -> Self {
        let nothing = Record { tally: Tally::default(), skipped: 0, failures: Vec::new() };
        let records = vec![nothing; suite.n_tests()];
        Self { records, spent: Spent::default(), n_flaky: 0, progress }
    }
}

impl Watcher for Tallies<'_> {
    fn ran(&mut self, experiment: &Experiment, observation: &Observation, source: Source) {
        let is_run = |kind: OutcomeKind| kind != OutcomeKind::NotRun;
        let attempts = observation.attempts.iter();
        let is_plain = experiment.repetition == Repetition::Once;
        for attempt in observation.attempts.iter().filter(|_| is_plain) {
            let record = &mut self.records[attempt.test.get()];
            let was_flaky = record.tally.is_mixed();
            match attempt.outcome.evidence() {
                Some(evidence) => record.tally.add(evidence),
                None => record.skipped += u64::from(is_run(attempt.outcome.kind())),
            }
            self.n_flaky += usize::from(!was_flaky && record.tally.is_mixed());
        }
        if source == Source::Run {
            self.spent = self.spent.plus(Spent {
                runs: 1,
                attempts: attempts.filter(|a| is_run(a.outcome.kind())).count() as u64,
                time: observation.duration,
            });
        }
        self.progress.ran(self.spent, self.n_flaky);
    }
}

fn keep_failures(records: &mut [Record], world: &EngineWorld) {
    for (test, failures) in world.failures() {
        records[test.get()].failures = failures
            .iter()
            .map(|attempt| FailedAttempt {
                run: attempt.run,
                outcome: attempt.outcome.kind(),
                failure: Failure {
                    message: attempt.failure.message.clone(),
                    text: attempt.failure.text.clone(),
                },
            })
            .collect();
    }
}

fn exhibit(
    suite: &Suite,
    finding: Finding,
    records: &[Record],
    runner: &dyn PlainRunner,
) -> Exhibit {
    let failures = &records[finding.test.get()].failures;
    Exhibit {
        reproduce: cold::commands(suite, &finding, runner),
        // A plain runner that cannot be run confirms nothing.
        cold_confirmed: cold::confirm(suite, &finding, runner).ok().flatten(),
        failure: failures.first().map(|attempt| attempt.failure.clone()),
        state: Vec::new(),
        finding,
    }
}
