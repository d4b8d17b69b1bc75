//! Findings for programs: what `detect` and `why` found.
//!
//! The contract is `schemas/findings.json`. Findings stand in the original order of their tests,
//! and numbers that come from floating-point functions are rounded to what all machines agree on.

use std::time::Duration;

use serde::Serialize;
use unflake_known::{Choice, Exhibit, Failure, Findings, KnownFactor, Origin, State, View};
use unflake_model::{
    Cause, Confidence, Dependencies, Factor, Group, OutcomeChange, OutcomeKind, RunId, Spent,
    Tally, TestIndex,
};
use unflake_stats::rate::interval;

use crate::command::Command;
use crate::document::{Document, Modules, WarningRow};
use crate::schema;
use crate::visible::tail;

/// How much of a failure's text is kept, from its end.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// What a campaign found, or what was found in the modules of a project: then all findings stand in
/// one list, each with its module, and what else there is to say by module.
pub fn render(modules: Modules<'_, View<'_>>, command: Command) -> String {
    if let [("", view)] = modules {
        return Document::new(&schema::FINDINGS, command, FindingsRow::of(view)).text();
    }
    let (mut findings, mut reports) = (Vec::new(), Vec::new());
    for (name, view) in modules {
        let (report, found) = FindingsRow::of(view).apart();
        findings.extend(found.into_iter().map(|finding| Placed::new(name, finding)));
        reports.push(Document::new(&schema::FINDINGS, command, report).of_module(name));
    }
    let several = Several { findings, modules: reports };
    Document::new(&schema::FINDINGS, command, several).text()
}

/// What came of looking into the tests of a list.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// About each test that was looked into, with its module, if it has one.
    pub studies: Vec<(String, Findings)>,
    /// Names of the list that are no test here.
    pub not_collected: Vec<String>,
    /// Names that were not looked into, because somebody stopped it.
    pub not_looked_into: Vec<String>,
}

/// What `why` found about the tests of a list: all findings in one list, and what else there is to
/// say by test.
pub fn render_list(listed: &Listed) -> String {
    let (mut findings, mut documents) = (Vec::new(), Vec::new());
    let views: Vec<_> =
        listed.studies.iter().map(|(name, findings)| (name, findings.view())).collect();
    for (name, view) in &views {
        let (report, found) = FindingsRow::of(view).apart();
        let tests = found.iter().map(|finding| finding.test).collect();
        findings.extend(found.into_iter().map(|finding| Placed::new(name, finding)));
        let report = OfTests { tests, report };
        let document = Document::new(&schema::FINDINGS, Command::Why, report);
        documents.push(document.of_module(name));
    }
    let list = List {
        findings,
        documents,
        not_collected: &listed.not_collected,
        not_looked_into: &listed.not_looked_into,
    };
    Document::new(&schema::FINDINGS, Command::Why, list).text()
}

#[derive(Serialize)]
struct Several<'a> {
    findings: Vec<Placed<'a, FindingRow<'a>>>,
    modules: Vec<Document<'a, FindingsRow<'a>>>,
}

#[derive(Serialize)]
struct List<'a> {
    findings: Vec<Placed<'a, FindingRow<'a>>>,
    documents: Vec<Document<'a, OfTests<'a>>>,
    not_collected: &'a [String],
    not_looked_into: &'a [String],
}

/// A report, with the tests that it is about.
#[derive(Serialize)]
struct OfTests<'a> {
    tests: Vec<&'a str>,
    #[serde(flatten)]
    report: FindingsRow<'a>,
}

/// Something that belongs to a module, if there are any.
#[derive(Serialize)]
struct Placed<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    #[serde(flatten)]
    what: T,
}

impl<'a, T> Placed<'a, T> {
    fn new(module: &'a str, what: T) -> Self {
        Self { module: Some(module).filter(|name| !name.is_empty()), what }
    }
}

#[derive(Serialize)]
struct FindingsRow<'a> {
    ended: &'static str,
    summary: Summary,
    runner: Runner<'a>,
    seed: u64,
    hash_seed: Option<u64>,
    command_line: &'a str,
    campaign: Option<&'a str>,
    findings: Vec<FindingRow<'a>>,
    causes: Vec<CauseRow<'a>>,
    changes: Vec<ChangeRow<'a>>,
    failing_in_set_up: Vec<&'a str>,
    warnings: Vec<WarningRow>,
}

#[derive(Serialize)]
struct Summary {
    tests: usize,
    findings: usize,
    orders: u64,
    recalled_runs: u64,
    cost: Cost,
    wall_seconds: f64,
    flake_rate_detectable: f64,
    hash_seeds: u64,
    confidence: f64,
}

#[derive(Serialize)]
pub(crate) struct Runner<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
}

