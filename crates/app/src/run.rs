//! Runs the suite once, as continuous integration does, and adds what the history knows about the
//! tests that fail.
//!
//! There is no analysis and no verdict: one order, each test once, on record like any other run. If
//! a crash or a timeout ends the process, the tests after it run in another one.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Part, collection_warnings};
use unflake_detect::Analysis;
use unflake_detect::whole_order::{Reach, run_whole};
use unflake_engine::{Interrupt, Limits};
use unflake_known::suite_run::{Failing, Sequence, SuiteRun};
use unflake_known::{Failure, Origin, Warning};
use unflake_model::random::Random;
use unflake_model::{
    Budget, Confidence, Experiment, Look, Order, OutcomeKind, Suite, TestId, TestIndex,
};

use unflake_campaign::begin::{Comparison, Keep, Ready, Setting};
use unflake_campaign::drive::drive;
use unflake_campaign::engine_world::EngineWorld;
use unflake_campaign::error::CampaignError;
use unflake_campaign::history::History;
use unflake_campaign::logbook::{Logbook, Progress};
use unflake_campaign::open::{now, start};
use unflake_campaign::recall::Recall;
use unflake_campaign::world::{Answer, Source, Watcher};

/// How many campaigns to search for what is known about a test.
const CAMPAIGNS_MAX: usize = 50;
/// How many failing tests to look up; if a suite is in ruins, the others are only listed.
const LOOKED_UP_MAX: usize = 100;

/// What to run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The order to run the tests in.
    pub sequence: Sequence,
    /// The seed of a random order.
    pub seed: u64,
    /// Where the run is recorded; `None` records it nowhere.
    pub keep: Option<Keep>,
    /// The command line, as it was typed.
    pub command: String,
}

fn order(sequence: Sequence, suite: &Suite, seed: u64) -> Order {
    let original = Order::original(suite);
    let order = match sequence {
        Sequence::Original => original,
        Sequence::Reverse => original.reversed(),
        Sequence::Random => {
            let mut random = Random::new(seed);
            let mut classes = suite.classes().to_vec();
            random.shuffle(&mut classes);
            for class in &mut classes {
                random.shuffle(class);
            }
            Order::from_distinct(classes.concat())
        }
    };
    suite.as_run(order)
}

