//! Looking into a project: all of its tests (`detect`), or one of them (`why`).

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Around, Calls, Part, PlainRunner, collection_warnings, with_causes};
use unflake_calls::Set;
use unflake_detect::confirm::plain::TRIES;
use unflake_detect::reruns::schedule::Exposure;
use unflake_detect::why::Known;
use unflake_engine::{Collected, Engine, Interrupt, Limits};
use unflake_known::{Ended, Exhibit, Findings, Origin, PlainAnswer, Warning};
use unflake_model::{Confidence, RootCause, Spent, Suite, TestIndex, Verdict};

use crate::baseline::refusals;
use crate::begin::{Beginning, Comparison, Keep, Ready, Setting, Unfinished};
use crate::deadline::Deadline;
use crate::dirt;
use crate::engine_world::{EngineWorld, Stopped};
use crate::error::CampaignError;
use crate::exhibits::{Bench, Files, not_asked, replay_if_denied};
use crate::history::History;
use crate::investigation::{Found, Investigation};
use crate::logbook::{Logbook, Progress};
use crate::open::{how_it_ended, now, start_and};
use crate::project_world::{Plain, ProjectWorld};
use crate::question::target;
use crate::question::{Question, Request};
use crate::recall::Recall;
use crate::record::Recorder;
use crate::trace::{Traced, trace_in};

/// Investigates a project. For one test, only the findings are compared with the plain runner at
/// first, and all tests only if the plain runner denies them: most questions are answered in less
/// time than it takes to run all tests.
pub fn find(
    request: &Request,
    project: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Findings, CampaignError> {
    let until = Deadline::new(request.wall_max, interrupt);
    answer(request, project, limits, &until, progress).map(|answered| answered.findings)
}

/// What was found, and what it was found with.
pub struct Answered {
    /// The findings of the campaign.
    pub findings: Findings,
    /// The tests that were collected.
    pub collected: Collected,
    /// How long it took to start and to collect.
    pub start_time: Duration,
    /// Whether the plain runner denies what was found, while all tests have not been compared yet.
    is_denied: bool,
}

/// As [`find`], but also returns what the findings were made with.
pub fn answer(
    request: &Request,
    project: &dyn Part,
    limits: &Limits,
    until: &Deadline,
    progress: &mut dyn Progress,
) -> Result<Answered, CampaignError> {
    let place = Place { part: project, limits, until };
    if let Question::Rounds(..) = request.question {
        // Only rounds are counted, so nothing else is run.
        return answer_in(&place, request, Comparison::IfDenied, progress);
    }
    if matches!(request.question, Question::Suite) {
        return answer_in(&place, request, Comparison::First, progress);
    }
    let first = answer_in(&place, request, Comparison::IfDenied, progress)?;
    if !first.is_denied {
        return Ok(first);
    }
    progress.note("the plain runner does not show it: comparing isolated runs with plain ones");
    let mut request = request.clone();
    if let Some(keep) = request.keep.as_mut() {
        // The earlier runs were made under an isolation that is in doubt.
        keep.unfinished = Unfinished::Leave;
    }
    let second = answer_in(&place, &request, Comparison::First, progress)?;
    // An answer that is in doubt is better than one that was cut off.
    Ok(if second.findings.ended == Ended::Confident { second } else { first })
}

/// Where and within which limits to look.
struct Place<'a> {
    part: &'a dyn Part,
    limits: &'a Limits,
    until: &'a Deadline,
}

impl Place<'_> {
    /// Whether the calls of tests matter to the question and can be seen.
    fn is_traced(&self, request: &Request) -> bool {
        let matters = matches!(request.question, Question::Reruns(_));
        matters && self.part.abilities().calls != Calls::Unseen
    }

    /// Tests that leave something behind, if looking for them is worthwhile.
    fn dirty(
        &self,
        request: &Request,
        suite: &Rc<Suite>,
        world: &mut EngineWorld,
        progress: &mut dyn Progress,
    ) -> Vec<TestIndex> {
        if !request.is_worth_watching(suite) || !self.part.abilities().lints {
            return Vec::new();
        }
        dirt::who_leaves_something(suite, world, &self.until.interrupt, progress)
    }
}

