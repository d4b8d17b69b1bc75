//! What is behind findings: does the plain runner show them, which state do tests share, which open
//! choice decides, which file breaks them when it is imported? And what is said about failures of a
//! build?
//!
//! Runs whole campaigns on suites in which all of that is planted, among tests that change state
//! nobody reads; then puts everything they found to the test.

use std::collections::BTreeSet;
use std::rc::Rc;

use unflake_detect::Depth;
use unflake_detect::campaign::{SuiteSettings, campaign};
use unflake_detect::confirm::{ConfirmTerms, Tested, put_to_test};
use unflake_detect::triage::{Conditions, Failed, Judged, triage};
use unflake_detect::{Analysis, Lab};
use unflake_model::random::Random;
use unflake_model::{
    Budget, ClassIndex, Confidence, Confirmation, Evidence, Experiment, Factors, Finding,
    HashSeeds, Order, RunId, Spent, StateKind, TestIndex, Verdict,
};
use unflake_sim::{OpenChoices, Recipe, SimSuite, answer_all, generate};
use unflake_stats::rate::Rate;

use super::Args;
use super::score::Score;
use crate::table::{render, row};

/// One in this many suites: each takes a campaign, and has many cases.
const SHARE: u64 = 10;
/// How many orders to search for a failure that a build could report.
const N_ORDERS: u64 = 20;
/// The defaults of `unflake triage`.
const CONDITIONS: Conditions = Conditions {
    tries: 4,
    n_seeds: 5,
    hash_seeds: HashSeeds::Varied,
    choices: Factors::OPEN_CHOICES,
};
/// The acceptable share of failures that triage wrongly calls victims: one minus how sure it is.
const TRIAGE_WRONG_MAX: f64 = 2.0 / 70.0;

#[derive(Default)]
struct Totals {
    shown: Score,
    state: Score,
    choices: Score,
    files: Score,
    tested: Spent,
    triage: Score,
    triaged: Spent,
    n_cases: u64,
}

pub(crate) fn run(args: &Args) -> Vec<String> {
    let n_suites = (args.seeds / SHARE).max(1);
    let mut totals = Totals::default();
    for seed in args.first_seed..args.first_seed + n_suites {
        one_suite(seed, &mut totals);
    }
    print(&totals, n_suites);
    let scores = [totals.shown, totals.state, totals.choices, totals.files];
    let n_wrong: u64 = scores.iter().map(|score| score.wrong).sum();
    let mut faults = Vec::new();
    if 0 < n_wrong {
        faults.push(format!("{n_wrong} answers to what is behind findings are wrong"));
    }
    let wrong_max = TRIAGE_WRONG_MAX * totals.n_cases as f64;
    if wrong_max < totals.triage.wrong as f64 {
        faults.push(format!("triage is wrong in {} cases", totals.triage.wrong));
    }
    faults
}

fn one_suite(seed: u64, totals: &mut Totals) {
    let n_tests = 50 + Random::labelled(seed, &[50]).below(100);
    let recipe = Recipe::with_something_behind(n_tests);
    let sim = generate(&recipe, seed).expect("the recipe is valid");
    let settings = SuiteSettings {
        seed,
        tries: 3,
        depth: Depth::Roles,
        perturbed_runs: 20,
        choices: Factors::OPEN_CHOICES,
        dirty: Vec::new(),
        hash_seeds: HashSeeds::Fixed,
        flake_rate_min: Rate::new(0.05).expect("a rate"),
    };
    let (report, _) = drive(&sim, |lab| campaign(lab, settings));
    let true_of = |finding: &Finding| sim.truth().of(finding.test).verdict == finding.verdict;
    let findings: Vec<Finding> = report.findings.into_iter().filter(true_of).collect();
    let files = sim.suite().tests().map(|test| sim.suite().class_of(test).get()).collect();
    let limits = ConfirmTerms { watches: &StateKind::ALL, files, ..ConfirmTerms::default() };
    let (tested, spent) = drive(&sim, |lab| put_to_test(lab, findings, None, limits));
    totals.tested = totals.tested.plus(spent);
    for it in &tested {
        judge(&sim, it, totals);
    }
    for test in sim.truth().remarkable().map(|(test, _)| test) {
        try_triage(&sim, test, seed, totals);
    }
}