/// Runs the suite once.
pub fn single(
    request: &RunRequest,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<SuiteRun, CampaignError> {
    progress.stage("collecting tests");
    let begun = now();
    let engine = start(project, limits, interrupt)?;
    let mut warnings = collection_warnings(&engine);
    let collected = engine.collected().clone();
    let suite = Rc::new(engine.suite(|_| Duration::ZERO));
    let question = format!("run; order {}, seed {}", request.sequence.as_str(), request.seed);
    let keep = request.keep.as_ref();
    let setting = Setting {
        keep,
        comparison: Comparison::First,
        question,
        seed: request.seed,
        project,
        limits,
        collected: &collected,
        traced: None,
        target: None,
    };
    let recorder = setting.record(&suite, &limits.isolation);

    progress.stage("running the tests");
    let mut world = EngineWorld::new(engine, 1);
    let mut logbook = Logbook::new(&suite, recorder, progress);
    let order = order(request.sequence, &suite, request.seed);
    let ran = run_all(order.clone(), &suite, &mut world, &mut logbook);
    let Logbook { records, mut recorder, .. } = logbook;
    let error = world.take_error();
    if ran.ended.is_empty() {
        return Err(error.map_or(CampaignError::Interrupted, CampaignError::World));
    }
    warnings.extend(
        error.map(|error| Warning::BrokenOff { reason: unflake_adapter::with_causes(&error) }),
    );
    let origin = Origin::new(&collected.runner, request.seed, &request.command, recorder.name());
    let origin = Origin { between: project.between(), ..origin };
    recorder.finish_run(if ran.is_whole { "complete" } else { "interrupted" });
    warnings.extend(recorder.take_trouble());
    let mut failing = ran.failing(&suite);
    // A failed lookup leaves tests unknown; the run itself is not affected.
    let _ = look_up(&mut failing, &setting, &order, &suite, origin.campaign.as_deref());
    Ok(SuiteRun {
        sequence: request.sequence,
        suite: world.engine().suite(|id| {
            suite.find(id).and_then(|test| ran.durations.get(&test)).copied().unwrap_or_default()
        }),
        records,
        failing,
        n_not_run: suite.n_tests() - ran.ended.len(),
        warnings,
        wall_time: begun.elapsed(),
        origin,
    })
}

/// How the tests ended so far.
#[derive(Default)]
struct Ran {
    ended: BTreeMap<TestIndex, OutcomeKind>,
    durations: BTreeMap<TestIndex, Duration>,
    failures: Vec<(TestIndex, Failure)>,
    is_whole: bool,
}

impl Ran {
    fn add(&mut self, answer: &Answer) {
        let attempts = answer.observation.attempts.iter();
        for attempt in attempts.filter(|it| it.outcome.kind() != OutcomeKind::NotRun) {
            self.ended.insert(attempt.test, attempt.outcome.kind());
            self.durations.insert(attempt.test, attempt.duration);
        }
        let failures = answer.failures.iter();
        self.failures.extend(failures.map(|failed| (failed.test, failed.failure.clone())));
    }

    fn failing(&self, suite: &Suite) -> Vec<Failing> {
        let failed = self.failures.iter().filter_map(|(test, failure)| {
            let outcome = *self.ended.get(test)?;
            let failure = failure.clone();
            Some(Failing { test: suite.id(*test).clone(), outcome, failure, known: None })
        });
        failed.collect()
    }
}

/// Runs an order, and runs what a crash cut off in further processes.
fn run_all(
    order: Order,
    suite: &Rc<Suite>,
    world: &mut EngineWorld,
    logbook: &mut Logbook<'_>,
) -> Ran {
    let budget = Budget::unlimited(Confidence::USUAL);
    let analysis =
        Analysis::new(Rc::clone(suite), budget, |lab| run_whole(lab, order, Look::NOTHING));
    let mut noting = Noting { logbook, ran: Ran::default() };
    let (reach, _) = drive(analysis, world, &mut Recall::default(), &mut noting);
    Ran { is_whole: reach == Reach::Whole, ..noting.ran }
}

/// Writes to the logbook, and records how each test ended.
struct Noting<'l, 'p> {
    logbook: &'l mut Logbook<'p>,
    ran: Ran,
}

impl Watcher for Noting<'_, '_> {
    fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source) {
        self.logbook.ran(experiment, answer, source);
        self.ran.add(answer);
    }

    fn cut_off(&mut self, experiment: &Experiment, answer: &Answer) {
        self.ran(experiment, answer, Source::Run);
    }
}

/// Adds what the history knows about each failing test.
fn look_up(
    failing: &mut [Failing],
    setting: &Setting<'_>,
    order: &Order,
    suite: &Suite,
    this: Option<&str>,
) -> Result<(), unflake_campaign::history::HistoryError> {
    let Some(keep) = setting.keep else { return Ok(()) };
    let history = History::open(&keep.file)?;
    let n_looked_up = failing.len().min(LOOKED_UP_MAX);
    let tests: Vec<TestId> = failing[..n_looked_up].iter().map(|it| it.test.clone()).collect();
    let known = history.known(&tests, CAMPAIGNS_MAX, this)?;
    let shaken = history.shaken(Some(&keep.root.to_string_lossy()))?;
    let is_shaken = tests.iter().any(|test| shaken.contains_key(test));
    let ready = is_shaken.then(|| keep.ready(&setting.project.code_files()));
    let code = ready.as_ref().map(Ready::code);
    for (failing, mut known) in failing.iter_mut().zip(known) {
        let place = |id: &TestId| suite.find(id).and_then(|test| order.position(test));
        let own = place(&failing.test);
        let ran_before = |group: &Vec<TestId>| {
            group.iter().all(|id| place(id).is_some_and(|there| Some(there) < own))
        };
        known.polluters.retain(ran_before);
        known.factors = shaken.get(&failing.test).map(|it| it.factors(code)).unwrap_or_default();
        let is_new = known.tally.attempts == 0 && known.verdict.is_none();
        let is_new = is_new && known.factors.is_empty();
        failing.known = (!is_new).then_some(known);
    }
    Ok(())
}