fn answer_in(
    place: &Place<'_>,
    request: &Request,
    comparison: Comparison,
    progress: &mut dyn Progress,
) -> Result<Answered, CampaignError> {
    let &Place { part, limits, until } = place;
    progress.stage("collecting tests");
    let (begun, interrupt) = (now(), &until.interrupt);
    let mut ready = None;
    let engine = start_and(part, limits, interrupt, || {
        part.expect_plain_runs(TRIES);
        ready = request.keep.as_ref().map(|keep| keep.ready(&part.code_files()));
    })?;
    let code = ready.as_ref().map(|ready: &Ready| ready.code().to_owned());
    let target = target(&request.question, &engine.suite(|_| Duration::ZERO))?;
    let mut warnings = collection_warnings(&engine);
    warnings.extend(not_repeated(&engine));
    let collected = engine.collected().clone();
    let (start_time, test_timeout) = (begun.elapsed(), limits.test_timeout);
    let around = Around { collected: &collected, interrupt, start_time, test_timeout };
    let runner = &*part.plain(around);
    let mut world = EngineWorld::new(engine, limits.jobs);

    let is_traced = place.is_traced(request);
    let traced = is_traced.then(|| trace_in(&mut world, progress)).transpose()?;
    let (keep, seed, question) = (request.keep.as_ref(), request.seed, request.in_full());
    let (project, collected, traced) = (part, &collected, traced.as_ref());
    let setting =
        Setting { keep, comparison, question, seed, project, limits, collected, traced, target };
    let beginning = begin(&setting, &mut world, (runner, ready), progress)?;
    warnings.extend(beginning.warnings);
    let Beginning { suite, mut recall, recorder, first, n_recalled, lent, .. } = beginning;
    let known = Known { leads: beginning.leads, flaked_in: beginning.flaked_in };
    let dirty = place.dirty(request, &suite, &mut world, progress);
    // What an earlier run of the campaign paid for is not paid for again.
    let budget = request.budget.raised_by(recall.cost());

    progress.stage("looking for flaky tests");
    let mut logbook = Logbook::new(&suite, recorder, progress);
    logbook.tells = target.is_none().then(|| Rc::clone(&suite));
    if let Some((experiment, answer)) = first {
        recall.add(logbook.made(&experiment, &answer), &experiment, answer);
    }
    let analysis = Investigation {
        request,
        budget,
        comparison,
        suite: &suite,
        target,
        abilities: part.abilities(),
        dirty,
        exposed: traced.map(exposed).unwrap_or_default(),
        known,
    };
    let origin = Origin::new(&collected.runner, seed, &request.command, logbook.recorder.name());
    let (hash_seed, between) = (part.call().hash_seed, part.between());
    let origin = Origin { hash_seed, lent, between, ..origin };
    let investigator = Investigator { analysis, part, runner, until, collected, origin: &origin };
    let investigated = investigator.investigate(&mut world, &mut recall, &mut logbook);
    let Investigated { found, mut exhibits, is_denied, warnings: in_the_way } = investigated;
    remember_factors(&mut exhibits, &suite, request.keep.as_ref(), code.as_deref());
    warnings.extend(in_the_way);
    let Logbook { records, standing, mut recorder, isolation, .. } = logbook;
    let is_quick = comparison == Comparison::IfDenied;
    let refused = isolation.filter(|_| is_quick).map(|it| refusals(&it)).unwrap_or_default();
    warnings.extend(refused.into_iter().chain(recorder.take_trouble()));
    let mut findings = Findings {
        warnings,
        spent: standing.spent,
        n_recalled: n_recalled + recall.n_lent_taken(),
        wall_time: begun.elapsed(),
        confidence: request.budget.confidence(),
        records,
        ..concluded(found, exhibits, suite, origin)
    };
    recorder.finish(&findings);
    findings.warnings.extend(recorder.take_trouble());
    Ok(Answered { findings, collected: collected.clone(), start_time, is_denied })
}

