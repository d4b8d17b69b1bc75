//! Which circumstance makes a test fail? Finds out, and tries the commands that show it.
//!
//! The analysis is `detect::shake`; here it meets a real project. A first run with all factors on
//! shows which of them this machine refuses. All runs are on record, with perturbation and seed, so
//! that `unflake replay` can repeat them; and if a plain runner can be given the same circumstances
//! through its environment or its shell, that command is tried too, and shown only if it shows the
//! failure.

use std::time::Duration;

use unflake_adapter::{Around, Given, Part, collection_warnings, with_causes};
use unflake_detect::Analysis;
use unflake_detect::shake::{Culprit, Design, Shaken, root_cause, shake as shaken_by};
use unflake_engine::{Applied, Interrupt, Limits};
use unflake_known::shaking::{Plainly, Shaking, Shook};
use unflake_known::{Confirmation, Ended, Failure, Origin, Warning};
use unflake_model::{
    Budget, Environment, Evidence, Experiment, Factor, Factors, Order, OutcomeKind, RunId, Suite,
    TestId, TestIndex,
};
use unflake_stats::rate::Rate;

use unflake_campaign::begin::{Comparison, Keep, Setting};
use unflake_campaign::deadline::Deadline;
use unflake_campaign::drive::drive;
use unflake_campaign::engine_world::{EngineWorld, Stopped, WorldError};
use unflake_campaign::error::CampaignError;
use unflake_campaign::logbook::{Logbook, Progress};
use unflake_campaign::open::{how_it_ended, now, start};
use unflake_campaign::question::Question;
use unflake_campaign::question::target;
use unflake_campaign::recall::Recall;
use unflake_campaign::record::Recorder;
use unflake_campaign::world::{Answer, FailedAttempt, Finish};

/// How often a command is tried.
const TRIES: u32 = 3;
/// What to find out, and at what price.
#[derive(Clone, Debug)]
pub struct ShakeRequest {
    /// The test to shake.
    pub test: TestId,
    /// The factors to try.
    pub factors: Factors,
    /// A factor that matters under at least this share of seeds should be found.
    pub rate_min: Rate,
    /// The seeds of runs are derived from this.
    pub seed: u64,
    /// What it may cost, and how sure the answer must be.
    pub budget: Budget,
    /// When to stop whatever is running.
    pub wall_max: Option<Duration>,
    /// Where the runs are recorded; `None` records them nowhere.
    pub keep: Option<Keep>,
    /// The command line, as it was typed.
    pub command: String,
}

