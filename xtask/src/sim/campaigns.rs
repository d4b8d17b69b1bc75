//! Whole campaigns on generated suites: ours and iDFlakies' for the same price, and ours in full.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use unflake_detect::Depth;
use unflake_detect::campaign::{SuiteFindings, SuiteSettings, campaign};
use unflake_detect::idflakies::{self, Class, FailingOriginal, idflakies};
use unflake_detect::{Analysis, Lab};
use unflake_model::{
    Budget, CleanersOf, Confidence, Dependencies, Factors, Group, Spent, TestIndex, Verdict,
};
use unflake_model::{HashSeeds, random::Random};
use unflake_sim::{Recipe, SimSuite, answer_all, generate};
use unflake_stats::rate::Rate;

use super::Args;
use super::score::Score;
use crate::table::{render, row};

/// The true verdict, our verdict, and whether ours was confirmed.
type Said = (Verdict, Verdict, bool);

#[derive(Default)]
struct Totals {
    theirs: Score,
    theirs_spent: Spent,
    ours: Score,
    ours_spent: Spent,
    said: BTreeMap<Said, u64>,
    full_spent: Spent,
    groups: Score,
    cleaners: Score,
    notes: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Vec<String> {
    let totals = on_all_cores(args);
    print_comparison(&totals, args.seeds);
    print_said(&totals);
    print_roles(&totals);
    for note in &totals.notes {
        println!("{note}");
    }
    let mut faults = Vec::new();
    if totals.ours.found <= totals.theirs.found {
        faults.push("iDFlakies finds as many order-dependent tests for the same price".to_owned());
    }
    let n_wrong: u64 =
        totals.said.iter().filter(|(said, _)| is_wrong(**said)).map(|(_, n)| n).sum();
    if 0 < n_wrong + totals.ours.wrong {
        faults.push(format!("{} confirmed verdicts are wrong", n_wrong + totals.ours.wrong));
    }
    faults
}

fn on_all_cores(args: &Args) -> Totals {
    let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let seeds = args.first_seed..args.first_seed + args.seeds;
    let work = |thread: usize| {
        let mut totals = Totals::default();
        for seed in seeds.clone().skip(thread).step_by(n_threads) {
            one_suite(seed, args.verbose, &mut totals);
        }
        totals
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..n_threads).map(|t| scope.spawn(move || work(t))).collect();
        let parts = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
        parts.fold(Totals::default(), Totals::merged)
    })
}

impl Totals {
    fn merged(mut self, other: Self) -> Self {
        self.theirs.merge(other.theirs);
        self.theirs_spent = self.theirs_spent.plus(other.theirs_spent);
        self.ours.merge(other.ours);
        self.ours_spent = self.ours_spent.plus(other.ours_spent);
        for (said, n) in other.said {
            *self.said.entry(said).or_default() += n;
        }
        self.full_spent = self.full_spent.plus(other.full_spent);
        self.groups.merge(other.groups);
        self.cleaners.merge(other.cleaners);
        self.notes.extend(other.notes);
        self
    }
}

fn one_suite(seed: u64, is_verbose: bool, totals: &mut Totals) {
    // From 40 to 299 tests: the mean of the modules studied is 287, the median far below.
    let n_tests = 40 + Random::labelled(seed, &[40]).below(260);
    let sim = generate(&Recipe::typical(n_tests), seed).expect("the recipe is valid");
    let truth: BTreeSet<TestIndex> =
        sim.truth().remarkable().filter(|(_, t)| is_od(t.verdict)).map(|(test, _)| test).collect();

    let (theirs, spent) = run_idflakies(&sim, seed);
    totals.theirs.add(&truth, &theirs);
    totals.theirs_spent = totals.theirs_spent.plus(spent);

    let budget = Budget::unlimited(Confidence::USUAL).with_attempts(spent.attempts);
    let budget = budget.expect("iDFlakies ran at least one test");
    let (ours, spent) = run_campaign(&sim, seed, budget, Depth::Kind);
    let claimed = ours.findings.iter().filter(|f| f.confirmed && is_od(f.verdict));
    totals.ours.add(&truth, &claimed.map(|f| f.test).collect());
    totals.ours_spent = totals.ours_spent.plus(spent);

    let unlimited = Budget::unlimited(Confidence::USUAL);
    let (full, spent) = run_campaign(&sim, seed, unlimited, Depth::Roles);
    totals.full_spent = totals.full_spent.plus(spent);
    for note in compare(&sim, &full, totals) {
        if is_verbose {
            totals.notes.push(format!("seed {seed}, {n_tests} tests: {note}"));
        }
    }
}

fn run_idflakies(sim: &SimSuite, seed: u64) -> (BTreeSet<TestIndex>, Spent) {
    let settings = idflakies::RoundSettings {
        // The stronger opponent: the tool of the study would discard suites with a failing test.
        failing_original: FailingOriginal::GoOn,
        ..idflakies::RoundSettings::of_the_study(seed)
    };
    let unlimited = Budget::unlimited(Confidence::USUAL);
    let (report, spent) = drive(sim, unlimited, |lab| idflakies(lab, settings));
    let is_od = |class: Class| class == Class::OrderDependent;
    (report.flaky.into_iter().filter(|(_, (c, _))| is_od(*c)).map(|(t, _)| t).collect(), spent)
}

