//! How often does each test fail, in the suite and alone, in which orders, and together with which?
//!
//! It is a campaign, on record and resumable like any other: batches of runs of the whole suite,
//! then the flaky tests alone ([`unflake_detect::rerun_study`]). Nothing is decided on the way; the
//! tables are made from all runs at the end, even if it was cut short.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Around, Part, collection_warnings, with_causes};
use unflake_detect::Analysis;
use unflake_detect::rerun_study::{Batches, Extent, rerun_study};
use unflake_engine::{Interrupt, Limits};
use unflake_known::{Ended, RerunStudy, Warning};
use unflake_model::{Budget, Experiment, Order, Suite, TestIndex};
use unflake_stats::compare::Question;
use unflake_stats::rerun_study::{Attempted, OrderRun, Runs, tables};

use unflake_campaign::begin::{Beginning, Comparison, Keep, Setting};
use unflake_campaign::deadline::Deadline;
use unflake_campaign::drive::drive;
use unflake_campaign::engine_world::{EngineWorld, Stopped};
use unflake_campaign::error::CampaignError;
use unflake_campaign::logbook::{Logbook, Progress};
use unflake_campaign::open::{how_it_ended, now, start};
use unflake_campaign::world::{Answer, Finish, Source, Watcher};

/// Failure rates no further apart than this are the same to a developer.
const MARGIN: f64 = 0.1;

/// What to run.
#[derive(Clone, Debug)]
pub struct RerunRequest {
    /// How many runs to make.
    pub settings: Batches,
    /// What it may cost, and how sure the intervals must be.
    pub budget: Budget,
    /// When to stop whatever is running.
    pub wall_max: Option<Duration>,
    /// Where the campaign is kept; `None` keeps it nowhere.
    pub keep: Option<Keep>,
}

/// Studies a project by running it many times.
pub fn study_reruns(
    request: &RerunRequest,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<RerunStudy, CampaignError> {
    let until = Deadline::new(request.wall_max, interrupt);
    let interrupt = &until.interrupt;
    progress.stage("collecting tests");
    let begun = now();
    let engine = start(project, limits, interrupt)?;
    let mut warnings = collection_warnings(&engine);
    let collected = engine.collected().clone();
    let (start_time, test_timeout) = (begun.elapsed(), limits.test_timeout);
    let around = Around { collected: &collected, interrupt, start_time, test_timeout };
    let runner = project.plain(around);
    let mut world = EngineWorld::new(engine, limits.jobs);
    progress.stage("running the tests as they are, with isolation and without");
    let setting = Setting {
        keep: request.keep.as_ref(),
        comparison: Comparison::First,
        question: request.in_full(),
        seed: request.settings.seed,
        project,
        limits,
        collected: &collected,
        traced: None,
        target: None,
    };
    let beginning = setting.begin(&mut world, &*runner, None);
    let beginning = beginning.map_err(|Stopped| {
        world.take_error().map_or(CampaignError::Interrupted, CampaignError::World)
    })?;
    warnings.extend(beginning.warnings);
    let Beginning { suite, mut recall, recorder, first, n_recalled, .. } = beginning;
    if let Some(name) = recorder.name().filter(|_| 0 < n_recalled) {
        progress.note(&format!("resuming campaign {name}: {n_recalled} runs recalled"));
    }
    let budget = request.budget.raised_by(recall.cost());

    progress.stage("running the suite again and again, then its flaky tests alone");
    let mut logbook = Logbook::new(&suite, recorder, progress);
    if let Some((experiment, answer)) = first {
        recall.add(logbook.made(&experiment, &answer), &experiment, answer);
    }
    let mut gathered = Gathered { logbook, orders: orders(request, &suite), runs: Vec::new() };
    let settings = request.settings;
    let analysis = Analysis::new(Rc::clone(&suite), budget, |lab| rerun_study(lab, settings));
    let (extent, finish) = drive(analysis, &mut world, &mut recall, &mut gathered);
    let error = world.take_error();
    warnings.extend(error.map(|error| Warning::BrokenOff { reason: with_causes(&error) }));

    let is_whole = extent == Extent::Whole && finish == Finish::Complete;
    let campaign = gathered.logbook.recorder.name();
    let order_runs = campaign.as_ref().map(|name| gathered.order_runs(name)).unwrap_or_default();
    let by_itself = if is_whole { Ended::Confident } else { Ended::OutOfBudget };
    let ended = how_it_ended(finish, by_itself, &until);
    gathered.logbook.recorder.finish_run(ended.slug());
    warnings.extend(gathered.logbook.recorder.take_trouble());
    let confidence = request.budget.confidence();
    let question = Question { confidence, margin: MARGIN, seed: settings.seed };
    Ok(RerunStudy {
        tables: tables(&gathered.into_runs(suite.n_tests()), question),
        suite,
        is_whole,
        is_interrupted: ended == Ended::Interrupted,
        n_recalled,
        campaign,
        order_runs,
        confidence,
        warnings,
    })
}

impl RerunRequest {
    /// The question with everything that changes the answer.
    fn in_full(&self) -> String {
        let Batches { seed, n_batches, runs_per_batch, alone_max } = self.settings;
        format!(
            "study; {n_batches} batches of {runs_per_batch} runs, alone {alone_max}, seed {seed}"
        )
    }
}

/// The distinct orders of a study. Small suites have few, so that batches share them.
fn orders(request: &RerunRequest, suite: &Suite) -> BTreeMap<Vec<TestIndex>, usize> {
    let mut orders = BTreeMap::new();
    for batch in 0..request.settings.n_batches {
        let n_orders = orders.len();
        let order: Order = request.settings.order(suite, batch);
        orders.entry(order.tests().to_vec()).or_insert(n_orders);
    }
    orders
}

/// Collects all runs.
struct Gathered<'p> {
    logbook: Logbook<'p>,
    orders: BTreeMap<Vec<TestIndex>, usize>,
    runs: Vec<(Experiment, Vec<Attempted>)>,
}

impl Watcher for Gathered<'_> {
    fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source) {
        self.logbook.ran(experiment, answer, source);
        let attempts = answer.observation.attempts.iter().filter_map(|attempt| {
            let (test, duration) = (attempt.test, attempt.duration);
            attempt.outcome.evidence().map(|evidence| Attempted { test, evidence, duration })
        });
        self.runs.push((experiment.clone(), attempts.collect()));
    }
}

impl Gathered<'_> {
    /// For each order, the first run that had it; stops at the first order that was not run.
    fn order_runs(&self, campaign: &str) -> Vec<String> {
        let mut first: BTreeMap<usize, u64> = BTreeMap::new();
        for (experiment, _) in &self.runs {
            if let Some(order) = self.orders.get(experiment.order.tests()) {
                let number = self.logbook.recorder.number(experiment.run).0;
                let known = first.entry(*order).or_insert(number);
                *known = number.min(*known);
            }
        }
        (0..).map_while(|order| Some(format!("{campaign}/{}", first.get(&order)?))).collect()
    }

    /// The runs, in the order in which they were asked for.
    fn into_runs(mut self, n_tests: usize) -> Runs {
        self.runs.sort_by_key(|(experiment, _)| experiment.run);
        let mut runs = Runs::default();
        for (experiment, attempts) in self.runs {
            let tests = experiment.order.tests();
            match self.orders.get(tests) {
                Some(order) if tests.len() == n_tests => {
                    runs.suite.push(OrderRun { order: *order, attempts });
                }
                _ => runs.alone.extend(attempts),
            }
        }
        runs
    }
}