/// Shakes a test.
pub fn shake(
    request: &ShakeRequest,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Shaking, CampaignError> {
    let until = Deadline::new(request.wall_max, interrupt);
    let interrupt = &until.interrupt;
    progress.stage("collecting tests");
    let begun = now();
    let pinned = project.pinned();
    let project = pinned.as_deref().unwrap_or(project);
    let engine = start(project, limits, interrupt)?;
    let suite = engine.suite(|_| Duration::ZERO);
    let question = Question::Test(request.test.clone());
    let test = target(&question, &suite)?.ok_or(CampaignError::NoTests)?;
    let mut warnings = collection_warnings(&engine);
    let collected = engine.collected().clone();
    let (start_time, test_timeout) = (begun.elapsed(), limits.test_timeout);
    let around = Around { collected: &collected, interrupt, start_time, test_timeout };
    let mut world = EngineWorld::new(engine, limits.jobs);
    let setting = Setting {
        keep: request.keep.as_ref(),
        comparison: Comparison::IfDenied,
        question: format!("shake {}; {}, seed {}", request.test, request.factors, request.seed),
        seed: request.seed,
        project,
        limits,
        collected: &collected,
        traced: None,
        target: None,
    };
    let recorder = setting.record(&suite, &limits.isolation);

    progress.stage("trying which factors there are");
    let refused = refused(&mut world, test, request).map_err(|Stopped| {
        world.take_error().map_or(CampaignError::Interrupted, CampaignError::World)
    })?;
    let out: Factors = refused.iter().map(|(factor, _)| *factor).collect();
    let factors = request.factors.without(out);
    progress.stage("shaking the test");
    let mut logbook = Logbook::new(&suite, recorder, progress);
    let quick = factors.iter().filter(|factor| factor.is_quick()).collect();
    let ShakeRequest { seed, rate_min, .. } = *request;
    let design = Design { test, factors, quick, seed, rate_min };
    let analysis =
        Analysis::new(suite.clone().into(), request.budget, |lab| shaken_by(lab, design));
    let (shaken, finish) = drive(analysis, &mut world, &mut Recall::default(), &mut logbook);
    let Logbook { standing, mut recorder, .. } = logbook;
    warnings.extend(broken_off(world.take_error(), &shaken, &mut recorder)?);
    let by_itself = if shaken.is_complete { Ended::Confident } else { Ended::OutOfBudget };
    let ended = how_it_ended(finish, by_itself, &until);

    progress.stage("trying the commands that show it");
    let bench = Bench { project, around, suite: &suite, test, recorder: &recorder };
    let is_stopped = finish == Finish::Interrupted;
    let exhibits = bench.exhibits(&shaken, (!is_stopped).then_some(&mut world));
    let origin = Origin::new(&collected.runner, request.seed, &request.command, recorder.name());
    warnings.extend(world.take_perturbed_not_run());
    let mut shaking = Shaking {
        test: suite.id(test).clone(),
        fixed: shaken.fixed,
        exhibits,
        screened: shaken.screened,
        refused,
        warnings,
        spent: standing.spent,
        wall_time: begun.elapsed(),
        ended,
        confidence: request.budget.confidence(),
        origin,
    };
    recorder.finish_shaking(test, &shaking);
    shaking.warnings.extend(recorder.take_trouble());
    Ok(shaking)
}

/// What ended it early: a warning, or an error if nothing was known by then; `None` if nothing did.
fn broken_off(
    error: Option<WorldError>,
    shaken: &Shaken,
    recorder: &mut Recorder,
) -> Result<Option<Warning>, CampaignError> {
    match error {
        Some(error) if shaken.fixed.attempts == 0 => {
            recorder.finish_run(Ended::Interrupted.slug());
            Err(error.into())
        }
        error => Ok(error.map(|error| Warning::BrokenOff { reason: with_causes(&error) })),
    }
}

fn experiment(test: TestIndex, factors: Factors, seed: u64, number: u64) -> Experiment {
    Experiment {
        environment: Environment::Perturbed { factors, seed },
        ..Experiment::new(RunId(number), Order::from_distinct([test]))
    }
}

/// Factors that cannot be perturbed here, with the reasons.
fn refused(
    world: &mut EngineWorld,
    test: TestIndex,
    request: &ShakeRequest,
) -> Result<Vec<(Factor, String)>, Stopped> {
    let answer = world.run(&experiment(test, request.factors, request.seed, 0))?;
    let refused = answer.manner.map(|manner| manner.perturbed.refused).unwrap_or_default();
    let named = |factor: Factor| refused.iter().find(|it| it.factor == factor.slug());
    let why = |factor| named(factor).map(|it| (factor, it.why.clone()));
    Ok(request.factors.iter().filter_map(why).collect())
}

/// Where commands are tried.
struct Bench<'a> {
    project: &'a dyn Part,
    around: Around<'a>,
    suite: &'a Suite,
    test: TestIndex,
    recorder: &'a Recorder,
}

/// What replaying a run showed.
#[derive(Default)]
struct Again {
    tried: Confirmation,
    applied: Vec<Applied>,
    failure: Option<Failure>,
    took: Duration,
}