#[derive(Serialize)]
struct Cost {
    runs: u64,
    attempts: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    test: &'a str,
    verdict: &'static str,
    meaning: &'static str,
    failure_rate: RateRow,
    polluters: Vec<Vec<&'a str>>,
    cleaners: Vec<CleanersRow<'a>>,
    state_setters: Vec<Vec<&'a str>>,
    roles_complete: bool,
    state: Vec<StateRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<ChoiceRow<'a>>,
    reproduce: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    known_factors: Vec<KnownFactorRow<'a>>,
    confirmed: bool,
    confidence: Option<f64>,
    evidence: EvidenceRow,
    failure: Option<FailureRow<'a>>,
    questions: u64,
    cost: Cost,
}

/// How often a test failed, and between which limits its rate lies.
#[derive(Serialize)]
pub(crate) struct RateRow {
    failures: u64,
    runs: u64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct CleanersRow<'a> {
    polluters: Vec<&'a str>,
    cleaners: Vec<&'a str>,
}

#[derive(Serialize)]
struct ChoiceRow<'a> {
    asks: &'a str,
    r#where: &'a str,
    test: Option<&'a str>,
    number: u64,
    of: u64,
}

impl<'a> ChoiceRow<'a> {
    fn of(choice: &'a Choice) -> Self {
        let Choice { api, place, test, number, n } = choice;
        Self { asks: api, r#where: place, test: test.as_deref(), number: *number, of: *n }
    }
}

#[derive(Serialize)]
struct StateRow<'a> {
    r#where: &'a str,
    kind: &'static str,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

impl<'a> StateRow<'a> {
    fn of(State { place, kind, before, after }: &'a State) -> Self {
        let (before, after) = (before.as_deref(), after.as_deref());
        Self { r#where: place, kind: kind.slug(), before, after }
    }
}

#[derive(Serialize)]
struct EvidenceRow {
    passed_in_run: Option<u64>,
    failed_in_run: Option<u64>,
    passed_in: Option<String>,
    failed_in: Option<String>,
    alone: Option<Count>,
    after_group: Option<Count>,
    cold: Option<PlainAnswerRow>,
}

/// What an earlier `shake` found.
#[derive(Serialize)]
struct KnownFactorRow<'a> {
    factors: Vec<&'static str>,
    makes_it_fail: bool,
    with: Count,
    without: Count,
    command: Option<&'a str>,
    campaign: &'a str,
    older_code: bool,
}

impl<'a> KnownFactorRow<'a> {
    fn of(known: &'a KnownFactor) -> Self {
        let count = |tally: Tally| Count { failures: tally.failures, runs: tally.attempts };
        Self {
            factors: known.factors.iter().map(Factor::slug).collect(),
            makes_it_fail: known.makes_it_fail,
            with: count(known.with),
            without: count(known.without),
            command: known.command.as_deref(),
            campaign: &known.campaign,
            older_code: known.is_of_older_code,
        }
    }
}

#[derive(Serialize)]
struct Count {
    failures: u64,
    runs: u64,
}

#[derive(Serialize)]
struct PlainAnswerRow {
    as_predicted: u32,
    tries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<u32>,
}

#[derive(Serialize)]
struct FailureRow<'a> {
    message: &'a str,
    text: &'a str,
    truncated: bool,
}

#[derive(Serialize)]
struct CauseRow<'a> {
    culprits: Vec<&'a str>,
    tests: Vec<&'a str>,
}

#[derive(Serialize)]
struct ChangeRow<'a> {
    test: &'a str,
    first: Ending,
    later: Ending,
}

#[derive(Serialize)]
struct Ending {
    run: u64,
    run_name: String,
    outcome: &'static str,
}

impl<'a> FindingsRow<'a> {
    fn of(view: &View<'a>) -> Self {
        let mut exhibits: Vec<&Exhibit> = view.exhibits.iter().collect();
        exhibits.sort_by_key(|exhibit| exhibit.finding.test);
        Self {
            ended: view.ended.slug(),
            summary: Summary::of(view),
            runner: Runner { name: &view.origin.runner, version: &view.origin.runner_version },
            seed: view.origin.seed,
            hash_seed: view.origin.hash_seed,
            command_line: &view.origin.command,
            campaign: view.origin.campaign.as_deref(),
            findings: exhibits.into_iter().map(|it| FindingRow::of(view, it)).collect(),
            causes: view.causes.iter().map(|cause| CauseRow::of(view, cause)).collect(),
            changes: view.changes.iter().map(|change| ChangeRow::of(view, change)).collect(),
            failing_in_set_up: ids(view, view.set_up_failing),
            warnings: WarningRow::all(view.warnings),
        }
    }

    /// The rest, and the findings.
    fn apart(self) -> (Self, Vec<FindingRow<'a>>) {
        let Self { findings, .. } = self;
        (Self { findings: Vec::new(), ..self }, findings)
    }
}