/// The findings, without what they cost.
fn concluded(found: Found, exhibits: Vec<Exhibit>, suite: Rc<Suite>, origin: Origin) -> Findings {
    Findings {
        exhibits,
        causes: found.causes,
        changes: found.changes,
        set_up_failing: found.set_up_failing,
        warnings: Vec::new(),
        spent: Spent::default(),
        n_recalled: 0,
        wall_time: Duration::ZERO,
        n_orders: found.n_orders,
        flake_rate_detectable: found.flake_rate_detectable,
        n_seeds: found.n_seeds,
        confidence: Confidence::USUAL,
        ended: found.ended,
        origin,
        records: Vec::new(),
        suite,
    }
}

/// Adds to each finding what an earlier `shake` knows about its test. Where chance seems to decide,
/// a command that shows the failure every time is worth more than one that may not. A history that
/// cannot be read adds nothing.
fn remember_factors(
    exhibits: &mut [Exhibit],
    suite: &Suite,
    keep: Option<&Keep>,
    code: Option<&str>,
) {
    let shaken = keep.and_then(|keep| {
        let history = History::open(&keep.file).ok()?;
        history.shaken(Some(&keep.root.to_string_lossy())).ok()
    });
    let Some(shaken) = shaken else { return };
    for exhibit in exhibits {
        let Some(shaken) = shaken.get(suite.id(exhibit.finding.test)) else { continue };
        exhibit.factors = shaken.factors(code);
        let verdict = exhibit.finding.verdict;
        if verdict.is_non_deterministic() || matches!(verdict, Verdict::NotFlaky | Verdict::Ud) {
            let failing = exhibit.factors.iter().filter(|known| known.makes_it_fail);
            let surely: Vec<String> = failing.filter_map(|known| known.command.clone()).collect();
            exhibit.reproduce.splice(0..0, surely);
        }
    }
}

/// An analysis, and what its findings are put to the test with.
struct Investigator<'a> {
    analysis: Investigation<'a>,
    part: &'a dyn Part,
    runner: &'a dyn PlainRunner,
    until: &'a Deadline,
    collected: &'a Collected,
    origin: &'a Origin,
}

/// The findings, and how they fared when they were put to the test.
struct Investigated {
    found: Found,
    exhibits: Vec<Exhibit>,
    /// Whether the plain runner denies some of them.
    is_denied: bool,
    /// What got in the way.
    warnings: Vec<Warning>,
}

impl Investigator<'_> {
    fn investigate(
        self,
        world: &mut EngineWorld,
        recall: &mut Recall,
        logbook: &mut Logbook<'_>,
    ) -> Investigated {
        let Self { analysis, part, runner, until, collected, origin } = self;
        let (suite, is_one) = (analysis.suite, analysis.target.is_some());
        let interrupt = &until.interrupt;
        let files = Files::new(suite, collected);
        let (found, early, finish) = std::thread::scope(|scope| {
            let plain = Plain { runner, suite, files: &files.of_tests };
            let mut world = ProjectWorld::new(world, plain, scope, interrupt);
            analysis.run(&mut world, recall, logbook)
        });
        let error = world.take_error();
        let is_broken = error.is_some();
        let broken = error.map(|error| Warning::BrokenOff { reason: with_causes(&error) });
        let perturbed = world.take_perturbed_not_run();
        let ended = how_it_ended(finish, found.ended, until);
        let mut found = Found { ended, ..on_record(found, &logbook.recorder) };
        for finding in &mut found.findings {
            finding.failed_in = finding.failed_in.or(logbook.failed_again(finding));
        }
        logbook.stage("trying what was found with the plain runner, and naming what is behind it");
        let is_in_doubt = analysis.comparison == Comparison::IfDenied;
        let bench =
            Bench { suite, files: &files, runner, part, interrupt, ended, is_in_doubt, is_broken };
        let tested = bench.test(&found.findings, early, world);
        let is_denied = tested.iter().any(|it| it.is_denied);
        let (seen, records) = (logbook.seen(suite), &logbook.records);
        let exhibit = |tested| bench.exhibit(tested, records, &seen);
        let mut exhibits: Vec<Exhibit> = tested.into_iter().map(exhibit).collect();
        for exhibit in &mut exhibits {
            replay_if_denied(exhibit, origin);
        }
        let not_tried = not_asked(suite, &exhibits);
        let (exhibits, not_shown) = without_not_shown(exhibits, suite, is_one);
        let in_the_way = broken.into_iter().chain(perturbed).chain(not_tried).chain(not_shown);
        Investigated { found, exhibits, is_denied, warnings: in_the_way.collect() }
    }
}