fn run_campaign(sim: &SimSuite, seed: u64, budget: Budget, depth: Depth) -> (SuiteFindings, Spent) {
    let settings = SuiteSettings {
        seed,
        tries: 3,
        depth,
        // iDFlakies does not perturb; for the same price, neither do we.
        perturbed_runs: 0,
        choices: Factors::NONE,
        dirty: Vec::new(),
        hash_seeds: if depth == Depth::Kind { HashSeeds::Fixed } else { HashSeeds::Varied },
        flake_rate_min: Rate::new(0.05).expect("a rate"),
    };
    drive(sim, budget, |lab| campaign(lab, settings))
}

fn drive<T: 'static, F: Future<Output = T> + 'static>(
    sim: &SimSuite,
    budget: Budget,
    analysis: impl FnOnce(Lab) -> F,
) -> (T, Spent) {
    let mut random = Random::new(0);
    // One worker: thinking ahead for several costs executions, which are compared here.
    Analysis::new(Rc::new(sim.suite().clone()), budget, analysis)
        .drive(1, |experiments| answer_all(sim, experiments, &mut random))
}

/// Counts the verdicts on all tests; returns the wrong or missed ones in words.
fn compare(sim: &SimSuite, report: &SuiteFindings, totals: &mut Totals) -> Vec<String> {
    let found: BTreeMap<TestIndex, _> = report.findings.iter().map(|f| (f.test, f)).collect();
    let mut notes = Vec::new();
    for test in sim.suite().tests() {
        let truth = sim.truth().of(test);
        let finding = found.get(&test);
        let (verdict, confirmed) =
            finding.map_or((Verdict::NotFlaky, false), |f| (f.verdict, f.confirmed));
        let said = (truth.verdict, verdict, confirmed);
        *totals.said.entry(said).or_default() += 1;
        if is_wrong(said) || is_od(truth.verdict) && truth.verdict != verdict {
            notes.push(format!("test {test} is {}, not {verdict}", truth.verdict));
        }
        if let Some(finding) = finding.filter(|_| confirmed && is_od(verdict)) {
            let (truth, found) = (&truth.dependencies, &finding.dependencies);
            totals.groups.add(&groups(truth), &groups(found));
            totals.cleaners.add(&cleaners(truth), &cleaners(found));
            if groups(truth) != groups(found) || cleaners(truth) != cleaners(found) {
                notes.push(format!("test {test} depends on {truth:?}, not {found:?}"));
            }
        }
    }
    notes
}

fn is_od(verdict: Verdict) -> bool {
    verdict.is_order_dependent()
}

/// Whether a confirmed verdict contradicts the truth. "Non-deterministic, undecided" does not
/// contradict its two finer kinds.
fn is_wrong((truth, verdict, confirmed): Said) -> bool {
    let agrees = truth == verdict
        || (verdict == Verdict::NodUndecided && truth.is_non_deterministic())
        || (verdict == Verdict::OdUnknownRole && truth.is_order_dependent());
    confirmed && !agrees
}

fn groups(dependencies: &Dependencies) -> BTreeSet<Group> {
    dependencies.polluters.iter().chain(&dependencies.state_setters).cloned().collect()
}

fn cleaners(dependencies: &Dependencies) -> BTreeSet<(Group, TestIndex)> {
    let pairs = |c: &CleanersOf| -> Vec<(Group, TestIndex)> {
        c.cleaners.iter().map(|test| (c.polluters.clone(), *test)).collect()
    };
    dependencies.cleaners.iter().flat_map(pairs).collect()
}

fn print_comparison(totals: &Totals, n_suites: u64) {
    println!("Order-dependent tests found on {n_suites} suites, for the same executions:\n");
    let spent = |s: Spent| vec![s.runs.to_string(), s.attempts.to_string()];
    let line = |name: &str, score: Score, cost: Spent| {
        [vec![name.to_owned()], score.cells(), spent(cost)].concat()
    };
    let rows = [
        row!["", "planted", "found", "recall", "wrong", "precision", "runs", "executions"],
        line("iDFlakies (random-class-method, 20 rounds)", totals.theirs, totals.theirs_spent),
        line("unflake (no more executions than that)", totals.ours, totals.ours_spent),
    ];
    println!("{}", render(&rows));
}

fn print_said(totals: &Totals) {
    println!("A whole campaign (95 % sure to see a flake rate of 5 %; all roles):");
    println!("{} runs, {} executions.", totals.full_spent.runs, totals.full_spent.attempts);
    println!("What is true, and what was said (confirmed/not confirmed):\n");
    let verdicts: BTreeSet<Verdict> = totals.said.keys().map(|(_, verdict, _)| *verdict).collect();
    let truths: BTreeSet<Verdict> = totals.said.keys().map(|(truth, _, _)| *truth).collect();
    let mut rows = vec![row!["truth"]];
    rows[0].extend(verdicts.iter().map(ToString::to_string));
    for truth in truths {
        let count = |verdict, confirmed| totals.said.get(&(truth, verdict, confirmed)).copied();
        let cell = |verdict: &Verdict| match (count(*verdict, true), count(*verdict, false)) {
            (None, None) => ".".to_owned(),
            (Some(sure), None) => sure.to_string(),
            (sure, Some(unsure)) => format!("{}/{unsure}", sure.unwrap_or(0)),
        };
        let mut line = row![truth];
        line.extend(verdicts.iter().map(cell));
        rows.push(line);
    }
    println!("{}", render(&rows));
}

fn print_roles(totals: &Totals) {
    println!("Roles of the confirmed order-dependent tests:\n");
    let line = |name: &str, score: Score| [vec![name.to_owned()], score.cells()].concat();
    let rows = [
        row!["", "planted", "found", "recall", "wrong", "precision"],
        line("polluter and setter groups", totals.groups),
        line("cleaners of a group", totals.cleaners),
    ];
    println!("{}", render(&rows));
}
