//! What putting findings to the test shows: what was planted, and nothing else.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{at, drive, unlimited};
use unflake_detect::Depth;
use unflake_detect::confirm::while_searching::trying_meanwhile;
use unflake_detect::confirm::{ConfirmTerms, Tested, put_to_test};
use unflake_detect::explain::explain;
use unflake_detect::{Analysis, Lab};
use unflake_model::{
    Budget, Confidence, Dependencies, Environment, Experiment, Factors, Finding, Means, NotStarted,
    Observation, Spent, StateKind, Suite, Tally, TestIndex, Tried, Verdict,
};
use unflake_sim::behaviour::Ending;
use unflake_sim::phenomenon::{Pollution, Together};
use unflake_sim::scenario::{Case, Setting};
use unflake_sim::{OpenChoices, Phenomenon, SimSuite, Timing};

fn naming() -> ConfirmTerms {
    ConfirmTerms { watches: &StateKind::ALL, ..ConfirmTerms::default() }
}

fn finding(test: TestIndex, verdict: Verdict) -> Finding {
    Finding {
        test,
        verdict,
        confirmed: true,
        confidence: None,
        tally: Tally::default(),
        tried: Tried::default(),
        passed_in: None,
        failed_in: None,
        dependencies: Dependencies::default(),
        is_complete: true,
        contrast: None,
        fails_under: None,
        questions: 0,
        spent: Spent::default(),
    }
}

fn victim(test: usize) -> Finding {
    let dependencies = Dependencies { polluters: vec![vec![at(0)]], ..Dependencies::default() };
    Finding { dependencies, ..finding(at(test), Verdict::OdVictim) }
}

/// Test 0 pollutes 1, 2 and 3 of its class and 4 of the other; 2 puts it back for those after it.
fn shop() -> SimSuite {
    let pollution = |cleaners: &[TestIndex]| Pollution {
        polluters: Together::single(at(0)),
        cleaners: cleaners.to_vec(),
    };
    let of = |victims: &[usize], cleaners: &[TestIndex]| Phenomenon::Victims {
        victims: victims.iter().copied().map(TestIndex::new).collect(),
        pollutions: vec![pollution(cleaners)],
        ending: Ending::Fail,
    };
    let litter = Phenomenon::Litter { test: at(0), n_places: 9 };
    let phenomena = [of(&[1, 3, 4], &[at(2)]), of(&[2], &[]), litter];
    SimSuite::planted(Suite::of_sizes(&[4, 1]).unwrap(), &phenomena, Timing::USUAL, 1).unwrap()
}

/// Puts findings to the test, and records what the plain runner was asked.
fn test_all(
    sim: &SimSuite,
    findings: Vec<Finding>,
    limits: ConfirmTerms,
) -> (Vec<Tested>, Vec<Experiment>) {
    let asked: RefCell<Vec<Experiment>> = RefCell::default();
    let suite = Rc::new(sim.suite().clone());
    let budget = Budget::unlimited(Confidence::USUAL);
    let analysis = Analysis::new(suite, budget, |lab| put_to_test(lab, findings, None, limits));
    let (tested, _) = analysis.drive(2, |batch| {
        let plain = batch.iter().filter(|it| it.means != Means::Agent).cloned();
        asked.borrow_mut().extend(plain);
        batch.iter().map(|it| sim.observe(it)).collect()
    });
    (tested, asked.into_inner())
}

fn tried(is_dear: bool) -> (Vec<(u32, u32, u32)>, Vec<usize>) {
    let findings = [1, 2, 3, 4].map(victim).to_vec();
    let limits = ConfirmTerms { is_dear, ..naming() };
    let (tested, asked) = test_all(&shop(), findings, limits);
    let said = tested.iter().map(|it| it.said.clone().unwrap().unwrap());
    let said = said.map(|it| (it.as_predicted, it.tries, it.others));
    (said.collect(), asked.iter().map(|it| it.order.len()).collect())
}