/// Running a test twice in one process is our own doing: if the plain runner does not show the
/// failure, it is not flakiness. A test that was asked about by name keeps its finding all the
/// same.
fn without_not_shown(
    exhibits: Vec<Exhibit>,
    suite: &Suite,
    is_one: bool,
) -> (Vec<Exhibit>, Option<Warning>) {
    let is_shown = |exhibit: &Exhibit| {
        exhibit.finding.verdict != Verdict::Nio
            || exhibit.plain.said().is_some_and(|cold| 0 < cold.as_predicted)
    };
    let (mut shown, not_shown): (Vec<Exhibit>, Vec<Exhibit>) =
        exhibits.into_iter().partition(is_shown);
    let id = |exhibit: &Exhibit| suite.id(exhibit.finding.test).as_str().to_owned();
    let tests: Vec<String> = not_shown.iter().map(id).collect();
    if is_one {
        shown.extend(not_shown.into_iter().map(|mut exhibit| {
            exhibit.finding.verdict = Verdict::InsufficientEvidence;
            exhibit.plain = PlainAnswer::NotAsked;
            exhibit.reproduce.clear();
            exhibit
        }));
    }
    (shown, (!tests.is_empty()).then_some(Warning::TwiceNotShown { tests }))
}

/// Begins, and reports it as a stage.
fn begin(
    setting: &Setting<'_>,
    world: &mut EngineWorld,
    (runner, ready): (&dyn PlainRunner, Option<Ready>),
    progress: &mut dyn Progress,
) -> Result<Beginning, CampaignError> {
    if setting.comparison == Comparison::First {
        progress.stage("running the tests as they are, with isolation and without");
    }
    let beginning = setting.begin(world, runner, ready).map_err(|Stopped| {
        world.take_error().map_or(CampaignError::Interrupted, CampaignError::World)
    })?;
    let n_recalled = beginning.n_recalled;
    if let Some(name) = beginning.recorder.name().filter(|_| 0 < n_recalled) {
        progress.note(&format!("resuming campaign {name}: {n_recalled} runs recalled"));
    }
    Ok(beginning)
}

/// What exposes each traced test: the first of its causes by name.
fn exposed(traced: &Traced) -> BTreeMap<TestIndex, Exposure> {
    let first = |(test, found): (TestIndex, Vec<unflake_calls::Exposure<'_>>)| {
        let cause = found.first().map(|it| it.cause.map_or("unknown", RootCause::slug));
        let exposure = cause.map_or(Exposure::Nothing, |cause| Exposure::Cause(cause.to_owned()));
        (test, exposure)
    };
    traced.exposures(&Set::known()).into_iter().map(first).collect()
}

/// Warns of tests that cannot run twice in one process. If the runner repeats no test at all,
/// nobody expects it, and there is no warning.
fn not_repeated(engine: &Engine) -> Option<Warning> {
    let repeats = engine.suite(|_| Duration::ZERO).control().repeats;
    let once = engine.collected().tests.iter().filter(|test| test.once);
    let tests: Vec<String> = once.map(|test| test.id.clone()).collect();
    (repeats && !tests.is_empty()).then_some(Warning::NotRepeated { tests })
}

/// Replaces the numbers of runs by those under which they are on record.
fn on_record(mut found: Found, recorder: &Recorder) -> Found {
    let number = |run: &mut _| *run = recorder.number(*run);
    for finding in &mut found.findings {
        finding.passed_in.as_mut().map(number);
        finding.failed_in.as_mut().map(number);
    }
    for change in &mut found.changes {
        number(&mut change.first.0);
        number(&mut change.later.0);
    }
    found
}
