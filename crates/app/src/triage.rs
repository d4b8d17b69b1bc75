//! Which failures of a red build are flaky, and of what kind?
//!
//! The analysis is `detect::triage`; here it meets a report of the build and a real project.
//!
//! Limits: the order of the report is that of one process; reports of runs in several processes
//! mix several orders. Nothing is recorded in the history.

use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Part, collection_warnings};
use unflake_detect::Analysis;
use unflake_detect::triage::{Conditions, Failed, Judged, triage as judge};
use unflake_engine::{Interrupt, Limits};
use unflake_known::junit_xml::NoReport;
use unflake_known::triage::{Triage, Triaged};
use unflake_model::{Budget, Confidence, Environment, Experiment, HashSeeds, Suite, TestIndex};

use unflake_campaign::deadline::Deadline;
use unflake_campaign::drive::drive;
use unflake_campaign::engine_world::EngineWorld;
use unflake_campaign::error::CampaignError;
use unflake_campaign::logbook::Progress;
use unflake_campaign::open::start;
use unflake_campaign::recall::Recall;
use unflake_campaign::world::{Answer, Source, Watcher};

/// What to triage, and how thoroughly.
#[derive(Clone, Debug)]
pub struct TriageRequest {
    /// The reports, as JUnit XML: one file, or several that belong together.
    pub reports: Vec<String>,
    /// How many runs to make in each condition.
    pub tries: u64,
    /// How many other seeds to try.
    pub n_seeds: u64,
    /// How many failed tests to investigate at most.
    pub tests_max: usize,
    /// When to stop whatever is running.
    pub wall_max: Option<Duration>,
}

/// Why the failures could not be triaged.
#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    /// The report cannot be read.
    #[error("it is no JUnit XML")]
    Report(#[from] NoReport),
    /// The tests could not be run.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
}

/// Reruns the failed tests of a report, and gives each a verdict.
pub fn triage(
    request: &TriageRequest,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Triage, TriageError> {
    let until = Deadline::new(request.wall_max, &interrupt.lasting());
    progress.stage("collecting tests");
    let engine = start(project, limits, &until.interrupt)?;
    let warnings = collection_warnings(&engine);
    let suite = Rc::new(engine.suite(|_| Duration::ZERO));
    let ids: Vec<&str> = suite.tests().map(|test| suite.id(test).as_str()).collect();
    let report = project.ci_report(&request.reports, &ids)?;
    let order: Vec<TestIndex> = report.order.iter().map(|place| TestIndex::new(*place)).collect();
    let looked_into = report.failed.iter().take(request.tests_max);
    let failed = looked_into.map(|(place, _)| {
        let test = TestIndex::new(*place);
        let n_before = order.iter().position(|it| *it == test).unwrap_or(0);
        Failed { test, before: order[..n_before].to_vec() }
    });
    let failed: Vec<Failed> = failed.collect();
    let abilities = project.abilities();
    // Also where the user has set it: what fails under that seed alone is no regression.
    let can_be_hashed = abilities.hash_seed_variable.is_some();
    let hash_seeds = if can_be_hashed { HashSeeds::Varied } else { HashSeeds::Fixed };
    let conditions = Conditions {
        tries: request.tries,
        n_seeds: request.n_seeds,
        hash_seeds,
        choices: abilities.choices,
    };
    let budget = Budget::unlimited(Confidence::USUAL);
    let asked = failed.clone();
    let analysis = Analysis::new(Rc::clone(&suite), budget, |lab| judge(lab, asked, conditions));
    // One run at a time: a build machine has other things to do.
    let mut world = EngineWorld::new(engine, 1);
    let mut telling = Telling { suite: &suite, told: String::new(), progress };
    let (judged, _) = drive(analysis, &mut world, &mut Recall::default(), &mut telling);
    let not_looked_into = report.failed[judged.len()..].iter();
    let messages = report.failed.iter().map(|(_, message)| message.clone());
    let tests = failed.into_iter().zip(judged).zip(messages);
    let tests = tests.map(|((Failed { test, before }, judged), message)| {
        let Judged { seen, verdict, sure } = judged;
        let (test, n_before) = (suite.id(test).clone(), before.len());
        Triaged { test, message, n_before, seen, verdict, sure }
    });
    Ok(Triage {
        tests: tests.collect(),
        not_looked_into: not_looked_into
            .map(|(place, _)| suite.id(TestIndex::new(*place)).clone())
            .collect(),
        n_reported: order.len(),
        unknown: report.unknown,
        warnings,
    })
}

/// Reports which test is rerun.
struct Telling<'a> {
    suite: &'a Suite,
    told: String,
    progress: &'a mut dyn Progress,
}

impl Watcher for Telling<'_> {
    fn asked(&mut self, experiment: &Experiment) {
        let stage = match experiment.order.tests().last() {
            Some(test) if experiment.environment == Environment::Plain => {
                format!("running {} again", self.suite.id(*test))
            }
            _ => "running tests again under other open choices".to_owned(),
        };
        if stage != self.told {
            self.progress.stage(&stage);
            self.told = stage;
        }
    }

    fn ran(&mut self, _: &Experiment, _: &Answer, _: Source) {}
}