impl Bench<'_> {
    fn exhibits(&self, shaken: &Shaken, mut world: Option<&mut EngineWorld>) -> Vec<Shook> {
        let mut exhibits = Vec::new();
        for culprit in &shaken.culprits {
            // A user who has pressed Ctrl-C does not want to wait for more runs.
            let again = world.as_deref_mut().and_then(|world| self.again(world, culprit).ok());
            let is_stopped = again.is_none();
            let again = again.unwrap_or_default();
            let plain = if is_stopped { None } else { self.plainly(culprit, &again) };
            exhibits.push(self.exhibit(culprit, again, plain));
        }
        exhibits
    }

    fn exhibit(&self, culprit: &Culprit, again: Again, plain: Option<Plainly>) -> Shook {
        let message = again.failure.as_ref().map_or("", |failure| failure.message.as_str());
        let run = self.recorder.number(culprit.run);
        Shook {
            factors: culprit.factors,
            how: again.applied.iter().map(|it| it.how.clone()).collect(),
            seed: culprit.seed,
            under_seed: culprit.under_seed,
            with: culprit.with,
            without: culprit.without,
            p_value: culprit.p_value,
            decides: culprit.decides(),
            makes_it_fail: culprit.makes_it_fail(),
            cause: root_cause(culprit.factors, self.project.symptom(message)),
            took: culprit.took,
            run: self.recorder.name().map(|campaign| format!("{campaign}/{}", run.0)),
            failure: again.failure,
            replayed: again.tried,
            plain,
        }
    }

    /// Replays the run, as `unflake replay` would.
    fn again(&self, world: &mut EngineWorld, culprit: &Culprit) -> Result<Again, Stopped> {
        let tried = Confirmation { tries: TRIES, ..Confirmation::default() };
        let mut again = Again { tried, ..Again::default() };
        for number in 1..=u64::from(TRIES) {
            let run = experiment(self.test, culprit.factors, culprit.seed, number);
            let Answer { observation, failures, manner } = world.run(&run)?;
            let ended = observation.last();
            again.tried.as_predicted += u32::from(ended == Some(expected(culprit)));
            again.took = again.took.max(observation.duration);
            again.applied = manner.map(|manner| manner.perturbed.applied).unwrap_or_default();
            again.failure = again.failure.or(said(failures));
        }
        if !culprit.makes_it_fail() {
            let answer = world.run(&experiment(self.test, Factors::NONE, 0, 0))?;
            again.failure = said(answer.failures);
        }
        Ok(again)
    }

    /// The same with the project's own runner, if these circumstances can be set for it and it then
    /// shows the expected outcome.
    fn plainly(&self, culprit: &Culprit, again: &Again) -> Option<Plainly> {
        let can_be_given =
            |it: &Applied| !it.env.is_empty() || it.before.is_some() || it.first.is_some();
        let is_whole = again.applied.len() == culprit.factors.len();
        if !is_whole || !again.applied.iter().all(can_be_given) {
            return None;
        }
        let applied = again.applied.iter();
        let given = Given {
            env: applied.clone().flat_map(|it| it.env.clone()).collect(),
            before: applied.clone().filter_map(|it| it.before.clone()).collect(),
            first: applied.filter_map(|it| it.first.clone()).collect(),
        };
        let runner = self.project.plain_given(self.around, &given)?;
        let id = self.suite.id(self.test);
        let command = runner.command(&[id])?;
        let mut tried = Confirmation::default();
        for _ in 0..TRIES {
            let ended = runner.run(&[id], again.took).ok()?;
            let ended = ended.get(id).copied().and_then(OutcomeKind::evidence);
            tried.tries += 1;
            tried.as_predicted += u32::from(ended == Some(expected(culprit)));
        }
        (0 < tried.as_predicted).then_some(Plainly { command, tried })
    }
}

/// What the first failure said.
fn said(failures: Vec<FailedAttempt>) -> Option<Failure> {
    failures.into_iter().next().map(|failed| failed.failure)
}

/// How the test should end under the factors.
fn expected(culprit: &Culprit) -> Evidence {
    if culprit.makes_it_fail() { Evidence::Fail } else { Evidence::Pass }
}