#[test]
fn where_a_start_is_dear_victims_of_a_class_share_runs_and_whom_another_hides_is_tried_alone() {
    let (answers, runs) = tried(true);
    assert_eq!(answers, [(3, 3, 2), (3, 3, 2), (3, 3, 0), (3, 3, 0)]);
    assert_eq!(runs, [4, 4, 4, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn where_a_start_is_cheap_each_is_tried_alone() {
    let (answers, runs) = tried(false);
    assert_eq!((answers, runs.len()), (vec![(3, 3, 0); 4], 12));
}

#[test]
fn the_state_that_is_named_is_what_the_test_reads_among_all_that_is_left() {
    let sim = shop();
    let (tested, _) = test_all(&sim, vec![victim(1)], naming());
    let places: Vec<&str> = tested[0].state.iter().map(|it| it.place.as_str()).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    assert!(sim.places_read(at(1)).contains(places[0]), "{places:?}");
    let change = &tested[0].state[0];
    assert_eq!((change.before.as_deref(), change.after.as_deref()), (Some("0"), Some("1")));
}

#[test]
fn where_state_cannot_be_put_back_none_is_named() {
    let sim = shop().without_putting_back();
    let (tested, _) = test_all(&sim, vec![victim(1)], naming());
    assert_eq!(tested[0].state, []);
    assert!(tested[0].said.clone().unwrap().unwrap().is_complete(), "but the runner shows it");
}

#[test]
fn where_nobody_watches_no_run_is_made_to_name_state() {
    let sim = shop();
    let suite = Rc::new(sim.suite().clone());
    let budget = Budget::unlimited(Confidence::USUAL);
    let findings = vec![victim(1)];
    let analysis = Analysis::new(suite, budget, |lab| {
        put_to_test(lab, findings, None, ConfirmTerms::default())
    });
    let mut n_agent = 0;
    let (tested, _) = analysis.drive(2, |batch| {
        n_agent += batch.iter().filter(|it| it.means == Means::Agent).count();
        batch.iter().map(|it| sim.observe(it)).collect()
    });
    assert_eq!((n_agent, &tested[0].state), (0, &vec![]));
}

#[test]
fn when_the_search_was_short_the_runner_is_asked_and_state_only_as_long_as_that_takes() {
    let limits = ConfirmTerms { is_short: true, ..naming() };
    let (tested, asked) = test_all(&shop(), [1, 3, 4].map(victim).to_vec(), limits);
    assert_eq!(asked.len(), 9);
    assert!(tested.iter().all(|it| it.said.clone().unwrap().unwrap().is_complete()));
}

#[test]
fn the_choices_that_decide_are_named_and_only_they() {
    let phenomena: Vec<Phenomenon> =
        (0..20).map(|test| Phenomenon::OpenChoice { test: at(test), rate: 0.5 }).collect();
    let suite = Suite::of_sizes(&[20]).unwrap();
    let sim = SimSuite::planted(suite, &phenomena, Timing::USUAL, 3).unwrap();
    let fails = |test: TestIndex, environment| {
        let order = unflake_model::Order::from_distinct([test]);
        let experiment = Experiment::new(unflake_model::RunId(0), order);
        let seen = sim.observe(&Experiment { environment, ..experiment });
        seen.last() == Some(unflake_model::Evidence::Fail)
    };
    let findings = sim.suite().tests().map(|test| {
        let failing = (0..1000).map(Environment::open_choices).find(|it| fails(test, *it));
        Finding { fails_under: failing, ..finding(test, Verdict::Id) }
    });
    let (tested, _) = test_all(&sim, findings.collect(), naming());
    for it in tested {
        let OpenChoices { n, deciding: (first, last) } = sim.open_choices(it.finding.test).unwrap();
        let mut named = vec![first, last];
        named.dedup();
        let found: Vec<u64> = it.choices.iter().map(|choice| choice.number).collect();
        assert_eq!(found, named, "of {n}");
        assert!(it.choices.iter().all(|choice| choice.n == n));
        assert_eq!(it.choices[0].stack, [format!("choice {first}")]);
        assert!(it.said.unwrap().unwrap().is_complete());
    }
}

/// Test 0 fails if the file of 2 and 3 is collected.
fn stumbling() -> SimSuite {
    let phenomenon = Phenomenon::Stumbling { test: at(0), file_of: at(2) };
    let suite = Suite::of_sizes(&[2, 2, 2]).unwrap();
    SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 1).unwrap()
}

fn files(sim: &SimSuite) -> ConfirmTerms {
    let file = |test| sim.suite().class_of(test).get();
    ConfirmTerms { files: sim.suite().tests().map(file).collect(), ..naming() }
}

#[test]
fn a_test_that_fails_because_a_file_is_collected_is_a_victim_of_the_tests_in_it() {
    let sim = stumbling();
    let findings = vec![finding(at(0), Verdict::AlwaysFailing)];
    let (tested, _) = test_all(&sim, findings, files(&sim));
    let it = &tested[0];
    assert_eq!(it.finding.verdict, Verdict::OdVictim);
    assert_eq!(it.finding.dependencies.polluters, [vec![at(2)], vec![at(3)]]);
    assert_eq!(it.guilty_files, [vec![1]]);
    assert!(it.said.clone().unwrap().unwrap().is_complete());
}

#[test]
fn a_test_that_fails_everywhere_is_told_as_it_is() {
    let phenomenon = Phenomenon::AlwaysFailing { test: at(0) };
    let suite = Suite::of_sizes(&[2, 2]).unwrap();
    let sim = SimSuite::planted(suite, &[phenomenon], Timing::USUAL, 1).unwrap();
    let findings = vec![finding(at(0), Verdict::AlwaysFailing)];
    let limits = ConfirmTerms { asks_denial: true, ..files(&sim) };
    let (tested, _) = test_all(&sim, findings, limits);
    assert_eq!(tested[0].finding.verdict, Verdict::AlwaysFailing);
    assert_eq!((&tested[0].guilty_files, tested[0].is_denied), (&vec![], false));
}

#[test]
fn what_the_runner_passes_each_time_is_denied_where_isolation_is_in_doubt() {
    // The agent collects all files, which the runner does not; nobody says which file is whose.
    let limits = ConfirmTerms { asks_denial: true, ..naming() };
    let stumbles = ConfirmTerms { files: vec![0; 6], ..limits };
    let findings = vec![finding(at(0), Verdict::AlwaysFailing)];
    let (tested, _) = test_all(&stumbling(), findings, stumbles);
    assert!(tested[0].is_denied);
}

#[test]
fn a_runner_that_cannot_be_asked_says_why_and_the_state_is_named_all_the_same() {
    let sim = shop();
    let suite = Rc::new(sim.suite().clone());
    let budget = Budget::unlimited(Confidence::USUAL);
    let findings = vec![victim(1)];
    let analysis = Analysis::new(suite, budget, |lab| put_to_test(lab, findings, None, naming()));
    let (tested, _) = analysis.drive(2, |batch| {
        let answer = |it: &Experiment| match it.means {
            Means::Agent => sim.observe(it),
            Means::Plain { .. } => {
                Observation::not_started(it, NotStarted::Failed("no such program".to_owned()))
            }
        };
        batch.iter().map(answer).collect()
    });
    assert_eq!(tested[0].said, Err("no such program".to_owned()));
    assert_eq!(tested[0].state.len(), 1);
}

/// A search for one test, with what is tried meanwhile; and the number of plain runs.
fn search_and_try(case: Case, width: usize) -> (Vec<Tested>, usize) {
    let setting = Setting { n_tests: 60, noise: 0.0, seed: 5 };
    let scenario = case.scenario(setting);
    let target = scenario.targets[0];
    let analysis = |lab: Lab| trying_meanwhile(lab.clone(), explain(lab, target, Depth::Roles));
    let ((finding, meanwhile), _) = drive(&scenario.sim, unlimited(), width, analysis);
    let suite = Rc::new(scenario.sim.suite().clone());
    let budget = Budget::unlimited(Confidence::USUAL);
    let analysis =
        Analysis::new(suite, budget, |lab| put_to_test(lab, vec![finding], meanwhile, naming()));
    let mut n_plain = 0;
    let (tested, _) = analysis.drive(2, |batch| {
        n_plain += batch.iter().filter(|it| it.means != Means::Agent).count();
        batch.iter().map(|it| scenario.sim.observe(it)).collect()
    });
    (tested, n_plain)
}

#[test]
fn what_was_tried_while_the_search_went_on_is_not_tried_again() {
    for width in [1, 4] {
        for case in [Case::OnePolluter, Case::CleanerBetween, Case::Brittle] {
            let (tested, n_plain) = search_and_try(case, width);
            let what = format!("{case:?} at width {width}");
            assert_eq!(n_plain, 0, "{what}: the runner was asked before");
            assert!(tested[0].said.clone().unwrap().unwrap().is_complete(), "{what}");
            assert_eq!(tested[0].state.len(), 1, "{what}");
        }
        // Without a suspicion nothing is tried meanwhile; random failures are counted at the end.
        let (tested, n_plain) = search_and_try(Case::RandomFailure, width);
        assert!(5 <= n_plain, "{n_plain}");
        assert!(tested[0].said.clone().unwrap().is_some());
    }
}

#[test]
fn choices_that_no_factor_perturbs_are_not_asked_for() {
    let nothing = Environment::Perturbed { factors: Factors::NONE, seed: 0 };
    let finding = Finding { fails_under: Some(nothing), ..finding(at(4), Verdict::Id) };
    let (tested, _) = test_all(&shop(), vec![finding], naming());
    assert_eq!(tested[0].choices, []);
}