impl Summary {
    fn of(view: &View<'_>) -> Self {
        Self {
            tests: view.suite.n_tests(),
            findings: view.exhibits.len(),
            orders: view.n_orders,
            recalled_runs: view.n_recalled,
            cost: Cost::of(view.spent),
            wall_seconds: seconds(view.wall_time),
            flake_rate_detectable: rounded(view.flake_rate_detectable),
            hash_seeds: view.n_seeds,
            confidence: rounded(view.confidence.get()),
        }
    }
}

impl Cost {
    fn of(spent: Spent) -> Self {
        Self { runs: spent.runs, attempts: spent.attempts, seconds: seconds(spent.time) }
    }
}

impl<'a> FindingRow<'a> {
    fn of(view: &View<'a>, exhibit: &'a Exhibit) -> Self {
        let finding = &exhibit.finding;
        let Dependencies { polluters, cleaners, state_setters } = &finding.dependencies;
        let groups = |groups: &[Group]| groups.iter().map(|group| ids(view, group)).collect();
        let state = exhibit.state.iter();
        Self {
            test: id(view, finding.test),
            verdict: finding.verdict.slug(),
            meaning: finding.verdict.meaning(),
            failure_rate: RateRow::of(finding.tally, view.confidence),
            polluters: groups(polluters),
            cleaners: cleaners
                .iter()
                .filter(|of| !of.cleaners.is_empty())
                .map(|of| CleanersRow {
                    polluters: ids(view, &of.polluters),
                    cleaners: ids(view, &of.cleaners),
                })
                .collect(),
            state_setters: groups(state_setters),
            roles_complete: finding.is_complete,
            state: state.map(StateRow::of).collect(),
            choices: exhibit.choices.iter().map(ChoiceRow::of).collect(),
            reproduce: &exhibit.reproduce,
            known_factors: exhibit.factors.iter().map(KnownFactorRow::of).collect(),
            confirmed: exhibit.is_confirmed(),
            confidence: finding.confidence.map(|confidence| rounded(confidence.get())),
            evidence: EvidenceRow::of(view, exhibit),
            failure: exhibit.failure.as_ref().map(FailureRow::of),
            questions: finding.questions,
            cost: Cost::of(finding.spent),
        }
    }
}

impl RateRow {
    pub(crate) fn of(tally: Tally, confidence: Confidence) -> Self {
        let limits = interval(tally, confidence);
        Self {
            failures: tally.failures,
            runs: tally.attempts,
            low: rounded(limits.lower),
            high: rounded(limits.upper),
        }
    }
}

impl EvidenceRow {
    fn of(view: &View<'_>, exhibit: &Exhibit) -> Self {
        // A run of another campaign has no number in this one.
        let run = |run: Option<RunId>| run.filter(|run| *run < Origin::LENT).map(|run| run.0);
        let name = |run: Option<RunId>| run.map(|run| view.origin.run_name(run));
        let count = |tally: Tally| Count { failures: tally.failures, runs: tally.attempts };
        Self {
            passed_in_run: run(exhibit.finding.passed_in),
            failed_in_run: run(exhibit.finding.failed_in),
            passed_in: name(exhibit.finding.passed_in),
            failed_in: name(exhibit.finding.failed_in),
            alone: exhibit.finding.contrast.map(|contrast| count(contrast.alone)),
            after_group: exhibit.finding.contrast.map(|contrast| count(contrast.after_group)),
            cold: exhibit.plain.said().map(|it| PlainAnswerRow {
                as_predicted: it.as_predicted,
                tries: it.tries,
                others: Some(it.others).filter(|others| 0 < *others),
            }),
        }
    }
}

impl<'a> FailureRow<'a> {
    fn of(failure: &'a Failure) -> Self {
        let (message, text) =
            (tail(&failure.message, TEXT_BYTES_MAX), tail(&failure.text, TEXT_BYTES_MAX));
        let truncated = message.len() < failure.message.len() || text.len() < failure.text.len();
        Self { message, text, truncated }
    }
}

impl<'a> CauseRow<'a> {
    fn of(view: &View<'a>, cause: &Cause) -> Self {
        Self { culprits: ids(view, &cause.culprits), tests: ids(view, &cause.tests) }
    }
}

impl<'a> ChangeRow<'a> {
    fn of(view: &View<'a>, change: &OutcomeChange) -> Self {
        let ending = |(run, outcome): (RunId, OutcomeKind)| Ending {
            run: run.0,
            run_name: view.origin.run_name(run),
            outcome: outcome.as_str(),
        };
        Self {
            test: id(view, change.test),
            first: ending(change.first),
            later: ending(change.later),
        }
    }
}

fn id<'a>(view: &View<'a>, test: TestIndex) -> &'a str {
    view.suite.id(test).as_str()
}

fn ids<'a>(view: &View<'a>, tests: &[TestIndex]) -> Vec<&'a str> {
    tests.iter().map(|test| id(view, *test)).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

pub(crate) fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e3).round() / 1e3
}