fn judge(sim: &SimSuite, tested: &Tested, totals: &mut Totals) {
    let truth = sim.truth().of(tested.finding.test);
    let one = |is_found: bool, is_wrong: bool| Score {
        planted: 1,
        found: u64::from(is_found),
        wrong: u64::from(is_wrong),
    };
    if matches!(truth.verdict, Verdict::OdVictim | Verdict::OdBrittle) {
        let said = tested.said.clone().ok().flatten();
        let is_shown = said.is_some_and(Confirmation::is_complete);
        totals.shown.merge(one(is_shown, said.is_some() && !is_shown));
        let read = sim.places_read(tested.finding.test);
        let is_read = tested.state.iter().all(|it| read.contains(&it.place));
        totals.state.merge(one(is_read && !tested.state.is_empty(), !is_read));
    }
    if truth.verdict == Verdict::Id {
        let named: BTreeSet<u64> = tested.choices.iter().map(|choice| choice.number).collect();
        let OpenChoices { deciding: (first, last), .. } =
            sim.open_choices(tested.finding.test).expect("it asks for some");
        let is_right = named == BTreeSet::from([first, last]);
        totals.choices.merge(one(is_right, !named.is_empty() && !is_right));
    }
    if truth.verdict == Verdict::AlwaysFailing {
        let guilty = sim.file_stumbled_over(tested.finding.test).map(ClassIndex::get);
        let named = &tested.guilty_files;
        let is_right = guilty.is_some_and(|file| *named == [vec![file]]);
        let score = one(is_right, !named.is_empty() && !is_right);
        totals.files.merge(Score { planted: u64::from(guilty.is_some()), ..score });
    }
}

/// Reports a failure of the test, as a build would, and triages it.
fn try_triage(sim: &SimSuite, test: TestIndex, seed: u64, totals: &mut Totals) {
    let Some(before) = failing_prefix(sim, test, seed) else { return };
    let failed = vec![Failed { test, before }];
    let (judged, spent) = drive(sim, |lab| triage(lab, failed, CONDITIONS));
    totals.triaged = totals.triaged.plus(spent);
    totals.n_cases += 1;
    let truth = sim.truth().of(test).verdict;
    let said = judged.first().map(|Judged { verdict, .. }| *verdict);
    let is_found = said.is_some_and(|said| is_same(said, truth));
    let is_open = matches!(said, None | Some(Verdict::Ud | Verdict::InsufficientEvidence));
    let (found, wrong) = (u64::from(is_found), u64::from(!is_found && !is_open));
    totals.triage.merge(Score { planted: 1, found, wrong });
}

/// The tests before it in an order in which it fails, if one of a few orders does that.
fn failing_prefix(sim: &SimSuite, test: TestIndex, seed: u64) -> Option<Vec<TestIndex>> {
    (0..N_ORDERS).find_map(|number| {
        let mut tests: Vec<TestIndex> = sim.suite().tests().collect();
        Random::labelled(seed, &[51, number]).shuffle(&mut tests);
        let order = Order::from_distinct(tests);
        // Analyses never use such numbers, so the luck is different.
        let run = RunId(1 << 32 | number);
        let seen = sim.observe(&Experiment::new(run, order.clone()));
        let attempt = seen.attempts.iter().find(|attempt| attempt.test == test)?;
        let prefix = order.truncated_at(test)?.tests().split_last()?.1.to_vec();
        (attempt.outcome.evidence() == Some(Evidence::Fail)).then_some(prefix)
    })
}

/// Whether the verdict on a failure agrees with the truth. A few runs show no rates.
fn is_same(said: Verdict, truth: Verdict) -> bool {
    said == truth || said == Verdict::NodUndecided && truth.is_non_deterministic()
}

fn drive<T: 'static, F: Future<Output = T> + 'static>(
    sim: &SimSuite,
    analysis: impl FnOnce(Lab) -> F,
) -> (T, Spent) {
    let mut random = Random::new(0);
    let mut spent = Spent::default();
    let budget = Budget::unlimited(Confidence::USUAL);
    let (answer, _) =
        Analysis::new(Rc::new(sim.suite().clone()), budget, analysis).drive(2, |asked| {
            let observations = answer_all(sim, asked, &mut random);
            for observation in &observations {
                let (attempts, time) = (observation.attempts.len() as u64, observation.duration);
                spent = spent.plus(Spent { runs: 1, attempts, time });
            }
            observations
        });
    (answer, spent)
}

fn print(totals: &Totals, n_suites: u64) {
    println!("What is behind findings, on {n_suites} suites:\n");
    let line = |name: &str, score: Score| [vec![name.to_owned()], score.cells()].concat();
    let rows = [
        row!["", "planted", "found", "recall", "wrong", "precision"],
        line("order dependence, shown by the plain runner", totals.shown),
        line("state that tests share", totals.state),
        line("open choices that decide", totals.choices),
        line("files that must not be collected", totals.files),
        line("kinds of failures of a build (triage)", totals.triage),
    ];
    println!("{}", render(&rows));
    println!(
        "To put findings to the test took {} runs, to judge failures of builds {}.\n",
        totals.tested.runs, totals.triaged.runs
    );
}
